#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/base/address.hh"
#include "transport/base/time.hh"

namespace cress::mapping {

/// A router's service for ports, once found.
struct UpnpService {
  std::string control_url;
  std::string type;
};

struct UpnpRequest {
  /// The router: only a device at this IPv4 address is used.
  Address router{};
  /// Our IPv4 address and the port that is to be reachable.
  Address client{};
  /// The port wanted outside, and others if another host has it.
  std::array<uint16_t, 3> outside_ports{};
  Duration lifetime{};
  /// Empty: devices are searched for, this long.
  std::optional<UpnpService> service{};
  Duration search{};
};
struct UpnpMapping {
  UpnpService service;
  /// The address outside that leads to our port.
  Address outside{};
};

/// Asks a router for a port by UPnP (WANIPConnection:1, "AddPortMapping") with libminiupnpc, of
/// which this is the only user. Waits for the network: for the search, and then for up to five
/// answers of the router, some seconds each if it hangs. Of devices that answer the search only
/// that at the router's address is spoken to. A router that grants ports for ever only is not used:
/// they would outlast a crash. `abandoned` is looked at between the steps. Returns nullopt where
/// no port is granted. Threads: any, but not one with a call to serve.
std::optional<UpnpMapping> map_by_upnp(const UpnpRequest& request,
                                       const std::atomic<bool>& abandoned);
/// Removes a mapping; waits likewise.
void remove_by_upnp(const UpnpMapping& mapping);

/// Whether a URL "http://HOST:PORT/..." names this IPv4 address as its host, literally.
bool is_at(const std::string& url, const Address& router);

}  // namespace cress::mapping
