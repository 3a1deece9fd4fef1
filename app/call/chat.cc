#include "app/call/chat.hh"

#include <algorithm>
#include <utility>

#include "app/call/control_message.hh"
#include "transport/base/clean_text.hh"
#include "transport/base/take_front.hh"
#include "transport/base/text.hh"

namespace cress::app {
namespace {

// A line that was lost is sent again after this: behind an outage the whole window is lost.
constexpr Duration kAgainAfter = 100ms;

}  // namespace

std::string clean_line(std::string_view text) {
  // What separates words is not a control character to be left out.
  std::string spaced{text};
  std::ranges::replace_if(
      spaced, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return std::string{trimmed(clean_text(trimmed(spaced), kChatLineMax))};
}

bool ChatSender::put(TimePoint now, std::string_view text) {
  std::string line = clean_line(text);
  if (line.empty() || lines_.size() == kWaitingMax || !rate_.take(now)) {
    return false;
  }
  lines_.push_back({++serial_, std::move(line)});
  return true;
}

void ChatSender::handle_outcome(TimePoint now, const session::MessageOutcome& outcome) {
  if (outcome.flow != session::kControlFlow || !in_transit_ || outcome.id != *in_transit_) {
    return;
  }
  in_transit_.reset();
  if (outcome.kind == session::MessageOutcome::Kind::kDelivered) {
    lines_.pop_front();
  } else {
    not_before_ = now + kAgainAfter;
  }
}

void ChatSender::flush(TimePoint now, session::Endpoint& endpoint) {
  if (!lines_.empty() && !in_transit_ && now >= not_before_) {
    in_transit_ = endpoint.send(now, session::kControlFlow, encode(lines_.front()));
  }
}

TimePoint ChatSender::poll_timeout() const {
  return lines_.empty() || in_transit_ ? kNever : not_before_;
}

void ChatReceiver::handle(TimePoint now, ChatLine line) {
  if (line.serial <= serial_) {
    return;
  }
  if (!rate_.take(now)) {
    ++over_limit_;
    return;
  }
  serial_ = line.serial;
  if (lines_.size() == kHeldMax) {
    lines_.pop_front();
  }
  lines_.push_back(std::move(line.text));
}

std::optional<std::string> ChatReceiver::poll() { return take_front(lines_); }

}  // namespace cress::app
