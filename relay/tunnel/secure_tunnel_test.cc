#include "relay/tunnel/secure_tunnel.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cress::tunnel {
namespace {

Address address_of(uint8_t last) {
  Address address;
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last};
  address.port = 5000;
  return address;
}

/// From 10.9.0.`from` to 10.9.0.`to`.
std::vector<std::byte> udp_packet(uint8_t number, uint8_t from, uint8_t to) {
  std::vector<std::byte> packet(60);
  const std::array<int, 10> header{0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17};
  std::ranges::transform(header, packet.begin(), [](int value) { return std::byte(value); });
  for (const auto& [at, last] : {std::pair{size_t{12}, from}, std::pair{size_t{16}, to}}) {
    packet[at] = std::byte{10};
    packet[at + 1] = std::byte{9};
    packet[at + 3] = static_cast<std::byte>(last);
  }
  packet.back() = static_cast<std::byte>(number);
  return packet;
}

/// Both ends of a tunnel, 20 ms apart, in virtual time.
class SecureTunnelTest : public ::testing::Test {
 protected:
  struct End {
    std::unique_ptr<SecureTunnel> tunnel;
    Address address;
    std::vector<std::vector<std::byte>> packets{};
    std::vector<secure::Event> events{};
  };
  struct Flight {
    TimePoint at;
    End* to;
    Address from;
    std::vector<std::byte> bytes;
  };
  static constexpr Duration kDelay = 20ms;

  void open(ControlKind listening, ControlKind joining) {
    const std::vector<std::byte> secret(16, std::byte{7});
    network_ = {.listener = *parse_tunnel_prefix("10.9.0.1/30"),
                .mtu = DataSize{1400},
                .control = listening};
    listener_.tunnel = std::make_unique<SecureTunnel>(
        now_, SecureTunnelOptions{.connection = {.role = secure::Role::kListener, .secret = secret},
                                  .network = network_});
    joiner_.tunnel = std::make_unique<SecureTunnel>(
        now_, SecureTunnelOptions{.connection = {.role = secure::Role::kJoiner,
                                                 .secret = secret,
                                                 .listener = listener_.address},
                                  .network = {.listener = network_.listener, .control = joining}});
  }
  void run(Duration time) {
    for (const TimePoint end = now_ + time;;) {
      collect(listener_, joiner_);
      collect(joiner_, listener_);
      const TimePoint next =
          std::min({listener_.tunnel->poll_timeout(), joiner_.tunnel->poll_timeout(),
                    flights_.empty() ? kNever : flights_.front().at});
      if (next > end) {
        now_ = end;
        return;
      }
      now_ = std::max(now_, next);
      while (!flights_.empty() && flights_.front().at <= now_) {
        const Flight flight = std::move(flights_.front());
        flights_.pop_front();
        flight.to->tunnel->handle_datagram(now_, flight.from, flight.bytes);
      }
      for (End* end_of : {&listener_, &joiner_}) {
        if (end_of->tunnel->poll_timeout() <= now_) {
          end_of->tunnel->handle_timeout(now_);
        }
      }
    }
  }
  void collect(End& from, End& to) {
    while (auto transmit = from.tunnel->poll_transmit(now_)) {
      if (passes_()) {
        flights_.push_back({now_ + kDelay, &to, from.address, std::move(transmit->bytes)});
      }
    }
    while (auto packet = from.tunnel->poll_packet()) {
      from.packets.push_back(*std::move(packet));
    }
    while (auto event = from.tunnel->poll_event()) {
      from.events.push_back(*event);
    }
  }
  bool are_connected() const {
    return listener_.tunnel->tunnel() != nullptr && joiner_.tunnel->tunnel() != nullptr;
  }

  TimePoint now_ = kTimeZero;
  TunnelNetwork network_;
  End listener_{.tunnel = nullptr, .address = address_of(1)};
  End joiner_{.tunnel = nullptr, .address = address_of(2)};
  std::deque<Flight> flights_;
  std::function<bool()> passes_ = [] { return true; };
};

class SecureTunnelOf : public SecureTunnelTest,
                       public ::testing::WithParamInterface<ControlKind> {};

