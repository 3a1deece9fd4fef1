#pragma once

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/base/address.hh"
#include "transport/base/ecn.hh"
#include "transport/base/time.hh"

namespace cress::runtime {

/// Control messages (cmsg(3)): what the kernel says of a datagram next to its bytes, and what it is
/// asked for. Threads: pure functions.

/// A receive stamp, a destination address, the count of drops, the size of merged datagrams and the
/// traffic class (of IPv4 a byte, of IPv6 an int), with room for one that we did not request.
inline constexpr size_t kReceiveControlSize =
    CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(in6_pktinfo)) +
    CMSG_SPACE(sizeof(in_pktinfo)) + CMSG_SPACE(sizeof(uint32_t)) + 2 * CMSG_SPACE(sizeof(int));
inline constexpr size_t kSendControlSize =
    CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t));

struct ReceivedControl {
  std::optional<Duration> stamp;    ///< when it arrived, by the wall clock
  std::optional<IpBytes> asked;     ///< to which address of ours it came
  std::optional<uint32_t> dropped;  ///< by the socket so far; wraps
  size_t merged_size = 0;           ///< of each datagram except the last; 0: not merged
  Ecn ecn = Ecn::kNotEct;           ///< the same of all that are merged
};
ReceivedControl read_control(const msghdr& header);

/// The network's answer to an earlier datagram; nullopt if the message is no such error.
std::optional<sock_extended_err> network_error(const cmsghdr& message);

/// Control messages to be sent, in a place that is as long-lived as the header.
class SentControl {
 public:
  /// `header` sends these messages from now on: none yet.
  void begin(msghdr& header);
  /// An address of ours that the datagram leaves from; `scope`: IPv6's, of the address it goes to.
  void add_source(const IpBytes& own, uint32_t scope, bool ipv4_only);
  void add_mark(Ecn ecn, bool to_ipv4);
  /// The kernel cuts the message into datagrams of `size`, the last of what remains.
  void add_cut(uint16_t size);

 private:
  template <class T>
  void add(int level, int type, const T& value);

  msghdr* header_ = nullptr;
  alignas(cmsghdr) std::array<std::byte, kSendControlSize> bytes_{};
};

}  // namespace cress::runtime
