#pragma once

#include <string>
#include <vector>

#include "transport/netns/namespace_process.hh"
#include "transport/netns/route_socket.hh"
#include "transport/runtime/file_descriptor.hh"

namespace cress::cellsim {

/// The addresses of one emulated link: 100.64.N.0/30 (of RFC 6598's block for carriers, as
/// Mahimahi's) and fd63:7265:7373:N::/64, "cress" in the middle (RFC 4193).
struct Ends {
  static constexpr int kCount = 64;
  int number = 0;  ///< N

  netns::Prefix near4() const { return ipv4(2); }
  netns::Prefix far4() const { return ipv4(1); }
  netns::Prefix near6() const { return ipv6(2); }
  netns::Prefix far6() const { return ipv6(1); }
  /// The environment variables for a program at either end.
  std::vector<netns::EnvironmentVariable> environment() const;

 private:
  netns::Prefix ipv4(uint8_t last) const;
  netns::Prefix ipv6(uint8_t last) const;
};

/// "100.64.0.2", without the prefix length.
std::string address_text(const netns::Prefix& prefix);

/// A number whose addresses are unused in this network, reserved against other such programs while
/// this object exists (by an abstract socket name, which ends with the process). Throws
/// std::runtime_error if all are taken.
class ReservedEnds {
 public:
  explicit ReservedEnds(netns::RouteSocket& routes);
  const Ends& ends() const { return ends_; }

 private:
  runtime::FileDescriptor name_;
  Ends ends_;
};

}  // namespace cress::cellsim
