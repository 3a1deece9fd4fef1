#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/call/call_receiver.hh"
#include "app/call/call_sender.hh"
#include "app/call/chat.hh"
#include "app/room/chat_order.hh"
#include "app/room/room_seal.hh"
#include "app/room/sound_mixer.hh"
#include "transport/base/fifo.hh"
#include "transport/base/token_bucket.hh"
#include "transport/room/outbox.hh"
#include "transport/room/room_message.hh"
#include "transport/secure/group/room_keys.hh"
#include "transport/session/endpoint.hh"

namespace cress::room {

/// By name: at most RoomMember::kKnownKeysMax.
using KnownKeys = std::map<std::string, secure::PublicKey>;

struct RoomMemberOptions {
  session::EndpointOptions endpoint{};
  /// Signs what this member sends: the same one for each join of one program.
  secure::SigningKey identity{};
  /// How this member's camera is encoded; empty: it only receives. See room_video().
  std::optional<app::VideoSenderOptions> video{};
  /// From the room's link (secure::derive_room).
  secure::Secret media{};
  app::PersonState person{};
  /// The key last seen under each name, of joins before.
  KnownKeys known_keys{};
  /// This member was in the room before: that presence ends.
  std::optional<room::Replacing> replaces{};
  /// A sound card sets the pace: audio is taken by play() whenever it asks, not by poll_played().
  bool paced_by_sound_card = false;
  /// Pictures are handed out by poll_encode_work instead of being encoded at once,
  bool hands_out_encoding = false;
  /// frames by poll_decode_work instead of being decoded at once.
  bool hands_out_decoding = false;
  app::Preference prefer = app::kUsualPreference;
};

/// `video` with the layers and anchors that a relay needs.
app::VideoSenderOptions room_video(app::VideoSenderOptions video);

/// The known state of another member.
struct OtherMember {
  MemberNumber number = kNobody;
  app::PersonState person{};
  /// Proven to be present now, with the room's link. Before that the member is unidentified: none
  /// of its media is displayed or played, and none of ours is forwarded to it.
  bool is_live = false;
  /// To be compared by voice with what the member reads as its own (secure::key_code); empty before
  /// a card has come.
  std::string key_code{};
  /// Frames came in this member's name that it did not send, or that never proved to be its own:
  /// from then on none of its media is displayed or played.
  bool is_distrusted = false;
  /// Level of the audio played last, dBov: 0 loudest, -127 silence.
  double level_dbov = -127;
  uint64_t frames_shown = 0;
  uint64_t key_frames_asked = 0;
  uint64_t frames_unopened = 0;  ///< forged, modified, replayed, or without a key
  uint64_t frames_undecodable = 0;
  uint64_t frames_over_budget = 0;  ///< see app::kPixelBudget
  uint64_t sounds_unopened = 0;
  uint64_t sound_played = 0;  ///< frames of 20 ms of speech, including concealed ones
  uint64_t sound_concealed = 0;
};

struct RoomEvent {
  enum class Kind {
    kWelcome,  ///< in the room; `member` is the own number
    kPresent,  ///< identified now; joined before us
    kJoined,   ///< identified now; joined after us
    kChanged,  ///< name, muted, camera off
    kLeft,
    kSpeaker,     ///< `member` speaks, or none does
    kFarewell,    ///< out of the room; no event follows
    kKeyChanged,  ///< joined under an earlier member's name, with another key
    kDistrusted,  ///< see OtherMember::is_distrusted
    /// Wrote `text`, signed by that member whatever else came in its name. In the order written,
    /// except for lines that come too late (ChatOrder).
    kChat,
  };
  Kind kind = Kind::kWelcome;
  MemberNumber member = kNobody;
  room::LeaveReason left = room::LeaveReason::kLeft;  ///< for kLeft
  room::Farewell farewell{};                          ///< for kFarewell
  std::string text{};                                 ///< for kChat, as app::clean_line returns it
};

struct RoomShown {
  MemberNumber member = kNobody;
  app::ShownFrame frame;
};

/// Counts of rejected input, by reason.
struct RoomMemberStats {
  uint64_t control_malformed = 0;
  uint64_t from_unknown = 0;    ///< audio and fragments from members whose card is unknown
  uint64_t cards_refused = 0;   ///< old, forged, or from another room
  uint64_t others_refused = 0;  ///< beyond kOthersMax
  uint64_t shares_refused = 0;  ///< not sealed by that member for this one
  uint64_t proofs_refused = 0;  ///< not signed by the member in whose name they came
  uint64_t chats_refused = 0;   ///< likewise, or repeated, or nothing in it can be displayed
  uint64_t chats_over_limit = 0;
};

/// One member of a room, without I/O: a session with the relay, which sends the own camera and
/// microphone, encrypted, and receives all other members', decrypted. The relay reports who is
/// present; all of them are listed. A member is identified by a card made by someone with the
/// room's link, and our media goes to identified members alone. After each handle_* and verb poll
/// transmit, event, coded, shown and played until empty, then sleep until poll_timeout. Data from
/// the relay never fail a check; bad data is counted. Threads: none inside; one owner; pictures may
/// be encoded and frames decoded in others (RoomMemberOptions::hands_out_...). `now` never goes
/// back.
class RoomMember {
 public:
  /// Further members are neither displayed nor played.
  static constexpr size_t kOthersMax = 64;
  /// Encrypted frames of a member whose proof of presence, or secret, is in transit, kept until it
  /// arrives.
  static constexpr size_t kWaitingMax = 32;
  /// Lines of chat likewise.
  static constexpr size_t kChatsWaitingMax = 8;
  static constexpr size_t kKnownKeysMax = 256;
  /// Room messages that arrived before the welcome.
  static constexpr size_t kEarlyMax = 256;

