#include "transport/netns/route_socket.hh"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <system_error>

#include "transport/base/check.hh"
#include "transport/runtime/address_text.hh"

namespace cress::netns {
namespace {

std::string reason(int error) { return std::system_category().message(error); }

/// The bytes of an address in its own family.
std::span<const uint8_t> own_bytes(const Address& address) {
  const std::span<const uint8_t> all{address.ip};
  return address.is_ipv4() ? all.subspan(12) : all;
}

unsigned char family_of(const Address& address) { return address.is_ipv4() ? AF_INET : AF_INET6; }

InterfaceCounters read_counters(std::span<const char> bytes) {
  rtnl_link_stats64 stats{};
  std::memcpy(&stats, bytes.data(), std::min(bytes.size(), sizeof stats));
  return {stats.rx_packets, stats.tx_packets, stats.rx_dropped, stats.tx_dropped};
}

}  // namespace

bool contains(const Prefix& network, const Address& address) {
  if (network.address.is_ipv4() != address.is_ipv4()) {
    return false;
  }
  const auto own = own_bytes(network.address);
  const auto other = own_bytes(address);
  const auto whole = static_cast<size_t>(network.length / 8);
  const auto rest = static_cast<unsigned>(network.length % 8);
  return std::equal(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(whole), other.begin()) &&
         (rest == 0 || own[whole] >> (8 - rest) == other[whole] >> (8 - rest));
}

bool overlap(const Prefix& one, const Prefix& other) {
  return one.length <= other.length ? contains(one, other.address) : contains(other, one.address);
}

RouteSocket::RouteSocket() : socket_(NetlinkSocket::open(NETLINK_ROUTE)) {}

RouteSocket::Link RouteSocket::find(const std::string& interface) {
  const ifinfomsg body{};  // AF_UNSPEC: of no family
  NetlinkRequest request{RTM_GETLINK, NLM_F_ACK, body};
  request.add_bytes(IFLA_IFNAME, interface.c_str(), interface.size() + 1);
  Link link;
  request.on_message = [&](const nlmsghdr& header, std::span<const char> bytes) {
    if (header.nlmsg_type != RTM_NEWLINK || bytes.size() < sizeof(ifinfomsg)) {
      return;
    }
    ifinfomsg told{};
    std::memcpy(&told, bytes.data(), sizeof told);
    link.index = static_cast<uint32_t>(told.ifi_index);
    for_each_attribute(bytes.subspan(NLMSG_ALIGN(sizeof told)), [&](int type, auto value) {
      if (type == IFLA_STATS64) {
        link.counters = read_counters(value);
      }
    });
  };
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("no network interface " + interface + ": " + reason(error));
  }
  return link;
}

void RouteSocket::set_up(const std::string& interface) {
  ifinfomsg body{};
  body.ifi_index = static_cast<int>(find(interface).index);
  body.ifi_flags = body.ifi_change = IFF_UP;
  NetlinkRequest request{RTM_NEWLINK, NLM_F_ACK, body};
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot set " + interface + " up: " + reason(error));
  }
}

void RouteSocket::add_address(uint32_t index, const Prefix& prefix, const std::string& interface) {
  ifaddrmsg body{};
  body.ifa_family = family_of(prefix.address);
  body.ifa_prefixlen = narrow<unsigned char>(prefix.length);
  body.ifa_flags = IFA_F_NODAD;
  body.ifa_index = index;
  NetlinkRequest request{RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, body};
  request.add(IFA_LOCAL, own_bytes(prefix.address));
  request.add(IFA_ADDRESS, own_bytes(prefix.address));
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot give " + interface + " the address " + format_prefix(prefix) +
                             ": " + reason(error));
  }
}

void RouteSocket::add_route(uint32_t index, const Prefix& prefix, const std::string& interface) {
  rtmsg body{};
  body.rtm_family = family_of(prefix.address);
  body.rtm_dst_len = narrow<unsigned char>(prefix.length);
  body.rtm_table = RT_TABLE_MAIN;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = prefix.address.is_ipv4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  body.rtm_type = RTN_UNICAST;
  NetlinkRequest request{RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, body};
  if (prefix.length > 0) {
    request.add(RTA_DST, own_bytes(prefix.address));
  }
  request.add(RTA_OIF, index);
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot route " + format_prefix(prefix) + " through " + interface +
                             ": " + reason(error));
  }
}

bool RouteSocket::configure(const InterfaceOptions& options) {
  const uint32_t index = find(options.name).index;
  ifinfomsg body{};
  body.ifi_index = static_cast<int>(index);
  {
    // Not up yet: no address is derived from the interface's identity, not even a link-local one.
    // Without IPv6 the kernel refuses this, which is harmless.
    NetlinkRequest request{RTM_NEWLINK, NLM_F_ACK, body};
    const size_t families = request.begin(IFLA_AF_SPEC);
    const size_t ipv6 = request.begin(AF_INET6);
    request.add(IFLA_INET6_ADDR_GEN_MODE, static_cast<uint8_t>(IN6_ADDR_GEN_MODE_NONE));
    request.end(ipv6);
    request.end(families);
    socket_.exchange(request);
  }
  NetlinkRequest request{RTM_NEWLINK, NLM_F_ACK, body};
  request.add(IFLA_MTU, narrow<uint32_t>(options.mtu.bytes()));
  if (options.queue_packets > 0) {
    request.add(IFLA_TXQLEN, options.queue_packets);
  }
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot set the MTU of " + options.name + ": " + reason(error));
  }
  set_up(options.name);
  bool has_ipv6 = true;
  const auto attempt = [&](const Prefix& prefix, auto&& work) {
    try {
      work(index, prefix, options.name);
    } catch (const std::runtime_error&) {
      if (prefix.address.is_ipv4()) {
        throw;
      }
      has_ipv6 = false;
    }
  };
  for (const Prefix& prefix : options.addresses) {
    attempt(prefix, [this](auto... a) { add_address(a...); });
  }
  for (const Prefix& prefix : options.routes) {
    attempt(prefix, [this](auto... a) { add_route(a...); });
  }
  return has_ipv6;
}

