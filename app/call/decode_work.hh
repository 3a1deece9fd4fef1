#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "media/codec/vp8_decoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/frame/picture.hh"
#include "transport/base/result.hh"

namespace cress::app {

/// The decoder of a VideoReceiver: of the thread that runs its work.
struct FrameDecoder {
  media::Vp8Decoder vp8{};
  bool is_broken = false;  ///< by a frame that it could not decode: only a key frame helps
};

/// One frame that a VideoReceiver wants decoded. The work of one receiver is run in order, each
/// once. Threads: run() may be called in another, one for all work of a receiver; before
/// is_done() the outcome is not read. The receiver may go meanwhile.
class DecodeWork {
 public:
  using Outcome = Result<media::PicturePtr, media::DecodeError>;

  DecodeWork(media::EncodedFrame frame, std::weak_ptr<FrameDecoder> decoder)
      : frame_(std::move(frame)), decoder_(std::move(decoder)) {}

  /// Decodes; does nothing if the receiver has gone, or if an earlier frame broke its decoder.
  void run() {
    const auto decoder = decoder_.lock();
    if (decoder && (frame_.key_frame || !decoder->is_broken)) {
      outcome_ = decoder->vp8.decode(frame_.data);
      decoder->is_broken = !*outcome_;
    }
    is_done_.store(true, std::memory_order_release);
  }
  /// run() has returned. Threads: any.
  bool is_done() const { return is_done_.load(std::memory_order_acquire); }

  const media::EncodedFrame& frame() const { return frame_; }
  /// See Vp8Decoder::decode; nullopt: not decoded.
  const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  media::EncodedFrame frame_;
  // Not owned: what waits for a receiver that has gone costs no time.
  std::weak_ptr<FrameDecoder> decoder_;
  std::optional<Outcome> outcome_;
  std::atomic<bool> is_done_ = false;
};

}  // namespace cress::app
