#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

// SFrame (RFC 9605): end-to-end encryption of frames from sender to receivers, independent of the
// path. Header, keys and ciphertexts are those of the RFC, checked against its appendix C; which
// key a KID selects is the application's choice (room_keys.hh). Layout: docs/protocol/wire.md,
// "Sealed frames".

/// RFC 9605 §8.1.
enum class SFrameSuite : uint16_t {
  kAes128GcmSha256 = 0x0004,  ///< AES_128_GCM_SHA256_128
  kAes256GcmSha512 = 0x0005,  ///< AES_256_GCM_SHA512_128
};

enum class SFrameError {
  kTruncated,    ///< shorter than its header and tag
  kNotMinimal,   ///< a number encoded in more bytes than it needs (§4.3 forbids that)
  kUnknownKey,   ///< no member's key, or of an epoch that is over or has not begun
  kReplayed,     ///< its counter was used, or is too old to decide
  kBadTag,       ///< not from the sender, or modified in transit
  kNoSecretYet,  ///< its sender's secret for that epoch has not come
  kNotProven,    ///< somebody with the link sealed it, but its sender did not sign it
};

struct SFrameHeader {
  uint64_t kid = 0;
  uint64_t counter = 0;
  friend bool operator==(const SFrameHeader&, const SFrameHeader&) = default;
};

/// §4.3: a byte with the lengths, then KID and CTR; each takes 0 bytes if below 8, otherwise 1 to
/// 8.
inline constexpr size_t kSFrameHeaderMax = 17;
/// The most that encryption adds.
inline constexpr size_t kSFrameOverheadMax = kSFrameHeaderMax + kTagSize;

struct ParsedSFrameHeader {
  SFrameHeader header;
  size_t size = 0;  ///< bytes that the header took
};

/// Appends.
void append_sframe_header(const SFrameHeader& header, std::vector<std::byte>& out);
/// Total. The bytes after the header are ignored.
Result<ParsedSFrameHeader, SFrameError> parse_sframe_header(std::span<const std::byte> frame);

/// The key of one KID, to seal or to open (§4.4.1: never both). Threads: none inside; one owner.
class SFrameKey {
 public:
  SFrameKey(SFrameSuite suite, Use use, uint64_t kid, std::span<const std::byte> base_key);

  /// Returns header, ciphertext and tag. A counter must not be used twice; the caller ensures that.
  /// `metadata`: authenticated data that travels unencrypted next to the frame; it is not part of
  /// the result.
  std::vector<std::byte> seal(uint64_t counter, std::span<const std::byte> metadata,
                              std::span<const std::byte> plain);
  /// `frame`: the whole frame; `parsed`: its header. Total. Does not check for replays.
  Result<std::vector<std::byte>, SFrameError> open(const ParsedSFrameHeader& parsed,
                                                   std::span<const std::byte> metadata,
                                                   std::span<const std::byte> frame);
  uint64_t kid() const { return kid_; }

 private:
  uint64_t kid_;
  AeadKey key_;
};

}  // namespace cress::secure
