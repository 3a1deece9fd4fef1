#pragma once

#include <memory>
#include <utility>

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/tcp/tcp_receiver.hh"
#include "eval/schemes/tcp/tcp_sender.hh"

namespace cress::schemes {

/// The sending end of a saturating TCP flow, for the bench.
class TcpFlowSender final : public SchemeHost {
 public:
  explicit TcpFlowSender(std::unique_ptr<CongestionControl> control) : tcp_(std::move(control)) {}
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    tcp_.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { tcp_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override { return tcp_.poll_transmit(now); }
  TimePoint poll_timeout() const override { return tcp_.poll_timeout(); }
  DataSize delivered() const override { return {}; }
  HostSample sample(TimePoint /*now*/) const override {
    return {.window = tcp_.window(), .forecast = {}};
  }

 private:
  TcpSender tcp_;
};

/// The other end.
class TcpFlowReceiver final : public SchemeHost {
 public:
  TcpFlowReceiver() = default;
  explicit TcpFlowReceiver(const TcpReceiver::Options& options) : tcp_(options) {}
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    tcp_.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { tcp_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override { return tcp_.poll_transmit(now); }
  TimePoint poll_timeout() const override { return tcp_.poll_timeout(); }
  DataSize delivered() const override { return tcp_.received(); }

 private:
  TcpReceiver tcp_;
};

}  // namespace cress::schemes
