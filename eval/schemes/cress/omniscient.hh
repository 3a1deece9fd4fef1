#pragma once

#include <memory>

#include "eval/schemes/host/scheme_host.hh"
#include "transport/sim/trace.hh"

namespace cress::schemes {

/// The omniscient protocol of the Sprout paper (§5.1): it knows the link and sends one packet of
/// 1500 bytes exactly at each opportunity of `trace`. Nothing is queued, no capacity is unused:
/// throughput equals capacity, delay the link's own. It does not react if the link's queue is not
/// empty at the start, or if packets are lost.
class OmniscientSender final : public SchemeHost {
 public:
  /// `trace` is that of the link over which this end sends.
  explicit OmniscientSender(std::shared_ptr<const sim::DeliveryTrace> trace);

  void handle_datagram(TimePoint /*now*/, const Address& /*from*/,
                       std::span<const std::byte> /*bytes*/) override {}
  void handle_timeout(TimePoint /*now*/) override {}
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return {}; }

 private:
  std::shared_ptr<const sim::DeliveryTrace> trace_;
  size_t opportunity_ = 0;
  Duration period_start_{};
};

/// The other end: it only counts.
class CountingReceiver final : public SchemeHost {
 public:
  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint /*now*/) override {}
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override { return std::nullopt; }
  TimePoint poll_timeout() const override { return kNever; }
  DataSize delivered() const override { return delivered_; }

 private:
  DataSize delivered_;
};

}  // namespace cress::schemes