  RoomMember(TimePoint start, RoomMemberOptions options, std::unique_ptr<control::Control> control);
  RoomMember(const RoomMember&) = delete;
  RoomMember& operator=(const RoomMember&) = delete;

  /// See app::CallSender.
  void capture(TimePoint now, const media::PicturePtr& picture);
  std::shared_ptr<app::EncodeWork> poll_encode_work();
  void handle_encoded(TimePoint now, app::EncodeWork& work);
  /// 20 ms of the own microphone; the last sample was captured just now.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);
  /// The state of this person that is sent to the others: at once.
  void set_person(TimePoint now, app::PersonState person);
  /// The video that this member requests: pinned member (or kNobody), number at the same time,
  /// height of the tallest.
  void set_view(TimePoint now, MemberNumber pinned, uint32_t pictures, uint32_t height);
  /// Text for the members present. False: nothing to say, too fast, too much waits, or not in the
  /// room.
  bool send_chat(TimePoint now, std::string_view text);
  /// Own lines that the relay is not known to have.
  size_t chat_waiting() const;
  /// Sends a close, as far as it still gets through: drop the session soon after.
  void leave(TimePoint now);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram,
                                                Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  /// See app::VideoReceiver.
  void handle_decoded(TimePoint now, const app::DecodeWork& work);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  TimePoint poll_timeout() const;
  void set_datagram_max(DataSize size);

  std::optional<RoomEvent> poll_event();
  std::optional<app::CodedVideo> poll_coded();
  std::optional<RoomShown> poll_shown();
  /// See app::VideoReceiver.
  std::shared_ptr<app::DecodeWork> poll_decode_work();
  /// All others mixed, every 20 ms from the first audio on.
  std::optional<app::PlayedAudio> poll_played();
  /// The next 20 ms of all others mixed, now.
  app::PlayedAudio play(TimePoint now);

  /// kNobody before the relay's welcome.
  MemberNumber number() const { return welcome_ ? welcome_->number : kNobody; }
  const std::optional<room::Welcome>& welcome() const { return welcome_; }
  const std::optional<room::Farewell>& farewell() const { return farewell_; }
  /// Of the own key: see OtherMember::key_code.
  std::string key_code() const { return secure::key_code(options_.identity.public_key()); }
  /// Of the room's keys; 0 before the welcome.
  uint32_t epoch() const { return keys_ ? keys_->epoch() : 0; }
  /// How many epochs before it still have keys in memory: those that ended in the last 10 s.
  size_t past_epochs() const { return keys_ ? keys_->past_epochs() : 0; }
  /// For the next join.
  const KnownKeys& known_keys() const { return options_.known_keys; }
  MemberNumber speaker() const { return speaker_.number; }
  /// As requested by the relay; nullopt: no request yet, and no video is sent.
  std::optional<DataRate> video_rate_max() const { return video_rate_max_; }
  /// Everybody that the relay named or whose media came, in the order of their numbers.
  std::vector<OtherMember> others() const;
  const session::Endpoint& endpoint() const { return endpoint_; }
  /// The share (0..1) of own messages recently lost in the network.
  double loss() const { return sender_ ? sender_->loss() : 0; }
  const RoomMemberStats& stats() const { return stats_; }