TEST_P(SecureTunnelOf, TheEndsUseTheListenersNetwork) {
  open(GetParam(), GetParam());
  EXPECT_FALSE(listener_.tunnel->network() || joiner_.tunnel->network());
  run(1s);
  ASSERT_TRUE(are_connected());
  EXPECT_EQ(listener_.tunnel->network(), network_);
  EXPECT_EQ(joiner_.tunnel->network(), network_);
  EXPECT_EQ(listener_.tunnel->sessions(), 1U);
  EXPECT_EQ(joiner_.tunnel->sessions(), 1U);
  EXPECT_EQ(joiner_.tunnel->disagreement(), "");
  for (const End* end : {&listener_, &joiner_}) {
    EXPECT_EQ(std::ranges::count_if(end->events,
                                    [](const secure::Event& event) {
                                      return std::holds_alternative<secure::Connected>(event);
                                    }),
              1);
  }
}

TEST_P(SecureTunnelOf, PacketsGoBothWays) {
  open(GetParam(), GetParam());
  listener_.tunnel->send(now_, udp_packet(9, 1, 2));  // nobody is there yet
  run(1s);
  for (uint8_t i = 0; i < 20; ++i) {
    listener_.tunnel->send(now_, udp_packet(i, 1, 2));
    joiner_.tunnel->send(now_, udp_packet(static_cast<uint8_t>(100 + i), 2, 1));
    run(50ms);
  }
  run(200ms);
  ASSERT_EQ(listener_.packets.size(), 20U);
  ASSERT_EQ(joiner_.packets.size(), 20U);
  const auto body = [](std::vector<std::byte> packet) {
    packet.erase(packet.begin(), packet.begin() + 12);  // a router changes the header
    return packet;
  };
  EXPECT_EQ(body(joiner_.packets[3]), body(udp_packet(3, 1, 2)));
  EXPECT_EQ(body(listener_.packets[3]), body(udp_packet(103, 2, 1)));
}

INSTANTIATE_TEST_SUITE_P(Controls, SecureTunnelOf,
                         ::testing::Values(ControlKind::kCress, ControlKind::kSprout),
                         [](const auto& kind) { return std::string{name_of(kind.param)}; });

TEST_F(SecureTunnelTest, ALostGreetingIsRepeated) {
  open(ControlKind::kCress, ControlKind::kCress);
  // All is lost for 400 ms from when the listener has somebody to greet.
  TimePoint since = kNever;
  passes_ = [&] {
    since = listener_.tunnel->tunnel() != nullptr ? std::min(since, now_) : since;
    return since == kNever || now_ >= since + 400ms;
  };
  while (since == kNever) {
    run(1ms);
  }
  run(390ms);
  EXPECT_FALSE(joiner_.tunnel->network());
  run(2s);
  EXPECT_EQ(joiner_.tunnel->network(), network_);
  EXPECT_EQ(listener_.tunnel->network(), network_);
}

TEST_F(SecureTunnelTest, DifferentForecastsAreRefusedInWords) {
  open(ControlKind::kSprout, ControlKind::kCress);
  run(2s);
  ASSERT_TRUE(are_connected());
  EXPECT_EQ(joiner_.tunnel->disagreement(),
            "the listener forecasts by --control sprout; say the same here");
  EXPECT_FALSE(joiner_.tunnel->network());
  EXPECT_FALSE(listener_.tunnel->network());
}

TEST_F(SecureTunnelTest, ANetworkThatNobodyHereNamedIsRefused) {
  open(ControlKind::kCress, ControlKind::kCress);
  joiner_.tunnel = std::make_unique<SecureTunnel>(
      now_, SecureTunnelOptions{.connection = {.role = secure::Role::kJoiner,
                                               .secret = std::vector<std::byte>(16, std::byte{7}),
                                               .listener = listener_.address}});
  run(2s);
  EXPECT_NE(joiner_.tunnel->disagreement().find("10.9.0.1/30"), std::string::npos);
  EXPECT_FALSE(joiner_.tunnel->network());
}

TEST_F(SecureTunnelTest, NothingPassesBeforeBothHaveTheNetwork) {
  open(ControlKind::kSprout, ControlKind::kCress);
  run(2s);
  ASSERT_TRUE(are_connected());
  joiner_.tunnel->send(now_, udp_packet(1, 2, 1));
  run(200ms);
  EXPECT_TRUE(listener_.packets.empty());
  EXPECT_EQ(joiner_.tunnel->tunnel()->stats().packets_foreign, 1U);
}

