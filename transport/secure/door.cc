#include "transport/secure/door.hh"

#include <utility>

#include "transport/base/take_front.hh"

namespace cress::secure {

void DoorStats::count_refused(OpenError error) {
  switch (error) {
    case OpenError::kTruncated:
      ++truncated;
      return;
    case OpenError::kWrongKind:
      ++unknown_kind;
      return;
    case OpenError::kUnknownKey:
      ++unknown_key;
      return;
    case OpenError::kReplayed:
      ++replayed;
      return;
    case OpenError::kBadTag:
      ++bad_tag;
      return;
  }
}

void DoorStats::count_sent(const Transmit& transmit) {
  ++datagrams_sent;
  bytes_sent += transmit.bytes.size();
}

Door::Kind Door::handle_datagram(std::span<const std::byte> bytes) {
  ++stats_.datagrams_received;
  stats_.bytes_received += bytes.size();
  if (!bytes.empty() &&
      (bytes[0] == kRecordKind || bytes[0] == kControlKind || bytes[0] == kRoutedKind)) {
    return Kind::kRecord;
  }
  if (!bytes.empty() && is_handshake_kind(bytes[0])) {
    return Kind::kHandshake;
  }
  if (!bytes.empty() && bytes[0] == kRendezvousKind) {
    return Kind::kRendezvous;
  }
  ++stats_.unknown_kind;
  return Kind::kUnknown;
}

std::optional<HelloGate::Outcome> Door::judge(TimePoint now, const Address& from,
                                              std::span<const std::byte> bytes) {
  if (HelloGate::may_be_hello(bytes) && !limits_.allow_hello(now)) {
    ++stats_.rate_limited;
    return std::nullopt;
  }
  HelloGate::Outcome hello = gate_.judge(now, KeyedHash::bytes_of(from), bytes);
  if (hello.verdict != HelloGate::Verdict::kAnswer) {
    return hello;
  }
  if (!limits_.allow_answer(now) || out_.size() >= out_max_) {
    ++stats_.rate_limited;
  } else {
    ++stats_.cookies_sent;
    out_.push_back({from, std::move(hello.answer)});
  }
  return std::nullopt;
}

bool Door::allow_handshake(TimePoint now, const Address& from) {
  const bool allowed = limits_.allow_handshake(now, from);
  stats_.rate_limited += allowed ? 0 : 1;
  return allowed;
}

void Door::send(Transmit transmit) {
  if (out_.size() < out_max_) {
    out_.push_back(std::move(transmit));
  }
}

void Door::drain(Handshake& handshake, const Address& to) {
  while (auto bytes = handshake.poll_transmit()) {
    send({to, *std::move(bytes)});
  }
}

std::optional<Transmit> Door::poll_transmit() { return take_front(out_); }

}  // namespace cress::secure
