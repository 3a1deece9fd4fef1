#pragma once

#include <cstdint>
#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// The far end's report about the last report interval.
struct RateFeedback {
  double loss = 0;            ///< share of datagrams missing, 0..1
  Duration queueing_delay{};  ///< of the newest datagram, relative to the minimum of the call
  DataRate received;
  friend bool operator==(const RateFeedback&, const RateFeedback&) = default;
};

/// The largest queueing delay in a report: a queue of a minute is beyond any use.
inline constexpr Duration kQueueingDelayMax = 60s;

/// A simple rate control rule, raised on a timer and lowered after a period of trouble, with the
/// parameters that make it resemble a particular program. The defaults model the Skype of 2012 that
/// the Sprout paper (NSDI 2013) measured. "Fitted": chosen so that over the paper's kind of links
/// the mean self-inflicted delay and the throughput come near those published. docs/method-like.md
/// describes the method, and the error of each profile. Shape: 1 kbit/s <= floor <= start <=
/// ceiling; raise_factor >= 1; 0 < lower_factor <= 1; durations > 0; half_size_below <=
/// full_size_above.
struct LikeOptions {
  /// Skype's advice to its users then: 300 kbit/s for a video call.
  DataRate start = DataRate::kilobits_per_second(300);
  /// De Cicco, Mascolo, Palmisano 2011: no video call with less than 40 kbit/s.
  DataRate floor = DataRate::kilobits_per_second(40);
  /// Skype's advice to its users then: 1.2 Mbit/s at least, 1.5 at best, for HD video.
  DataRate ceiling = DataRate::kilobits_per_second(1500);
  /// A convention: together with the factor below it gives the slope, and only the slope is known.
  Duration raise_interval = 1s;
  /// De Cicco et al. 2011: up to a hundred seconds to match a new rate; floor to ceiling takes 92
  /// s.
  double raise_factor = 1.04;
  /// Ours: Zhang et al. 2012 say "robust against mild packet losses" and give no number we can
  /// cite.
  double loss_tolerated = 0.10;
  /// Fitted, among 300, 500 and 1000 ms.
  Duration delay_tolerated = 500ms;
  /// Fitted, among 2 to 5 s ("seconds" by the paper's Figure 1): the rate is lowered only after
  /// uninterrupted trouble for this long.
  Duration patience = 2s;
  /// Fitted, among 0.5, 0.6 and 0.75: the new rate relative to what arrived during the trouble.
  double lower_factor = 0.6;
  /// Ours: no raise for this long after lowering; the paper says only "slow to use more" (§5.2).
  Duration hold = 5s;
  /// Whether the far end also reports an interval in which nothing arrived: it then repeats the
  /// last delay. Without this, no reports arrive in an outage, and the rate stays as it is until it
  /// ends.
  bool reports_silence = true;
  /// De Cicco et al. 2011: resolution follows the rate. The threshold is ours.
  DataRate half_size_below = DataRate::kilobits_per_second(250);
  /// Ours: keeps the picture from oscillating between sizes.
  DataRate full_size_above = DataRate::kilobits_per_second(350);

  /// Programs of 2017 as recorded over emulated links, each fitted to the first halves of its
  /// recordings (by like_recordings_test.cc). Parameters that the recordings do not determine are
  /// as above. Skype over a steady link of 0.57 Mbit/s: a different program than the paper's, which
  /// leaves four fifths of that link unused.
  static LikeOptions skype_2017();
  /// Hangouts over the same steady link.
  static LikeOptions hangouts_2017();
  /// FaceTime over that link and two cellular ones.
  static LikeOptions facetime_2017();

  friend bool operator==(const LikeOptions&, const LikeOptions&) = default;
};

/// The controller alone: raised on a timer, lowered only after trouble has lasted. The Sprout paper
/// found this behaviour in the programs of its time: they react (§1), overshoot for seconds after a
/// link's rate falls (Figure 1, §2.2) and so build multi-second queues (§5.2). A model of that
/// behaviour, not of a program. Threads: none inside; one owner.
class LikeController {
 public:
  LikeController(TimePoint start, const LikeOptions& options);

  void handle_feedback(TimePoint now, const RateFeedback& feedback);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const { return next_raise_; }
  DataRate target() const { return target_; }

 private:
  LikeOptions options_;
  DataRate target_;
  TimePoint next_raise_;
  bool heard_good_ = false;  // since the last raise
  std::optional<TimePoint> trouble_since_;
  DataRate received_sum_;  // over the reports since trouble_since_
  int64_t reports_ = 0;
};

/// The receiver's record of arriving datagrams, for its reports. Accepts any peer data: sequence
/// numbers wrap, clocks differ. Threads: none inside; one owner.
class ArrivalBooks {
 public:
  /// `transit`: arrival by our clock minus sending by the peer's.
  void handle_arrival(uint32_t sequence, Duration transit, DataSize size);
  /// The arrivals since the last call, `interval` (> 0) ago; nullopt before the first arrival.
  std::optional<RateFeedback> take_feedback(Duration interval);

 private:
  bool heard_ = false;
  uint32_t newest_ = 0;
  int64_t expected_ = 0;
  int64_t received_ = 0;
  DataSize size_;
  Duration least_transit_{};
  Duration newest_transit_{};
};

}  // namespace cress::schemes
