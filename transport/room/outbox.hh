#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "transport/base/time.hh"
#include "transport/room/room_message.hh"
#include "transport/session/endpoint.hh"

namespace cress::room {

struct OutboxOptions {
  session::FlowId flow = session::kControlFlow;
  /// News that wait or are on their way; what comes beyond is refused.
  size_t news_max = 512;
  /// News are handed to the session while less than this of the flow waits there: the session's own
  /// queue drops what is too much.
  DataSize queued_max{2400};
  /// What our own queue dropped is tried again after this.
  Duration retry_after_drop = 100ms;
};

/// News for the other end of a leg that must arrive, however often their datagrams are lost: each
/// is repeated when the session says that it was lost, until it is delivered or newer news of the
/// same subject replace it (docs/protocol/room.md, "Control"). Order: by subject, what the other
/// end must know first first. The flow must be opened with report_outcomes, and all its outcomes
/// handed in; other messages may use it too. Threads: none inside; one owner. `now` never goes
/// back.
class Outbox {
 public:
  explicit Outbox(OutboxOptions options = {}) : options_(options) {}

  /// False: refused, too much waits. News of a subject that waits are always taken.
  bool put(const RoomMessage& message);
  /// Forgets what would have been told.
  void clear();
  /// Of options.flow, also of messages that are not ours.
  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome);
  /// Hands over what may go: call when something was put or an outcome came, before the endpoint's
  /// poll_transmit, and at poll_timeout.
  void flush(TimePoint now, session::Endpoint& endpoint);
  /// When flush is wanted next of itself; kNever when only outcomes are waited for. While
  /// something waits for the session's queue to empty, flush is wanted after each transmission.
  TimePoint poll_timeout() const { return retry_at_; }

  bool empty() const { return news_.empty(); }
  size_t size() const { return news_.size(); }
  /// Every news of this kind (an index of RoomMessage) has been delivered.
  bool delivered(size_t kind) const;

 private:
  /// Kind first, then whom it is about: who joined and who left are one subject.
  using Subject = std::pair<size_t, MemberNumber>;
  struct News {
    std::vector<std::byte> bytes;
    std::optional<session::MessageId> on_its_way;
    TimePoint not_before = kTimeZero;
  };

  static Subject subject_of(const RoomMessage& message);

  OutboxOptions options_;
  std::map<Subject, News> news_;                // at most news_max
  std::map<session::MessageId, Subject> sent_;  // of those on their way
  TimePoint retry_at_ = kNever;
  bool has_waiting_ = false;
};

}  // namespace cress::room
