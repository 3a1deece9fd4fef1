#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/secure/crypto/crypto.hh"
#include "transport/secure/crypto/signature.hh"
#include "transport/secure/group/frame_proof.hh"
#include "transport/secure/group/member_card.hh"
#include "transport/secure/group/sframe.hh"
#include "transport/secure/records/replay_window.hh"

namespace cress::secure {

struct RoomKeysOptions {
  SFrameSuite suite = SFrameSuite::kAes128GcmSha256;
  /// The epoch that the room is in, by the relay's welcome; at most kEpochMax.
  uint32_t epoch = 0;
  /// After this many frames of our own (2.4 days at 80 a second) we begin our next key, unless we
  /// seal kEpochsAhead epochs ahead of the room already. Far below what AES-GCM allows one key
  /// (2^32 frames, NIST SP 800-38D §8.3).
  uint64_t frames_per_key = 1U << 24U;
  /// Signs our cards and frames. The same one after a rejoin shows that it is the same program.
  SigningKey identity{};
  /// Draws our secret of each epoch; another one only in tests.
  std::function<Secret()> draw_secret = random_secret;
};

struct CardNews {
  InstanceId instance{};
  PublicKey key{};              ///< that of its member
  std::vector<std::byte> body;  ///< as its member supplied it, at most kCardBodyMax
  /// The sender of the card has seen our card, so it is present now and the card is not a replay.
  /// Before that none of its frames open.
  bool is_live = false;
  /// A different presence than the one before under this number, or the first.
  bool is_new = false;
  friend bool operator==(const CardNews&, const CardNews&) = default;
};

/// The keys of a room at one member: cards identify the members present, frames are encrypted for
/// all of them. What is sealed is for those with the link's `media` secret, which the relay does
/// not have. Whatever the relay replays, swaps or withholds, the worst result is a frame that does
/// not open.
///
/// A sender's key: media(epoch), its instance, and a random secret that it draws for each epoch and
/// seals for each member present (X25519). So whoever left cannot compute the keys that follow, and
/// whoever gets the link later cannot open a recorded call. media(n+1) comes from media(n) by a
/// one-way function. The relay numbers the epochs, because it ends memberships: no card and no
/// frame of a member moves another member's epoch. A KID is the member's number times 256 plus the
/// epoch modulo 256; one counter per presence never repeats, across epochs too.
///
/// A presence is an instance under a number: a card with the instance of another member is another
/// presence, and its end changes nothing for that member.
///
/// Everybody with the link can compute a sender's key. So a member signs its card, and then what it
/// sealed, every 1.5 s; frames are opened at once, and a sender in whose name somebody else turns
/// out to have sent is distrusted from then on: none of its frames opens.
///
/// After handle_card and handle_left, if card_due(), send make_card() to all members through the
/// relay, and each poll_share() to its member; likewise each poll_proof(). Then handle_timeout at
/// poll_timeout: keys of past epochs must not stay in memory, whatever is sent or arrives. Peer
/// data never fails a check. Threads: none inside; one owner. `now` never goes back.
class RoomKeys {
 public:
  /// Created at each join, once the relay has assigned a number (1..65535).
  RoomKeys(const Secret& media, uint16_t member, RoomKeysOptions options = {});

  /// Our card with this body (at most kCardBodyMax bytes); it greets every member whose card has
  /// been seen.
  std::vector<std::byte> make_card(std::span<const std::byte> body);
  /// A member joined that our last card does not greet.
  bool card_due() const { return card_due_; }
  /// The card that the relay presents for `member`. The same card again is not an error.
  Result<CardNews, CardError> handle_card(uint16_t member, std::span<const std::byte> card);
  /// The relay reports that `member` left, and the epoch that the room is in since then. The
  /// presence ends, and we go to that epoch: at most kEpochsAhead per leave.
  void handle_left(TimePoint now, uint16_t member, uint32_t epoch);
  /// Forgets the epochs that ended more than kEpochKept ago. Makes nothing to send.
  void handle_timeout(TimePoint now);
  /// kNever: no past epoch has keys.
  TimePoint poll_timeout() const;

  /// `metadata` travels with the frame, unencrypted. The metadata of two kinds of frames must not
  /// be confusable.
  std::vector<std::byte> seal(TimePoint now, MediaKind kind, std::span<const std::byte> metadata,
                              std::span<const std::byte> plain);
  /// A frame that the relay attributes to `member`. Total.
  Result<std::vector<std::byte>, SFrameError> open(TimePoint now, uint16_t member, MediaKind kind,
                                                   std::span<const std::byte> metadata,
                                                   std::span<const std::byte> frame);
  /// A line of chat, signed by itself: what is read later must be its writer's from the beginning.
  /// At most kChatPlainMax bytes.
  std::vector<std::byte> seal_chat(TimePoint now, std::span<const std::byte> plain);
  /// A line that the relay attributes to `member`. Total. Opens once.
  Result<std::vector<std::byte>, SFrameError> open_chat(TimePoint now, uint16_t member,
                                                        std::span<const std::byte> sealed);
  static constexpr size_t kChatPlainMax = 900;
  static constexpr size_t kChatSizeMax = kChatPlainMax + sizeof(Signature) + kSFrameOverheadMax;