 private:
  struct Other {
    explicit Other(app::CallReceiverOptions options) : receiver(std::move(options)) {}
    bool is_known = false;      // by a card
    bool is_announced = false;  // by an event: it is identified
    OtherMember view;
    secure::PublicKey key{};
    app::CallReceiver receiver;
    std::deque<media::EncodedFrame> waiting{};  // encrypted; at most kWaitingMax
    std::deque<room::Chat> waiting_chats{};     // likewise, at most kChatsWaitingMax
    TokenBucket chats{app::kChatTakeRate};
    ChatOrder order{};
  };

  void drain(TimePoint now);
  void handle_message(TimePoint now, const session::MessageReceived& message);
  void handle_media(TimePoint now, const session::MessageReceived& message);
  void handle_control(TimePoint now, std::span<const std::byte> bytes);
  void handle_welcome(TimePoint now, const room::Welcome& welcome);
  void handle_member(TimePoint now, const room::MemberNews& news);
  void handle_share(TimePoint now, const room::MemberShare& news);
  void handle_proof(TimePoint now, const room::MemberProof& news);
  void handle_chat(TimePoint now, const room::MemberChat& news);
  void open_chat(TimePoint now, Other& other, const room::Chat& chat);
  void show_chat(const Other& other, std::vector<std::string> lines);
  void note_key(const Other& other);
  void handle_left(TimePoint now, const room::MemberLeft& left);
  void handle_speaker(const room::SpeakerNews& speaker);
  void handle_video_rate(TimePoint now, const room::VideoRate& rate);
  void handle_farewell(const room::Farewell& farewell);
  /// Null for one that has left, and beyond kOthersMax.
  Other* add_other(MemberNumber number);
  bool open(MemberNumber number, media::EncodedFrame& frame);
  void open_waiting(TimePoint now, Other& other);
  void settle_others(TimePoint now);
  void tell_card();
  void tell_audience();
  void tell_shares();
  void tell_proofs(TimePoint now);

  RoomMemberOptions options_;
  session::Endpoint endpoint_;
  TimePoint now_;
  room::Outbox outbox_;
  std::optional<room::Welcome> welcome_;
  std::optional<room::Farewell> farewell_;
  std::vector<std::vector<std::byte>> early_;  // at most kEarlyMax
  // From the welcome on.
  std::optional<secure::RoomKeys> keys_;
  std::optional<RoomSeal> seal_;
  std::optional<app::CallSender> sender_;
  uint32_t card_revision_ = 0;
  bool card_changed_ = false;
  uint32_t share_serial_ = 0;
  uint32_t proof_serial_ = 0;
  uint32_t chat_serial_ = 0;
  TokenBucket chat_rate_{app::kChatSendRate};
  uint32_t audience_revision_ = 0;
  bool audience_changed_ = false;
  room::View view_;
  room::SpeakerNews speaker_;
  room::VideoRate video_rate_;
  std::optional<DataRate> video_rate_max_;

  std::map<MemberNumber, Other> others_;  // at most kOthersMax
  // Those that left last, at most kOthersMax: what is still on its way must not bring them back.
  // The relay gives each presence its own number, until it has given all.
  Fifo<MemberNumber> departed_;
  SoundMixer mixer_;
  std::optional<TimePoint> next_play_;  // if no sound card sets the pace
  // These grow by what one call can bring and are drained after it.
  std::deque<RoomEvent> events_;
  std::deque<RoomShown> shown_;
  std::deque<app::PlayedAudio> played_;
  RoomMemberStats stats_;
};

}  // namespace cress::room
