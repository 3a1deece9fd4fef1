#include "eval/schemes/shared_link.hh"

#include <utility>

#include "transport/sim/world.hh"
#include "transport/wire/datagram.hh"

namespace cress::schemes {
namespace {

// UDP payload of a full Ethernet frame, minus the overhead of encryption.
constexpr DataSize kTunnelDatagram = DataSize{1472} - wire::kTagSize;

std::unique_ptr<tunnel::Tunnel> make_tunnel(tunnel::ControlMaker& controls,
                                            std::optional<tunnel::ControlKind> kind) {
  if (!kind) {
    return nullptr;
  }
  session::EndpointOptions endpoint;
  endpoint.datagram_max = kTunnelDatagram;
  return std::make_unique<tunnel::Tunnel>(kTimeZero, endpoint, controls.make(*kind, wire::kTagSize),
                                          *kind == tunnel::ControlKind::kSprout);
}

std::vector<CarriedDatagram> copy_of(std::span<const CarriedDatagram> arrivals) {
  return {arrivals.begin(), arrivals.end()};
}

}  // namespace

SharedArrivals run_shared_link(SharedLink link) {
  tunnel::ControlMaker controls;
  std::vector<std::unique_ptr<SchemeHost>> lefts;
  std::vector<std::unique_ptr<SchemeHost>> rights;
  lefts.push_back(std::move(link.call.left));
  rights.push_back(std::move(link.call.right));
  if (link.bulk) {
    lefts.push_back(std::move(link.bulk->left));
    rights.push_back(std::move(link.bulk->right));
  }
  CarriedFlows left{std::move(lefts), make_tunnel(controls, link.tunnel)};
  CarriedFlows right{std::move(rights), make_tunnel(controls, link.tunnel)};
  sim::Link forward{{.trace = link.down, .queue = nullptr}};
  sim::Link reverse{{.trace = link.up, .seed = 2, .queue = nullptr}};
  sim::World world{{left, right, forward, reverse}};
  world.run_until(kTimeZero + link.length);
  return {copy_of(right.arrivals(0)),
          link.bulk ? copy_of(right.arrivals(1)) : std::vector<CarriedDatagram>{}};
}

}  // namespace cress::schemes
