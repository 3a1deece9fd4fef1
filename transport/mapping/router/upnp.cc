#include "transport/mapping/router/upnp.hh"

#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>

#include "transport/runtime/address_text.hh"

namespace cress::mapping {
namespace {

constexpr const char* kUdp = "UDP";
constexpr const char* kDescription = "cress";
// A device of the second version answers to the name of the first too (UPnP Device Architecture
// 2.0, §1.3.3), but some do not.
constexpr std::array<const char*, 3> kRouters{"urn:schemas-upnp-org:device:InternetGatewayDevice:1",
                                              "urn:schemas-upnp-org:device:InternetGatewayDevice:2",
                                              nullptr};
constexpr int kConflict = 718;  // another host has that port

struct FreeDevices {
  void operator()(UPNPDev* devices) const { freeUPNPDevlist(devices); }
};

/// What the library fills in.
struct Description {
  UPNPUrls urls{};
  IGDdatas data{};
  std::array<char, 64> own_address{};
  bool is_filled = false;

  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() {
    if (is_filled) {
      FreeUPNPUrls(&urls);
    }
  }
  void read(const char* url) {
    is_filled = UPNP_GetIGDFromUrl(url, &urls, &data, own_address.data(),
                                   static_cast<int>(own_address.size())) == 1;
  }
};

std::optional<UpnpService> search(const UpnpRequest& request, const std::atomic<bool>& abandoned) {
  int error = 0;
  const std::string own = runtime::host_of(request.client);
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(request.search);
  constexpr unsigned char kHops = 2;  // as the UPnP Device Architecture recommends
  const std::unique_ptr<UPNPDev, FreeDevices> devices{
      upnpDiscoverDevices(kRouters.data(), static_cast<int>(wait_ms.count()), own.c_str(), nullptr,
                          UPNP_LOCAL_PORT_ANY, 0, kHops, &error, 1)};
  for (const UPNPDev* device = devices.get(); device != nullptr && !abandoned;
       device = device->pNext) {
    if (!is_at(device->descURL, request.router)) {
      continue;
    }
    Description description;
    description.read(device->descURL);
    if (description.is_filled && description.urls.controlURL != nullptr &&
        is_at(description.urls.controlURL, request.router) &&
        !std::string_view{description.data.first.servicetype}.empty()) {
      return UpnpService{description.urls.controlURL, description.data.first.servicetype};
    }
  }
  return std::nullopt;
}

std::optional<Address> outside_address(const UpnpService& service) {
  std::array<char, 64> text{};
  if (UPNP_GetExternalIPAddress(service.control_url.c_str(), service.type.c_str(), text.data()) !=
      UPNPCOMMAND_SUCCESS) {
    return std::nullopt;
  }
  text.back() = '\0';
  const auto address = runtime::parse_address(std::string{text.data()} + ":1");
  return address && address->is_ipv4() ? std::optional{*address} : std::nullopt;
}

/// Returns the port granted.
std::optional<uint16_t> add_port(const UpnpService& service, const UpnpRequest& request,
                                 const std::atomic<bool>& abandoned) {
  const std::string inside = std::to_string(request.client.port);
  const std::string host = runtime::host_of(request.client);
  const std::string lifetime_s =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(request.lifetime).count());
  for (const uint16_t port : request.outside_ports) {
    if (abandoned) {
      break;
    }
    const int result = UPNP_AddPortMapping(
        service.control_url.c_str(), service.type.c_str(), std::to_string(port).c_str(),
        inside.c_str(), host.c_str(), kDescription, kUdp, nullptr, lifetime_s.c_str());
    if (result == UPNPCOMMAND_SUCCESS) {
      return port;
    }
    if (result != kConflict) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_at(const std::string& url, const Address& router) {
  const std::string start = "http://" + runtime::host_of(router);
  return router.is_ipv4() && url.starts_with(start) && url.size() > start.size() &&
         (url[start.size()] == ':' || url[start.size()] == '/') &&
         url.find('@') == std::string::npos;
}

std::optional<UpnpMapping> map_by_upnp(const UpnpRequest& request,
                                       const std::atomic<bool>& abandoned) {
  const auto service = request.service ? request.service : search(request, abandoned);
  if (!service || abandoned) {
    return std::nullopt;
  }
  auto outside = outside_address(*service);
  if (!outside) {
    return std::nullopt;
  }
  const auto port = add_port(*service, request, abandoned);
  if (!port) {
    return std::nullopt;
  }
  outside->port = *port;
  UpnpMapping mapping{*service, *outside};
  if (abandoned) {
    remove_by_upnp(mapping);
    return std::nullopt;
  }
  return mapping;
}

void remove_by_upnp(const UpnpMapping& mapping) {
  (void)UPNP_DeletePortMapping(mapping.service.control_url.c_str(), mapping.service.type.c_str(),
                               std::to_string(mapping.outside.port).c_str(), kUdp, nullptr);
}

}  // namespace cress::mapping
