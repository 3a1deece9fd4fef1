#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::live {

/// Between a joiner and a listener, like a router with address translation: rebind() instantly
/// gives the joiner another address, as seen by the listener.
class TestRouter {
 public:
  TestRouter(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, Address listener)
      : clock_(clock), loop_(loop), listener_(listener), inside_(clock, options()) {
    loop_.on_readable(inside_.handle(), [this] { pass_out(); });
    rebind();
  }
  ~TestRouter() {
    loop_.forget(inside_.handle());
    loop_.forget(outside_->handle());
  }
  TestRouter(const TestRouter&) = delete;
  TestRouter& operator=(const TestRouter&) = delete;

  Address address() const { return inside_.local_address(); }
  /// The newest kRecordedMax datagrams of the joiner.
  const std::vector<std::vector<std::byte>>& recorded() const { return recorded_; }
  /// Nothing passes either way.
  void set_broken(bool broken) { is_broken_ = broken; }
  void rebind() {
    if (outside_) {
      loop_.forget(outside_->handle());
    }
    outside_ = std::make_unique<runtime::UdpSocket>(clock_, options());
    loop_.on_readable(outside_->handle(), [this] { pass_in(); });
  }

 private:
  static runtime::UdpSocketOptions options() {
    return {.bind = *runtime::parse_address("127.0.0.1:0")};
  }
  void pass_out() {
    for (const auto& datagram : inside_.receive_batch().datagrams) {
      joiner_ = datagram.from;
      if (recorded_.size() == kRecordedMax) {
        recorded_.erase(recorded_.begin());
      }
      recorded_.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
      if (!is_broken_) {
        send(*outside_, listener_, datagram.bytes);
      }
    }
  }
  void pass_in() {
    for (const auto& datagram : outside_->receive_batch().datagrams) {
      if (!is_broken_) {
        send(inside_, joiner_, datagram.bytes);
      }
    }
  }
  static void send(runtime::UdpSocket& socket, Address to, std::span<const std::byte> bytes) {
    const Transmit transmit{to, {bytes.begin(), bytes.end()}};
    (void)socket.send_batch({&transmit, 1});
  }

  static constexpr size_t kRecordedMax = 256;

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  Address listener_;
  Address joiner_;
  runtime::UdpSocket inside_;
  std::unique_ptr<runtime::UdpSocket> outside_;
  bool is_broken_ = false;
  std::vector<std::vector<std::byte>> recorded_;
};

}  // namespace cress::live
