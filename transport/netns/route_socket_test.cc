#include "transport/netns/route_socket.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "transport/netns/namespace_process.hh"
#include "transport/runtime/address_text.hh"

namespace cress::netns {
namespace {

/// Gives what `work` counts up to, done in a network of its own.
class RouteSocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  static int inside(std::function<int()> work) {
    NamespaceOptions options;
    options.work = std::move(work);
    return run_in_namespace(std::move(options));
  }
};

TEST_F(RouteSocketTest, ListsEachAddressWithItsPrefix) {
  EXPECT_EQ(inside([] {
              RouteSocket routes;
              routes.set_up("lo");
              std::vector<std::string> texts;
              for (const Prefix& prefix : routes.addresses()) {
                texts.push_back(format_prefix(prefix));
              }
              return std::ranges::count(texts, "127.0.0.1/8") == 1 &&
                             std::ranges::all_of(texts,
                                                 [](const std::string& text) {
                                                   return text == "127.0.0.1/8" ||
                                                          text == "::1/128";
                                                 })
                         ? 7
                         : 1;
            }),
            7);
}

TEST_F(RouteSocketTest, AnInterfaceThatIsNotThereIsNamed) {
  EXPECT_EQ(inside([] {
              try {
                RouteSocket{}.set_up("none0");
                return 1;
              } catch (const std::runtime_error& error) {
                return std::string{error.what()}.starts_with("no network interface none0: ") ? 7
                                                                                             : 2;
              }
            }),
            7);
}

TEST_F(RouteSocketTest, ListsTheDestinationsOfAllRoutes) {
  EXPECT_EQ(inside([] {
              RouteSocket routes;
              routes.set_up("lo");
              const auto all = routes.destinations();
              const auto has = [&](const char* ip, int length) {
                return std::ranges::count(all, Prefix{*runtime::parse_address(ip), length}) > 0;
              };
              return has("127.0.0.0:0", 8) && !has("10.0.0.0:0", 8) ? 7 : 1;
            }),
            7);
}

TEST_F(RouteSocketTest, TellsTheRouterOnTheWayToADestination) {
  EXPECT_EQ(inside([] {
              // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c): a process of its own
              if (std::system("ip link set lo up && ip link add n0 type veth peer name n1 && "
                              "ip link set n0 up && ip link set n1 up && "
                              "ip addr add 10.9.0.2/24 dev n0 && "
                              "ip route add default via 10.9.0.1 dev n0 && "
                              "ip route add unreachable 203.0.113.0/24") != 0) {
                return 1;
              }
              RouteSocket routes;
              const auto to = [&](const char* far) {
                return routes.route_to(*runtime::parse_address(far));
              };
              const Address own = *runtime::parse_address("10.9.0.2:0");
              const Address router = *runtime::parse_address("10.9.0.1:0");
              if (to("198.51.100.1:4747") != Route{router, own}) {
                return 2;
              }
              if (to("10.9.0.9:4747") != Route{std::nullopt, own}) {
                return 3;
              }
              const auto loopback = to("127.0.0.1:4747");
              if (!loopback || loopback->router) {
                return 4;
              }
              return !to("203.0.113.1:9") && !to("[2001:db8::1]:9") ? 7 : 5;
            }),
            7);
}

Prefix prefix_of(const char* ip, int length) { return {*runtime::parse_address(ip), length}; }

TEST(Prefix, ContainsAddressesOfItsFamilyThatBeginAsItDoes) {
  const auto is_in = [](const Prefix& network, const char* ip) {
    return contains(network, *runtime::parse_address(ip));
  };
  EXPECT_TRUE(is_in(prefix_of("100.64.0.0:0", 10), "100.127.255.255:9"));
  EXPECT_FALSE(is_in(prefix_of("100.64.0.0:0", 10), "100.128.0.0:9"));
  EXPECT_FALSE(is_in(prefix_of("100.64.0.0:0", 10), "100.63.255.255:9"));
  EXPECT_TRUE(is_in(prefix_of("10.9.0.1:0", 32), "10.9.0.1:9"));
  EXPECT_FALSE(is_in(prefix_of("10.9.0.1:0", 32), "10.9.0.0:9"));
  EXPECT_TRUE(is_in(prefix_of("0.0.0.0:0", 0), "10.9.0.1:9"));
  EXPECT_FALSE(is_in(prefix_of("0.0.0.0:0", 0), "[fd63::2]:9"));
  EXPECT_FALSE(is_in(prefix_of("[::]:0", 0), "10.9.0.1:9"));
  EXPECT_TRUE(is_in(prefix_of("[fd63::]:0", 126), "[fd63::3]:9"));
  EXPECT_FALSE(is_in(prefix_of("[fd63::]:0", 126), "[fd63::4]:9"));
}

TEST(Prefix, TwoOverlapIfOneContainsTheOther) {
  EXPECT_TRUE(overlap(prefix_of("10.9.0.1:0", 30), prefix_of("10.0.0.0:0", 8)));
  EXPECT_TRUE(overlap(prefix_of("10.0.0.0:0", 8), prefix_of("10.9.0.1:0", 30)));
  EXPECT_TRUE(overlap(prefix_of("10.9.0.1:0", 30), prefix_of("10.9.0.2:0", 30)));
  EXPECT_FALSE(overlap(prefix_of("10.9.0.1:0", 30), prefix_of("10.9.0.5:0", 30)));
  EXPECT_FALSE(overlap(prefix_of("10.9.0.1:0", 30), prefix_of("[::]:0", 0)));
}

TEST(Prefix, IsWrittenWithoutPortOrBrackets) {
  EXPECT_EQ(format_prefix({*runtime::parse_address("100.64.0.2:0"), 30}), "100.64.0.2/30");
  EXPECT_EQ(format_prefix({*runtime::parse_address("[fd63::2]:0"), 64}), "fd63::2/64");
}

}  // namespace
}  // namespace cress::netns