InterfaceCounters RouteSocket::counters(const std::string& interface) {
  return find(interface).counters;
}

std::vector<Prefix> RouteSocket::addresses() {
  const ifaddrmsg body{};  // AF_UNSPEC: of every family
  NetlinkRequest request{RTM_GETADDR, NLM_F_DUMP, body};
  std::vector<Prefix> found;
  request.on_message = [&](const nlmsghdr& header, std::span<const char> bytes) {
    if (header.nlmsg_type != RTM_NEWADDR || bytes.size() < sizeof(ifaddrmsg)) {
      return;
    }
    ifaddrmsg told{};
    std::memcpy(&told, bytes.data(), sizeof told);
    Prefix prefix{{}, told.ifa_prefixlen};
    const size_t size = told.ifa_family == AF_INET ? 4 : 16;
    if (told.ifa_family == AF_INET) {
      prefix.address = Address::ipv4();
    }
    bool has_local = false;  // of a point-to-point link the address alone is the other end's
    for_each_attribute(bytes.subspan(NLMSG_ALIGN(sizeof told)), [&](int type, auto value) {
      if (value.size() == size && (type == IFA_LOCAL || (type == IFA_ADDRESS && !has_local))) {
        std::memcpy(prefix.address.ip.data() + (16 - size), value.data(), size);
        has_local = type == IFA_LOCAL;
      }
    });
    found.push_back(prefix);
  };
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot list this machine's addresses: " + reason(error));
  }
  return found;
}

std::vector<Prefix> RouteSocket::destinations() {
  const rtmsg body{};  // AF_UNSPEC: of every family
  NetlinkRequest request{RTM_GETROUTE, NLM_F_DUMP, body};
  std::vector<Prefix> found;
  request.on_message = [&](const nlmsghdr& header, std::span<const char> bytes) {
    if (header.nlmsg_type != RTM_NEWROUTE || bytes.size() < sizeof(rtmsg)) {
      return;
    }
    rtmsg told{};
    std::memcpy(&told, bytes.data(), sizeof told);
    if (told.rtm_family != AF_INET && told.rtm_family != AF_INET6) {
      return;  // multicast routing has families of its own
    }
    Prefix prefix{{}, told.rtm_dst_len};
    const size_t size = told.rtm_family == AF_INET ? 4 : 16;
    if (told.rtm_family == AF_INET) {
      prefix.address = Address::ipv4();
    }
    for_each_attribute(bytes.subspan(NLMSG_ALIGN(sizeof told)), [&](int type, auto value) {
      if (type == RTA_DST && value.size() == size) {
        std::memcpy(prefix.address.ip.data() + (16 - size), value.data(), size);
      }
    });
    found.push_back(prefix);
  };
  if (const int error = socket_.exchange(request)) {
    throw std::runtime_error("cannot list this machine's routes: " + reason(error));
  }
  return found;
}

std::optional<Route> RouteSocket::route_to(const Address& destination) {
  rtmsg body{};
  body.rtm_family = family_of(destination);
  const auto bytes_of_destination = own_bytes(destination);
  body.rtm_dst_len = narrow<unsigned char>(8 * bytes_of_destination.size());
  NetlinkRequest request{RTM_GETROUTE, NLM_F_ACK, body};
  request.add(RTA_DST, bytes_of_destination);
  std::optional<Route> found;
  request.on_message = [&](const nlmsghdr& header, std::span<const char> bytes) {
    if (header.nlmsg_type != RTM_NEWROUTE || bytes.size() < sizeof(rtmsg)) {
      return;
    }
    rtmsg told{};
    std::memcpy(&told, bytes.data(), sizeof told);
    if (told.rtm_family != body.rtm_family ||
        (told.rtm_type != RTN_UNICAST && told.rtm_type != RTN_LOCAL)) {
      return;
    }
    const auto read = [&](std::span<const char> value) {
      Address address = body.rtm_family == AF_INET ? Address::ipv4() : Address{};
      std::memcpy(address.ip.data() + (address.ip.size() - value.size()), value.data(),
                  value.size());
      return address;
    };
    found.emplace();
    for_each_attribute(bytes.subspan(NLMSG_ALIGN(sizeof told)), [&](int type, auto value) {
      if (value.size() != bytes_of_destination.size()) {
        return;
      }
      if (type == RTA_GATEWAY) {
        found->router = read(value);
      } else if (type == RTA_PREFSRC) {
        found->source = read(value);
      }
    });
  };
  if (socket_.exchange(request) != 0) {
    return std::nullopt;
  }
  return found;
}

std::string format_prefix(const Prefix& prefix) {
  return runtime::host_of(prefix.address) + "/" + std::to_string(prefix.length);
}

}  // namespace cress::netns
