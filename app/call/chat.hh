#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "transport/base/time.hh"
#include "transport/base/token_bucket.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

// Text chat of a call of two: docs/protocol/media.md, "Control". A line exists in the memory of
// those who are there, and nowhere else.

/// Bytes of UTF-8 in one line.
inline constexpr size_t kChatLineMax = 900;
/// How fast a person may write, and how fast an end takes lines: what an honest end sends after an
/// outage is always taken.
inline constexpr TokenBucket::Options kChatSendRate{.per_second = 1, .burst = 5};
inline constexpr TokenBucket::Options kChatTakeRate{.per_second = 2, .burst = 24};

/// `text` as it may be displayed (clean_text), without spaces around it; empty: nothing is left.
std::string clean_line(std::string_view text);

/// A line in transit.
struct ChatLine {
  uint32_t serial = 0;  ///< from 1; a line with one not above the last is a repetition
  std::string text{};   ///< as clean_line returns it
  friend bool operator==(const ChatLine&, const ChatLine&) = default;
};

/// Sends lines in order: one is in transit at a time, and repeated until it is delivered. Threads:
/// none inside; one owner. `now` never goes back.
class ChatSender {
 public:
  /// Lines not yet delivered.
  static constexpr size_t kWaitingMax = 16;

  /// False: nothing to say, too fast, or too many wait.
  bool put(TimePoint now, std::string_view text);
  /// Outcomes of the control flow, including those of messages that are not ours.
  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome);
  void flush(TimePoint now, session::Endpoint& endpoint);
  TimePoint poll_timeout() const;
  /// Own lines that the other end is not known to have.
  size_t waiting() const { return lines_.size(); }

 private:
  TokenBucket rate_{kChatSendRate};
  std::deque<ChatLine> lines_;  // at most kWaitingMax
  uint32_t serial_ = 0;
  std::optional<session::MessageId> in_transit_;
  TimePoint not_before_ = kTimeZero;
};

/// Takes each line once, and not more of them than an honest end sends. Threads: none inside; one
/// owner. `now` never goes back.
class ChatReceiver {
 public:
  /// Lines not yet polled; then the oldest is dropped.
  static constexpr size_t kHeldMax = 64;

  void handle(TimePoint now, ChatLine line);
  std::optional<std::string> poll();
  uint64_t over_limit() const { return over_limit_; }

 private:
  TokenBucket rate_{kChatTakeRate};
  std::deque<std::string> lines_;  // at most kHeldMax
  uint32_t serial_ = 0;
  uint64_t over_limit_ = 0;
};

}  // namespace cress::app
