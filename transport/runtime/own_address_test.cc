#include "transport/runtime/own_address.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "transport/runtime/address_text.hh"
#include "transport/runtime/private_network_test.hh"

namespace cress::runtime {
namespace {

Address ip(const std::string& text) {
  const bool ipv6 = text.find(':') != std::string::npos;
  return *parse_address((ipv6 ? "[" + text + "]" : text) + ":0");
}
InterfaceAddress on(const std::string& interface, const std::string& text) {
  return {interface, ip(text), interface == "lo"};
}
std::string best(const std::vector<InterfaceAddress>& all,
                 const std::vector<Address>& routed = {}) {
  return host_of(best_address(all, routed));
}

TEST(OwnAddress, IsReachableByOthers) {
  EXPECT_EQ(best({on("lo", "127.0.0.1"), on("eth0", "192.0.2.7")}), "192.0.2.7");
  EXPECT_EQ(best({on("eth0", "2001:db8::7"), on("eth0", "192.0.2.7")}), "192.0.2.7");
  EXPECT_EQ(best({on("lo", "::1"), on("eth0", "fe80::1"), on("eth0", "2001:db8::7")}),
            "2001:db8::7");
  EXPECT_EQ(best({on("eth0", "fd00::7"), on("eth0", "2001:db8::7")}), "2001:db8::7");
  EXPECT_EQ(best({on("eth0", "169.254.3.4"), on("eth1", "10.0.0.7")}), "10.0.0.7");
}

TEST(OwnAddress, IsLoopbackOnlyIfThereIsNothingElse) {
  EXPECT_EQ(best({}), "127.0.0.1");
  EXPECT_EQ(best({on("lo", "127.0.0.1"), on("lo", "::1"), on("eth0", "fe80::1")}), "127.0.0.1");
  EXPECT_EQ(best({on("eth0", "0.0.0.0")}), "127.0.0.1");
}

TEST(OwnAddress, PrefersARoutedAddressToABridges) {
  const std::vector<InterfaceAddress> all{on("docker0", "172.17.0.1"), on("wlan0", "192.168.1.20"),
                                          on("wlan0", "2001:db8::7")};
  EXPECT_EQ(best(all, {ip("192.168.1.20")}), "192.168.1.20");
  EXPECT_EQ(best(all, {ip("192.168.1.20"), ip("2001:db8::7")}), "192.168.1.20");
  EXPECT_EQ(best(all), "172.17.0.1") << "the first, where nobody knows better";
}

TEST(OwnAddress, OfThisMachineIsOneOfItsOwn) {
  const std::vector<InterfaceAddress> all = interface_addresses();
  ASSERT_FALSE(all.empty()) << "there is a loopback interface at least";
  const Address own = best_own_address();
  EXPECT_TRUE(std::ranges::any_of(all, [&](const InterfaceAddress& one) {
    return one.address == own;
  })) << host_of(own);
  for (const Address& routed : routed_addresses()) {
    EXPECT_TRUE(is_specific(routed)) << host_of(routed);
  }
}

TEST(OwnAddress, CandidatesHaveThePortAndAreReachableFromElsewhere) {
  const Address bound = *parse_address("192.0.2.7:4433");
  EXPECT_EQ(candidate_addresses(bound), std::vector{bound});
  const std::vector<Address> any = candidate_addresses(*parse_address("[::]:4433"));
  for (const Address& one : any) {
    EXPECT_EQ(one.port, 4433);
    EXPECT_TRUE(is_specific(one));
    EXPECT_STRNE(who_reaches(host_of(one)), "this machine");
    EXPECT_EQ(std::ranges::count(any, one), 1);
  }
  for (const Address& routed : routed_addresses()) {
    EXPECT_TRUE(std::ranges::any_of(any, [&](const Address& a) { return a.ip == routed.ip; }));
  }
}

TEST(OwnAddress, AllOfAMachinesAddressesAreNoSpecificOne) {
  EXPECT_FALSE(is_specific({}));
  EXPECT_FALSE(is_specific(ip("0.0.0.0")));
  EXPECT_FALSE(is_specific(ip("::")));
  EXPECT_TRUE(is_specific(ip("127.0.0.1")));
  EXPECT_TRUE(is_specific(ip("::1")));
}

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
  const FileDescriptor control{socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(ioctl(control.get(), SIOCSIFADDR, &request), 0)
      << std::system_category().message(errno);
}

void remove_ipv4(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  request.ifr_addr.sa_family = AF_INET;  // 0.0.0.0
  const FileDescriptor control{socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ASSERT_EQ(ioctl(control.get(), SIOCSIFADDR, &request), 0)
      << std::system_category().message(errno);
}

std::string own_host() { return host_of(best_own_address()); }

TEST(OwnAddress, IsTheLoopbacksWithoutANetwork) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    EXPECT_EQ(own_host(), "127.0.0.1");
    network.set_second_address("192.0.2.1");
    EXPECT_EQ(own_host(), "127.0.0.1") << "others cannot reach an address of the loopback";
  });
  if (!allowed) {
    GTEST_SKIP() << "no network namespace of its own may be made here (it takes root)";
  }
}

TEST(OwnAddress, PrefersIpv4AndNeverTakesALinkLocalOne) {
  bool has_ethernet = false;
  const bool allowed = PrivateNetwork::run([&](PrivateNetwork& network) {
    const auto wire = network.add_ethernet();
    has_ethernet = wire != nullptr;
    if (!has_ethernet) {
      return;
    }
    EXPECT_EQ(own_host(), "198.51.100.1") << "not the link-local one";
    add_ipv6("tap0", "2001:db8::7");
    EXPECT_EQ(own_host(), "198.51.100.1");
    remove_ipv4("tap0");
    EXPECT_EQ(own_host(), "2001:db8::7");
  });
  if (!allowed || !has_ethernet) {
    GTEST_SKIP() << "no network namespace with an Ethernet may be made here (it takes root)";
  }
}

TEST(OwnAddress, WhoCanReachAHostIsKnownFromItsText) {
  for (const char* host : {"localhost", "a.localhost", "127.0.0.1", "127.255.0.1", "::1"}) {
    EXPECT_STREQ(who_reaches(host), "this machine") << host;
  }
  for (const char* host :
       {"10.1.2.3", "172.16.0.1", "172.31.255.1", "192.168.0.1", "169.254.1.1", "100.64.0.1",
        "100.127.1.1", "fe80::1", "febf::1", "fc00::1", "fdff::1"}) {
    EXPECT_STREQ(who_reaches(host), "its own network") << host;
  }
  for (const char* host : {"0.0.0.0", "::"}) {
    EXPECT_STREQ(who_reaches(host), "nobody") << host;
  }
  for (const char* host :
       {"relay.example.org", "localhost.example.org", "9.255.255.255", "11.0.0.1", "172.15.0.1",
        "172.32.0.1", "192.167.1.1", "192.169.0.1", "169.253.1.1", "100.63.1.1", "100.128.0.1",
        "128.0.0.1", "fe00::1", "fec0::1", "2001:db8::1", "::2", "not an address", ""}) {
    EXPECT_STREQ(who_reaches(host), "") << host;
  }
}

}  // namespace
}  // namespace cress::runtime
