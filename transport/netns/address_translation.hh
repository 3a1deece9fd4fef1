#pragma once

#include <string>

#include "transport/base/address.hh"
#include "transport/netns/netlink.hh"

namespace cress::netns {

/// IPv4 masquerading by nftables: packets from one IPv4 address that leave this machine get the
/// machine's own address, and answers are translated back. It ends with this object or its process,
/// because the kernel's table belongs to the socket. Requires CAP_NET_ADMIN, Linux 5.12, and IP
/// forwarding enabled on the machine. This class does not enable forwarding itself, since it could
/// not undo that if it were killed. Errors: std::runtime_error (what, why, what to do). Threads:
/// none inside; one owner.
class AddressTranslation {
 public:
  /// `name`: of the kernel's table; only one table may have it.
  AddressTranslation(const std::string& name, const Address& from);

 private:
  NetlinkSocket socket_;
};

}  // namespace cress::netns
