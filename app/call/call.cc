#include "app/call/call.hh"

#include <algorithm>
#include <utility>

#include "media/frame/fragment.hh"

namespace cress::app {
namespace {

// The control flow's only message so far: one byte (docs/protocol/media.md, "Control").
constexpr std::byte kKeyFrameRequest{1};
constexpr Duration kKeyRequestInterval = 300ms;
// What one picture may be padded with: 8 Mbit/s at 30 a second. A peer's forecast may promise
// anything.
constexpr DataSize kPaddingMax{32'000};
// Smaller frames than this show nothing worth a datagram.
constexpr DataSize kFrameMin{300};

}  // namespace

Call::Call(TimePoint start, CallOptions options, std::unique_ptr<sprout::Control> control)
    : endpoint_(start, options.endpoint, std::move(control)), pads_window_(options.pads_window) {
  endpoint_.open_flow(session::kControlFlow,
                      {.priority = session::Priority::kControl, .report_outcomes = false});
  endpoint_.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
  endpoint_.open_flow(session::kPaddingFlow,
                      {.priority = session::Priority::kPadding, .report_outcomes = false});
  if (options.video) {
    sender_.emplace(*options.video);
  }
}

void Call::capture(TimePoint now, const media::PicturePtr& picture) {
  check(sender_.has_value(), "Call: captured a picture without video options");
  const uint32_t id = next_frame_id_++;
  const auto budget = media::frame_budget({.window = endpoint_.control().window(now),
                                           .queued = endpoint_.queued(),
                                           .message_max = endpoint_.message_max(),
                                           .message_overhead = wire::kMessageOverhead,
                                           .minimum = kFrameMin});
  if (!budget) {
    coded_.push_back({.frame_id = id, .captured = now});
    pad(now);
    return;
  }
  const Encoding encoding = sender_->encode(now, id, picture, *budget);
  coded_.push_back(encoding.summary);
  if (!encoding.frame.data.empty()) {
    for (auto& message : media::fragment(encoding.frame, endpoint_.message_max())) {
      const session::MessageId message_id =
          endpoint_.send(now, session::kVideoFlow, std::move(message));
      if (carried_.empty()) {
        first_carried_ = message_id;
      }
      carried_.push_back(id);
    }
  }
  pad(now);
  drain(now);
}

void Call::pad(TimePoint now) {
  DataSize rest = std::min(endpoint_.available_window(now), kPaddingMax);
  while (pads_window_ && rest > DataSize{}) {
    const DataSize size = std::min(rest, endpoint_.message_max());
    endpoint_.send(now, session::kPaddingFlow,
                   std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    rest -= size;
  }
}

void Call::handle_outcome(const session::MessageOutcome& outcome) {
  if (outcome.id < first_carried_ || outcome.id - first_carried_ >= carried_.size()) {
    return;
  }
  if (outcome.kind != session::MessageOutcome::Kind::kDelivered && sender_) {
    sender_->handle_frame_lost(carried_[outcome.id - first_carried_]);
  }
  if (outcome.kind != session::MessageOutcome::Kind::kDropped) {
    // What was sent is decided in order; what was dropped from the queue is younger.
    while (first_carried_ <= outcome.id) {
      carried_.pop_front();
      ++first_carried_;
    }
  }
}

void Call::ask_for_key_frame(TimePoint now) {
  if (receiver_.needs_key_frame() && receiver_.has_received() && now >= next_key_request_) {
    next_key_request_ = now + kKeyRequestInterval;
    endpoint_.send(now, session::kControlFlow, {kKeyFrameRequest});
  }
}

void Call::drain(TimePoint now) {
  while (const auto message = endpoint_.poll_message()) {
    if (message->flow == session::kVideoFlow) {
      receiver_.handle_fragment(now, message->bytes);
    } else if (message->flow == session::kControlFlow && sender_ && message->bytes.size() == 1 &&
               message->bytes[0] == kKeyFrameRequest) {
      sender_->handle_key_frame_request(now);
    }
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    if (outcome->flow == session::kVideoFlow) {
      handle_outcome(*outcome);
    }
  }
  ask_for_key_frame(now);
}

Result<Unit, wire::WireError> Call::handle_datagram(TimePoint now,
                                                    std::span<const std::byte> datagram) {
  auto result = endpoint_.handle_datagram(now, datagram);
  drain(now);
  return result;
}

void Call::handle_timeout(TimePoint now) {
  endpoint_.handle_timeout(now);
  receiver_.handle_timeout(now);
  drain(now);
}

std::optional<std::vector<std::byte>> Call::poll_transmit(TimePoint now) {
  return endpoint_.poll_transmit(now);
}

TimePoint Call::poll_timeout() const {
  return std::min(endpoint_.poll_timeout(), receiver_.poll_timeout());
}

std::optional<CodedVideo> Call::poll_coded() {
  if (coded_.empty()) {
    return std::nullopt;
  }
  const CodedVideo coded = coded_.front();
  coded_.pop_front();
  return coded;
}

}  // namespace cress::app
