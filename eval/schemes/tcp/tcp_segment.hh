#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eval/schemes/tcp/tcp_ranges.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// IPv4 (20), TCP (20) and the timestamps option with its padding (12, RFC 7323 appendix A).
inline constexpr DataSize kTcpHeader{52};
/// What a full segment carries on a path with an MTU of 1500 bytes.
inline constexpr DataSize kTcpPayloadMax{1448};
/// In addition to timestamps the option space of 40 bytes holds three SACK blocks (RFC 2018, §3).
inline constexpr size_t kTcpSackBlocksMax = 3;
/// No modelled flow reaches it; keeps every sum in the parser and the machines far from overflow.
inline constexpr int64_t kTcpSequenceMax = int64_t{1} << 60;
/// 1 GiB, the largest window that scaling allows (RFC 7323, §2.3).
inline constexpr DataSize kTcpWindowMax{int64_t{1} << 30};

/// A modelled TCP segment: its header fields, and its payload's size. The payload itself does not
/// exist: only its length counts. Differs from RFC 9293 on the wire: numbers have 64 bits and
/// timestamps are nanoseconds, so that nothing wraps within a run; the link is still charged for
/// the real header (`wire_size`).
struct TcpSegment {
  int64_t sequence = 0;             ///< number of the first payload byte; the flow starts at 0
  DataSize payload{};               ///< 0 for a pure acknowledgement
  int64_t acknowledgement = 0;      ///< the next byte expected
  DataSize window{};                ///< how many bytes may follow `acknowledgement`
  TimePoint timestamp{};            ///< the sender's clock when this was sent (TSval)
  std::optional<TimePoint> echo{};  ///< TSecr; absent until something was received
  std::vector<TcpRange> sacks{};    ///< at most kTcpSackBlocksMax, the newest first

  friend bool operator==(const TcpSegment&, const TcpSegment&) = default;
};

enum class TcpSegmentError {
  kTruncated,  ///< shorter than its layout
  kTrailing,   ///< longer than its layout
  kBadFlags,   ///< an undefined bit, or more SACK blocks than fit
  kBadRange,   ///< a number outside its limits, or a SACK block that is empty or backwards
};

/// Size of the IP packet that would carry this segment: 1500 for a full one, 52 for a pure
/// acknowledgement, and 4 + 8 a block for SACK.
DataSize wire_size(const TcpSegment& segment);

/// Layout, little-endian: flags u8 (bit 0: echo present), SACK blocks u8, payload u16, window u32,
/// sequence u64, acknowledgement u64, timestamp i64 (ns), echo i64 (ns; 0 when absent), then begin
/// u64 and end u64 for each block. `segment` must be within the limits above (a check).
std::vector<std::byte> encode(const TcpSegment& segment);

/// Total: any bytes give a segment or one error, and parse_tcp_segment(encode(s)) == s.
Result<TcpSegment, TcpSegmentError> parse_tcp_segment(std::span<const std::byte> bytes);

}  // namespace cress::schemes
