#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/runtime/file_descriptor.hh"

namespace cress::netns {

/// A network interface whose cable ends in this program: what the kernel routes into it is read
/// here, one IP packet at a time, and what is written here arrives from it. Whole packets with
/// their checksums: no offloads, so none is larger than the MTU. Gone with its file.
/// Errors: the constructor throws std::runtime_error (what, why, what to do); afterwards nothing
/// throws. Threads: none inside; one owner.
class TunDevice {
 public:
  /// IPv4 and IPv6 have no larger packets.
  static constexpr size_t kPacketMax = 65'535;

  /// A new interface in the calling process's network, which takes CAP_NET_ADMIN there. Of a
  /// name with "%d" the kernel counts the number up. Not up, no addresses yet: RouteSocket.
  explicit TunDevice(const std::string& name = "cress%d");
  /// Takes over an open one, whatever network it is in.
  TunDevice(int fd, std::string name);

  /// The next packet, good until the next call; nothing when none waits (or the interface is down).
  std::optional<std::span<const std::byte>> read();
  /// False: the kernel did not take it (the interface is down, it is no IP packet, no memory). It
  /// never blocks.
  bool write(std::span<const std::byte> packet);

  const std::string& name() const { return name_; }
  /// For the event loop: readable when packets wait.
  int handle() const { return fd_.get(); }

 private:
  runtime::FileDescriptor fd_;
  std::string name_;
  std::vector<std::byte> buffer_;
};

}  // namespace cress::netns
