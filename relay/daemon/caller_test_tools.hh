#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "relay/forward/room_test_tools.hh"
#include "transport/base/address.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/records/records.hh"

namespace cress::relay {

// Members of a RelayMachine with their connections. For tests and benchmarks.

inline Address address_of(uint32_t n) {
  Address address;
  address.ip = {0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0xff,
                0xff,
                10,
                1,
                static_cast<uint8_t>(n >> 8U),
                static_cast<uint8_t>(n)};
  address.port = 4000;
  return address;
}

inline secure::Secret access_of(uint8_t fill) {
  return secure::derive_room(std::vector<std::byte>(16, std::byte{fill})).access;
}

/// A member with its connection to the relay, which is at address_of(0).
struct Caller {
  Caller(TimePoint now, uint32_t n, const secure::Secret& access, bool speaks)
      : address(address_of(n)),
        seed(n),
        speaks_at_all(speaks),
        connection(now, {.role = secure::Role::kJoiner,
                         .credential = secure::room_credential(access),
                         .listener = address_of(0)}) {}

  void drain(TimePoint now) {
    while (const auto event = connection.poll_event()) {
      if (std::holds_alternative<secure::Connected>(*event)) {
        member =
            std::make_unique<TestMember>(now, TestMemberOptions{.speaks = speaks_at_all}, seed);
        member->endpoint().set_datagram_max(room::kLegDatagramMax - secure::kRecordOverhead);
      } else if (const auto* over = std::get_if<secure::Closed>(&*event)) {
        closed = over->reason;
      }
    }
    while (const auto datagram = connection.poll_datagram()) {
      if (member) {
        member->handle_datagram(now, *datagram);
      }
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) {
    for (;;) {
      if (auto transmit = connection.poll_transmit(now)) {
        return transmit;
      }
      auto plain = member && !closed ? member->poll_transmit(now) : std::nullopt;
      if (!plain) {
        return std::nullopt;
      }
      connection.send(now, *std::move(plain));
    }
  }
  void handle_timeout(TimePoint now) {
    connection.handle_timeout(now);
    if (member && !closed) {
      member->handle_timeout(now);
    }
    drain(now);
  }
  TimePoint poll_timeout() const {
    return std::min(connection.poll_timeout(), member && !closed ? member->poll_timeout() : kNever);
  }
  std::set<room::MemberNumber> seen() const {
    std::set<room::MemberNumber> numbers;
    for (const SeenFrame& frame : member->shown()) {
      numbers.insert(frame.from);
    }
    return numbers;
  }

  Address address;
  uint64_t seed;
  bool speaks_at_all;
  secure::Connection connection;
  std::unique_ptr<TestMember> member;
  std::optional<secure::CloseReason> closed;
};

}  // namespace cress::relay
