#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/call/video_receiver.hh"
#include "eval/schemes/call_parts.hh"
#include "eval/schemes/scheme_host.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// What the far end reports about the last report interval.
struct RateFeedback {
  double loss = 0;            ///< share of datagrams missing, 0..1
  Duration queueing_delay{};  ///< of the newest datagram, over the least seen in the call
  DataRate received;
  friend bool operator==(const RateFeedback&, const RateFeedback&) = default;
};

/// A report says no more than this, whatever it was told: a queue of a minute is past all use.
inline constexpr Duration kQueueingDelayMax = 60s;

/// The defaults stand for the program of 2012 that the Sprout paper (NSDI 2013) measured. "Fitted":
/// chosen so that over the paper's kind of links the mean self-inflicted delay and the throughput
/// come near those published. docs/method-skype-like.md tells how, and how far off the whole is.
/// Shape: 1 kbit/s <= floor <= start <= ceiling; raise_factor >= 1; 0 < lower_factor <= 1;
/// durations > 0; half_size_below <= full_size_above.
struct SkypeLikeOptions {
  /// Skype's advice to its users then: 300 kbit/s for a video call.
  DataRate start = DataRate::kilobits_per_second(300);
  /// De Cicco, Mascolo, Palmisano 2011: no video call with less than 40 kbit/s.
  DataRate floor = DataRate::kilobits_per_second(40);
  /// Skype's advice to its users then: 1.2 Mbit/s at least, 1.5 at best, for HD video.
  DataRate ceiling = DataRate::kilobits_per_second(1500);
  /// A convention: with the factor below it makes the slope, and only the slope is known.
  Duration raise_interval = 1s;
  /// De Cicco et al. 2011: up to a hundred seconds to match a new rate; floor to ceiling takes 92
  /// s.
  double raise_factor = 1.04;
  /// Ours: Zhang et al. 2012 say "robust against mild packet losses" and give no number we can
  /// cite.
  double loss_tolerated = 0.10;
  /// Fitted, among 300, 500 and 1000 ms.
  Duration delay_tolerated = 500ms;
  /// Fitted, among 2 to 5 s ("seconds" by the paper's Figure 1): trouble without a break for this
  /// long, and only then is the rate lowered.
  Duration patience = 2s;
  /// Fitted, among 0.5, 0.6 and 0.75: of what arrived during the trouble.
  double lower_factor = 0.6;
  /// Ours: no raise for this long after lowering; the paper says only "slow to use more" (§5.2).
  Duration hold = 5s;
  /// De Cicco et al. 2011: resolution follows the rate. The rate at which it does is ours.
  DataRate half_size_below = DataRate::kilobits_per_second(250);
  /// Ours: the picture must not flap between sizes.
  DataRate full_size_above = DataRate::kilobits_per_second(350);

  /// The program of 2017 recorded over a steady link of 0.57 Mbit/s: start, slope and ceiling
  /// fitted to its first 200 s, the rest as above. Another program than the paper's: it leaves four
  /// fifths of that link unused.
  static SkypeLikeOptions recorded_2017();
};

/// The controller alone: raised on a timer, lowered only after seconds of trouble. That is the
/// behaviour the Sprout paper found in Skype: it reacts (§1), overshoots for seconds after a link's
/// rate falls (Figure 1, §2.2) and so builds multi-second queues (§5.2). A model of that behaviour,
/// not of the program. Threads: none inside; one owner.
class SkypeLikeController {
 public:
  SkypeLikeController(TimePoint start, const SkypeLikeOptions& options);

  void handle_feedback(TimePoint now, const RateFeedback& feedback);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const { return next_raise_; }
  DataRate target() const { return target_; }

 private:
  SkypeLikeOptions options_;
  DataRate target_;
  TimePoint next_raise_;
  bool heard_good_ = false;  // since the last raise
  std::optional<TimePoint> trouble_since_;
  DataRate received_sum_;  // over the reports since trouble_since_
  int64_t reports_ = 0;
};

/// The receiver's books on the datagrams that arrive, for its reports. Takes anything a peer may
/// say: sequence numbers wrap, clocks differ. Threads: none inside; one owner.
class ArrivalBooks {
 public:
  /// `transit`: arrival by our clock less sending by the peer's.
  void handle_arrival(uint32_t sequence, Duration transit, DataSize size);
  /// What arrived since the last call, `interval` (> 0) ago; nothing before the first arrival.
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

/// One end of a video call whose encoder runs at the controller's rate (libvpx's own constant
/// bitrate) and whose frames leave as soon as they are coded: nothing is paced. Datagrams: drawn in
/// skype_like.cc; RTP-like, with a report every kReportInterval. Errors: what a peer sends is
/// dropped when it makes no sense. Threads: none inside; one owner.
class SkypeLikeCall final : public CallHost {
 public:
  static constexpr Duration kReportInterval = 200ms;

  /// An empty source: this end only watches.
  SkypeLikeCall(TimePoint start, const SkypeLikeOptions& options,
                std::shared_ptr<media::VideoSource> source);

  void handle_datagram(TimePoint now, const sim::Datagram& datagram) override;
  void handle_timeout(TimePoint now) override;
  std::optional<sim::Datagram> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override { return coded_.poll(); }
  std::optional<ShownFrame> poll_shown() override;

  /// What the encoder is told to keep to; always within the options' floor and ceiling.
  DataRate target() const { return controller_.target(); }

 private:
  void capture(TimePoint now);
  media::CodedPicture encode(TimePoint now, uint32_t picture);
  void send_report(TimePoint now);
  void handle_report(TimePoint now, std::span<const std::byte> datagram);
  void handle_media(TimePoint now, std::span<const std::byte> datagram);

  SkypeLikeOptions options_;
  Camera camera_;
  SkypeLikeController controller_;
  ArrivalBooks books_;
  app::VideoReceiver receiver_{Duration{}};      // a loss is answered by a key frame
  std::unique_ptr<media::Vp8Encoder> encoder_;   // null without a source
  std::deque<std::vector<std::byte>> outgoing_;  // drained after each call: one frame and a report
  CodedLog coded_;
  std::optional<uint32_t> last_coded_;
  bool key_frame_wanted_ = false;
  uint32_t next_sequence_ = 0;
  DataSize delivered_;
  TimePoint next_report_;
};

}  // namespace cress::schemes
