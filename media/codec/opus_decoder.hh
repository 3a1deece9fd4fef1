#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "media/codec/opus_packet.hh"
#include "media/source/audio_source.hh"
#include "transport/base/result.hh"

namespace cress::media {

/// What `conceal` counts in: 2.5 ms, the shortest piece libopus makes up.
inline constexpr size_t kOpusConcealStep = 120;

/// Opus (RFC 6716) through libopus: one channel out, whatever the packet has.
/// Call it once for each 20 ms, in order: with the frame's packet, else with the next frame's if
/// that holds a copy, else with nothing.
/// Errors: what the peer sent gives an OpusError and never throws; set-up throws
/// std::runtime_error with libopus's words.
/// Threads: none inside; one owner.
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
  /// Goes on without a packet: from speech it makes up a fading continuation, from silence the
  /// background noise. `out`: a multiple of kOpusConcealStep, at most a frame.
  void conceal(std::span<int16_t> out);
  /// Forgets everything: another sender begins.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::media
