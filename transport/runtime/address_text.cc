#include "transport/runtime/address_text.hh"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "transport/base/text.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::runtime {
namespace {

constexpr const char* kWhatToType =
    "type IP:PORT or HOST:PORT, such as 192.0.2.7:4433, [2001:db8::7]:4433 or "
    "call.example.org:4433";

/// The host (without its brackets) and the port number of an address text.
struct HostAndPort {
  std::string_view host;
  uint16_t port = 0;
  bool bracketed = false;
};

Result<HostAndPort, AddressError> split(std::string_view text) {
  if (text.empty()) {
    return AddressError::kEmpty;
  }
  HostAndPort parts;
  std::string_view port;
  if (text.front() == '[') {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return AddressError::kUnclosedBracket;
    }
    if (close + 1 == text.size() || text[close + 1] != ':') {
      return AddressError::kNoPort;
    }
    parts.bracketed = true;
    parts.host = text.substr(1, close - 1);
    port = text.substr(close + 2);
  } else {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
      return AddressError::kNoPort;
    }
    if (text.find(':') != colon) {
      return AddressError::kNeedsBrackets;
    }
    parts.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const auto number = parse_number<uint16_t>(port);
  if (!number) {
    return port.empty() ? AddressError::kNoPort : AddressError::kBadPort;
  }
  parts.port = *number;
  return parts;
}

std::optional<uint32_t> parse_scope(std::string_view scope) {
  if (const auto number = parse_number<uint32_t>(scope)) {
    return number;
  }
  const unsigned index = if_nametoindex(std::string{scope}.c_str());
  return index == 0 ? std::nullopt : std::optional<uint32_t>{index};
}

Result<Address, AddressError> parse_ipv6(const HostAndPort& parts) {
  Address address;
  address.port = parts.port;
  std::string_view host = parts.host;
  const size_t percent = host.find('%');
  if (percent != std::string_view::npos) {
    const auto scope = parse_scope(host.substr(percent + 1));
    if (!scope) {
      return AddressError::kBadScope;
    }
    address.scope = *scope;
    host = host.substr(0, percent);
  }
  if (inet_pton(AF_INET6, std::string{host}.c_str(), address.ip.data()) != 1 ||
      host.find('\0') != std::string_view::npos) {
    return AddressError::kBadIp;
  }
  return address;
}

Result<Address, AddressError> parse_ipv4(const HostAndPort& parts) {
  Address address = Address::ipv4();
  address.port = parts.port;
  if (inet_pton(AF_INET, std::string{parts.host}.c_str(), &address.ip[12]) != 1 ||
      parts.host.find('\0') != std::string_view::npos) {
    return AddressError::kBadIp;
  }
  return address;
}

[[noreturn]] void refuse(std::string_view text, std::string_view what) {
  std::string message = "\"";
  message.append(text).append("\": ").append(what).append("; ").append(kWhatToType);
  throw std::runtime_error(message);
}

}  // namespace

const char* describe(AddressError error) {
  switch (error) {
    case AddressError::kEmpty:
      return "no address";
    case AddressError::kNoPort:
      return "no port after the address";
    case AddressError::kBadPort:
      return "the port is no whole number from 0 to 65535";
    case AddressError::kBadIp:
      return "no IP address";
    case AddressError::kUnclosedBracket:
      return "the bracket is not closed";
    case AddressError::kNeedsBrackets:
      return "an IPv6 address needs brackets around it";
    case AddressError::kBadScope:
      return "this machine has no such network interface";
  }
  return "unknown error";
}

Result<Address, AddressError> parse_address(std::string_view text) {
  const auto parts = split(text);
  if (!parts) {
    return parts.error();
  }
  return parts->bracketed ? parse_ipv6(*parts) : parse_ipv4(*parts);
}

std::string format_address(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  std::string result;
  if (address.is_ipv4() && address.scope == 0) {
    inet_ntop(AF_INET, &address.ip[12], text.data(), text.size());
    result.append(text.data());
  } else {
    inet_ntop(AF_INET6, address.ip.data(), text.data(), text.size());
    result.append("[").append(text.data());
    if (address.scope != 0) {
      result.append("%").append(std::to_string(address.scope));
    }
    result.append("]");
  }
  return result.append(":").append(std::to_string(address.port));
}

std::string host_of(const Address& address) {
  const std::string text = format_address(address);
  const std::string host = text.substr(0, text.rfind(':'));
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

std::vector<Address> resolve(std::string_view text) {
  if (const auto address = parse_address(text)) {
    return {*address};
  } else if (address.error() != AddressError::kBadIp) {
    refuse(text, describe(address.error()));
  }
  const auto parts = split(text);
  if (!parts || parts->bracketed || parts->host.empty() ||
      parts->host.find('\0') != std::string_view::npos) {
    refuse(text, describe(AddressError::kBadIp));
  }
  const std::string host{parts->host};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{list, &freeaddrinfo};
  if (error != 0) {
    const std::string why =
        error == EAI_SYSTEM ? std::system_category().message(errno) : gai_strerror(error);
    refuse(text, "the name \"" + host + "\" has no address (" + why + ")");
  }
  std::vector<Address> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    auto address = from_sockaddr(*entry->ai_addr);
    if (address) {
      address->port = parts->port;
      if (std::find(addresses.begin(), addresses.end(), *address) == addresses.end()) {
        addresses.push_back(*address);
      }
    }
  }
  if (addresses.empty()) {
    refuse(text, "the name \"" + host + "\" has no IPv4 or IPv6 address");
  }
  return addresses;
}

}  // namespace cress::runtime
