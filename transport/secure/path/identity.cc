#include "transport/secure/path/identity.hh"

#include <string_view>

namespace cress::secure {
namespace {

/// Each direction has its own: no end's proof is good for the other.
std::vector<std::byte> statement_of(const SessionSecrets& session, Role signer) {
  return labelled(signer == Role::kJoiner ? "cress identity 1 joiner" : "cress identity 1 listener",
                  {session.binding.bytes()});
}

}  // namespace

SigningKey identity_key(std::span<const std::byte> identity_secret, const Credential& link,
                        Role role) {
  // The key of the link, not its name of 8 bytes: somebody could make two links of one such name.
  std::vector<std::byte> input{identity_secret.begin(), identity_secret.end()};
  const auto psk = link.psk.bytes();
  input.insert(input.end(), psk.begin(), psk.end());
  const Secret root = extract(input, "cress peer 1");
  wipe(input);
  return SigningKey{
      expand(root, role == Role::kJoiner ? "cress peer joiner" : "cress peer listener")};
}

IdentityProof prove_identity(const SigningKey& key, const SessionSecrets& session) {
  return {key.public_key(), key.sign(statement_of(session, session.role))};
}

IdentityCheck::IdentityCheck(const SessionSecrets& session, uint64_t& forged)
    : statement_(
          statement_of(session, session.role == Role::kJoiner ? Role::kListener : Role::kJoiner)),
      forged_(&forged) {}

void IdentityCheck::handle(const IdentityProof& proof) {
  if (key_ || left_ == 0) {
    return;
  }
  if (is_signed_by(proof.key, statement_, proof.signature)) {
    key_ = proof.key;
  } else {
    --left_;
    ++*forged_;
  }
}

}  // namespace cress::secure
