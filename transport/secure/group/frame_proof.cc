#include "transport/secure/group/frame_proof.hh"

#include <algorithm>
#include <string_view>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"
#include "transport/secure/crypto/comparison_code.hh"

namespace cress::secure {
namespace {

// docs/protocol/wire.md, "Frame proofs"
constexpr std::byte kVersion{1};
constexpr size_t kKindAt = 1;
constexpr size_t kFirstAt = 2;
constexpr size_t kCountAt = 10;
constexpr size_t kHeader = 11;
constexpr std::string_view kLabel = "cress proof 1";

size_t mask_size(size_t count) { return (count + 7) / 8; }

std::byte mask_bit(size_t i) { return std::byte{1} << (i % 8); }

size_t hashes_in(const FrameProof& proof) {
  return static_cast<size_t>(
      std::ranges::count_if(proof.frames, [](const auto& frame) { return frame.has_value(); }));
}

/// Total: everything before the signature.
std::optional<FrameProof> parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader || bytes[0] != kVersion || bytes[kKindAt] > std::byte{1} ||
      bytes[kCountAt] == std::byte{}) {
    return std::nullopt;
  }
  const auto count = std::to_integer<size_t>(bytes[kCountAt]);
  FrameProof proof{.kind = static_cast<MediaKind>(bytes[kKindAt]),
                   .first = number_at(bytes, kFirstAt, 8),
                   .frames = std::vector<std::optional<FrameHash>>(count)};
  if (proof.first > UINT64_MAX - count || bytes.size() < kHeader + mask_size(count)) {
    return std::nullopt;
  }
  const auto mask = bytes.subspan(kHeader, mask_size(count));
  auto rest = bytes.subspan(kHeader + mask.size());
  for (size_t i = 0; i < mask.size() * 8; ++i) {
    if ((mask[i / 8] & mask_bit(i)) == std::byte{}) {
      continue;
    }
    if (i >= count || rest.size() < sizeof(FrameHash)) {
      return std::nullopt;
    }
    std::copy_n(rest.begin(), sizeof(FrameHash), proof.frames[i].emplace().begin());
    rest = rest.subspan(sizeof(FrameHash));
  }
  return rest.empty() && hashes_in(proof) <= kProofFramesMax ? std::optional{std::move(proof)}
                                                             : std::nullopt;
}

}  // namespace

FrameHash hash_frame(std::span<const std::byte> metadata, std::span<const std::byte> frame) {
  const auto digest = sha256(metadata, frame);
  FrameHash hash{};
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hash;
}

ProofContext proof_context(uint16_t member, const InstanceId& instance) {
  ProofContext context{};
  put_number(context, 0, 2, member);
  std::ranges::copy(instance, context.begin() + 2);
  return context;
}

std::vector<std::byte> build_frame_proof(const FrameProof& proof, const SigningKey& key,
                                         const ProofContext& context) {
  const size_t count = proof.frames.size();
  check(count > 0 && count <= kProofSpanMax && hashes_in(proof) <= kProofFramesMax,
        "a frame proof covers a second's frames");
  std::vector<std::byte> out{kVersion, static_cast<std::byte>(proof.kind)};
  append_number(proof.first, 8, out);
  append_number(count, 1, out);
  out.resize(kHeader + mask_size(count));
  for (size_t i = 0; i < count; ++i) {
    if (const auto& hash = proof.frames[i]) {
      out[kHeader + i / 8] |= mask_bit(i);
      out.insert(out.end(), hash->begin(), hash->end());
    }
  }
  const Signature signature = key.sign(labelled(kLabel, {context, out}));
  out.insert(out.end(), signature.begin(), signature.end());
  return out;
}

