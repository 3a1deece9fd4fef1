#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "transport/control/cress/cress_control.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/session/endpoint.hh"

namespace cress::runtime {
namespace {

/// A session's end as a machine of the driver: keeps the window full when asked to, counts
/// arrivals.
class SessionEnd final : public Machine {
 public:
  SessionEnd(TimePoint start, Address peer, bool saturates)
      : peer_(peer),
        saturates_(saturates),
        endpoint_(start, {},
                  std::make_unique<control::CressControl>(control::CressControl::Options{})) {
    endpoint_.open_flow(kFlow, {.priority = session::Priority::kVideo});
  }

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    EXPECT_EQ(from, peer_);
    EXPECT_TRUE(endpoint_.handle_datagram(now, bytes, ecn_).has_value());
    take();
    fill(now);
  }
  void handle_ecn(Ecn ecn) override { ecn_ = ecn; }
  void handle_timeout(TimePoint now) override {
    endpoint_.handle_timeout(now);
    fill(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = endpoint_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    return Transmit{peer_, *std::move(bytes), {}, endpoint_.ecn(now)};
  }
  TimePoint poll_timeout() const override { return endpoint_.poll_timeout(); }
  bool drained(TimePoint) override {
    take();
    return true;
  }

  DataSize received() const { return received_; }
  int64_t outcomes(session::MessageOutcome::Kind kind) const {
    return outcomes_[static_cast<size_t>(kind)];
  }
  const session::Endpoint& endpoint() const { return endpoint_; }

 private:
  static constexpr session::FlowId kFlow = 1;

  void fill(TimePoint now) {
    const DataSize size{1000};
    while (saturates_ && endpoint_.available_window(now) >= size) {
      endpoint_.send(now, kFlow, std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    }
  }
  void take() {
    while (const auto message = endpoint_.poll_message()) {
      received_ += DataSize{static_cast<int64_t>(message->bytes.size())};
    }
    while (const auto outcome = endpoint_.poll_outcome()) {
      ++outcomes_[static_cast<size_t>(outcome->kind)];
    }
  }

  Address peer_;
  bool saturates_;
  session::Endpoint endpoint_;
  Ecn ecn_ = Ecn::kNotEct;
  DataSize received_;
  std::array<int64_t, 3> outcomes_{};
};

class SessionOver : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Loopback, SessionOver, ::testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& param) {
                           return std::string{param.param[0] == '[' ? "Ipv6" : "Ipv4"};
                         });

TEST_P(SessionOver, ASaturatingSessionFillsItsWindowOverRealSocketsInRealTime) {
  const MonotonicClock clock;
  EventLoop loop{clock};
  const Address local = *parse_address(GetParam());
  std::unique_ptr<UdpSocket> left_socket;
  try {
    left_socket = std::make_unique<UdpSocket>(clock, UdpSocketOptions{.bind = local});
  } catch (const std::runtime_error& error) {
    if (local.is_ipv4()) {
      throw;
    }
    GTEST_SKIP() << "this machine has no IPv6: " << error.what();
  }
  UdpSocket right_socket{clock, {.bind = local}};
  SessionEnd left{clock.now(), right_socket.local_address(), true};
  SessionEnd right{clock.now(), left_socket->local_address(), false};
  const Driver left_driver{{clock, loop, *left_socket, left}};
  const Driver right_driver{{clock, loop, right_socket, right}};
  EventLoop::Timer end{loop, [&] { loop.stop(); }};
  end.arm(clock.now() + 2s);
  loop.run();

  const auto delivered = left.outcomes(session::MessageOutcome::Kind::kDelivered);
  const auto lost = left.outcomes(session::MessageOutcome::Kind::kLost);
  EXPECT_GT(right.received(), DataSize{200'000}) << "less than 0.8 Mbit/s over loopback";
  EXPECT_GT(delivered, 200);
  // Loopback is as fast as this machine, and limited only by the receiver's buffer: a saturating
  // sender fills it. Lost datagrams were dropped there, or could not be sent for lack of buffer.
  EXPECT_LE(static_cast<uint64_t>(lost), right_socket.dropped_by_kernel() +
                                             left_driver.stats().send_overflow +
                                             left_driver.stats().send_no_buffer);
  ASSERT_TRUE(left.endpoint().stats().smoothed_rtt.has_value());
  EXPECT_LT(*left.endpoint().stats().smoothed_rtt, 1s);
  EXPECT_EQ(left.endpoint().stats().datagrams_malformed, 0U);
  EXPECT_EQ(right.endpoint().stats().datagrams_malformed, 0U);
  EXPECT_EQ(left_driver.stats().datagrams_sent + left_driver.stats().send_overflow +
                left_driver.stats().send_no_buffer,
            left.endpoint().stats().datagrams_sent);
  EXPECT_EQ(right_driver.stats().send_unroutable, 0U);
  for (const SessionEnd* one : {&left, &right}) {
    EXPECT_EQ(one->endpoint().ecn(clock.now() + 1h), Ecn::kEct1)
        << "loopback keeps the field, and the other end sees it";
  }
  RecordProperty("received_bytes", std::to_string(right.received().bytes()));
  RecordProperty("dropped_by_kernel", std::to_string(right_socket.dropped_by_kernel()));
  RecordProperty("lost", std::to_string(lost));
  RecordProperty("smoothed_rtt_us",
                 std::to_string(left.endpoint().stats().smoothed_rtt->count() / 1000));
}

}  // namespace
}  // namespace cress::runtime
