#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_sender.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {

/// A model of browsing: objects of bounded Pareto sizes, silences of exponential lengths between
/// them, as in the ON/OFF sources of Crovella and Bestavros (IEEE/ACM ToN 5:6, 1997). The sizes'
/// tail exponent is theirs; the bounds hold today's pages and keep one draw from filling a run.
struct WebUser {
  double tail_exponent = 1.2;
  DataSize object_min{50'000};
  DataSize object_max{5'000'000};
  Duration silence_mean = 2s;
  Duration silence_max = 20s;
};

/// The server's end of on-off traffic: one object after another, each over a TCP connection (Cubic)
/// of its own, whose number stands in four bytes before each segment. Threads: none inside; one
/// owner.
class WebSender final : public SchemeHost {
 public:
  explicit WebSender(uint64_t seed, const WebUser& user = {}) : user_(user), rng_(seed) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return {}; }
  uint32_t objects() const { return number_; }

 private:
  void begin_object(TimePoint now);
  void finish_object(TimePoint now);

  WebUser user_;
  Rng rng_;
  uint32_t number_ = 0;             // of the newest connection
  std::unique_ptr<TcpSender> tcp_;  // null while silent
  TimePoint next_object_ = kTimeZero;
};

/// The browser's end. Threads: none inside; one owner.
class WebReceiver final : public SchemeHost {
 public:
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override { return tcp_ ? tcp_->poll_timeout() : kNever; }
  DataSize delivered() const override;

 private:
  uint32_t number_ = 0;
  std::unique_ptr<TcpReceiver> tcp_;
  DataSize before_;  // of earlier connections
};

}  // namespace cress::schemes