std::optional<FrameProof> open_frame_proof(std::span<const std::byte> bytes, const PublicKey& key,
                                           const ProofContext& context) {
  constexpr size_t kSignatureSize = sizeof(Signature);
  if (bytes.size() <= kSignatureSize || bytes.size() > kProofSizeMax) {
    return std::nullopt;
  }
  const auto text = bytes.first(bytes.size() - kSignatureSize);
  auto proof = parse(text);
  Signature signature{};
  std::copy_n(bytes.end() - kSignatureSize, kSignatureSize, signature.begin());
  if (!proof || !is_signed_by(key, labelled(kLabel, {context, text}), signature)) {
    return std::nullopt;
  }
  return proof;
}

std::string key_code(const PublicKey& key) {
  constexpr std::string_view kCodeLabel = "cress code 1";
  return comparison_code(sha256(std::as_bytes(std::span{kCodeLabel}), key));
}

// ---- the sender

void FrameProver::add(TimePoint now, MediaKind kind, uint64_t counter, const FrameHash& hash) {
  Pending& pending = of(kind);
  FrameProof& proof = pending.proof;
  if (!proof.frames.empty() &&
      (counter - proof.first >= kProofSpanMax || pending.hashes == kProofFramesMax)) {
    full_.push_back(std::exchange(proof, {}));
  }
  if (proof.frames.empty()) {
    proof = {.kind = kind, .first = counter};
    pending.hashes = 0;
    pending.due = now + kInterval;
  }
  proof.frames.resize(counter - proof.first + 1);
  proof.frames.back() = hash;
  ++pending.hashes;
}

std::optional<FrameProof> FrameProver::poll(TimePoint now) {
  if (!full_.empty()) {
    FrameProof proof = std::move(full_.front());
    full_.pop_front();
    return proof;
  }
  for (Pending& pending : pending_) {
    if (pending.due <= now) {
      pending.due = kNever;
      return std::exchange(pending.proof, {});
    }
  }
  return std::nullopt;
}

TimePoint FrameProver::poll_timeout() const {
  return full_.empty() ? std::min(pending_[0].due, pending_[1].due) : kTimeZero;
}

// ---- a receiver

std::optional<bool> FrameChecker::contradicts(const FrameProof& proof, MediaKind kind,
                                              uint64_t counter, const FrameHash& hash) {
  if (counter < proof.first || counter - proof.first >= proof.frames.size()) {
    return std::nullopt;
  }
  const auto& proven = proof.frames[counter - proof.first];
  if (proof.kind == kind) {
    return proven != hash;
  }
  return proven ? std::optional{true} : std::nullopt;  // a counter is of one frame
}

bool FrameChecker::check(TimePoint now, MediaKind kind, uint64_t counter, const FrameHash& hash) {
  forget(now);
  for (const FrameProof& proof : proofs_) {
    if (const auto differs = contradicts(proof, kind, counter, hash)) {
      is_forged_ = is_forged_ || *differs;
      return !*differs;
    }
  }
  if (unproven_.size() == kUnprovenMax) {
    debt_ = kDebtMax;
    return false;
  }
  unproven_.insert_or_assign(counter, Opened{kind, hash, now});
  return true;
}

void FrameChecker::handle_proof(TimePoint now, FrameProof proof) {
  forget(now);
  const uint64_t end = proof.first + proof.frames.size();
  expect(end);
  for (auto at = unproven_.lower_bound(proof.first); at != unproven_.end() && at->first < end;) {
    const auto differs = contradicts(proof, at->second.kind, at->first, at->second.hash);
    is_forged_ = is_forged_ || differs.value_or(false);
    debt_ = differs ? std::max(debt_ - 0.1, 0.0) : debt_;
    at = differs ? unproven_.erase(at) : std::next(at);
  }
  if (proofs_.size() == kProofsKept) {
    proofs_.pop_front();
  }
  proofs_.push_back(std::move(proof));
}

void FrameChecker::expect(uint64_t next_counter) { expected_ = std::max(expected_, next_counter); }

void FrameChecker::forget(TimePoint now) {
  // The lowest counter is the oldest frame, but for a few that arrived late.
  while (!unproven_.empty() && unproven_.begin()->second.at < now - kProvenWithin) {
    unproven_.erase(unproven_.begin());
    debt_ += 1;
  }
}

}  // namespace cress::secure
