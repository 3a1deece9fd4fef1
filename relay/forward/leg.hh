#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "relay/forward/frame_kind.hh"
#include "relay/forward/room_options.hh"
#include "relay/forward/source.hh"
#include "transport/base/fifo.hh"
#include "transport/room/outbox.hh"
#include "transport/session/endpoint.hh"

namespace cress::relay {

/// Where a leg finds whose frame it is about: by slot, null where nobody is.
using Sources = std::array<Source*, kLegsMax>;

/// The relay's end of one member's session, and which pictures of the others it carries. Frames
/// are decided once, at their first fragment, and go whole or not at all: a frame goes when its
/// kind is within the sender's level here, its reference is whole at the relay and went here.
/// Fragments then wait in a lane a sender until the leg's window lets them go: anchors and base
/// before layers, senders in the order of their rank; nothing waits in the session's own queue but
/// one message. What is lost is repeated while that is of use; what was missed takes with it what
/// needs it, and the leg goes on at the newest anchor. Threads: none inside; one owner. `now`
/// never goes back.
class Leg {
 public:
  Leg(TimePoint now, size_t slot, const RoomOptions& options, RoomStats& stats);

  session::Endpoint& endpoint() { return endpoint_; }
  const session::Endpoint& endpoint() const { return endpoint_; }
  room::Outbox& outbox() { return outbox_; }
  const room::Outbox& outbox() const { return outbox_; }

  /// A sound of another member, with its head: at once, unless the link is behind.
  void send_sound(TimePoint now, std::span<const std::byte> message, bool is_silent);

  /// This fragment is here since now, and what parity made of it.
  void handle_fragment(TimePoint now, Source& source, const FrameCache::Added& added);
  /// A frame whose reference was not whole is looked at again.
  void reconsider(TimePoint now, Source& source, CachedFrame& frame);
  /// `outcome`: of the video flow.
  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome,
                      const Sources& sources);

  /// Whom this leg looks at, by slot, first first, and how much it gets of each.
  struct Place {
    size_t slot = 0;
    FrameKind level = FrameKind::kNone;
    /// The leg will not keep up with all anchors of this sender: while one is on its way others are
    /// left out, then the newest goes. Those that it has not are not reported to the sender, so
    /// that the sender's next anchors refer to one that it has.
    bool is_sparse = false;
  };
  void set_plan(TimePoint now, std::span<const Place> ranked, const Sources& sources);
  FrameKind level(size_t source) const;
  /// The sender must not refer to this anchor yet.
  bool holds_back(const Source& source, const CachedFrame& anchor) const;
  /// When the leg last got less of it than before, by plan.
  TimePoint lowered_at(size_t source) const;
  /// The member there is gone, or another.
  void forget_source(size_t source);
  /// The receiver says that it cannot go on with what it got: only a key frame helps.
  void restart(TimePoint now, Source& source);
  /// Goes on at the newest anchor, if that and what it needs are here.
  void resume(TimePoint now, Source& source);
  /// Senders of whom nothing can be shown here before a key frame, by slot.
  uint64_t wants_key_frame() const { return wants_key_frame_; }

  /// Hands to the session what its window lets go; before the endpoint's poll_transmit.
  void feed(TimePoint now, const Sources& sources);
  /// Gives up what has waited too long.
  void expire(TimePoint now, const Sources& sources);

  DataSize waiting() const { return waiting_; }
  /// The share (0..1) of video messages that the network lost lately.
  double loss() const { return loss_; }
  /// What was handed to the session for sending, sound and pictures, lately; and whether more has
  /// waited all that time, so that this is what the link carries. Call once each RateMeter::kStep.
  struct Carriage {
    DataRate rate;
    bool is_all = false;
  };
  Carriage step_carriage();
  /// Frames of the lower kinds that were given up since the last call, because the link was slower
  /// than planned.
  uint64_t take_overruns() { return std::exchange(overruns_, 0); }

 private:
  struct Item {
    uint32_t frame = 0;
    uint16_t index = 0;
    bool is_repeat = false;
    TimePoint since{};
    DataSize size{};
  };
  using Lane = Fifo<Item>;
  /// One sender's pictures here.
  struct Stream {
    FrameKind level = FrameKind::kNone;
    TimePoint lowered_at = kTimeZero - 1h;
    size_t rank = 0;
    Lane essential;                         // anchors, base, and what is repeated
    Lane extra;                             // layers 1 and 2
    std::optional<uint32_t> newest_anchor;  // of those that went here
    std::optional<uint32_t> newest_key;
    TimePoint restarted_at = kTimeZero - 1h;
  };
  struct Carried {
    room::MemberNumber source = room::kNobody;
    uint8_t slot = 0;
    bool is_decided = false;
    uint16_t index = 0;
    uint32_t frame = 0;
  };
  struct Next {
    size_t slot = 0;
    Lane* lane = nullptr;
    const std::vector<std::byte>* message = nullptr;
  };

  Stream& stream_of(size_t source);
  Fate decide(const Source& source, const CachedFrame& frame) const;
  void forward(TimePoint now, Source& source, CachedFrame& frame);
  void push(TimePoint now, Source& source, const CachedFrame& frame, uint16_t index);
  void miss(Source& source, CachedFrame& frame);
  void handle_loss(TimePoint now, const Carried& carried, const Sources& sources);
  static bool is_worth_repeating(TimePoint now, const Stream& stream, const CachedFrame& frame);
  static bool is_too_late(TimePoint now, const Item& item, const CachedFrame& frame);
  std::optional<Next> next(TimePoint now, const Sources& sources);
  void tidy(TimePoint now, Source* source, Stream& stream, Lane& lane);
  void pop(Lane& lane);
  void clear(Source* source, Stream& stream);
  void push_repeat(TimePoint now, Stream& stream, const CachedFrame& frame, uint16_t index);
  void mark(const Stream& stream);
  DataSize sound_reserve(TimePoint now);

  size_t slot_;
  const RoomOptions& options_;  // the room's
  RoomStats& stats_;            // the room's
  session::Endpoint endpoint_;
  room::Outbox outbox_;

  std::array<std::unique_ptr<Stream>, kLegsMax> streams_;
  std::array<uint8_t, kLegsMax> slot_at_rank_{};
  // Ranks whose lanes hold something.
  uint64_t essential_ = 0;
  uint64_t extra_ = 0;
  DataSize waiting_;
  uint64_t wants_key_frame_ = 0;  // by slot

  // What each message of the video flow carries, from first_carried_ on; bounded as the endpoint's
  // own books are.
  Fifo<Carried> carried_;
  session::MessageId first_carried_ = 0;
  double loss_ = 0;
  uint64_t overruns_ = 0;
  RateMeter carried_rate_;
  uint64_t steps_waiting_ = 0;    // in a row, at whose end something waited
  std::optional<size_t> sparse_;  // the one that is, by slot

  // Bytes of sound in the running stretch and the one before.
  std::array<DataSize, 2> sound_{};
  TimePoint sound_since_ = kTimeZero;
};

}  // namespace cress::relay
