#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/big_endian.hh"
#include "transport/room/member_number.hh"
#include "transport/secure/crypto/agreement.hh"
#include "transport/secure/crypto/crypto.hh"
#include "transport/secure/crypto/signature.hh"
#include "transport/secure/group/frame_proof.hh"
#include "transport/secure/group/member_card.hh"
#include "transport/secure/group/sframe.hh"

namespace cress::swarm {

/// What a member with the room's secret can seal, with any contents: what secure::RoomKeys seals
/// too, but every field is the caller's choice. Layouts: docs/protocol/wire.md. Threads: none
/// inside; one owner.
class InsiderKeys {
 public:
  struct Other {
    secure::InstanceId instance{};
    secure::AgreementPublic agreement{};
  };
  struct CardChoice {
    secure::InstanceId instance{};
    uint64_t counter = 0;
    secure::CardText text{};  ///< keys and signature are filled in
  };

  explicit InsiderKeys(const secure::Secret& media)
      : media_(media), card_root_(secure::expand(media, "cress room card")) {
    secure::fill_random(instance_);
  }

  const secure::InstanceId& instance() const { return instance_; }
  /// The others whose cards opened.
  const std::map<room::MemberNumber, Other>& others() const { return others_; }

  void learn(room::MemberNumber number, std::span<const std::byte> card) {
    if (card.size() < kCardHeader + secure::kTagSize) {
      return;
    }
    Other other;
    std::copy_n(card.begin() + 1, other.instance.size(), other.instance.begin());
    const auto sealed = card.subspan(kCardHeader, card.size() - kCardHeader - secure::kTagSize);
    std::vector<std::byte> text{sealed.begin(), sealed.end()};
    const auto parsed =
        card_key(secure::Use::kOpen, other.instance)
                .open(number_at(card, kCardCounterAt, 8), card.first(kCardHeader), text,
                      card.last<secure::kTagSize>())
            ? secure::parse_card_text(text)
            : Result<secure::CardText, secure::CardError>{secure::CardError::kBadTag};
    if (parsed) {
      other.agreement = parsed->agreement;
      others_[number] = other;
    }
  }

  std::vector<std::byte> card(CardChoice choice) const {
    std::vector<std::byte> card{std::byte{3}};
    card.insert(card.end(), choice.instance.begin(), choice.instance.end());
    append_number(choice.counter, 8, card);
    choice.text.key = identity_.public_key();
    choice.text.agreement = agreement_.public_key();
    secure::append_card_text(choice.text, card);
    const std::span text = std::span{card}.subspan(kCardHeader);
    const auto signature = identity_.sign(secure::labelled(
        "cress card 3",
        {std::span{card}.first(kCardHeader), text.first(text.size() - sizeof(secure::Signature))}));
    std::ranges::copy(signature, card.end() - sizeof(secure::Signature));
    card.resize(card.size() + secure::kTagSize);
    const std::span<std::byte> all{card};
    card_key(secure::Use::kSeal, choice.instance)
        .seal(choice.counter, all.first(kCardHeader),
              all.subspan(kCardHeader, all.size() - kCardHeader - secure::kTagSize),
              all.last<secure::kTagSize>());
    return card;
  }

  /// The secret of the frames of `epoch`, for one that was learned.
  std::vector<std::byte> share(room::MemberNumber to, uint32_t epoch, uint64_t counter) const {
    std::vector<std::byte> share(kShareHeader + secure::Secret::kSize + secure::kTagSize);
    const auto other = others_.find(to);
    const auto agreed =
        other == others_.end() ? std::nullopt : agreement_.agree(other->second.agreement);
    if (!agreed) {
      return share;
    }
    std::array<std::byte, 2 * secure::Secret::kSize> both{};
    std::ranges::copy(agreed->bytes(), both.begin());
    std::ranges::copy(card_root_.bytes(), both.begin() + secure::Secret::kSize);
    const secure::Secret pair = secure::extract(both, "cress share 1");
    const std::span<std::byte> all{share};
    all[0] = std::byte{1};
    put_number(all, 1, 4, epoch);
    put_number(all, 5, 8, counter);
    std::ranges::copy(secret_.bytes(), all.begin() + kShareHeader);
    secure::AeadKey{secure::Aead::kAes128Gcm, secure::Use::kSeal,
                    secure::expand(pair, label_with("cress share", instance_))}
        .seal(counter, all.first(kShareHeader), all.subspan(kShareHeader, secure::Secret::kSize),
              all.last<secure::kTagSize>());
    return share;
  }

  /// `from`: the number that the frame claims to be of.
  std::vector<std::byte> frame(room::MemberNumber from, uint32_t epoch, uint64_t counter,
                               std::span<const std::byte> metadata,
                               std::span<const std::byte> plain) const {
    secure::Secret media = media_;
    for (uint32_t i = 0; i < std::min(epoch, kEpochsComputed); ++i) {
      media = secure::expand(media, "cress room next");
    }
    std::array<std::byte, 2 * secure::Secret::kSize> both{};
    std::ranges::copy(media.bytes(), both.begin());
    std::ranges::copy(secret_.bytes(), both.begin() + secure::Secret::kSize);
    const secure::Secret base = secure::expand(secure::extract(both, "cress frame 1"),
                                               label_with("cress sender", instance_));
    secure::SFrameKey key{secure::SFrameSuite::kAes128GcmSha256, secure::Use::kSeal,
                          from * uint64_t{256} + epoch % 256, base.bytes()};
    return key.seal(counter, metadata, plain);
  }

  std::vector<std::byte> proof(room::MemberNumber from, const secure::InstanceId& instance,
                               const secure::FrameProof& proof) const {
    secure::ProofContext context{};
    put_number(context, 0, 2, from);
    std::ranges::copy(instance, context.begin() + 2);
    return secure::build_frame_proof(proof, identity_, context);
  }

 private:
  static constexpr size_t kCardHeader = 25;
  static constexpr size_t kCardCounterAt = 17;
  static constexpr size_t kShareHeader = 13;
  static constexpr uint32_t kEpochsComputed = 300;

  static std::string label_with(std::string_view label, const secure::InstanceId& instance) {
    std::string out{label};
    for (const std::byte byte : instance) {
      out.push_back(static_cast<char>(byte));
    }
    return out;
  }
  secure::AeadKey card_key(secure::Use use, const secure::InstanceId& instance) const {
    return {secure::Aead::kAes128Gcm, use,
            secure::expand(card_root_, label_with("cress card", instance))};
  }

  secure::Secret media_;
  secure::Secret card_root_;
  secure::InstanceId instance_{};
  secure::SigningKey identity_;
  secure::AgreementKey agreement_;
  secure::Secret secret_ = secure::random_secret();
  std::map<room::MemberNumber, Other> others_;
};

}  // namespace cress::swarm
