#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::secure {

// SFrame (RFC 9605): a frame sealed from sender to receivers, whoever carries it. Header, keys and
// ciphertexts are those of the RFC, checked against its appendix C; which key a KID names is the
// application's (room_keys.hh). Layout: docs/protocol/wire.md, "Sealed frames".

/// RFC 9605 §8.1.
enum class SFrameSuite : uint16_t {
  kAes128GcmSha256 = 0x0004,  ///< AES_128_GCM_SHA256_128
  kAes256GcmSha512 = 0x0005,  ///< AES_256_GCM_SHA512_128
};

enum class SFrameError {
  kTruncated,   ///< shorter than its header and tag
  kNotMinimal,  ///< a number in more bytes than it needs (§4.3 forbids that)
  kUnknownKey,  ///< nobody's, or of a time that is over or has not come
  kReplayed,    ///< its counter was used, or is too old to tell
  kBadTag,      ///< not from the sender, or changed on the way
};

struct SFrameHeader {
  uint64_t kid = 0;
  uint64_t counter = 0;
  friend bool operator==(const SFrameHeader&, const SFrameHeader&) = default;
};

/// §4.3: a byte that says how long, then KID and CTR; each 0 bytes if below 8, else 1 to 8.
inline constexpr size_t kSFrameHeaderMax = 17;
/// What sealing adds at most.
inline constexpr size_t kSFrameOverheadMax = kSFrameHeaderMax + kTagSize;

struct ParsedSFrameHeader {
  SFrameHeader header;
  size_t size = 0;  ///< bytes that it took
};

/// Appends.
void append_sframe_header(const SFrameHeader& header, std::vector<std::byte>& out);
/// Total. What follows the header is left alone.
Result<ParsedSFrameHeader, SFrameError> parse_sframe_header(std::span<const std::byte> frame);

/// The key of one KID, to seal or to open (§4.4.1: never both). Threads: none inside; one owner.
class SFrameKey {
 public:
  SFrameKey(SFrameSuite suite, Use use, uint64_t kid, std::span<const std::byte> base_key);

  /// Header, ciphertext, tag. A counter must not be used twice; the caller sees to it. `metadata`:
  /// what travels readably beside the frame and must not be changed; not a part of what returns.
  std::vector<std::byte> seal(uint64_t counter, std::span<const std::byte> metadata,
                              std::span<const std::byte> plain);
  /// `frame`: whole, `parsed` its header. Total. Says nothing about replays.
  Result<std::vector<std::byte>, SFrameError> open(const ParsedSFrameHeader& parsed,
                                                   std::span<const std::byte> metadata,
                                                   std::span<const std::byte> frame);
  uint64_t kid() const { return kid_; }

 private:
  uint64_t kid_;
  AeadKey key_;
};

}  // namespace cress::secure
