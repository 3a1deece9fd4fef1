#include "transport/netns/tun_device.hh"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace cress::netns {
namespace {

constexpr const char* kClone = "/dev/net/tun";

int open_clone() {
  const int fd = open(kClone, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    std::string advice;
    if (error == ENOENT || error == ENODEV) {
      advice = "; `modprobe tun` as root brings it";
    } else if (error == EACCES || error == EPERM) {
      advice = "; it is open to all on most machines, `chmod 666 /dev/net/tun` as root makes it so";
    }
    throw std::runtime_error(std::string{"cannot open "} + kClone + ": " +
                             std::system_category().message(error) + advice);
  }
  return fd;
}

/// Returns the name that the device got.
std::string create(int fd, const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) {
    throw std::runtime_error("an interface's name has at most 15 letters: " + name);
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (ioctl(fd, TUNSETIFF, &request) != 0) {
    throw std::runtime_error("cannot make the network interface " + name + ": " +
                             std::system_category().message(errno));
  }
  return request.ifr_name;
}

}  // namespace

TunDevice::TunDevice(const std::string& name)
    : fd_(open_clone()), name_(create(fd_.get(), name)), buffer_(kPacketMax) {}

TunDevice::TunDevice(int fd, std::string name)
    : fd_(fd), name_(std::move(name)), buffer_(kPacketMax) {}

std::optional<std::span<const std::byte>> TunDevice::read() {
  while (true) {
    const ssize_t size = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (size >= 0) {
      return std::span<const std::byte>{buffer_.data(), static_cast<size_t>(size)};
    }
    if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

bool TunDevice::write(std::span<const std::byte> packet) {
  while (true) {
    if (::write(fd_.get(), packet.data(), packet.size()) >= 0) {
      return true;
    }
    if (errno != EINTR) {
      return false;
    }
  }
}

}  // namespace cress::netns
