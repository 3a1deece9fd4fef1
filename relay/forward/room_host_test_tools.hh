#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/forward/room.hh"
#include "transport/base/machine.hh"

namespace cress::relay {

/// Where the room is (0) and its members are (1, 2, ...) in a simulated world.
inline Address room_address(size_t host) {
  Address address;
  address.ip = {0xfd};
  address.ip[14] = static_cast<uint8_t>(host >> 8U);
  address.ip[15] = static_cast<uint8_t>(host);
  address.port = 4000;
  return address;
}

/// A Room as a host of the simulated world: whose datagram it is shows by its address.
class RoomHost final : public Machine {
 public:
  explicit RoomHost(RoomOptions options) : room(kTimeZero, std::move(options)) {}

  /// The leg of the member at `address`; kNobody if there is no place.
  room::MemberNumber join(TimePoint now, const Address& address) {
    const auto number = room.join(now).value_or(room::kNobody);
    numbers_[address] = number;
    addresses_[number] = address;
    return number;
  }

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    room.handle_datagram(now, numbers_.at(from), bytes);
  }
  void handle_timeout(TimePoint now) override { room.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto out = room.poll_transmit(now);
    if (!out) {
      return std::nullopt;
    }
    if (on_sent) {
      on_sent(*out);
    }
    return Transmit{addresses_.at(out->to), std::move(out->bytes)};
  }
  TimePoint poll_timeout() const override { return room.poll_timeout(); }
  bool drained(TimePoint /*now*/) override {
    while (const auto departure = room.poll_departure()) {
      departures.push_back(*departure);
    }
    return false;
  }

  Room room;
  std::vector<Departure> departures;
  std::function<void(const LegTransmit&)> on_sent;  // may be empty

 private:
  std::map<Address, room::MemberNumber> numbers_;
  std::map<room::MemberNumber, Address> addresses_;
};

}  // namespace cress::relay
