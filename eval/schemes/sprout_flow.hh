#pragma once

#include <memory>

#include "transport/session/endpoint.hh"
#include "transport/sim/host.hh"

namespace cress::schemes {

/// How closely a saturating Sprout flow keeps to the original program's own main loop (reference specification §7), which is part of
/// what was measured, but not of the protocol.
struct SproutFlowOptions {
  session::EndpointOptions endpoint;
  /// Whether this end sends data; the other only answers with forecasts (the one-way build).
  bool sends_data = true;
  /// Application bytes of a full packet.
  DataSize packet_size{1400};
};

/// One end of a saturating flow over a Sprout session: keeps the safe window full.
class SproutFlow final : public sim::Host {
 public:
  SproutFlow(TimePoint start, SproutFlowOptions options,
             std::unique_ptr<sprout::Forecaster> forecaster);

  void handle_datagram(TimePoint now, const sim::Datagram& datagram) override;
  void handle_timeout(TimePoint now) override;
  std::optional<sim::Datagram> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  const session::Endpoint& endpoint() const { return endpoint_; }
  /// Application bytes that arrived here.
  DataSize delivered() const { return delivered_; }

 private:
  void fill_window(TimePoint now);

  SproutFlowOptions options_;
  session::Endpoint endpoint_;
  TimePoint now_;
  DataSize delivered_;
};

}  // namespace cress::schemes
