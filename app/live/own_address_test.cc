#include "app/live/own_address.hh"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "transport/runtime/private_network_test.hh"

namespace cress::live {
namespace {

struct Ipv6Request {  // struct in6_ifreq, which cannot be included next to net/if.h
  in6_addr address;
  uint32_t prefix;
  int interface;
};

void add_ipv6(const char* interface, const char* address) {
  Ipv6Request request{};
  ASSERT_EQ(inet_pton(AF_INET6, address, &request.address), 1);
  request.prefix = 64;
  request.interface = static_cast<int>(if_nametoindex(interface));
  const runtime::FileDescriptor control{socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(ioctl(control.get(), SIOCSIFADDR, &request), 0)
      << std::system_category().message(errno);
}

void remove_ipv4(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  request.ifr_addr.sa_family = AF_INET;  // 0.0.0.0
  const runtime::FileDescriptor control{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(ioctl(control.get(), SIOCSIFADDR, &request), 0)
      << std::system_category().message(errno);
}

TEST(OwnAddress, IsTheLoopbacksWithoutANetwork) {
  const bool allowed = runtime::PrivateNetwork::run([](runtime::PrivateNetwork& network) {
    EXPECT_EQ(own_address(), "127.0.0.1");
    network.set_second_address("192.0.2.1");
    EXPECT_EQ(own_address(), "127.0.0.1") << "others cannot reach an address of the loopback";
  });
  if (!allowed) {
    GTEST_SKIP() << "no network namespace of its own may be made here (it takes root)";
  }
}

TEST(OwnAddress, PrefersIpv4AndNeverTakesALinkLocalOne) {
  bool has_ethernet = false;
  const bool allowed = runtime::PrivateNetwork::run([&](runtime::PrivateNetwork& network) {
    const auto wire = network.add_ethernet();
    has_ethernet = wire != nullptr;
    if (!has_ethernet) {
      return;
    }
    EXPECT_EQ(own_address(), "198.51.100.1") << "not the link-local one";
    add_ipv6("tap0", "2001:db8::7");
    EXPECT_EQ(own_address(), "198.51.100.1");
    remove_ipv4("tap0");
    EXPECT_EQ(own_address(), "2001:db8::7");
  });
  if (!allowed || !has_ethernet) {
    GTEST_SKIP() << "no network namespace with an Ethernet may be made here (it takes root)";
  }
}

}  // namespace
}  // namespace cress::live