  struct Share {
    uint16_t to = 0;
    std::vector<std::byte> bytes;  ///< kShareSize
  };
  /// Our secret for the epoch in which we seal, for a member that does not have it yet.
  std::optional<Share> poll_share();
  /// A secret that the relay attributes to `member`. Total. False: it is not that member's, or not
  /// for us. That of an erased epoch is not kept.
  bool handle_share(TimePoint now, uint16_t member, std::span<const std::byte> bytes);
  static constexpr size_t kShareSize = 13 + Secret::kSize + kTagSize;

  struct BuiltProof {
    MediaKind kind = MediaKind::kAudio;
    std::vector<std::byte> bytes;  ///< at most kProofSizeMax
  };
  /// Proof of frames that we sealed, when it is due (FrameProver::kInterval): for all who got them.
  std::optional<BuiltProof> poll_proof(TimePoint now);
  TimePoint proof_timeout() const { return prover_.poll_timeout(); }
  /// A proof that the relay attributes to `member`. Total. False: it is not that member's.
  bool handle_proof(TimePoint now, uint16_t member, std::span<const std::byte> bytes);
  /// Somebody has sent in this member's name: see FrameChecker.
  bool is_distrusted(uint16_t member) const;

  uint16_t member() const { return member_; }
  const InstanceId& instance() const { return instance_; }
  const PublicKey& public_key() const { return options_.identity.public_key(); }
  /// The room's.
  uint32_t epoch() const { return epoch_; }
  /// That of the next frame that we seal.
  uint32_t sealing_epoch() const { return std::min(epoch_ + sealing_ahead_, kEpochMax); }
  bool is_live(uint16_t member) const;
  /// How many keys of other members are in memory: keys of ended presences must not remain there.
  size_t opening_keys() const;
  /// How many epochs before ours can still be opened.
  size_t past_epochs() const { return past_.size(); }

  static constexpr size_t kPresencesOverMax = 256;
  /// How far ahead of us a member may be that learned of leaves earlier.
  static constexpr uint32_t kEpochsAhead = 4;
  static constexpr Duration kEpochKept = 10s;

 private:
  struct OpenKey {
    uint32_t epoch;
    SFrameKey key;
  };
  struct Member {
    InstanceId instance{};
    PublicKey key{};
    Secret share_key;  // that of the two of us
    bool share_due = false;
    std::map<uint32_t, Secret> secrets;  // by epoch, at most kSecretsMax
    bool is_live = false;
    uint64_t card_counter = 0;
    std::vector<std::byte> body;
    std::vector<OpenKey> keys;  // of the current epoch and those in past_
    ReplayWindow seen{kReplayKept};
    std::set<uint64_t> chats;  // counters of the lines opened last, at most kChatsKept
    FrameChecker checker{};
  };
  struct Presence {
    uint16_t member = 0;
    InstanceId instance{};
    friend bool operator==(const Presence&, const Presence&) = default;
  };
  /// A sealed frame's header, and the present member that can have sealed it.
  struct Sealed {
    ParsedSFrameHeader parsed;
    uint32_t epoch = 0;
    Member* sender = nullptr;
  };
  struct PastEpoch {
    uint32_t epoch = 0;
    Secret media;
    TimePoint until;  // inclusive
  };
  struct Card;

  Result<Card, CardError> open_card(std::span<const std::byte> bytes) const;
  void advance_to(TimePoint now, uint32_t epoch);
  void renew_sealing();
  uint64_t next_to_seal();
  Result<Sealed, SFrameError> find_sender(uint16_t member, std::span<const std::byte> frame);
  Result<std::vector<std::byte>, SFrameError> decrypt(const Sealed& sealed,
                                                      std::span<const std::byte> metadata,
                                                      std::span<const std::byte> frame) const;
  uint32_t oldest_epoch() const { return past_.empty() ? epoch_ : past_.front().epoch; }
  std::optional<uint32_t> epoch_of(uint64_t kid) const;
  Secret media_of(uint32_t epoch) const;
  SFrameKey make_key(Use use, uint16_t member, const InstanceId& instance, uint32_t epoch,
                     const Secret& secret) const;
  void end_presence(const Presence& presence);
  bool greets_us(const Card& card) const;

  // 2048 frames are 25 s of audio and video: a frame later than that is useless to a call.
  static constexpr size_t kReplayKept = 2048;
  static constexpr uint64_t kEpochsInKid = 256;
  static constexpr size_t kPastEpochsMax = 8;
  // Lines are repeated until they arrive, so that frames sealed later overtake them by far.
  static constexpr size_t kChatsKept = 256;
  static constexpr size_t kSecretsMax = 16;

  RoomKeysOptions options_;
  Secret card_root_;
  uint16_t member_;
  InstanceId instance_{};
  AgreementKey agreement_;

  Secret media_;
  uint32_t epoch_ = 0;
  uint32_t announced_ = 0;      // the newest epoch that the relay named
  uint32_t sealing_ahead_ = 0;  // at most kEpochsAhead
  std::deque<PastEpoch> past_;  // oldest first
  uint64_t next_counter_ = 0;
  uint64_t sealed_with_key_ = 0;
  Secret secret_;  // for the epoch in which we seal
  SFrameKey sealing_;
  uint64_t next_share_ = 0;
  FrameProver prover_;

  std::map<uint16_t, Member> members_;
  std::deque<Presence> over_;  // oldest first
  uint64_t next_card_ = 1;
  bool card_due_ = true;
};

}  // namespace cress::secure
