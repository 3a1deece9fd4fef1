#include "transport/secure/handshake/joining.hh"

#include <algorithm>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

/// Attempts at one address are at least this far apart.
constexpr Duration kAttemptSpacing = 200ms;

/// IPv6 and IPv4 alternate, starting with the first one's family (RFC 8305 §4): if one of them
/// leads nowhere, it causes little delay.
std::vector<Address> interleaved(const std::vector<Address>& addresses) {
  std::deque<Address> waiting{addresses.begin(), addresses.end()};
  std::vector<Address> out;
  while (!waiting.empty()) {
    const auto other = std::ranges::find_if(waiting, [&](const Address& address) {
      return out.empty() || address.is_ipv4() != out.back().is_ipv4();
    });
    const auto next = other == waiting.end() ? waiting.begin() : other;
    out.push_back(*next);
    waiting.erase(next);
  }
  return out;
}

}  // namespace

Joining::Joining(TimePoint now, const HandshakeContext& context,
                 const std::vector<Address>& listeners, Duration last_repeat)
    : context_(context), last_repeat_(last_repeat) {
  check(!listeners.empty(), "Joining: an address to call");
  for (const Address& to : interleaved(listeners)) {
    const bool is_known = std::ranges::find(lanes_, to, &Lane::to) != lanes_.end();
    if (!is_known && lanes_.size() < kAddressesMax) {
      const auto before = static_cast<int64_t>(lanes_.size());
      lanes_.push_back({.to = to, .begin_at = now + before * kAddressSpacing});
    }
  }
  begin(now, lanes_.front());
}

void Joining::begin(TimePoint now, Lane& lane) {
  ++counts_.begun;
  lane.begin_at = kNever;
  lane.handshake = std::make_unique<Handshake>(now, context_, last_repeat_);
  settle(now, lane);
}

bool Joining::handle_datagram(TimePoint now, const Address& from,
                              std::span<const std::byte> bytes) {
  const auto lane = std::ranges::find(lanes_, from, &Lane::to);
  if (state_ != State::kRunning || lane == lanes_.end() || lane->handshake == nullptr ||
      !lane->handshake->handle_datagram(now, bytes)) {
    return false;
  }
  settle(now, *lane);
  return true;
}

void Joining::handle_timeout(TimePoint now) {
  for (Lane& lane : lanes_) {
    if (state_ == State::kRunning && lane.handshake != nullptr) {
      lane.handshake->handle_timeout(now);
      settle(now, lane);
    }
    if (state_ == State::kRunning && now >= lane.begin_at) {
      begin(now, lane);
    }
  }
}

void Joining::settle(TimePoint now, Lane& lane) {
  while (auto bytes = lane.handshake->poll_transmit()) {
    out_.push_back({lane.to, *std::move(bytes)});
  }
  switch (lane.handshake->state()) {
    case Handshake::State::kRunning:
      return;
    case Handshake::State::kComplete:
      state_ = State::kComplete;
      complete_ = static_cast<size_t>(&lane - lanes_.data());
      return;
    case Handshake::State::kWrongSecret:
      lane.has_refused = true;
      lane.handshake.reset();
      break;
    case Handshake::State::kFailed:
      ++counts_.failed;
      lane.has_failed = true;
      lane.begin_at = std::max(now, lane.handshake->began() + kAttemptSpacing);
      lane.handshake.reset();
      break;
  }
  const bool is_hopeless = std::ranges::all_of(
      lanes_, [](const Lane& each) { return each.has_refused || each.has_failed; });
  if (is_hopeless && std::ranges::any_of(lanes_, &Lane::has_refused)) {
    state_ = State::kWrongSecret;
  }
}

bool Joining::may_be_complete_there() const {
  return std::ranges::any_of(lanes_, [](const Lane& lane) {
    return lane.handshake != nullptr && lane.handshake->may_be_complete_there();
  });
}

std::optional<Transmit> Joining::poll_transmit() { return take_front(out_); }

TimePoint Joining::poll_timeout() const {
  TimePoint next = kNever;
  if (state_ != State::kRunning) {
    return next;
  }
  for (const Lane& lane : lanes_) {
    next =
        std::min(next, lane.handshake != nullptr ? lane.handshake->poll_timeout() : lane.begin_at);
  }
  return next;
}

}  // namespace cress::secure
