#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/sim/link.hh"
#include "transport/sim/world.hh"

namespace cress::swarm {

/// 10.1.0.`host`
inline Address insider_address(uint8_t host) {
  Address address = Address::ipv4({10, 1, 0, host});
  address.port = 4000;
  return address;
}

/// A network that carries everything, so that what fails is an attack's work.
inline std::unique_ptr<sim::Link> wide_link() {
  static const auto trace = [] {
    auto opportunities = std::make_shared<sim::DeliveryTrace>();
    const Duration every = sim::kOpportunitySize / DataRate::kilobits_per_second(100'000);
    for (Duration at = every; at <= 1s; at += every) {
      opportunities->opportunities.push_back({at});
    }
    return opportunities;
  }();
  return std::make_unique<sim::Link>(
      sim::LinkOptions{.trace = trace,
                       .propagation = 40ms,
                       .seed = 1,
                       .queue = std::make_unique<sim::DropTailQueue>(DataSize{10'000'000})});
}

}  // namespace cress::swarm
