// A session over the loopback interface: two endpoints exchange one message each, on real UDP
// sockets in real time.
#include <fmt/core.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "transport/control/cress/cress_control.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/session/endpoint.hh"

using namespace cress;

/// An Endpoint does no I/O and knows no addresses. This machine adds the peer's address, so that a
/// Driver can step it.
struct Talker final : Machine {
  Talker(TimePoint start, const Address& other)
      : peer(other),
        endpoint(start, {}, std::make_unique<control::CressControl>(control::call_control())) {
    endpoint.open_flow(session::kControlFlow, {.priority = session::Priority::kControl});
  }
  void say(TimePoint now, const std::string& text) {
    endpoint.send_copy(now, session::kControlFlow, std::as_bytes(std::span{text}));
  }
  void handle_datagram(TimePoint now, const Address&, std::span<const std::byte> bytes) override {
    if (!endpoint.handle_datagram(now, bytes).has_value()) {
      return;  // counted, without effect
    }
    while (const auto message = endpoint.poll_message()) {
      heard.assign(reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size());
      on_heard(now);
    }
  }
  void handle_timeout(TimePoint now) override { endpoint.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = endpoint.poll_transmit(now);
    return bytes ? std::optional{Transmit{peer, *std::move(bytes)}} : std::nullopt;
  }
  TimePoint poll_timeout() const override { return endpoint.poll_timeout(); }

  Address peer;
  session::Endpoint endpoint;
  std::string heard;
  std::function<void(TimePoint)> on_heard;
};

int main() {
  const runtime::MonotonicClock clock;  // only main and the runtime read a clock
  runtime::EventLoop loop{clock};
  const Address any_port = *runtime::parse_address("127.0.0.1:0");
  runtime::UdpSocket left_socket{clock, {.bind = any_port}};
  runtime::UdpSocket right_socket{clock, {.bind = any_port}};
  Talker left{clock.now(), right_socket.local_address()};
  Talker right{clock.now(), left_socket.local_address()};
  right.on_heard = [&](TimePoint now) { right.say(now, "hello, left"); };
  left.on_heard = [&](TimePoint) { loop.stop(); };
  runtime::Driver left_driver{{clock, loop, left_socket, left}};
  const runtime::Driver right_driver{{clock, loop, right_socket, right}};
  left_driver.wake([&](TimePoint now) { left.say(now, "hello, right"); });
  runtime::EventLoop::Timer give_up{loop, [&] { loop.stop(); }};
  give_up.arm(clock.now() + 10s);
  loop.run();
  fmt::print("right received \"{}\", left received \"{}\"\n", right.heard, left.heard);
  return left.heard == "hello, left" ? 0 : 1;
}
