// What a member seals and opens: frames, proven afterwards, and lines of chat, each signed by
// itself.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "transport/base/check.hh"
#include "transport/secure/group/room_keys.hh"

namespace cress::secure {
namespace {

// docs/protocol/wire.md, "Chat"
constexpr std::string_view kChatLabel = "cress chat 1";
// Audio has 11 bytes of metadata and video 16, so that neither can be taken for a line.
constexpr std::array kChatMetadata{std::byte{'c'}};

/// Header and presence too: whoever can open a line could seal it again, for others or later.
std::vector<std::byte> signed_line(const ProofContext& context, const SFrameHeader& header,
                                   std::span<const std::byte> plain) {
  std::vector<std::byte> head;
  append_sframe_header(header, head);
  return labelled(kChatLabel, {context, head, plain});
}

}  // namespace

/// The counter of the next frame, under the key that `sealing_` then is.
uint64_t RoomKeys::next_to_seal() {
  if (sealed_with_key_ == options_.frames_per_key && sealing_ahead_ < kEpochsAhead) {
    ++sealing_ahead_;
    renew_sealing();
  }
  ++sealed_with_key_;
  return next_counter_++;
}

std::vector<std::byte> RoomKeys::seal(TimePoint now, MediaKind kind,
                                      std::span<const std::byte> metadata,
                                      std::span<const std::byte> plain) {
  handle_timeout(now);
  const uint64_t counter = next_to_seal();
  auto frame = sealing_.seal(counter, metadata, plain);
  prover_.add(now, kind, counter, hash_frame(metadata, frame));
  return frame;
}

std::optional<RoomKeys::BuiltProof> RoomKeys::poll_proof(TimePoint now) {
  const auto proof = prover_.poll(now);
  if (!proof) {
    return std::nullopt;
  }
  return BuiltProof{
      proof->kind, build_frame_proof(*proof, options_.identity, proof_context(member_, instance_))};
}

bool RoomKeys::handle_proof(TimePoint now, uint16_t member, std::span<const std::byte> bytes) {
  const auto known = members_.find(member);
  if (known == members_.end() || !known->second.is_live) {
    return false;
  }
  Member& sender = known->second;
  auto proof = open_frame_proof(bytes, sender.key, proof_context(member, sender.instance));
  if (!proof) {
    return false;
  }
  sender.checker.handle_proof(now, *std::move(proof));
  return true;
}

bool RoomKeys::is_distrusted(uint16_t member) const {
  const auto known = members_.find(member);
  return known != members_.end() && known->second.checker.is_distrusted();
}

Result<RoomKeys::Sealed, SFrameError> RoomKeys::find_sender(uint16_t member,
                                                            std::span<const std::byte> frame) {
  const auto parsed = parse_sframe_header(frame);
  if (!parsed) {
    return parsed.error();
  }
  const uint64_t kid = parsed->header.kid;
  const auto known = members_.find(member);
  const auto epoch = epoch_of(kid);
  if (known == members_.end() || !known->second.is_live || kid / kEpochsInKid != member || !epoch) {
    return SFrameError::kUnknownKey;
  }
  return Sealed{*parsed, *epoch, &known->second};
}

/// A key is kept once something has opened with it.
Result<std::vector<std::byte>, SFrameError> RoomKeys::decrypt(
    const Sealed& sealed, std::span<const std::byte> metadata,
    std::span<const std::byte> frame) const {
  Member& sender = *sealed.sender;
  const auto key = std::find_if(sender.keys.begin(), sender.keys.end(),
                                [&](const OpenKey& open) { return open.epoch == sealed.epoch; });
  if (key != sender.keys.end()) {
    return key->key.open(sealed.parsed, metadata, frame);
  }
  const auto secret = sender.secrets.find(sealed.epoch);
  if (secret == sender.secrets.end()) {
    return SFrameError::kNoSecretYet;
  }
  const auto member = static_cast<uint16_t>(sealed.parsed.header.kid / kEpochsInKid);
  SFrameKey fresh = make_key(Use::kOpen, member, sender.instance, sealed.epoch, secret->second);
  auto plain = fresh.open(sealed.parsed, metadata, frame);
  if (plain) {
    sender.keys.push_back({sealed.epoch, std::move(fresh)});
  }
  return plain;
}

Result<std::vector<std::byte>, SFrameError> RoomKeys::open(TimePoint now, uint16_t member,
                                                           MediaKind kind,
                                                           std::span<const std::byte> metadata,
                                                           std::span<const std::byte> frame) {
  handle_timeout(now);
  const auto sealed = find_sender(member, frame);
  if (!sealed) {
    return sealed.error();
  }
  Member& sender = *sealed->sender;
  const uint64_t counter = sealed->parsed.header.counter;
  if (!sender.seen.is_new(counter)) {
    return SFrameError::kReplayed;
  }
  if (sender.checker.is_distrusted() || !sender.checker.is_plausible(counter)) {
    return SFrameError::kNotProven;
  }
  auto plain = decrypt(*sealed, metadata, frame);
  if (!plain) {
    return plain;
  }
  sender.seen.insert(counter);
  if (!sender.checker.check(now, kind, counter, hash_frame(metadata, frame))) {
    return SFrameError::kNotProven;
  }
  return plain;
}

// ---- chat

std::vector<std::byte> RoomKeys::seal_chat(TimePoint now, std::span<const std::byte> plain) {
  check(plain.size() <= kChatPlainMax, "RoomKeys: a line of chat too long");
  handle_timeout(now);
  const uint64_t counter = next_to_seal();
  const Signature signature = options_.identity.sign(signed_line(
      proof_context(member_, instance_), {.kid = sealing_.kid(), .counter = counter}, plain));
  std::vector<std::byte> line{plain.begin(), plain.end()};
  line.insert(line.end(), signature.begin(), signature.end());
  return sealing_.seal(counter, kChatMetadata, line);
}

Result<std::vector<std::byte>, SFrameError> RoomKeys::open_chat(TimePoint now, uint16_t member,
                                                                std::span<const std::byte> bytes) {
  handle_timeout(now);
  const auto sealed = find_sender(member, bytes);
  if (!sealed) {
    return sealed.error();
  }
  const SFrameHeader& header = sealed->parsed.header;
  std::set<uint64_t>& opened = sealed->sender->chats;
  const bool is_old = opened.size() == kChatsKept && header.counter < *opened.begin();
  if (is_old || opened.contains(header.counter)) {
    return SFrameError::kReplayed;
  }
  auto decrypted = decrypt(*sealed, kChatMetadata, bytes);
  if (!decrypted) {
    return decrypted;
  }
  std::vector<std::byte> line = std::move(decrypted).value();
  Signature signature{};
  if (line.size() < signature.size()) {
    return SFrameError::kNotProven;
  }
  std::copy(line.end() - signature.size(), line.end(), signature.begin());
  line.resize(line.size() - signature.size());
  if (!is_signed_by(sealed->sender->key,
                    signed_line(proof_context(member, sealed->sender->instance), header, line),
                    signature)) {
    return SFrameError::kNotProven;
  }
  if (opened.size() == kChatsKept) {
    opened.erase(opened.begin());
  }
  opened.insert(header.counter);
  return line;
}

}  // namespace cress::secure
