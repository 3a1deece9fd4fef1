#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "transport/runtime/file_descriptor.hh"

namespace cress::runtime {

/// For tests: a network namespace of the test's own in which only the loopback interface exists, so
/// that its state, MTU and addresses may be changed without affecting the machine's. Any failure or
/// exception fails the test.
class PrivateNetwork {
 public:
  /// Calls `work` in a thread inside such a new network, loopback up, and waits for it. Returns
  /// false, without calling, if that is not permitted (it needs root).
  static bool run(const std::function<void(PrivateNetwork&)>& work) {
    bool allowed = false;
    std::thread thread{[&] {
      if (unshare(CLONE_NEWNET) != 0) {
        return;
      }
      allowed = true;
      try {
        PrivateNetwork network;
        network.set_up(true);
        work(network);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }};
    thread.join();
    return allowed;
  }

  void set_up(bool up) {
    ifreq request = named("lo");
    change(SIOCGIFFLAGS, request);
    request.ifr_flags =
        static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    change(SIOCSIFFLAGS, request);
  }
  void set_mtu(int bytes) {
    ifreq request = named("lo");
    request.ifr_mtu = bytes;
    change(SIOCSIFMTU, request);
  }
  /// A further address, such as "192.0.2.1"; a second call replaces it.
  void set_second_address(const std::string& ipv4) { set_address(SIOCSIFADDR, "lo:1", ipv4); }
  void remove_second_address() {
    ifreq request = named("lo:1");
    request.ifr_flags = 0;
    change(SIOCSIFFLAGS, request);
  }
  /// A simulated Ethernet "tap0" with address 198.51.100.1/24: the returned file gives, frame by
  /// frame, what was sent into it. No neighbour answers there, so data sent to 198.51.100.2 waits
  /// in its socket's buffer until set_neighbour().
  std::unique_ptr<FileDescriptor> add_ethernet() {
    auto wire = std::make_unique<FileDescriptor>(open("/dev/net/tun", O_RDWR | O_NONBLOCK));
    ifreq request = named("tap0");
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(wire->get(), TUNSETIFF, &request) != 0) {
      return nullptr;
    }
    set_address(SIOCSIFADDR, "tap0", "198.51.100.1");
    set_address(SIOCSIFNETMASK, "tap0", "255.255.255.0");
    request = named("tap0");
    request.ifr_qlen = 10'000;  // frames that may wait to be read
    change(SIOCSIFTXQLEN, request);
    request = named("tap0");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    change(SIOCSIFFLAGS, request);
    return wire;
  }
  void set_neighbour() {
    arpreq request{};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "198.51.100.2", &address.sin_addr);
    std::memcpy(&request.arp_pa, &address, sizeof address);
    request.arp_ha.sa_family = ARPHRD_ETHER;
    std::memcpy(request.arp_ha.sa_data, "\x02\x00\x00\x00\x00\x02", 6);
    request.arp_flags = ATF_COM | ATF_PERM;
    std::strncpy(request.arp_dev, "tap0", sizeof request.arp_dev - 1);
    change(SIOCSARP, request);
  }

 private:
  PrivateNetwork() = default;

  static ifreq named(const std::string& interface) {
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    return request;
  }
  void set_address(unsigned long what, const std::string& interface, const std::string& ipv4) {
    ifreq request = named(interface);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, ipv4.c_str(), &address.sin_addr);
    std::memcpy(&request.ifr_addr, &address, sizeof address);
    change(what, request);
  }
  template <class Request>
  void change(unsigned long what, Request& request) {
    if (ioctl(control_.get(), what, &request) != 0) {
      throw std::runtime_error("cannot change the private network: " +
                               std::system_category().message(errno));
    }
  }

  FileDescriptor control_{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

}  // namespace cress::runtime
