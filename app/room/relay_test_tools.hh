#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "relay/forward/room.hh"
#include "transport/base/machine.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/link/link.hh"
#include "transport/secure/listener.hh"

namespace cress::room {

/// A Listener and one Room: the part of a relay that members see.
class TestRelay final : public Machine {
 public:
  TestRelay(TimePoint now, const std::vector<std::byte>& secret)
      : credential_(secure::room_credential(secure::derive_room(secret).access)),
        listener_(now,
                  {.lookup = [this](std::string_view identity) -> std::optional<secure::Secret> {
                    return identity == credential_.identity ? std::optional{credential_.psk}
                                                            : std::nullopt;
                  }}),
        room_(now, {.name = "lab"}) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    listener_.handle_datagram(now, from, bytes);
    drain(now);
  }
  void handle_timeout(TimePoint now) override {
    if (listener_.poll_timeout() <= now) {
      listener_.handle_timeout(now);
    }
    if (room_.poll_timeout() <= now) {
      room_.handle_timeout(now);
    }
    drain(now);
  }
  TimePoint poll_timeout() const override {
    return std::min(listener_.poll_timeout(), room_.poll_timeout());
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    while (auto transmit = room_.poll_transmit(now)) {
      if (const auto peer = peers_.find(transmit->to); peer != peers_.end()) {
        listener_.send(now, peer->second, std::move(transmit->bytes));
      }
    }
    while (const auto departure = room_.poll_departure()) {
      if (const auto peer = peers_.find(departure->number); peer != peers_.end()) {
        listener_.close(now, peer->second, secure::CloseCode::kHangUp);
        peers_.erase(peer);
      }
    }
    return listener_.poll_transmit(now);
  }
  relay::Room& room() { return room_; }

 private:
  MemberNumber number_of(secure::PeerId peer) const {
    const auto at = std::ranges::find(peers_, peer, [](const auto& item) { return item.second; });
    return at == peers_.end() ? kNobody : at->first;
  }
  void drain(TimePoint now) {
    while (const auto event = listener_.poll_event()) {
      if (std::holds_alternative<secure::Connected>(event->event)) {
        if (const auto number = room_.join(now)) {
          peers_[*number] = event->peer;
        }
      } else if (std::holds_alternative<secure::Closed>(event->event)) {
        if (const MemberNumber number = number_of(event->peer); number != kNobody) {
          room_.leave(now, number, room::LeaveReason::kLeft);
          peers_.erase(number);
        }
      }
    }
    while (const auto datagram = listener_.poll_datagram()) {
      if (const MemberNumber number = number_of(datagram->peer); number != kNobody) {
        room_.handle_datagram(now, number, datagram->bytes);
      }
    }
  }

  secure::Credential credential_;
  secure::Listener listener_;
  relay::Room room_;
  std::map<MemberNumber, secure::PeerId> peers_;
};

/// Such a relay on loopback, in real time and a thread of its own.
class RelayHost {
 public:
  RelayHost() {
    thread_.run([this] { open(*runtime::parse_address("127.0.0.1:0")); });
  }
  ~RelayHost() {
    thread_.run([this] { close(); });
  }
  RelayHost(const RelayHost&) = delete;
  RelayHost& operator=(const RelayHost&) = delete;

  std::string link() const { return link(secret_); }
  std::string link(const std::vector<std::byte>& secret) const {
    return secure::format_link(
        {.host = "127.0.0.1", .port = address_.port, .secret = secret, .room = "lab"});
  }
  /// A new relay at the same address, without any state.
  void restart() {
    thread_.run([this] {
      close();
      open(address_);
    });
  }
  void change(const std::function<void(TimePoint now, relay::Room& room)>& work) {
    thread_.run([&] { driver_->wake([&](TimePoint now) { work(now, relay_->room()); }); });
  }

 private:
  void open(const Address& at) {
    relay_ = std::make_unique<TestRelay>(thread_.clock().now(), secret_);
    socket_ = std::make_unique<runtime::UdpSocket>(thread_.clock(),
                                                   runtime::UdpSocketOptions{.bind = at});
    address_ = socket_->local_address();
    driver_ = std::make_unique<runtime::Driver>(
        runtime::Driver::Parts{thread_.clock(), thread_.loop(), *socket_, *relay_});
  }
  void close() {
    driver_.reset();
    socket_.reset();
    relay_.reset();
  }

  std::vector<std::byte> secret_ = secure::make_secret();
  Address address_;
  std::unique_ptr<TestRelay> relay_;
  std::unique_ptr<runtime::UdpSocket> socket_;
  std::unique_ptr<runtime::Driver> driver_;
  runtime::LoopThread thread_;  // last: the others are closed in it
};

}  // namespace cress::room
