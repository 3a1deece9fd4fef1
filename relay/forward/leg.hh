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

/// Sources by member slot; null if the slot is free.
using Sources = std::array<Source*, kLegsMax>;

/// The relay's end of one member's session; it decides which video frames of the other members are
/// forwarded. Each frame is decided once, at its first fragment, and is forwarded completely or not
/// at all: it is forwarded if its kind is within the sender's level on this leg, and its reference
/// is complete at the relay and was forwarded here. Fragments then wait in one lane per sender
/// until the leg's window admits them: anchors and base frames before layers, senders by rank; at
/// most one message waits in the session's own queue. Lost fragments are retransmitted while that
/// is useful. When a frame is missed, frames that depend on it are missed too, and the leg
/// continues at the newest anchor. Threads: none inside; one owner. `now` never goes back.
class Leg {
 public:
  Leg(TimePoint now, size_t slot, const RoomOptions& options, RoomStats& stats);

  session::Endpoint& endpoint() { return endpoint_; }
  const session::Endpoint& endpoint() const { return endpoint_; }
  room::Outbox& outbox() { return outbox_; }
  const room::Outbox& outbox() const { return outbox_; }

  /// An audio message of another member, with its header: sent at once, unless the link is
  /// congested.
  void send_sound(TimePoint now, std::span<const std::byte> message, bool is_silent);

  /// A fragment arrived, with any that parity reconstructed.
  void handle_fragment(TimePoint now, Source& source, const FrameCache::Added& added);
  /// Decides again on a frame whose reference was not complete before.
  void reconsider(TimePoint now, Source& source, CachedFrame& frame);
  /// `outcome`: of a message of the video flow.
  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome,
                      const Sources& sources);

  /// The senders that this leg requests, by slot, in order of priority, and the level of each.
  struct Place {
    size_t slot = 0;
    FrameKind level = FrameKind::kNone;
    /// The leg cannot carry all anchors of this sender: while one is in transit others are left
    /// out, then the newest is sent. Anchors left out are not reported to the sender, so that its
    /// next anchors refer to one that the leg has.
    bool is_sparse = false;
  };
  void set_plan(TimePoint now, std::span<const Place> ranked, const Sources& sources);
  FrameKind level(size_t source) const;
  /// The sender must not refer to this anchor yet.
  bool holds_back(const Source& source, const CachedFrame& anchor) const;
  /// When the plan last lowered the level of this source.
  TimePoint lowered_at(size_t source) const;
  /// The member in that slot has left, or changed.
  void forget_source(size_t source);
  /// The receiver reports that it cannot decode further: only a key frame helps.
  void restart(TimePoint now, Source& source);
  /// Continues at the newest anchor, if that and its references are here.
  void resume(TimePoint now, Source& source);
  /// Senders, by slot, whose video cannot be displayed here before a key frame.
  uint64_t wants_key_frame() const { return wants_key_frame_; }

  /// Hands messages to the session as far as its window allows; call before the endpoint's
  /// poll_transmit.
  void feed(TimePoint now, const Sources& sources);
  /// Discards messages that have waited too long.
  void expire(TimePoint now, const Sources& sources);

  DataSize waiting() const { return waiting_; }
  /// The share (0..1) of video messages recently lost in the network.
  double loss() const { return loss_; }
  /// Bytes recently handed to the session, audio and video; and whether more was waiting all that
  /// time, so that this is what the link can carry. Call once per RateMeter::kStep.
  struct Carriage {
    DataRate rate;
    bool is_all = false;
  };
  Carriage step_carriage();
  /// Frames of the lower kinds discarded since the last call because the link was slower than
  /// planned.
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
  /// One sender's video on this leg.
  struct Stream {
    FrameKind level = FrameKind::kNone;
    TimePoint lowered_at = kTimeZero - 1h;
    size_t rank = 0;
    Lane essential;                         // anchors, base frames, and retransmissions
    Lane extra;                             // layers 1 and 2
    std::optional<uint32_t> newest_anchor;  // of those forwarded here
    std::optional<uint32_t> newest_key;
    std::optional<uint32_t> resumed_from;   // the cached key frame of the newest resume()
    std::optional<uint32_t> useless_until;  // key frames up to this one do not help the receiver
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
  Forwarding decide(const Source& source, const CachedFrame& frame) const;
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
  /// What frames leave to audio: as much as the audio of the 60 ms before these took.
  DataSize sound_reserve(TimePoint now);

  size_t slot_;
  const RoomOptions& options_;  // owned by the room
  RoomStats& stats_;            // owned by the room
  session::Endpoint endpoint_;
  room::Outbox outbox_;

  std::array<std::unique_ptr<Stream>, kLegsMax> streams_;
  std::array<uint8_t, kLegsMax> slot_at_rank_{};
  // Ranks whose lanes are not empty.
  uint64_t essential_ = 0;
  uint64_t extra_ = 0;
  DataSize waiting_;
  uint64_t wants_key_frame_ = 0;  // by slot

  // The content of each message of the video flow, from first_carried_ on; bounded like the
  // endpoint's own record.
  Fifo<Carried> carried_;
  session::MessageId first_carried_ = 0;
  double loss_ = 0;
  uint64_t overruns_ = 0;
  RateMeter carried_rate_;
  uint64_t steps_waiting_ = 0;    // consecutive steps that ended with messages waiting
  std::optional<size_t> sparse_;  // the sparse sender, by slot

  // Bytes of audio in the current period and the one before.
  std::array<DataSize, 2> sound_{};
  TimePoint sound_since_ = kTimeZero;
};

}  // namespace cress::relay
