#include "traces/emulate/path_emulator.hh"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::traces {
namespace {

Address at_port(uint16_t port) {
  return {.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, .port = port};
}

std::shared_ptr<const sim::DeliveryTrace> every(Duration step, int count) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (int i = 1; i <= count; ++i) {
    trace->opportunities.push_back({i * step});
  }
  return trace;
}

PathEmulator::Options options(Duration forward_step, Duration reverse_step) {
  return {.server = at_port(2),
          .forward = {.trace = every(forward_step, 100), .propagation = 20ms, .queue = nullptr},
          .reverse = {.trace = every(reverse_step, 100), .propagation = 5ms, .queue = nullptr}};
}

std::vector<Transmit> drain(PathEmulator& path, TimePoint now) {
  std::vector<Transmit> out;
  while (auto transmit = path.poll_transmit(now)) {
    out.push_back(*std::move(transmit));
  }
  return out;
}

constexpr TimePoint kStart = kTimeZero + 7s;

TEST(PathEmulator, EachDirectionWaitsForItsOwnLinkAndIsChargedForIpPackets) {
  PathEmulator path{kStart, options(100ms, 10ms)};
  // 1472 bytes of payload fill an opportunity; one byte more takes a part of the next.
  path.handle_datagram(kStart + 1ms, at_port(1), std::vector<std::byte>(1473));
  path.handle_datagram(kStart + 1ms, at_port(1), std::vector<std::byte>(1471));
  path.handle_datagram(kStart + 1ms, at_port(2), std::vector<std::byte>(10));
  EXPECT_EQ(path.poll_timeout(), kStart + 10ms);
  path.handle_timeout(kStart + 10ms);
  EXPECT_TRUE(drain(path, kStart + 10ms).empty());
  path.handle_timeout(kStart + 15ms);
  const auto reverse = drain(path, kStart + 15ms);
  ASSERT_EQ(reverse.size(), 1U);
  EXPECT_EQ(reverse[0].to, at_port(1));
  EXPECT_EQ(reverse[0].bytes.size(), 10U);

  for (const Duration t : {100ms, 120ms, 200ms}) {
    path.handle_timeout(kStart + t);
    EXPECT_TRUE(drain(path, kStart + t).empty());
  }
  path.handle_timeout(kStart + 220ms);
  const auto forward = drain(path, kStart + 220ms);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(forward[0].to, at_port(2));
  EXPECT_EQ(forward[0].bytes.size(), 1473U);
  EXPECT_EQ(path.poll_timeout(), kNever);
}

TEST(PathEmulator, LateDatagramStillLeavesTheQueueOnTime) {
  PathEmulator path{kStart, options(10ms, 10ms)};
  for (int i = 0; i < 5; ++i) {
    path.handle_datagram(kStart, at_port(1), std::vector<std::byte>(1472));
  }
  path.handle_timeout(kStart + 1s);  // nobody came for a second
  EXPECT_EQ(drain(path, kStart + 1s).size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(path.forward().records()[i].left, kTimeZero + (i + 1) * 10ms);
  }
}

TEST(PathEmulator, ServersAnswersGoToTheLastSender) {
  PathEmulator path{kStart, options(10ms, 10ms)};
  path.handle_datagram(kStart, at_port(2), std::vector<std::byte>(1));
  path.handle_timeout(kStart + 20ms);
  EXPECT_TRUE(drain(path, kStart + 20ms).empty()) << "nobody has written yet";
  path.handle_datagram(kStart + 30ms, at_port(1), std::vector<std::byte>(1));
  path.handle_datagram(kStart + 31ms, at_port(9), std::vector<std::byte>(1));
  path.handle_datagram(kStart + 32ms, at_port(2), std::vector<std::byte>(1));
  path.handle_timeout(kStart + 50ms);
  auto out = drain(path, kStart + 50ms);
  std::erase_if(out, [](const Transmit& transmit) { return transmit.to == at_port(2); });
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].to, at_port(9));
}

/// Records arrivals and their times.
class Notebook final : public Machine {
 public:
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    arrivals.push_back({now, from, bytes.size()});
    if (on_arrival) {
      on_arrival(from);
    }
  }
  void handle_timeout(TimePoint) override {}
  std::optional<Transmit> poll_transmit(TimePoint) override {
    if (out.empty()) {
      return std::nullopt;
    }
    Transmit transmit = std::move(out.back());
    out.pop_back();
    return transmit;
  }
  TimePoint poll_timeout() const override { return kNever; }

  struct Arrival {
    TimePoint at{};
    Address from;
    size_t size = 0;
  };
  std::vector<Arrival> arrivals;
  std::vector<Transmit> out;
  std::function<void(const Address&)> on_arrival;
};

TEST(PathEmulator, RealDatagramsTakeTheirTimeThereAndBack) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  const Address local = *runtime::parse_address("127.0.0.1:0");
  runtime::UdpSocket client_socket{clock, {.bind = local}};
  runtime::UdpSocket server_socket{clock, {.bind = local}};
  runtime::UdpSocket path_socket{clock, {.bind = local}};
  Notebook client;
  Notebook server;
  PathEmulator::Options o = options(50ms, 50ms);
  o.server = server_socket.local_address();
  PathEmulator path{clock.now(), std::move(o)};
  server.on_arrival = [&](const Address& from) {
    server.out.push_back({from, std::vector<std::byte>(100)});
  };
  client.out.push_back({path_socket.local_address(), std::vector<std::byte>(200)});
  const runtime::Driver path_driver{{clock, loop, path_socket, path}};
  const runtime::Driver server_driver{{clock, loop, server_socket, server}};
  const runtime::Driver client_driver{{clock, loop, client_socket, client}};
  runtime::EventLoop::Timer end{loop, [&] { loop.stop(); }};
  end.arm(clock.now() + 500ms);
  loop.run();

  ASSERT_EQ(server.arrivals.size(), 1U);
  ASSERT_EQ(client.arrivals.size(), 1U);
  EXPECT_EQ(server.arrivals[0].from, path_socket.local_address());
  EXPECT_EQ(client.arrivals[0].from, path_socket.local_address());
  // Not before its time; how late depends on this machine.
  EXPECT_GE(server.arrivals[0].at - path.start(), 70ms);
  EXPECT_GE(client.arrivals[0].at - path.start(), 105ms);
}

}  // namespace
}  // namespace cress::traces
