#pragma once

#include <string>

#include "transport/base/address.hh"
#include "transport/netns/netlink.hh"

namespace cress::netns {

/// What comes from one IPv4 address and leaves this machine takes the machine's own address
/// (masquerading, by nftables), and answers find back. Gone with this object or its process: the
/// kernel's table belongs to the socket. Takes CAP_NET_ADMIN, Linux 5.12, and a machine that
/// forwards packets, which this does not change by itself, since it could not take it back when
/// killed. Errors: std::runtime_error (what, why, what to do). Threads: none inside; one owner.
class AddressTranslation {
 public:
  /// `name`: of the kernel's table, of which there may be one.
  AddressTranslation(const std::string& name, const Address& from);

 private:
  NetlinkSocket socket_;
};

}  // namespace cress::netns
