#include "relay/members/load_member.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "transport/room/media_head.hh"
#include "transport/secure/records/records.hh"

namespace cress::relay {

LoadMember::LoadMember(TimePoint start, LoadMemberOptions options)
    : options_(std::move(options)),
      connection_(start, {.role = secure::Role::kJoiner,
                          .credential = secure::room_credential(options_.access),
                          .listener = options_.relay}) {}

void LoadMember::handle_datagram(TimePoint now, const Address& from,
                                 std::span<const std::byte> bytes) {
  if (watcher_) {
    watcher_(now, bytes.size());
  }
  connection_.handle_datagram(now, from, bytes);
  drain(now);
}

void LoadMember::handle_timeout(TimePoint now) {
  connection_.handle_timeout(now);
  if (is_in()) {
    member_->handle_timeout(now);
  }
  drain(now);
}

void LoadMember::drain(TimePoint now) {
  while (const auto event = connection_.poll_event()) {
    if (std::holds_alternative<secure::Connected>(*event)) {
      member_ = std::make_unique<ModelMember>(now, options_.member, options_.seed);
      member_->endpoint().set_datagram_max(room::kLegDatagramMax - secure::kRecordOverhead);
    } else if (const auto* closed = std::get_if<secure::Closed>(&*event)) {
      closed_ = closed->reason;
    }
  }
  while (const auto datagram = connection_.poll_datagram()) {
    if (is_in()) {
      member_->handle_datagram(now, *datagram, ecn_);
    }
  }
}

std::optional<Transmit> LoadMember::poll_transmit(TimePoint now) {
  for (;;) {
    if (auto transmit = connection_.poll_transmit(now)) {
      transmit->ecn = is_in() ? member_->endpoint().ecn(now) : Ecn::kNotEct;
      return transmit;
    }
    auto plain = is_in() ? member_->poll_transmit(now) : std::nullopt;
    if (!plain) {
      return std::nullopt;
    }
    connection_.send(now, *std::move(plain));
  }
}

TimePoint LoadMember::poll_timeout() const {
  return std::min(connection_.poll_timeout(), is_in() ? member_->poll_timeout() : kNever);
}

void LoadMember::hang_up(TimePoint now) {
  connection_.hang_up(now);
  drain(now);
}

}  // namespace cress::relay
