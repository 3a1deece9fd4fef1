#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "transport/base/time.hh"
#include "transport/room/room_message.hh"
#include "transport/session/endpoint.hh"

namespace cress::room {

struct OutboxOptions {
  session::FlowId flow = session::kControlFlow;
  /// News waiting or in transit; news beyond this are refused.
  size_t news_max = 512;
  /// News are handed to the session while less than this of the flow waits there: the session's own
  /// queue drops what exceeds its bound.
  DataSize queued_max{2400};
  /// Proofs of one member's audio, or of its video, that may wait or be in transit; later ones are
  /// refused. During an outage they would accumulate.
  size_t proofs_max = 4;
  /// Lines of chat of one writer that wait or are in transit.
  size_t chats_max = 16;
  /// News dropped by our own queue are retried after this.
  Duration retry_after_drop = 100ms;
};

/// Reliable delivery of news to the other end of a leg: each is repeated when the session reports
/// its loss, until it is delivered or newer news of the same subject replace it
/// (docs/protocol/room.md, "Control"). Order: by subject, the most urgent kind first. The flow must
/// be opened with report_outcomes, and all its outcomes passed in; other messages may use the flow
/// too. Threads: none inside; one owner. `now` never goes back.
class Outbox {
 public:
  explicit Outbox(OutboxOptions options = {}) : options_(options) {}

  /// False: refused, because too many, or too many of its kind, wait. News of a subject that
  /// already waits are always accepted.
  bool put(const RoomMessage& message);
  /// Discards all news not yet delivered.
  void clear();
  /// Outcomes of options.flow, including those of messages that are not ours.
  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome);
  /// Hands over the messages that may be sent: call after put or an outcome, before the endpoint's
  /// poll_transmit, and at poll_timeout.
  void flush(TimePoint now, session::Endpoint& endpoint);
  /// When flush must be called next without another event; kNever if only outcomes are awaited.
  /// While news wait for the session's queue to empty, call flush after each transmission.
  TimePoint poll_timeout() const { return retry_at_; }

  bool empty() const { return news_.empty(); }
  size_t size() const { return news_.size(); }
  /// Whether all news of this kind (an index of RoomMessage) has been delivered.
  bool delivered(size_t kind) const { return waiting(kind) == 0; }
  /// How many news of this kind have not been delivered.
  size_t waiting(size_t kind) const;

 private:
  /// A join and a leave of one member are one subject; each proof, each line of chat, and each
  /// message of shares up, is one of its own.
  struct Subject {
    size_t kind = 0;
    MemberNumber about = kNobody;
    bool of_video = false;
    uint32_t serial = 0;
    friend auto operator<=>(const Subject&, const Subject&) = default;
  };
  struct News {
    std::vector<std::byte> bytes;
    session::Leave leave = session::Leave::kWithinWindow;
    std::optional<session::MessageId> on_its_way;
    TimePoint not_before = kTimeZero;
  };

  static Subject subject_of(const RoomMessage& message);
  bool has_room_for(const Subject& subject) const;

  OutboxOptions options_;
  std::map<Subject, News> news_;                // at most news_max
  std::map<session::MessageId, Subject> sent_;  // of those in transit
  TimePoint retry_at_ = kNever;
  bool has_waiting_ = false;
};

}  // namespace cress::room
