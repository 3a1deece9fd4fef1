// Any bytes are a proof or are refused, only a signed one opens, and a receiver takes any proofs
// and frames. Input: a sequence of (1 byte: kind and whether it is a proof, 2 bytes: counter, 1
// byte: length, that many bytes: a proof's frames, or a frame).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/base/big_endian.hh"
#include "transport/secure/group/frame_proof.hh"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cress;
  using namespace cress::secure;
  static const SigningKey key;
  const ProofContext context{};
  const auto all = std::as_bytes(std::span{data, size});
  if (open_frame_proof(all, key.public_key(), context)) {
    std::abort();  // forged
  }
  FrameChecker checker;
  TimePoint now = kTimeZero;
  for (auto rest = all; rest.size() >= 4;) {
    const auto what = std::to_integer<unsigned>(rest[0]);
    const auto kind = static_cast<MediaKind>(what & 1U);
    const uint64_t counter = number_at(rest, 1, 2);
    const size_t length = std::min(std::to_integer<size_t>(rest[3]), rest.size() - 4);
    const auto bytes = rest.subspan(4, length);
    rest = rest.subspan(4 + length);
    now += std::chrono::milliseconds{what};
    if ((what & 2U) == 0 || bytes.empty()) {
      (void)checker.check(now, kind, counter, hash_frame({}, bytes));
      continue;
    }
    FrameProof proof{.kind = kind, .first = counter};
    for (const std::byte byte : bytes.first(std::min(bytes.size(), kProofFramesMax))) {
      proof.frames.push_back(byte == std::byte{} ? std::nullopt : std::optional{FrameHash{byte}});
    }
    if (open_frame_proof(build_frame_proof(proof, key, context), key.public_key(), context) !=
        proof) {
      std::abort();
    }
    checker.handle_proof(now, std::move(proof));
    if (checker.unproven() > FrameChecker::kUnprovenMax) {
      std::abort();
    }
  }
  return 0;
}
