#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "app/call/video_receiver.hh"
#include "eval/schemes/scheme_host.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

/// What the far end reports about the last report interval.
struct RateFeedback {
  double loss = 0;            ///< share of datagrams missing, 0..1
  Duration queueing_delay{};  ///< of the newest datagram, over the least seen in the call
  DataRate received;
};

struct SkypeLikeOptions {
  DataRate start = DataRate::kilobits_per_second(300);
  DataRate floor = DataRate::kilobits_per_second(80);
  /// The paper's Skype stays below some 2.5 Mbit/s on every link (Figures 1 and 7).
  DataRate ceiling = DataRate::kilobits_per_second(2500);
  Duration raise_interval = 1s;
  double raise_factor = 1.08;
  /// Trouble: more loss or queueing delay than this...
  double loss_tolerated = 0.05;
  Duration delay_tolerated = 500ms;
  /// ...for this long without a break: only then is the rate lowered, to a share of what arrives.
  Duration patience = 4s;
  double lower_factor = 0.75;
  /// After lowering, no raise for this long.
  Duration hold = 5s;
};

/// The controller alone: raised on a timer, lowered only after seconds of trouble. That is the
/// behaviour the Sprout paper found in Skype: it "reacts" (§1), overshoots for seconds after a
/// link's rate falls (Figure 1, §2.2) and so builds multi-second queues (§5.2). It is a model of
/// that behaviour, not of the program; docs/method.md says where each number comes from and how far
/// it is from the recordings. Threads: none inside; one owner.
class SkypeLikeController {
 public:
  explicit SkypeLikeController(const SkypeLikeOptions& options)
      : options_(options), target_(options.start) {}

  void handle_feedback(TimePoint now, const RateFeedback& feedback);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const { return next_raise_; }
  DataRate target() const { return target_; }

 private:
  SkypeLikeOptions options_;
  DataRate target_;
  TimePoint next_raise_ = kTimeZero;
  std::optional<TimePoint> trouble_since_;
};

/// One end of a video call whose encoder runs at the controller's rate (libvpx's own constant
/// bitrate) and whose frames leave as soon as they are coded. Datagrams: docs in skype_like.cc;
/// RTP-like, with a report every 200 ms.
class SkypeLikeCall final : public CallHost {
 public:
  /// An empty source: this end only watches.
  SkypeLikeCall(TimePoint start, const SkypeLikeOptions& options,
                std::shared_ptr<media::VideoSource> source);

  void handle_datagram(TimePoint now, const sim::Datagram& datagram) override;
  void handle_timeout(TimePoint now) override;
  std::optional<sim::Datagram> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  std::optional<CodedFrame> poll_coded() override;
  std::optional<ShownFrame> poll_shown() override;

 private:
  void capture(TimePoint now);
  void send_report(TimePoint now);
  void handle_report(TimePoint now, std::span<const std::byte> body);
  void handle_media(TimePoint now, std::span<const std::byte> body);

  SkypeLikeOptions options_;
  std::shared_ptr<media::VideoSource> source_;
  SkypeLikeController controller_;
  app::VideoReceiver receiver_;
  std::optional<media::Vp8Encoder> encoder_;
  TimePoint start_;
  std::deque<std::vector<std::byte>> outgoing_;  // drained at once: nothing is paced
  std::deque<CodedFrame> coded_;
  uint32_t next_picture_ = 0;
  std::optional<uint32_t> last_coded_;
  bool key_frame_wanted_ = false;
  uint32_t next_sequence_ = 0;
  DataSize delivered_;
  // Books for the next report.
  TimePoint next_report_;
  bool heard_media_ = false;
  uint32_t newest_sequence_ = 0;
  uint32_t reported_sequence_ = 0;
  int64_t received_since_report_ = 0;
  DataSize received_size_;
  std::optional<Duration> least_transit_;
  Duration newest_transit_{};
};

}  // namespace cress::schemes
