#include "transport/mapping/router/router_mapping.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transport/mapping/router/upnp.hh"
#include "transport/mapping/router_test_tools.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::mapping {
namespace {

/// A router that answers on loopback; its UPnP is not there.
class RouterMappingTest : public ::testing::Test {
 protected:
  RouterMappingTest() {
    loop_.on_readable(socket_.handle(), [this] { serve(); });
  }
  ~RouterMappingTest() override { loop_.forget(socket_.handle()); }

  std::unique_ptr<RouterMapping> make() {
    RouterMappingOptions options{.local = ipv4(0, 0, 0, 0, 4433),
                                 .far = ipv4(203, 0, 113, 1, 4747),
                                 .router_port = socket_.local_address().port,
                                 .way = [this](const Address&) { return way_; }};
    return std::make_unique<RouterMapping>(UpnpMapper::Parts{clock_, loop_}, options, [this] {
      ++changes_;
      if (on_change_) {
        on_change_();
      }
    });
  }
  bool run_until(const std::function<bool()>& done, Duration most = 5s) {
    return runtime::run_until(clock_, loop_, done, most);
  }

  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket socket_{clock_, {.bind = ipv4(127, 0, 0, 1)}};
  TestRouter router_;
  std::optional<WayOut> way_ = WayOut{ipv4(127, 0, 0, 1), ipv4(127, 0, 0, 1)};
  int changes_ = 0;
  std::function<void()> on_change_;

