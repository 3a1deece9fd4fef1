#include <algorithm>
#include <utility>
#include <variant>

#include "transport/secure/path/peer.hh"

// The two ends of a session prove which keys they have.

namespace cress::secure {
namespace {

/// A proof can be lost like any datagram: until acknowledged it is repeated after 100 ms, 200 ms,
/// ..., 1 s, for about 10 s (kProofTimes counts the first one too).
constexpr Duration kFirstProofRepeat = 100ms;
constexpr Duration kLastProofRepeat = 1s;
constexpr int kProofTimes = 14;

}  // namespace

void Peer::prove(TimePoint now, const IdentityProof& own, IdentityCheck others) {
  proving_ = Proving{.own = own,
                     .others = std::move(others),
                     .left = kProofTimes,
                     .next = now,
                     .interval = kFirstProofRepeat};
  if (proven()) {
    send_control(now, path_, IdentityAcknowledgement{});
  }
}

std::optional<PublicKey> Peer::proven() const {
  return proving_ ? proving_->others.key() : std::nullopt;
}

void Peer::send_proof(TimePoint now) {
  if (!proving_ || proving_->left == 0 || now < proving_->next) {
    return;
  }
  send_control(now, path_, proving_->own);
  --proving_->left;
  proving_->next = now + proving_->interval;
  proving_->interval = std::min(2 * proving_->interval, kLastProofRepeat);
}

void Peer::handle_identity(TimePoint now, const Address& from, const ControlMessage& message) {
  if (!proving_) {
    return;
  }
  if (const auto* proof = std::get_if<IdentityProof>(&message)) {
    proving_->others.handle(*proof);
    if (from == path_) {
      send_control(now, path_, IdentityAcknowledgement{});
    }
  } else if (std::holds_alternative<IdentityAcknowledgement>(message)) {
    proving_->left = 0;
  }
}

}  // namespace cress::secure
