#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "media/codec/vp8_decoder.hh"
#include "media/frame/encoded_frame.hh"
#include "media/frame/picture.hh"
#include "transport/base/result.hh"

namespace cress::app {

/// One frame that a VideoReceiver wants decoded. Threads: run() may be called in any; while it runs
/// nothing else may be called. The receiver may go meanwhile.
class DecodeWork {
 public:
  using Outcome = Result<media::PicturePtr, media::DecodeError>;

  DecodeWork(media::EncodedFrame frame, std::weak_ptr<media::Vp8Decoder> decoder)
      : frame_(std::move(frame)), decoder_(std::move(decoder)) {}

  /// Decodes, once; does nothing if the receiver, and with it the decoder, has gone before.
  void run() {
    if (const auto decoder = decoder_.lock()) {
      outcome_ = decoder->decode(frame_.data);
    }
  }

  const media::EncodedFrame& frame() const { return frame_; }
  /// See Vp8Decoder::decode; nullopt before run().
  const std::optional<Outcome>& outcome() const { return outcome_; }

 private:
  media::EncodedFrame frame_;
  // Not owned: what waits for a receiver that has gone costs no time.
  std::weak_ptr<media::Vp8Decoder> decoder_;
  std::optional<Outcome> outcome_;
};

}  // namespace cress::app
