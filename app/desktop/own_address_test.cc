#include "app/desktop/own_address.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "transport/runtime/address_text.hh"

namespace cress::desktop {
namespace {

Address ip(const std::string& text) {
  const bool ipv6 = text.find(':') != std::string::npos;
  return *runtime::parse_address((ipv6 ? "[" + text + "]" : text) + ":0");
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

TEST(OwnAddress, AllOfAMachinesAddressesAreNoSpecificOne) {
  EXPECT_FALSE(is_specific({}));
  EXPECT_FALSE(is_specific(ip("0.0.0.0")));
  EXPECT_FALSE(is_specific(ip("::")));
  EXPECT_TRUE(is_specific(ip("127.0.0.1")));
  EXPECT_TRUE(is_specific(ip("::1")));
}

}  // namespace
}  // namespace cress::desktop
