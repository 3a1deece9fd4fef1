#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"

namespace cress::traces {

// The messages between two saturators. Big endian; every datagram begins with a header of 26 bytes:
//
//     0  "CSat"
//     4  version 1
//     5  type
//     6  flags: bit 0: feedback path, bit 1: from the connector
//     7  0
//     8  covered (u16)
//    10  tag (16)
//
// The tag is the front of HMAC-SHA-256 over the first `covered` bytes, the tag's own taken as 0: of
// hello, challenge and start with the token's key, of updates with the session's. Bytes after
// `covered` are padding and are ignored. Bodies:
//
//    hello      26 connector's nonce (16); padded to kHelloSize, more than any answer
//    challenge  26 connector's nonce (16)  42 listener's nonce (16)  58 cookie (16)
//    start      26 connector's nonce (16)  42 cookie (16)  58 settings
//    update     26 the fields of SaturateUpdate in order; if there are records: sequence and
//               arrival of the first (8 each), then two varints for each further one: zigzag of
//               (sequence - previous sequence - 1), and arrival - previous arrival
//
// Times are microseconds on the writer's clock.

/// The paths between the two ends: the link under test and, optionally, another.
enum class SaturatePath : uint8_t { kLink = 0, kFeedback = 1 };
inline constexpr size_t kSaturatePaths = 2;

using SaturateNonce = std::array<std::byte, 16>;
using SaturateKey = std::array<std::byte, 32>;

/// The shared secret: SHA-256 of the token with a prefix of ours.
SaturateKey key_of_token(std::string_view token);
/// The key that authenticates updates.
SaturateKey session_key(const SaturateKey& token, const SaturateNonce& connector,
                        const SaturateNonce& listener);
/// A cookie: a peer that returns it has received it at `address`. `secret` is the listener's own.
SaturateNonce path_cookie(const SaturateKey& secret, const Address& address, SaturatePath path,
                          const SaturateNonce& connector);
/// Compares in constant time.
bool same_nonce(const SaturateNonce& a, const SaturateNonce& b);

struct SaturateHello {
  SaturateNonce connector{};
  friend bool operator==(const SaturateHello&, const SaturateHello&) = default;
};

struct SaturateChallenge {
  SaturateNonce connector{};
  SaturateNonce listener{};
  SaturateNonce cookie{};
  friend bool operator==(const SaturateChallenge&, const SaturateChallenge&) = default;
};

struct SaturateStart {
  SaturateNonce connector{};
  SaturateNonce cookie{};
  bool up = true;         ///< the connector sends
  bool down = true;       ///< the listener sends
  bool feedback = false;  ///< there is a feedback path: start only once it is up, too
  friend bool operator==(const SaturateStart&, const SaturateStart&) = default;
};

/// One arrival over the link under test: which datagram, and when on its receiver's clock.
struct SaturateRecord {
  uint64_t sequence = 0;
  TimePoint arrived{};
  friend bool operator==(const SaturateRecord&, const SaturateRecord&) = default;
};

/// The phase of an end.
enum class SaturatePhase : uint8_t {
  kRunning = 0,
  kCollecting = 1,  ///< sends no more load; logs are being completed
  kDone = 2,        ///< has everything it needs
};

/// Load, feedback and the reliable log of arrivals in one message: a large one loads the link, a
/// small one carries information.
struct SaturateUpdate {
  uint64_t sequence = 0;  ///< of this path and direction, from 0
  TimePoint sent{};
  uint64_t newest = 0;  ///< highest sequence that arrived over the link, plus one; 0 for none yet
  TimePoint newest_sent{};     ///< of that one: its own `sent`, returned
  TimePoint newest_arrived{};  ///< of that one: its arrival time here
  uint64_t records_total = 0;  ///< arrivals logged here
  uint64_t records_from =
      0;  ///< how many records of the other end's log have arrived here without a gap
  uint64_t stopped_at = 0;    ///< sequences of the link below this are load; 0 while running
  TimePoint measured_from{};  ///< connector's clock; both 0 until it knows
  TimePoint measured_to{};
  SaturatePhase phase = SaturatePhase::kRunning;
  bool closed = false;        ///< the log will not grow any more
  bool wants_end = false;     ///< the listener's user has asked to stop
  bool filled = false;        ///< the queue towards the reader has been observed full
  uint64_t first_record = 0;  ///< the index in the log of the first entry of `records`
  std::vector<SaturateRecord> records{};
  friend bool operator==(const SaturateUpdate&, const SaturateUpdate&) = default;
};

using SaturateBody = std::variant<SaturateHello, SaturateChallenge, SaturateStart, SaturateUpdate>;

struct SaturateDatagram {
  SaturatePath path = SaturatePath::kLink;
  bool from_connector = false;
  SaturateBody body;
  friend bool operator==(const SaturateDatagram&, const SaturateDatagram&) = default;
};

enum class SaturateWireError {
  kTruncated,  ///< shorter than its fields
  kNotOurs,    ///< from another program
  kBadVersion,
  kBadType,
  kBadField,  ///< an invalid value
};

inline constexpr uint8_t kSaturateVersion = 1;
inline constexpr size_t kHelloSize = 192;
/// Whatever their values, this many fit the smallest datagram that every IPv6 path carries.
inline constexpr size_t kUpdateRecordsMax = 48;
inline constexpr size_t kUpdateSizeMax = 1232;
/// The largest sequence or record number: bounds a run's memory.
inline constexpr uint64_t kSaturateDatagramsMax = 20'000'000;

/// Total: any bytes give a datagram or one error. Does not check the tag.
Result<SaturateDatagram, SaturateWireError> parse_saturate(std::span<const std::byte> bytes);
/// Authenticated with `key`; an update is padded with zeros to `size` if that is larger. At most
/// kUpdateRecordsMax records.
std::vector<std::byte> encode_saturate(const SaturateDatagram& datagram, const SaturateKey& key,
                                       size_t size = 0);
/// Whether the sender of a parsed datagram knew `key`. Constant time.
bool tag_is_good(std::span<const std::byte> bytes, const SaturateKey& key);
/// The offset of an encoded datagram's padding.
size_t covered_size(std::span<const std::byte> bytes);

}  // namespace cress::traces
