#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "eval/schemes/cress/tunnel_scheme.hh"
#include "eval/schemes/registry.hh"
#include "relay/tunnel/secure_tunnel.hh"

namespace cress::schemes {

/// A call and, optionally, a bulk transfer on one link (the Sprout paper, §5.7).
struct SharedLink {
  std::shared_ptr<const sim::DeliveryTrace> down, up;  ///< data go over `down`
  Duration length{};
  FlowPair call;
  std::optional<FlowPair> bulk{};
  /// The scheme of their tunnel; empty: without a tunnel.
  std::optional<tunnel::ControlKind> tunnel{};
};

/// The arrivals at the right end, in order.
struct SharedArrivals {
  std::vector<CarriedDatagram> call, bulk;
};

/// Simulates it: 20 ms of propagation in each direction, unlimited queues. Equal links give equal
/// arrivals.
SharedArrivals run_shared_link(SharedLink link);

}  // namespace cress::schemes
