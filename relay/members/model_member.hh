#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "media/frame/assembler.hh"
#include "media/playout/frame_clock.hh"
#include "relay/forward/frame_kind.hh"
#include "transport/base/rng.hh"
#include "transport/room/outbox.hh"
#include "transport/session/endpoint.hh"

namespace cress::relay {

inline constexpr Duration kPictureEvery = Duration{33'333'333};
inline constexpr Duration kSoundEvery = 20ms;

/// What a member saw of another.
struct SeenFrame {
  room::MemberNumber from = room::kNobody;
  uint32_t id = 0;
  FrameKind kind = FrameKind::kNone;
  TimePoint captured{};
  TimePoint shown{};
};
struct HeardSound {
  room::MemberNumber from = room::kNobody;
  TimePoint captured{};
  TimePoint heard{};
};

struct ModelMemberOptions {
  bool has_camera = true;
  bool speaks = false;
  /// It does not ask what the relay allows.
  std::optional<DataRate> video_rate{};
  int layers = 3;
  /// Parity fragments of each frame.
  int parity = 0;
  /// Without one nobody can verify it.
  bool has_card = true;
};

/// A member of a room without codecs: its frames have the true pattern, sizes and references, its
/// sounds the true sizes and levels. For load, tests and benchmarks of relays; it keeps all that it
/// saw and heard. Threads: none inside; one owner. The relay's bytes are trusted.
class ModelMember {
 public:
  ModelMember(TimePoint now, ModelMemberOptions options, uint64_t seed);

  void handle_datagram(TimePoint now, std::span<const std::byte> datagram, Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now) {
    return endpoint_.poll_transmit(now);
  }
  TimePoint poll_timeout() const {
    return std::min({endpoint_.poll_timeout(), next_picture_, next_sound_});
  }

  void put(const room::RoomMessage& message) { outbox_.put(message); }
  void set_speaks(bool speaks) { options_.speaks = speaks; }
  void set_camera(bool on) { options_.has_camera = on; }

  room::MemberNumber number() const { return welcome_ ? welcome_->number : room::kNobody; }
  const std::optional<room::Welcome>& welcome() const { return welcome_; }
  const std::map<room::MemberNumber, room::Card>& others() const { return others_; }
  /// Of the room's keys, by the welcome and the leaves since.
  uint32_t epoch() const { return epoch_; }
  const std::optional<room::SpeakerNews>& speaker() const { return speaker_; }
  const std::optional<room::VideoRate>& video_rate() const { return video_rate_; }
  const std::optional<room::Farewell>& farewell() const { return farewell_; }
  const std::vector<SeenFrame>& shown() const { return shown_; }
  const std::vector<HeardSound>& heard() const { return heard_; }
  /// Frames that came whole, and what they refer to did not, not even later.
  uint64_t undecodable() const;
  uint64_t wrong_bytes() const { return wrong_bytes_; }
  session::Endpoint& endpoint() { return endpoint_; }

 private:
  struct Seen {
    // A key frame may take seconds on a narrow leg.
    media::Assembler assembler{{.age_max = 8s}};
    media::FrameClock clock{};
    std::set<uint32_t> whole;
    std::map<uint32_t, uint32_t> reference_of;
  };

  FrameKind next_kind() const;
  DataRate rate() const;
  DataSize size_of(FrameKind kind, bool key);
  void capture(TimePoint now);
  void send_frame(TimePoint now, FrameKind kind, const media::EncodedFrame& frame);
  void capture_sound(TimePoint now);
  void drain(TimePoint now);
  void handle_message(TimePoint now, const session::MessageReceived& message);
  void handle_sound(TimePoint now, room::MemberNumber from, std::span<const std::byte> body);
  void handle_fragment(TimePoint now, room::MemberNumber from, std::span<const std::byte> body);
  void show(TimePoint now, room::MemberNumber from, Seen& seen);
  void handle_control(std::span<const std::byte> bytes);
  void handle_room_message(const room::RoomMessage& message);
  void put_audience();

  ModelMemberOptions options_;
  Rng rng_;
  session::Endpoint endpoint_;
  room::Outbox outbox_;
  TimePoint next_picture_;
  TimePoint next_sound_;
  uint64_t sounds_ = 0;

  uint32_t next_id_ = 0;
  uint32_t anchored_at_ = 0;
  std::optional<uint32_t> newest_sent_base_;
  std::optional<uint32_t> known_anchor_;
  std::set<uint32_t> sent_anchors_;
  bool needs_anchor_ = false;
  bool wants_key_ = false;
  std::map<session::MessageId, std::pair<uint32_t, FrameKind>> carried_;

  std::optional<room::Welcome> welcome_;
  std::map<room::MemberNumber, room::Card> others_;
  uint32_t epoch_ = 0;
  uint32_t audience_revision_ = 0;
  std::optional<room::SpeakerNews> speaker_;
  std::optional<room::VideoRate> video_rate_;
  std::optional<room::Farewell> farewell_;
  std::map<room::MemberNumber, Seen> seen_;
  std::vector<SeenFrame> shown_;
  std::vector<HeardSound> heard_;

  uint64_t wrong_bytes_ = 0;
};

}  // namespace cress::relay
