#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "transport/secure/crypto/signature.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/records/control_record.hh"

namespace cress::secure {

// docs/protocol/security.md, "Proof of the same end": by a signature over its session an end of a
// call proves that it has the key that the other end knows from an earlier session.

/// Of one link and one role alone: keys of different links have nothing in common, for somebody who
/// does not have `identity_secret`.
SigningKey identity_key(std::span<const std::byte> identity_secret, const Credential& link,
                        Role role);

/// The proof of this end of a session.
IdentityProof prove_identity(const SigningKey& key, const SessionSecrets& session);

/// Takes the other end's proofs in one session, and verifies few of them: a signature costs 0.1 ms.
/// Threads: none inside; one owner.
class IdentityCheck {
 public:
  /// `forged` counts proofs that are none; borrowed, must outlive this.
  IdentityCheck(const SessionSecrets& session, uint64_t& forged);

  /// The first key that is proven stays. After kForgedMax forged proofs no other is verified.
  void handle(const IdentityProof& proof);
  const std::optional<PublicKey>& key() const { return key_; }

  static constexpr int kForgedMax = 3;

 private:
  std::vector<std::byte> statement_;
  uint64_t* forged_;
  int left_ = kForgedMax;
  std::optional<PublicKey> key_;
};

}  // namespace cress::secure
