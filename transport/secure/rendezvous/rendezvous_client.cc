#include "transport/secure/rendezvous/rendezvous_client.hh"

#include <algorithm>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"

namespace cress::secure {
namespace {

constexpr Duration kFirstAskAgain = 100ms;
constexpr Duration kLastAskAgain = 1s;
/// A place may become free.
constexpr Duration kRefusedAskAgain = 500ms;
constexpr Duration kSilenceSpacing = 500ms;
constexpr size_t kRelaysMax = 8;

}  // namespace

RendezvousClient::RendezvousClient(TimePoint now, const RendezvousOptions& options)
    : key_(rendezvous_key(options.secret)),
      relays_(options.relays),
      asked_at_(now),
      ask_at_(now),
      interval_(kFirstAskAgain) {
  check(!relays_.empty(), "RendezvousClient: needs an address");
  relays_.resize(std::min(relays_.size(), kRelaysMax));
  registration_.role = options.role;
  registration_.call = key_.public_key();
  fill_random(registration_.party);
  std::array<std::byte, sizeof registration_.transaction> random{};
  fill_random(random);
  for (const std::byte byte : random) {
    registration_.transaction = (registration_.transaction << 8U) | std::to_integer<uint64_t>(byte);
  }
  ask(now);
}

void RendezvousClient::ask(TimePoint now) {
  const auto bytes = serialize(registration_);
  out_.clear();
  for (const Address& relay : relays_) {
    if (!relay_ || relay == *relay_) {
      out_.push_back({relay, bytes});
    }
  }
  asked_at_ = now;
  ask_at_ = now + interval_;
  interval_ = std::min(2 * interval_, kLastAskAgain);
}

bool RendezvousClient::handle_datagram(TimePoint now, const Address& from,
                                       std::span<const std::byte> bytes) {
  if (std::ranges::find(relays_, from) == relays_.end() || (relay_ && from != *relay_)) {
    return false;
  }
  if (const auto answer = parse_cookie_answer(bytes)) {
    // The same cookie twice answers two requests: the signature of the first is under way.
    if (answer->transaction != registration_.transaction ||
        (is_signed_ && answer->cookie == registration_.cookie)) {
      return false;
    }
    relay_ = from;
    registration_.cookie = answer->cookie;
    sign(registration_, key_);
    is_signed_ = true;
    interval_ = kFirstAskAgain;
    ask(now);
    return true;
  }
  const auto answer = parse_status_answer(bytes);
  if (!answer || answer->transaction != registration_.transaction) {
    return false;
  }
  handle_status(now, from, *answer);
  return true;
}

void RendezvousClient::handle_status(TimePoint now, const Address& from,
                                     const StatusAnswer& answer) {
  relay_ = from;
  status_ = answer.status;
  const bool is_registered =
      answer.status == RendezvousStatus::kAlone || answer.status == RendezvousStatus::kTogether;
  if (is_registered) {
    seen_ = answer.seen;
  }
  if (answer.status != RendezvousStatus::kBusy) {
    busy_since_.reset();
  } else if (!busy_since_) {
    busy_since_ = now;
  }
  is_busy_for_long_ = busy_since_ && now >= *busy_since_ + kBusyMax;
  interval_ = kFirstAskAgain;
  ask_at_ = now + (is_registered ? kRefresh : kRefusedAskAgain);
}

void RendezvousClient::handle_timeout(TimePoint now) {
  if (now < ask_at_) {
    return;
  }
  // Unanswered for long: another of its addresses may be reachable now.
  if (relay_ && interval_ == kLastAskAgain) {
    relay_.reset();
  }
  ask(now);
}

void RendezvousClient::handle_network_change(TimePoint now) {
  relay_.reset();
  interval_ = kFirstAskAgain;
  ask(now);
}

void RendezvousClient::handle_silence(TimePoint now) {
  if (now >= asked_at_ + kSilenceSpacing && interval_ == kFirstAskAgain) {
    interval_ = kFirstAskAgain;
    ask(now);
  }
}

void RendezvousClient::handle_forgotten(TimePoint now) {
  status_.reset();
  interval_ = kFirstAskAgain;
  ask_at_ = std::max(now, asked_at_ + kSilenceSpacing);
}

std::optional<Transmit> RendezvousClient::poll_transmit() { return take_front(out_); }

std::optional<RendezvousStatus> RendezvousClient::refusal() const {
  if (!status_ || *status_ == RendezvousStatus::kAlone || *status_ == RendezvousStatus::kTogether ||
      (*status_ == RendezvousStatus::kBusy && !is_busy_for_long_)) {
    return std::nullopt;
  }
  return status_;
}

}  // namespace cress::secure
