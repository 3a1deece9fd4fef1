#include "transport/mapping/port_mapper.hh"

#include <algorithm>
#include <array>
#include <chrono>
#include <variant>

#include "transport/base/check.hh"

namespace cress::mapping {
namespace {

// Differs from RFC 6887 §8.1.1, which begins with 3 s: the call is about to begin, and the same
// programs answer both protocols, so NAT-PMP's 250 ms serve for both.
constexpr Duration kFirstInterval = 250ms;

uint32_t seconds_of(Duration duration) {
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
}

/// Whether datagrams could be sent there: not to "this network", loopback, one wire (RFC 3927) or
/// a group. Private addresses can be right: of a router behind another.
bool can_be_outside(const Address& address) {
  const int first = address.ip[12];
  return address.is_ipv4() && address.port != 0 && first != 0 && first != 127 && first < 224 &&
         !(first == 169 && address.ip[13] == 254);
}

}  // namespace

const char* name_of(MappingProtocol protocol) {
  constexpr std::array<const char*, 3> kNames{"PCP", "NAT-PMP", "UPnP"};
  return kNames.at(static_cast<size_t>(protocol));
}

PortMapper::PortMapper(TimePoint now, const PortMapperOptions& options)
    : options_(options), asked_at_(now), ask_at_(now) {
  check(options.router.is_ipv4() && options.client.is_ipv4() && options.client.port != 0,
        "PortMapper: needs IPv4 addresses and a port");
}

void PortMapper::begin(TimePoint now) {
  is_asking_ = true;
  asks_ = 0;
  interval_ = kFirstInterval;
  pmp_outside_.reset();
  ask(now);
}

void PortMapper::send(std::vector<std::byte> bytes) { out_ = {options_.router, std::move(bytes)}; }

void PortMapper::ask(TimePoint now) {
  const uint32_t lifetime_s = seconds_of(kLifetime);
  const Address suggested = mapped_.value_or(Address::ipv4());
  if (protocol_ == MappingProtocol::kPcp) {
    send(serialize(PcpRequest{lifetime_s, options_.client, options_.nonce, suggested}));
  } else if (!pmp_outside_) {
    send(pmp_address_request());
  } else {
    const uint16_t port = suggested.port != 0 ? suggested.port : options_.client.port;
    send(serialize(PmpRequest{options_.client.port, port, lifetime_s}));
  }
  ++asks_;
  asked_at_ = now;
  ask_at_ = now + interval_;
  interval_ *= 2;
}

void PortMapper::handle_datagram(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  if (from != options_.router || state_ == State::kRemoved) {
    return;
  }
  if (const auto answer = parse_router_answer(bytes)) {
    std::visit([&](const auto& one) { handle(now, one); }, *answer);
  }
}

void PortMapper::handle(TimePoint now, const PcpAnswer& answer) {
  if (protocol_ != MappingProtocol::kPcp || !is_asking_ || answer.nonce != options_.nonce ||
      answer.port != options_.client.port) {
    return;
  }
  (void)note_epoch(now, answer.epoch_s);  // this answer made the mapping, whatever was before
  if (answer.result != 0) {
    refuse(now, answer.lifetime_s);
  } else {
    accept(now, answer.outside, answer.lifetime_s);
  }
}

void PortMapper::handle(TimePoint now, const PcpAnnouncement& announcement) {
  if (protocol_ == MappingProtocol::kPcp && note_epoch(now, announcement.epoch_s) && mapped_ &&
      !is_asking_) {
    ask_at_ = std::min(ask_at_, std::max(now, asked_at_ + kAskSpacing));
  }
}

void PortMapper::handle(TimePoint now, const PmpAddressAnswer& answer) {
  if (protocol_ != MappingProtocol::kNatPmp || !is_asking_ || pmp_outside_) {
    return;
  }
  if (answer.result != 0) {
    refuse(now, 0);
    return;
  }
  pmp_outside_ = answer.outside;
  interval_ = kFirstInterval;
  ask(now);
}

void PortMapper::handle(TimePoint now, const PmpAnswer& answer) {
  if (protocol_ != MappingProtocol::kNatPmp || !is_asking_ || !pmp_outside_) {
    return;
  }
  if (answer.result != 0) {
    refuse(now, 0);
  } else if (answer.port == options_.client.port) {
    Address outside = *pmp_outside_;
    outside.port = answer.outside_port;
    accept(now, outside, answer.lifetime_s);
  }
}

void PortMapper::handle(TimePoint now, const UnsupportedVersion& /*answer*/) {
  if (!is_asking_) {
    return;
  }
  if (protocol_ != MappingProtocol::kPcp) {
    refuse(now, 0);
    return;
  }
  // RFC 6887 §9 asks for the version that the router prefers. Of those, only NAT-PMP is spoken
  // here, and a router that speaks a draft of PCP most often speaks that too.
  protocol_ = MappingProtocol::kNatPmp;
  begin(now);
}

/// Returns whether the router has lost its mappings since the last answer (RFC 6887 §8.5).
bool PortMapper::note_epoch(TimePoint now, uint32_t epoch_s) {
  const auto before = std::exchange(epoch_, Epoch{now, epoch_s});
  if (!before) {
    return false;
  }
  const auto ours = std::chrono::duration_cast<std::chrono::seconds>(now - before->at).count();
  const int64_t theirs = int64_t{epoch_s} - int64_t{before->seconds};
  constexpr int64_t kSlack = 2;       // both round
  constexpr int64_t kClockRate = 16;  // clocks may differ by one in so many
  return theirs < -1 || ours + kSlack < theirs - theirs / kClockRate ||
         theirs + kSlack < ours - ours / kClockRate;
}

void PortMapper::accept(TimePoint now, const Address& outside, uint32_t lifetime_s) {
  if (lifetime_s == 0 || !can_be_outside(outside)) {
    refuse(now, 0);
    return;
  }
  const Duration lifetime = std::min<Duration>(std::chrono::seconds{lifetime_s}, kLifetimeMax);
  state_ = State::kMapped;
  mapped_ = outside;
  expires_at_ = now + lifetime;
  is_asking_ = false;
  ask_at_ = now + std::max(lifetime / 2, kAskSpacing);
}

void PortMapper::refuse(TimePoint now, uint32_t lifetime_s) {
  state_ = State::kRefused;
  mapped_.reset();
  expires_at_ = kNever;
  is_asking_ = false;
  ask_at_ = now + std::clamp<Duration>(std::chrono::seconds{lifetime_s}, kRefusedMin, kRefusedMax);
}

void PortMapper::handle_timeout(TimePoint now) {
  if (now >= expires_at_) {
    mapped_.reset();
    expires_at_ = kNever;
    state_ = is_asking_ ? State::kAsking : State::kSilent;
  }
  if (now < ask_at_) {
    return;
  }
  if (!is_asking_) {
    begin(now);
    state_ = mapped_ ? state_ : State::kAsking;
  } else if (asks_ < kAsksMax) {
    ask(now);
  } else {
    is_asking_ = false;
    ask_at_ = kNever;
    // What is left of a mapping lasts until it expires.
    state_ = mapped_ ? state_ : State::kSilent;
  }
}

/// Nothing listens there. Anybody can forge that: a mapping stays.
void PortMapper::handle_path_error(TimePoint now, const PathError& error) {
  if (error.kind == PathError::Kind::kRefused && error.to == options_.router && !mapped_ &&
      is_asking_) {
    refuse(now, 0);
  }
}

void PortMapper::handle_network_change(TimePoint now) {
  if (state_ == State::kRemoved || now < asked_at_ + kFirstInterval) {
    return;
  }
  begin(now);
  state_ = mapped_ ? state_ : State::kAsking;
}

void PortMapper::remove() {
  if (state_ == State::kRemoved) {
    return;
  }
  if (mapped_ || is_asking_) {  // an answer may be under way
    if (protocol_ == MappingProtocol::kPcp) {
      send(serialize(PcpRequest{0, options_.client, options_.nonce, Address::ipv4()}));
    } else {
      send(serialize(PmpRequest{options_.client.port, 0, 0}));
    }
  }
  state_ = State::kRemoved;
  mapped_.reset();
  is_asking_ = false;
  expires_at_ = ask_at_ = kNever;
}

std::optional<Transmit> PortMapper::poll_transmit(TimePoint /*now*/) {
  return std::exchange(out_, std::nullopt);
}

TimePoint PortMapper::poll_timeout() const { return std::min(ask_at_, expires_at_); }

bool PortMapper::drained(TimePoint /*now*/) {
  if (take_) {
    take_();
  }
  return false;
}

}  // namespace cress::mapping
