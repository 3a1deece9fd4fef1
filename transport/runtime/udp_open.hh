#pragma once

#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::runtime {

struct OpenedUdp {
  FileDescriptor fd;
  bool ipv4_only = false;
  bool tells_asked = false;   ///< to which address of ours a datagram came
  bool takes_merged = false;  ///< the kernel may hand over several datagrams as one
};

/// A bound UDP socket with all its settings: non-blocking, no fragments, receive times, path errors
/// and drops are reported. Throws std::runtime_error: what, where, what to do.
OpenedUdp open_udp(const UdpSocketOptions& options);

}  // namespace cress::runtime
