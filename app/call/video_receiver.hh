#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "app/call/control_message.hh"
#include "app/call/decode_work.hh"
#include "app/call/preference.hh"
#include "media/codec/vp8_decoder.hh"
#include "media/frame/assembler.hh"
#include "media/frame/picture.hh"
#include "media/playout/frame_clock.hh"
#include "media/playout/playout_delay.hh"
#include "transport/base/time.hh"
#include "transport/base/token_bucket.hh"

namespace cress::app {

/// A frame to be displayed.
struct ShownFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};  ///< on the sender's clock
  TimePoint shown{};
  DataSize size;  ///< of the encoded frame
  media::PicturePtr picture;
};

struct VideoReceiverStats {
  uint64_t fragments_malformed = 0;
  uint64_t frames_undecodable = 0;
  uint64_t frames_over_budget = 0;  ///< not decoded: their sender's pixels exceed the budget
};

/// What one sender may cost the decoder, whose time goes with pixels and hardly with bytes: a frame
/// of 161 bytes can have 4096 × 2304. 1080p at 60 frames per second; the burst
/// is for what arrives at once after an outage.
inline constexpr TokenBucket::Options kPixelBudget{.per_second = 60.0 * 1920 * 1080,
                                                   .burst = 120.0 * 1920 * 1080};
/// The least that a frame costs, however small: 320 × 180.
inline constexpr int64_t kFramePixelsMin = int64_t{320} * 180;

/// Replaces the encrypted frame by the decrypted one; false: the frame is not processed further
/// (and may be moved from).
using FrameOpener = std::function<bool(media::EncodedFrame&)>;

/// The receiving half of video: fragments -> assemble -> in decodable order -> decode -> display.
/// Frames beyond kPixelBudget are dropped before the decoder. Peer data never fails a check: what
/// cannot be decoded is counted. Threads: none inside; one owner; frames may be handed out to be
/// decoded in another thread. `now` never goes back.
class VideoReceiver {
 public:
  /// `stuck_max`: how long frames may arrive whose reference never arrived, before a key frame is
  /// requested. A Cress sender recovers from a loss by itself, within a round trip. `open`:
  /// decrypts frames; empty: they are not encrypted. `assembler`: bounds of incomplete frames.
  explicit VideoReceiver(Duration stuck_max = 1s, FrameOpener open = {},
                         media::AssemblerOptions assembler = kAssembler)
      : stuck_max_(stuck_max), open_(std::move(open)), assembler_(assembler) {}
  /// A frame interrupted by an outage is completed after it, because the following ones refer to
  /// it.
  static constexpr media::AssemblerOptions kAssembler{.age_max = 30s};
  // Not copied: two would share the decoder.
  VideoReceiver(VideoReceiver&&) = default;
  VideoReceiver& operator=(VideoReceiver&&) = default;

  /// At most this many frames are in the hands of the other thread, from when they wait to be
  /// handed out until their pictures are taken. With fewer than arrive while the owner is busy, the
  /// other thread would run out of work.
  static constexpr size_t kWorkMax = 8;
  /// From now on frames are handed out by poll_decode_work; without this they are decoded at once.
  void hand_out_work() { hands_out_work_ = true; }

  /// One message of the video flow.
  void handle_fragment(TimePoint now, std::span<const std::byte> message);
  /// A complete frame, encrypted if frames are: for example one that was held back.
  void handle_frame(TimePoint now, media::EncodedFrame frame);
  /// No datagram arrived, but a frame that was waited for may be given up now.
  void handle_timeout(TimePoint now) { decode_ready(now); }
  /// Work from poll_decode_work that has been run, in that order, with any delay. Another
  /// receiver's has no effect.
  void handle_decoded(TimePoint now, const DecodeWork& work);
  TimePoint poll_timeout() const;
  /// The next frame that became due for display by the last handle_*.
  std::optional<ShownFrame> poll_shown();
  /// The next frame to be decoded elsewhere and returned; null: none, or kWorkMax are out. What is
  /// complete meanwhile waits, within media::FrameClockOptions.
  std::shared_ptr<DecodeWork> poll_decode_work();
  /// Before the first frame.
  void set_playout(PlayoutWait wait);
  /// An additional delay before display, for lip sync (AvSync). From the next frame on.
  void set_hold(Duration hold) { hold_ = hold; }

  /// The report for the sender; nullopt before the first decoded frame.
  std::optional<FrameReport> report() const { return report_; }
  /// The references are lost and the sender does not know: nothing was ever decoded, a frame broke
  /// the decoder, or frames keep arriving whose reference never arrived.
  bool needs_key_frame() const;
  const VideoReceiverStats& stats() const { return stats_; }

 private:
  void decode_ready(TimePoint now);
  void finish_decoding(TimePoint now);
  bool is_within_budget(TimePoint now, std::span<const std::byte> frame);
  void note_decoded(uint32_t frame_id);
  TimePoint display_time(TimePoint now, TimePoint captured);
  void wait_longer(TimePoint now);
  void add_decoded(TimePoint now, ShownFrame frame);
  TimePoint next_shown() const;

  Duration stuck_max_;
  FrameOpener open_;
  TimePoint now_ = kTimeZero;  // of the last handle_*
  media::Assembler assembler_;
  media::FrameClock clock_;
  // Shared with work that is out while it runs: the receiver may go then.
  std::shared_ptr<FrameDecoder> decoder_ = std::make_shared<FrameDecoder>();
  bool hands_out_work_ = false;
  std::deque<std::shared_ptr<DecodeWork>> work_;  // at most kWorkMax
  size_t work_out_ = 0;                           // the first ones of it
  TokenBucket pixels_{kPixelBudget};
  int64_t frame_pixels_ = 0;  // of the pictures since the last key frame
  bool has_received_ = false;
  bool decoder_failed_ = false;
  std::optional<TimePoint> stuck_since_;
  std::optional<FrameReport> report_;
  std::optional<media::PlayoutDelay> playout_;
  PlayoutWait playout_wait_;
  std::optional<TimePoint> decoded_at_;  // the newest frame
  Duration decoded_after_{};             // since it was captured, by both clocks
  TimePoint waits_until_ = kTimeZero;    // until then frames that come early wait
  std::optional<TimePoint> paused_at_;   // the end of the last pause
  Duration hold_{};
  std::deque<ShownFrame> decoded_;      // not yet due
  TimePoint newest_until_ = kTimeZero;  // when the newest of decoded_ is due if no other comes
  TimePoint last_shown_ = TimePoint::min();
  VideoReceiverStats stats_;
};

}  // namespace cress::app