 private:
  void serve() {
    for (const auto& datagram : socket_.receive_batch().datagrams) {
      if (auto answer = router_.answer(clock_.now(), datagram.bytes)) {
        const Transmit transmit{datagram.from, *std::move(answer)};
        (void)socket_.send_batch({&transmit, 1});
      }
    }
  }
};

TEST_F(RouterMappingTest, ThePortIsMappedAndRemovedByDatagrams) {
  auto mapping = make();
  ASSERT_TRUE(run_until([&] { return changes_ > 0; }));
  EXPECT_EQ(mapping->mapped(), router_.outside);
  EXPECT_EQ(mapping->protocol(), MappingProtocol::kPcp);
  EXPECT_EQ(router_.inside_port, 4433);
  EXPECT_EQ(changes_, 1);
  mapping->remove();
  EXPECT_TRUE(run_until([&] { return !router_.inside_port; }));
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(mapping->mapped(), std::nullopt);
}

TEST_F(RouterMappingTest, DestructionRemovesTheMapping) {
  router_.speaks_pcp = false;
  auto mapping = make();
  ASSERT_TRUE(run_until([&] { return mapping->mapped().has_value(); }));
  EXPECT_EQ(mapping->protocol(), MappingProtocol::kNatPmp);
  mapping.reset();
  EXPECT_TRUE(run_until([&] { return !router_.inside_port; }));
}

TEST_F(RouterMappingTest, WithoutARouterNothingIsAsked) {
  way_.reset();
  auto mapping = make();
  mapping->handle_network_change();
  EXPECT_FALSE(run_until([&] { return router_.requests > 0; }, 100ms));
  way_ = WayOut{ipv4(127, 0, 0, 1), ipv4(127, 0, 0, 1)};
  mapping->handle_network_change();
  EXPECT_TRUE(run_until([&] { return mapping->mapped().has_value(); })) << "there is one now";
  way_.reset();
  mapping->handle_network_change();
  EXPECT_EQ(mapping->mapped(), std::nullopt);
  EXPECT_TRUE(run_until([&] { return changes_ == 2; }));
}

TEST_F(RouterMappingTest, WhoIsToldOfTheMappingMayRemoveIt) {
  std::unique_ptr<RouterMapping> mapping;
  on_change_ = [&] { mapping->remove(); };
  mapping = make();
  EXPECT_TRUE(run_until([&] { return changes_ == 1 && !router_.inside_port; }));
  EXPECT_EQ(router_.requests, 2U);
}

TEST_F(RouterMappingTest, AChangeOfNetworkAsksAgain) {
  auto mapping = make();
  ASSERT_TRUE(run_until([&] { return mapping->mapped().has_value(); }));
  EXPECT_FALSE(run_until([] { return false; }, 300ms));
  router_.outside.port = 40'001;
  mapping->handle_network_change();
  EXPECT_TRUE(run_until([&] { return mapping->mapped() == router_.outside && changes_ == 2; }));
}

TEST_F(RouterMappingTest, ItsEndIsNotDelayedByASearchForUpnp) {
  router_.result = 2;
  auto mapping = make();
  ASSERT_TRUE(run_until([&] { return router_.requests > 0; }));
  EXPECT_FALSE(run_until([&] { return mapping->mapped().has_value(); }, 50ms));
  const TimePoint begin = clock_.now();
  mapping.reset();
  EXPECT_LT(clock_.now() - begin, 100ms);
}

TEST(WayOut, LoopbackPassesNoRouter) {
  EXPECT_EQ(way_out(ipv4(127, 0, 0, 1, 4747)), std::nullopt);
  Address ipv6{.port = 4747};
  ipv6.ip[15] = 1;
  EXPECT_EQ(way_out(ipv6), std::nullopt);
}

TEST(WayOut, TowardsARelayOfIpv6TheRouterOfIpv4IsAskedIfThereIsOne) {
  if (const std::string why = netns::namespaces_forbidden(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  netns::NamespaceOptions options;
  options.work = [] {
    const auto done = [](const char* command) {
      return std::system(command) == 0;  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
    };
    const Address far = *runtime::parse_address("[2001:db8:9::1]:4747");
    if (!done("ip link set lo up && ip link add n0 type veth peer name n1 && "
              "ip link set n0 up && ip link set n1 up && "
              "ip addr add 2001:db8:1::2/64 dev n0 nodad && "
              "ip route add default via 2001:db8:1::1 dev n0")) {
      return 1;
    }
    if (way_out(far)) {
      return 2;
    }
    if (!done("ip addr add 10.9.0.2/24 dev n0 && ip route add default via 10.9.0.1 dev n0")) {
      return 3;
    }
    if (way_out(far) != WayOut{ipv4(10, 9, 0, 1), ipv4(10, 9, 0, 2)}) {
      return 4;
    }
    // On our own wire.
    return way_out(*runtime::parse_address("[2001:db8:1::7]:4747")) ? 5 : 7;
  };
  EXPECT_EQ(netns::run_in_namespace(std::move(options)), 7);
}

TEST(Upnp, OnlyTheRoutersOwnUrlsAreFollowed) {
  const Address router = ipv4(10, 0, 0, 1);
  for (const char* good : {"http://10.0.0.1:5000/rootDesc.xml", "http://10.0.0.1/x"}) {
    EXPECT_TRUE(is_at(good, router)) << good;
  }
  for (const char* bad : {"", "http://10.0.0.1", "http://10.0.0.10/x", "http://10.0.0.1.example/x",
                          "https://10.0.0.1/x", "http://10.0.0.1:80@203.0.113.9/x",
                          "http://[::ffff:10.0.0.1]/x", "HTTP://10.0.0.2/http://10.0.0.1/"}) {
    EXPECT_FALSE(is_at(bad, router)) << bad;
  }
}

TEST(Upnp, AnAbandonedRequestStopsBeforeItMaps) {
  const std::atomic<bool> abandoned = true;
  EXPECT_FALSE(map_by_upnp({.router = ipv4(127, 0, 0, 1),
                            .client = ipv4(127, 0, 0, 1, 4433),
                            .outside_ports = {4433, 4434, 4435},
                            .lifetime = 5min,
                            .service = UpnpService{"http://127.0.0.1:1/ctl", "x"},
                            .search = 10ms},
                           abandoned));
}

}  // namespace
}  // namespace cress::mapping
