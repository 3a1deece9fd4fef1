#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::wire {

// docs/protocol/wire.md draws every layout here.

inline constexpr int kVersion = 1;
inline constexpr DataSize kHeaderSize{16};
/// Bytes that encryption adds to a datagram: its tag.
inline constexpr DataSize kTagSize{16};
inline constexpr DataSize kFrameHeaderSize{3};
/// Added to one application message: frame header and flow.
inline constexpr DataSize kMessageOverhead{4};
/// The largest UDP payload there is.
inline constexpr DataSize kDatagramMax{65'507};
inline constexpr uint16_t kNoTimestamp = 0xFFFF;
inline constexpr size_t kForecastCountsMax = 64;
inline constexpr uint32_t kForecastCountMax = 1'000'000;
inline constexpr size_t kLostRangesMax = 32;
inline constexpr size_t kArrivalsMax = 128;

/// The low 32 bits of a byte sequence, as sent on the wire. It has no `<`; unwrap is the only
/// conversion to 64 bits.
class WireSeq {
 public:
  constexpr explicit WireSeq(uint32_t raw) : raw_(raw) {}
  static constexpr WireSeq wrap(uint64_t sequence) {
    return WireSeq{static_cast<uint32_t>(sequence)};
  }

  constexpr uint32_t raw() const { return raw_; }

  /// The 64-bit value with these low bits that is nearest to `checkpoint` (never negative).
  constexpr uint64_t unwrap(uint64_t checkpoint) const {
    constexpr uint64_t kSpan = uint64_t{1} << 32U;
    const uint64_t base = (checkpoint & ~(kSpan - 1)) | raw_;
    if (base + kSpan / 2 < checkpoint && base <= UINT64_MAX - kSpan) {
      return base + kSpan;
    }
    if (base > checkpoint && base - checkpoint > kSpan / 2 && base >= kSpan) {
      return base - kSpan;
    }
    return base;
  }

  friend constexpr bool operator==(WireSeq, WireSeq) = default;

 private:
  uint32_t raw_;
};

enum class Protection : uint8_t { kPlain = 0 };

struct Header {
  Protection protection = Protection::kPlain;
  uint16_t time_to_next_ms = 0;
  WireSeq sequence{0};
  /// A distance: sequence minus the sequence of the oldest datagram sent at most 10 ms before. Once
  /// this datagram has arrived, every byte below sequence - throwaway has arrived or is lost.
  uint32_t throwaway = 0;
  uint16_t timestamp_ms = kNoTimestamp;
  uint16_t timestamp_reply_ms = kNoTimestamp;
  friend bool operator==(const Header&, const Header&) = default;
};

/// A range [from, to) of the peer's byte sequence.
struct LostRange {
  uint64_t from = 0;
  uint64_t to = 0;
  friend bool operator==(LostRange, LostRange) = default;
};

/// When a datagram arrived.
struct ArrivalStamp {
  uint64_t sequence = 0;  ///< of the peer's byte sequence, before the datagram
  uint64_t time_100us = 0;
  bool marked = false;  ///< by a queue: congestion experienced (RFC 3168)
  friend bool operator==(ArrivalStamp, ArrivalStamp) = default;
};

/// What the receiver of a direction reports to its sender: under Sprout a forecast (counts), under
/// Cress when datagrams arrived (arrivals), so that the sender can make its own forecast. Times in
/// tenths of a millisecond of the receiver's clock.
struct ForecastFrame {
  uint64_t received_or_lost = 0;
  uint64_t time_100us = 0;
  std::vector<uint32_t> counts;
  std::vector<ArrivalStamp> arrivals;  ///< ascending by sequence, none later than time_100us
  uint64_t decided_before = 0;         ///< <= received_or_lost
  uint64_t lost_complete_from = 0;     ///< <= decided_before
  std::vector<LostRange>
      lost;  ///< ascending, disjoint and not adjacent, within [lost_complete_from, decided_before)
  /// Datagrams came in IP packets that said ECT(1) or CE: the path keeps the field and this end
  /// reads it.
  bool sees_ecn = false;
  friend bool operator==(const ForecastFrame&, const ForecastFrame&) = default;
};

/// One application message of a flow. The bytes belong to the datagram that was parsed.
struct MessageView {
  uint8_t flow = 0;
  std::span<const std::byte> bytes;
};

struct ParsedDatagram {
  Header header;
  std::optional<ForecastFrame> forecast;
  std::vector<MessageView> messages;
  /// Size of all frames: the amount by which the sequence advances, minus its overhead.
  DataSize payload;
};

enum class WireError {
  kTruncated,  ///< shorter than a header, or a frame runs past the end
  kTooLong,    ///< longer than any UDP payload
  kBadVersion,
  kUnsupportedProtection,
  kBadForecast,  ///< not protobuf, or a value outside its documented range
  kBadFrame,     ///< a known frame too short for its fixed fields
};

/// Total: any bytes give a datagram or one error.
Result<ParsedDatagram, WireError> parse_datagram(std::span<const std::byte> bytes);

/// Builds one datagram frame by frame; rejects a frame that would not fit `size_max`.
class DatagramBuilder {
 public:
  /// `size_max`: of the whole UDP payload, kHeaderSize..kDatagramMax.
  explicit DatagramBuilder(DataSize size_max) : DatagramBuilder(size_max, {}) {}
  /// Uses this buffer and discards its contents.
  DatagramBuilder(DataSize size_max, std::vector<std::byte> buffer);

  /// False (and no change) if it does not fit.
  bool add_forecast(const ForecastFrame& forecast);
  bool add_message(uint8_t flow, std::span<const std::byte> bytes);
  bool fits_message(DataSize size) const {
    return payload() + kMessageOverhead + size <= payload_max_;
  }

  /// Size of the frames so far.
  DataSize payload() const;
  /// The finished datagram; the builder must not be used afterwards.
  std::vector<std::byte> finish(const Header& header);

 private:
  bool add_frame(uint8_t type, std::span<const std::byte> prefix, std::span<const std::byte> body);

  DataSize payload_max_;
  std::vector<std::byte> bytes_;
};

}  // namespace cress::wire
