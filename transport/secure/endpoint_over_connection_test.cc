// The endpoint's datagrams and the records that carry them fit each other: sequences, sizes, time.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include "transport/control/cress/cress_control.hh"
#include "transport/secure/scripted_network.hh"
#include "transport/session/endpoint.hh"

namespace cress::secure {
namespace {

/// What an application does with the two machines.
struct End {
  std::unique_ptr<Connection> connection;
  std::unique_ptr<session::Endpoint> endpoint;
  Address address;
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  TimePoint next_message = kTimeZero;

  void drain(TimePoint now) {
    while (const auto event = connection->poll_event()) {
      if (std::holds_alternative<Connected>(*event)) {
        endpoint = std::make_unique<session::Endpoint>(
            now, session::EndpointOptions{.datagram_max = connection->datagram_max()},
            std::make_unique<control::CressControl>(control::CressControl::Options{}));
        endpoint->open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
        next_message = now;
      }
    }
    if (endpoint == nullptr) {
      return;
    }
    while (const auto datagram = connection->poll_datagram()) {
      EXPECT_TRUE(endpoint->handle_datagram(now, *datagram));
    }
    for (; next_message <= now; next_message += 5ms) {
      endpoint->send(now, session::kVideoFlow, std::vector<std::byte>(1000));
      ++messages_sent;
    }
    endpoint->handle_timeout(now);
    while (auto datagram = endpoint->poll_transmit(now)) {
      EXPECT_LE(DataSize{static_cast<int64_t>(datagram->size())}, connection->datagram_max());
      connection->send(now, *std::move(datagram));
    }
    while (endpoint->poll_message()) {
      ++messages_received;
    }
    while (endpoint->poll_outcome()) {
    }
  }
  TimePoint poll_timeout() const {
    TimePoint next = connection->poll_timeout();
    return endpoint == nullptr ? next : std::min({next, endpoint->poll_timeout(), next_message});
  }
};

TEST(EndpointOverConnection, CarriesACallBothWaysWithNothingRefused) {
  End left;
  left.address = test_address(1);
  left.connection = std::make_unique<Connection>(
      kTimeZero, ConnectionOptions{.role = Role::kListener, .secret = test_secret()});
  End right;
  right.address = test_address(2);
  right.connection = std::make_unique<Connection>(
      kTimeZero,
      ConnectionOptions{.role = Role::kJoiner, .secret = test_secret(), .listener = left.address});
  std::multimap<TimePoint, Flight> air;
  uint64_t largest = 0;
  const auto settle = [&](TimePoint now, End& end) {
    end.drain(now);
    while (auto transmit = end.connection->poll_transmit(now)) {
      largest = std::max<uint64_t>(largest, transmit->bytes.size());
      air.emplace(now + 20ms, Flight{now, end.address, transmit->to, std::move(transmit->bytes)});
    }
  };
  TimePoint now = kTimeZero;
  settle(now, left);
  settle(now, right);
  while (now < kTimeZero + 20s) {
    now = std::max(now, std::min({left.poll_timeout(), right.poll_timeout(),
                                  air.empty() ? kNever : air.begin()->first}));
    while (!air.empty() && air.begin()->first <= now) {
      const Flight flight = std::move(air.begin()->second);
      air.erase(air.begin());
      End& to = flight.to == left.address ? left : right;
      to.connection->handle_datagram(now, flight.from, flight.bytes);
      settle(now, to);
    }
    for (End* end : {&left, &right}) {
      end->connection->handle_timeout(now);
      settle(now, *end);
    }
  }
  for (const End* end : {&left, &right}) {
    EXPECT_GT(end->messages_received, 3000U);  // of 200 a second
    EXPECT_EQ(end->endpoint->stats().datagrams_malformed, 0U);
    EXPECT_EQ(end->endpoint->stats().datagrams_duplicate, 0U);
    const auto& stats = end->connection->stats();
    EXPECT_EQ(stats.bad_tag + stats.replayed + stats.unknown_key + stats.truncated, 0U);
  }
  EXPECT_EQ(largest, 1472U) << "a probe, and nothing else is beyond 1200 here";
}

}  // namespace
}  // namespace cress::secure
