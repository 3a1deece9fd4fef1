#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "media/codec/opus_packet.hh"
#include "media/source/audio_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

inline constexpr DataRate kOpusRateMin = DataRate::kilobits_per_second(6);
inline constexpr DataRate kOpusRateMax = DataRate::kilobits_per_second(128);

struct OpusEncoderOptions {
  /// kOpusRateMin..kOpusRateMax.
  DataRate target = DataRate::kilobits_per_second(24);
  /// 0..10, libopus's scale; fixed, so that the same audio gives the same bytes on a busy machine.
  int complexity = 9;
  /// Discontinuous transmission: no packets in silence.
  bool dtx = true;
};

struct CodedSound {
  /// Empty: silence that needs no packet (DTX). A packet that is not active describes background
  /// noise.
  std::vector<std::byte> data;
  OpusPacketInfo info;

  bool is_silence() const { return data.empty(); }
  DataSize size() const { return DataSize{static_cast<int64_t>(data.size())}; }
};

/// Opus (RFC 6716) through libopus, tuned for speech: one channel, 20 ms, variable bitrate bounded
/// by the target. With an expected loss, packets carry a coarser copy of the frame before. Errors:
/// set-up throws std::runtime_error with libopus's message. Threads: none inside; one owner.
class OpusEncoder {
 public:
  explicit OpusEncoder(const OpusEncoderOptions& options = {});
  ~OpusEncoder();
  OpusEncoder(OpusEncoder&&) noexcept;
  OpusEncoder& operator=(OpusEncoder&&) noexcept;

  CodedSound encode(const AudioFrame& frame);

  /// From the next frame on; clamped to kOpusRateMin..kOpusRateMax.
  void set_target(DataRate target);
  /// Expected share (0..1) of packets lost, from the next frame on. 0 turns the copies off; a
  /// larger share gives them more bits.
  void set_expected_loss(double share);

  /// How much later than its input a frame's audio leaves a decoder.
  Duration delay() const;
  DataRate target() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::media
