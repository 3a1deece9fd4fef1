// Goal: one address leaves as the machine's own, others as they are. Method: packets go from one
// TUN device to another through a private network; skipped where the machine allows none.

#include "transport/netns/address_translation.hh"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "transport/netns/namespace_process.hh"
#include "transport/netns/route_socket.hh"
#include "transport/netns/tun_device.hh"
#include "transport/runtime/address_text.hh"

namespace cress::netns {
namespace {

constexpr int kGood = 7;
constexpr int kNoNftables = 77;

Address address(const char* ip) { return *runtime::parse_address(std::string{ip} + ":0"); }

/// UDP without a checksum from 10.9.0.`last` to 198.51.100.7.
std::vector<std::byte> packet_from(uint8_t last) {
  std::array<uint8_t, 28> bytes{0x45, 0, 0,   28, 0,   0, 0,    0, 64, 17, 0, 0, 10, 9,
                                0,    0, 198, 51, 100, 7, 0x10, 0, 0,  53, 0, 8, 0,  0};
  bytes[15] = last;
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8U | bytes[i + 1]);
  }
  sum = ~((sum & 0xffffU) + (sum >> 16U));
  bytes[10] = static_cast<uint8_t>(sum >> 8U);
  bytes[11] = static_cast<uint8_t>(sum);
  const auto view = std::as_bytes(std::span{bytes});
  return {view.begin(), view.end()};
}

/// Two networks, 10.9.0.1/29 on one side and 203.0.113.1/24 on the other.
class Router {
 public:
  Router() {
    RouteSocket routes;
    routes.configure(
        {.name = "in0", .mtu = DataSize{1500}, .addresses = {{address("10.9.0.1"), 29}}});
    routes.configure({.name = "out0",
                      .mtu = DataSize{1500},
                      .addresses = {{address("203.0.113.1"), 24}},
                      .routes = {{address("0.0.0.0"), 0}}});
  }
  /// The source, four bytes as one number, of what leaves when 10.9.0.`last` sends; 0: nothing.
  uint32_t leaves_as(uint8_t last) {
    in_.write(packet_from(last));
    pollfd waiting{out_.handle(), POLLIN, 0};
    while (poll(&waiting, 1, 2000) == 1) {
      while (const auto packet = out_.read()) {
        if (packet->size() == 28 && (*packet)[9] == std::byte{17}) {
          uint32_t source = 0;
          for (size_t i = 12; i < 16; ++i) {
            source = source << 8U | std::to_integer<uint32_t>((*packet)[i]);
          }
          return source;
        }
      }
    }
    return 0;
  }

 private:
  TunDevice in_{"in0"};
  TunDevice out_{"out0"};
};

class AddressTranslationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  static int inside(const std::string& forwards, std::function<int()> work) {
    NamespaceOptions options;
    options.settings = {{"net/ipv4/ip_forward", forwards}};
    options.work = std::move(work);
    return run_in_namespace(std::move(options));
  }
};

TEST_F(AddressTranslationTest, OneAddressLeavesAsTheMachinesOwn) {
  const int code = inside("1", [] {
    Router router;
    const uint32_t before = router.leaves_as(2);
    try {
      const AddressTranslation translation{"cress-test", address("10.9.0.2")};
      return before == 0x0a090002 && router.leaves_as(2) == 0xcb007101 &&
                     router.leaves_as(3) == 0x0a090003
                 ? kGood
                 : 1;
    } catch (const std::runtime_error&) {
      return kNoNftables;
    }
  });
  if (code == kNoNftables) {
    GTEST_SKIP() << "this machine has no nftables";
  }
  EXPECT_EQ(code, kGood);
}

TEST_F(AddressTranslationTest, AMachineThatForwardsNothingIsToldSo) {
  EXPECT_EQ(
      inside("0",
             [] {
               try {
                 const AddressTranslation translation{"cress-test", address("10.9.0.2")};
               } catch (const std::runtime_error& error) {
                 return std::string{error.what()}.starts_with("this machine forwards no packets")
                            ? kGood
                            : 1;
               }
               return 2;
             }),
      kGood);
}

}  // namespace
}  // namespace cress::netns
