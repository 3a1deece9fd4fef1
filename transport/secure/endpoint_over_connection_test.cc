// The endpoint's datagrams and the records that carry them fit each other: sequences, sizes, time.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "transport/control/cress/cress_control.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/secure_test_tools.hh"
#include "transport/session/endpoint.hh"
#include "transport/sim/world.hh"

namespace cress::secure {
namespace {

/// What an application does with the two machines.
struct End final : Machine {
  explicit End(ConnectionOptions options) : connection(kTimeZero, std::move(options)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    connection.handle_datagram(now, from, bytes);
    settle(now);
  }
  void handle_timeout(TimePoint now) override {
    connection.handle_timeout(now);
    settle(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return connection.poll_transmit(now);
  }
  TimePoint poll_timeout() const override {
    const TimePoint next = connection.poll_timeout();
    return endpoint == nullptr ? next : std::min({next, endpoint->poll_timeout(), next_message});
  }
  void settle(TimePoint now) {
    while (const auto event = connection.poll_event()) {
      if (std::holds_alternative<Connected>(*event)) {
        endpoint = std::make_unique<session::Endpoint>(
            now, session::EndpointOptions{.datagram_max = connection.datagram_max()},
            std::make_unique<control::CressControl>(control::CressControl::Options{}));
        endpoint->open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
        next_message = now;
      }
    }
    if (endpoint == nullptr) {
      return;
    }
    while (const auto datagram = connection.poll_datagram()) {
      EXPECT_TRUE(endpoint->handle_datagram(now, *datagram));
    }
    for (; next_message <= now; next_message += 5ms) {
      endpoint->send(now, session::kVideoFlow, std::vector<std::byte>(1000));
    }
    endpoint->handle_timeout(now);
    while (auto datagram = endpoint->poll_transmit(now)) {
      EXPECT_LE(DataSize{static_cast<int64_t>(datagram->size())}, connection.datagram_max());
      connection.send(now, *std::move(datagram));
    }
    while (endpoint->poll_message()) {
      ++messages_received;
    }
    while (endpoint->poll_outcome()) {
    }
  }

  Connection connection;
  std::unique_ptr<session::Endpoint> endpoint;
  uint64_t messages_received = 0;
  TimePoint next_message = kTimeZero;
};

TEST(EndpointOverConnection, CarriesACallBothWaysWithNothingRefused) {
  const Address listens = test_address(1);
  End left{{.role = Role::kListener, .secret = test_secret()}};
  End right{{.role = Role::kJoiner, .secret = test_secret(), .listener = listens}};
  sim::Link air{{.trace = nullptr, .propagation = 20ms, .queue = nullptr}};
  sim::World world;
  world.add(left, {.address = listens});
  const auto joiner = world.add(right, {.address = test_address(2)});
  world.connect_all(air);
  size_t largest = 0;
  world.set_watch([&largest](TimePoint /*now*/, const sim::Datagram& datagram) {
    largest = std::max(largest, datagram.bytes.size());
    return true;
  });
  world.drain(joiner);
  world.run_for(20s);
  for (const End* end : {&left, &right}) {
    EXPECT_GT(end->messages_received, 3000U);  // of 200 a second
    EXPECT_EQ(end->endpoint->stats().datagrams_malformed, 0U);
    EXPECT_EQ(end->endpoint->stats().datagrams_duplicate, 0U);
    const auto& stats = end->connection.stats();
    EXPECT_EQ(stats.bad_tag + stats.replayed + stats.unknown_key + stats.truncated, 0U);
  }
  EXPECT_EQ(largest, 1472U) << "a probe, and nothing else is beyond 1200 here";
}

}  // namespace
}  // namespace cress::secure