TEST_F(SecureTunnelTest, PacketsOfOtherAddressesPassNeitherEnd) {
  open(ControlKind::kCress, ControlKind::kCress);
  run(1s);
  joiner_.tunnel->send(now_, udp_packet(1, 2, 7));
  joiner_.tunnel->send(now_, udp_packet(2, 7, 1));
  run(200ms);
  EXPECT_TRUE(listener_.packets.empty());
  EXPECT_EQ(joiner_.tunnel->tunnel()->stats().packets_foreign, 2U);
}

TEST(TunnelGate, TheOtherEndIsNotTrustedToCheck) {
  ControlMaker controls;
  Tunnel honest{kTimeZero, {}, controls.make(ControlKind::kCress, {}), false};
  Tunnel hostile{kTimeZero, {}, controls.make(ControlKind::kCress, {}), false};
  const TunnelNetwork network{.listener = *parse_tunnel_prefix("10.9.0.1/30")};
  honest.set_gate(gate_of(network, true, {}));
  auto arrives = [&, now = kTimeZero](const std::vector<std::byte>& packet) mutable {
    now += 100ms;
    EXPECT_TRUE(hostile.send(now, packet));
    while (const auto datagram = hostile.poll_transmit(now)) {
      EXPECT_TRUE(honest.handle_datagram(now, *datagram));
    }
    while (const auto datagram = honest.poll_transmit(now)) {
      EXPECT_TRUE(hostile.handle_datagram(now, *datagram));
    }
    return honest.poll_packet().has_value();
  };
  EXPECT_TRUE(arrives(udp_packet(1, 2, 1)));
  EXPECT_FALSE(arrives(udp_packet(2, 2, 7)));
  EXPECT_FALSE(arrives(udp_packet(3, 7, 1)));
  EXPECT_TRUE(arrives(udp_packet(4, 2, 1)));
  EXPECT_EQ(honest.stats().packets_foreign, 2U);
}

TEST_F(SecureTunnelTest, HangingUpEndsBothAndSomebodyElseMayCome) {
  open(ControlKind::kCress, ControlKind::kCress);
  run(1s);
  joiner_.tunnel->hang_up(now_);
  run(1s);
  for (const End* end : {&listener_, &joiner_}) {
    EXPECT_EQ(end->tunnel->tunnel(), nullptr);
    EXPECT_FALSE(end->tunnel->network());
    EXPECT_TRUE(std::holds_alternative<secure::Closed>(end->events.back()));
  }
  joiner_.tunnel = std::make_unique<SecureTunnel>(
      now_, SecureTunnelOptions{.connection = {.role = secure::Role::kJoiner,
                                               .secret = std::vector<std::byte>(16, std::byte{7}),
                                               .listener = listener_.address},
                                .network = {.listener = network_.listener}});
  run(2s);
  EXPECT_EQ(joiner_.tunnel->network(), network_);
  EXPECT_EQ(listener_.tunnel->network(), network_);
  EXPECT_EQ(listener_.tunnel->sessions(), 2U);
}

TEST_F(SecureTunnelTest, ASmallerPathIsTakenFromTheKernelsErrorOnly) {
  open(ControlKind::kCress, ControlKind::kCress);
  run(5s);
  const DataSize before = joiner_.tunnel->connection().datagram_max();
  ASSERT_GT(before, DataSize{1300});
  using Kind = PathError::Kind;
  for (const PathError& harmless : {PathError{listener_.address, Kind::kRefused, DataSize{1300}},
                                    PathError{listener_.address, Kind::kTooLarge, DataSize{}}}) {
    joiner_.tunnel->handle_path_error(now_, harmless);
  }
  EXPECT_EQ(joiner_.tunnel->connection().datagram_max(), before);
  joiner_.tunnel->handle_path_error(now_, {listener_.address, Kind::kTooLarge, DataSize{1300}});
  EXPECT_LE(joiner_.tunnel->connection().datagram_max(), DataSize{1300 - 48});
  EXPECT_GE(joiner_.tunnel->connection().datagram_max(), DataSize{1000});
}

}  // namespace
}  // namespace cress::tunnel
