#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/runtime/file_descriptor.hh"

namespace cress::netns {

/// A network interface whose other end is this program: packets that the kernel routes into it are
/// read here, one IP packet at a time, and packets written here arrive from it. Whole packets with
/// their checksums: no offloads, so none is larger than the MTU. The interface is removed when its
/// file is closed. Errors: the constructor throws std::runtime_error (what, why, what to do);
/// afterwards nothing throws. Threads: none inside; one owner.
class TunDevice {
 public:
  /// The largest IPv4 or IPv6 packet.
  static constexpr size_t kPacketMax = 65'535;

  /// Creates an interface in the calling process's network, which needs CAP_NET_ADMIN there. In a
  /// name with "%d" the kernel fills in the next free number. The interface is down and has no
  /// addresses: use RouteSocket.
  explicit TunDevice(const std::string& name = "cress%d");
  /// Takes ownership of an open device, in whatever network it is.
  TunDevice(int fd, std::string name);

  /// The next packet, valid until the next call; nullopt if none waits (or the interface is down).
  std::optional<std::span<const std::byte>> read();
  /// False if the kernel did not accept it (the interface is down, it is not an IP packet, no
  /// memory). Never blocks.
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
