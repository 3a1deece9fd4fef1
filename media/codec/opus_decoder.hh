#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "media/codec/opus_packet.hh"
#include "media/source/audio_source.hh"
#include "transport/base/result.hh"

namespace cress::media {

/// Opus (RFC 6716) through libopus: one output channel, whatever the packet has. Call it once per
/// 20 ms, in order: with the frame's packet; without it, with the next frame's packet if that holds
/// a copy; otherwise conceal. Errors: peer data gives an OpusError and never throws; set-up throws
/// std::runtime_error with libopus's message. Threads: none inside; one owner.
class OpusDecoder {
 public:
  OpusDecoder();
  ~OpusDecoder();
  OpusDecoder(OpusDecoder&&) noexcept;
  OpusDecoder& operator=(OpusDecoder&&) noexcept;

  /// One packet of one frame.
  Result<AudioFrame, OpusError> decode(std::span<const std::byte> packet);
  /// The frame before `next`, from the copy in `next`. Decode `next` itself afterwards.
  Result<AudioFrame, OpusError> decode_fec(std::span<const std::byte> next);
  /// Continues without a packet: after speech with a fading continuation, after silence with
  /// background noise. Whole frames only: libopus computes at least 10 ms of speech, so shorter
  /// pieces would not fit together.
  AudioFrame conceal();
  /// Resets all state: another sender begins.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::media
