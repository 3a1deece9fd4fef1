#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

/// The messages of a `gcc` call: the same information as RTP with the transport-wide sequence
/// number, RTX, and the RTCP messages for transport-wide feedback
/// (draft-holmer-rmcat-transport-wide- cc-extensions-01), NACK and PLI (RFC 4585), in about as many
/// bytes, in a layout of our own. Sequence numbers have 32 bits and do not wrap: that is eight
/// months at 200 packets a second. Layout (big-endian), after one byte of kind:
///   1 media     transport sequence (4), media sequence (4), flags (1; bit 0: sent again),
///               round trip in ms (2), then a fragment (docs/protocol/media.md)
///   2 padding   transport sequence (4), then bytes of no meaning
///   3 feedback  first transport sequence (4), count (2), the earliest arrival in µs (8),
///               µs from the last arrival to this feedback (4), then for each sequence (2): time
///               after the earliest in units of 250 µs, or 0xffff for lost
///   4 nack      count (1), then media sequences (4 each)
///   5 key frame request
/// Threads: pure functions.
namespace cress::schemes {

struct GccMedia {
  uint32_t transport_sequence = 0;
  uint32_t media_sequence = 0;
  bool sent_again = false;
  /// The sender's round trip, by which the receiver spaces its requests (in RTP: by RTCP XR).
  Duration round_trip{};
  /// Borrowed from the datagram.
  std::span<const std::byte> fragment{};
};

struct GccPadding {
  uint32_t transport_sequence = 0;
};

struct GccFeedback {
  uint32_t first_sequence = 0;
  /// By the receiver's clock, one for each sequence number from the first on; empty: lost. At least
  /// one arrived. Whole units of kGccTimeUnit after the earliest of them.
  std::vector<std::optional<TimePoint>> arrivals{};
  /// From the last arrival until this was sent.
  Duration held{};
};

struct GccNack {
  std::vector<uint32_t> media_sequences{};
};

struct GccKeyFrameRequest {};

/// The parsed message: only the part that `kind` names is set; a key frame request has none.
struct GccPacket {
  enum class Kind { kMedia, kPadding, kFeedback, kNack, kKeyFrameRequest };
  Kind kind = Kind::kKeyFrameRequest;
  GccMedia media{};
  GccPadding padding{};
  GccFeedback feedback{};
  GccNack nack{};
};

enum class GccPacketError {
  kTruncated,  ///< shorter than its kind requires
  kBadKind,    ///< no such kind
  kBadLength,  ///< longer or shorter than its count says
  kBadCount,   ///< nothing in it, or more than allowed
  kBadTime,    ///< an impossible clock value
};

inline constexpr DataSize kGccMediaHeader{12};
inline constexpr DataSize kGccPaddingHeader{5};
inline constexpr Duration kGccTimeUnit = 250us;
inline constexpr size_t kGccFeedbackMax =
    500;                                    ///< sequence numbers in one feedback: it fits an MTU
inline constexpr size_t kGccNackMax = 250;  ///< sequence numbers in one request

std::vector<std::byte> encode(const GccMedia& media);
/// `size`: of the whole packet, at least kGccPaddingHeader.
std::vector<std::byte> encode(const GccPadding& padding, DataSize size);
/// Arrivals are rounded down to units and must lie within 16 s of the earliest.
std::vector<std::byte> encode(const GccFeedback& feedback);
std::vector<std::byte> encode(const GccNack& nack);
std::vector<std::byte> encode(const GccKeyFrameRequest& request);

/// Total: any bytes give a packet or one error.
Result<GccPacket, GccPacketError> parse_gcc_packet(std::span<const std::byte> datagram);

}  // namespace cress::schemes
