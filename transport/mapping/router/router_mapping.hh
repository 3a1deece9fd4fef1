#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/mapping/port_mapper.hh"
#include "transport/mapping/router/upnp_mapper.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::mapping {

/// What we and the router between us and some far address are called inside. Both IPv4.
struct WayOut {
  Address router;  ///< port 0
  Address own;     ///< the address from which we send there; port 0
  friend bool operator==(const WayOut&, const WayOut&) = default;
};
/// From the kernel's routes; nothing is sent. If `far` is of IPv6, which needs no port: the way to
/// the rest of IPv4, where the other end of a call may be. nullopt: no router is passed (`far` is
/// on our wire, or is this machine), or there is no IPv4.
std::optional<WayOut> way_out(const Address& far);

struct RouterMappingOptions {
  /// Of the socket that is to be reachable.
  Address local{};
  /// What the way is looked up for, with way_out().
  Address far{};
  /// Where the router answers, other than in tests.
  uint16_t router_port = kRouterPort;
  /// Look-up of the way; to be replaced in tests.
  std::function<std::optional<WayOut>(const Address& far)> way = way_out;
};

/// Asks the router on the way to a far address for a port that leads to a socket of ours
/// (docs/adr/0019): by PCP, NAT-PMP and, if it has not granted one after a quarter of a second or
/// refuses, by UPnP as well. Asks with sockets of its own. Without a router nothing happens.
/// Errors: nothing throws; what cannot be had is not mapped. Threads: the loop's, and those of
/// UpnpMapper.
class RouterMapping {
 public:
  /// `parts` are borrowed. `on_change`: mapped() is another; called by the loop itself, so
  /// that it may call remove().
  RouterMapping(UpnpMapper::Parts parts, RouterMappingOptions options,
                std::function<void()> on_change);
  /// Removes the mapping, which may take UpnpMapper::kRemovalMax.
  ~RouterMapping();

  void handle_network_change();
  /// The port is no longer needed; on_change is not called any more.
  void remove();

  /// The address outside that leads to our socket; nullopt: none.
  std::optional<Address> mapped() const;
  /// How mapped() was granted; nullopt: there is none.
  std::optional<MappingProtocol> protocol() const;

  static constexpr Duration kUpnpAfter = 250ms;

 private:
  struct Datagrams;

  std::optional<WayOut> find_way() const;
  void begin();
  void note();
  void begin_upnp();
  void report();
  void notify();

  UpnpMapper::Parts parts_;
  RouterMappingOptions options_;
  std::function<void()> on_change_;
  std::optional<WayOut> way_;
  std::optional<Address> reported_;
  bool is_removed_ = false;
  std::unique_ptr<Datagrams> datagrams_;
  std::unique_ptr<UpnpMapper> upnp_;
  runtime::EventLoop::Timer upnp_timer_;
  runtime::EventLoop::Timer report_timer_;
};

}  // namespace cress::mapping
