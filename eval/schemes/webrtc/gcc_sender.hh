#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "eval/schemes/host/call_parts.hh"
#include "eval/schemes/webrtc/gcc_pacer.hh"
#include "eval/schemes/webrtc/gcc_packets.hh"
#include "eval/schemes/webrtc/gcc_probe.hh"
#include "eval/schemes/webrtc/gcc_quality_scaler.hh"
#include "eval/schemes/webrtc/gcc_rate_control.hh"
#include "media/codec/vp8_encoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/source/video_source.hh"

namespace cress::schemes {

struct GccOptions {
  GccEstimatorOptions estimator;
  GccPacerOptions pacer;
  GccQualityScalerOptions scaler;
  GccProberOptions prober;
  /// The maximum encoder rate: Chromium's own limit for pictures up to 640 × 480.
  DataRate video_ceiling = DataRate::kilobits_per_second(1700);
  DataRate video_floor = DataRate::kilobits_per_second(30);
  /// libvpx's effort, as libwebrtc sets it on a desktop.
  int cpu_used = -6;
  /// libvpx's noise reduction, which browsers use for cameras. Off: with it the model is closer to
  /// a browser's picture on steady links and further from its rate on all others
  /// (docs/method-gcc.md).
  bool denoise = false;

  /// The draft's arrival-time filter and detector gains, and no probes. The departures that both
  /// schemes have (docs/method-gcc.md) remain.
  static GccOptions draft();
};

/// The sending half of an end: camera, encoder, packets, pacer, congestion control,
/// retransmissions. Errors: invalid datagrams are dropped. Threads: none inside; one owner.
class GccSender {
 public:
  /// Packets kept for retransmission, and sent ones whose feedback is awaited.
  static constexpr size_t kHistoryMax = 4096;

  GccSender(TimePoint start, const GccOptions& options, std::shared_ptr<media::VideoSource> source);

  void handle_feedback(TimePoint now, const GccFeedback& feedback);
  void handle_nack(TimePoint now, const GccNack& nack);
  void handle_key_frame_request(TimePoint now);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const;
  std::optional<std::vector<std::byte>> poll_datagram(TimePoint now);
  std::optional<CodedFrame> poll_coded() { return coded_.poll(); }

  /// The total, counting IP packets.
  DataRate target() const { return estimator_.target(); }
  /// The encoder's: the target minus headers and retransmissions, within its bounds.
  DataRate video_target() const;
  DataSize queued() const { return pacer_.queued(); }

 private:
  struct Sent {  // by transport sequence
    TimePoint at{};
    DataSize size;
    int cluster = -1;
    bool reported = false;
  };
  struct Kept {  // by media sequence
    std::vector<std::byte> fragment;
    std::optional<TimePoint> sent_again;
  };

  void capture(TimePoint now);
  media::CodedPicture encode_picture(TimePoint now, uint32_t picture);
  void packetize(TimePoint now, const media::EncodedFrame& frame);
  std::vector<std::byte> send(TimePoint now, const GccPaced& packet, int cluster);
  std::vector<std::byte> send_padding(TimePoint now);
  void note_sent(TimePoint now, DataSize size, int cluster);
  void count_repeats(TimePoint now);

  GccOptions options_;
  Camera camera_;
  GccEstimator estimator_;
  GccPacer pacer_;
  GccProber prober_;
  GccQualityScaler scaler_;
  media::Vp8Encoder encoder_;
  CodedLog coded_;
  std::optional<uint32_t> last_coded_;
  bool key_frame_wanted_ = false;
  std::optional<TimePoint> last_key_frame_;
  std::deque<Kept> kept_;  // the newest of which is next_media_ - 1
  uint32_t next_media_ = 0;
  std::deque<Sent> sent_;  // the newest of which is next_transport_ - 1
  uint32_t next_transport_ = 0;
  // Bytes since repeats_since_: all, and retransmissions.
  DataSize bytes_sent_;
  DataSize bytes_sent_again_;
  TimePoint repeats_since_;
  double repeat_share_ = 0;
};

}  // namespace cress::schemes
