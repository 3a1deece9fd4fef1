// Goal: the port that a router grants by UPnP is the one that was asked for, and what is abandoned
// leaves no mapping behind. Method: a small router on loopback that answers one request at a time.

#include "transport/mapping/router/upnp.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "transport/base/file_descriptor.hh"
#include "transport/base/text_file.hh"
#include "transport/mapping/router/router_mapping.hh"
#include "transport/mapping/router_test_tools.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/runtime/loop_test_tools.hh"

namespace cress::mapping {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kType = "urn:schemas-upnp-org:service:WANIPConnection:1";

constexpr const char* kRouterType = "urn:schemas-upnp-org:device:InternetGatewayDevice:1";
constexpr const char* kDescription =
    "<root xmlns=\"urn:schemas-upnp-org:device-1-0\"><device>"
    "<deviceType>urn:schemas-upnp-org:device:InternetGatewayDevice:1</deviceType><deviceList>"
    "<device><deviceType>urn:schemas-upnp-org:device:WANDevice:1</deviceType><deviceList>"
    "<device><deviceType>urn:schemas-upnp-org:device:WANConnectionDevice:1</deviceType>"
    "<serviceList><service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:1"
    "</serviceType><serviceId>urn:upnp-org:serviceId:WANIPConn1</serviceId>"
    "<controlURL>/ctl</controlURL><eventSubURL>/events</eventSubURL>"
    "<SCPDURL>/scpd.xml</SCPDURL></service></serviceList></device></deviceList></device>"
    "</deviceList></device></root>";

/// The text between <name> and </name>; empty if there is none.
std::string element(const std::string& text, const std::string& name) {
  const std::string begin = "<" + name + ">";
  const size_t from = text.find(begin);
  const size_t to = text.find("</" + name + ">");
  return from == std::string::npos || to == std::string::npos
             ? std::string{}
             : text.substr(from + begin.size(), to - from - begin.size());
}

/// The service of a router, in a thread of its own.
class ServiceOfARouter {
 public:
  explicit ServiceOfARouter(std::string ip = "127.0.0.1") : ip_(std::move(ip)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, ip_.c_str(), &address.sin_addr), 1);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), any, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { serve(); }};
  }
  ~ServiceOfARouter() { stop(); }
  ServiceOfARouter(const ServiceOfARouter&) = delete;
  ServiceOfARouter& operator=(const ServiceOfARouter&) = delete;

  std::string url(const std::string& path) const {
    return "http://" + ip_ + ":" + std::to_string(port_) + path;
  }
  UpnpService service() const { return {url("/ctl"), kType}; }
  /// Ends it; afterwards its records may be read.
  void stop() {
    if (thread_.joinable()) {
      ::shutdown(listener_.get(), SHUT_RDWR);
      thread_.join();
    }
  }

  // Set before the first request.
  std::string outside = "198.51.100.9";
  std::map<std::string, int> errors;  ///< of ports outside
  std::function<void(const std::string& action)> on_request = [](const std::string&) {};
  /// The requests: an action and its port outside.
  Words requests;
  std::string last_mapping;  ///< the whole request for it
  std::atomic<int> additions = 0;
  std::atomic<int> removals = 0;

 private:
  void serve() {
    for (;;) {
      const FileDescriptor peer{::accept(listener_.get(), nullptr, nullptr)};
      if (peer.get() < 0) {
        return;
      }
      (void)write_all(peer.get(), answer(read_request(peer.get())));
    }
  }
  static std::string read_request(int peer) {
    std::string text;
    std::vector<char> chunk(4096);
    while (text.find(text.starts_with("GET") ? "\r\n\r\n" : "</s:Envelope>") == std::string::npos) {
      const ssize_t got = ::read(peer, chunk.data(), chunk.size());
      if (got <= 0) {
        break;
      }
      text.append(chunk.data(), static_cast<size_t>(got));
    }
    return text;
  }
  std::string answer(const std::string& request) {
    if (request.starts_with("GET /description.xml ")) {
      return http("200 OK", kDescription);
    }
    const std::string port = element(request, "NewExternalPort");
    for (const std::string action :
         {"GetExternalIPAddress", "AddPortMapping", "DeletePortMapping"}) {
      if (request.find("#" + action) == std::string::npos) {
        continue;
      }
      requests.push_back(action + (port.empty() ? "" : " " + port));
      if (action != "GetExternalIPAddress") {
        last_mapping = request;
      }
      on_request(action);
      const auto error = errors.find(port);
      if (action == "AddPortMapping" && error != errors.end()) {
        return http("500 Internal Server Error",
                    "<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring>"
                    "<detail><UPnPError xmlns=\"urn:schemas-upnp-org:control-1-0\"><errorCode>" +
                        std::to_string(error->second) +
                        "</errorCode></UPnPError></detail></s:Fault>");
      }
      additions += action == "AddPortMapping" ? 1 : 0;
      removals += action == "DeletePortMapping" ? 1 : 0;
      return http("200 OK", "<u:" + action + "Response xmlns:u=\"" + kType +
                                "\"><NewExternalIPAddress>" + outside +
                                "</NewExternalIPAddress></u:" + action + "Response>");
    }
    return http("404 Not Found", "");
  }
  static std::string http(const std::string& status, const std::string& body) {
    const std::string all =
        body.starts_with("<root")
            ? body
            : "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>" + body +
                  "</s:Body></s:Envelope>";
    return "HTTP/1.1 " + status +
           "\r\nContent-Type: text/xml\r\nContent-Length: " + std::to_string(all.size()) +
           "\r\nConnection: close\r\n\r\n" + all;
  }

  std::string ip_;
  FileDescriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  uint16_t port_ = 0;
  std::thread thread_;
};

class UpnpOnLoopback : public ::testing::Test {
 protected:
  std::optional<UpnpMapping> map() {
    return map_by_upnp({.router = ipv4(127, 0, 0, 1),
                        .client = ipv4(127, 0, 0, 1, 4433),
                        .outside_ports = {4433, 5001, 5002},
                        .lifetime = 5min,
                        .service = router_.service()},
                       abandoned_);
  }

  ServiceOfARouter router_;
  std::atomic<bool> abandoned_ = false;
};

TEST_F(UpnpOnLoopback, APortIsGrantedAndRemoved) {
  const auto mapping = map();
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(mapping->outside, ipv4(198, 51, 100, 9, 4433));
  const auto check_last = [this](const std::map<std::string, std::string>& elements) {
    for (const auto& [name, text] : elements) {
      EXPECT_EQ(element(router_.last_mapping, name), text) << name;
    }
  };
  check_last({{"NewExternalPort", "4433"},
              {"NewProtocol", "UDP"},
              {"NewInternalPort", "4433"},
              {"NewInternalClient", "127.0.0.1"},
              {"NewPortMappingDescription", "cress"},
              {"NewLeaseDuration", "300"},
              {"NewEnabled", "1"}});
  remove_by_upnp({mapping->service, ipv4(198, 51, 100, 9, 5001)});
  check_last({{"NewExternalPort", "5001"}, {"NewProtocol", "UDP"}});
  router_.stop();
  EXPECT_EQ(router_.requests,
            (Words{"GetExternalIPAddress", "AddPortMapping 4433", "DeletePortMapping 5001"}));
}

TEST_F(UpnpOnLoopback, APortOfAnotherHostIsReplacedByTheNext) {
  router_.errors = {{"4433", 718}, {"5001", 718}};
  const auto mapping = map();
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(mapping->outside, ipv4(198, 51, 100, 9, 5002));
  router_.stop();
  EXPECT_EQ(router_.requests, (Words{"GetExternalIPAddress", "AddPortMapping 4433",
                                     "AddPortMapping 5001", "AddPortMapping 5002"}));
}

TEST_F(UpnpOnLoopback, ARefusalIsNotAskedAboutTwice) {
  router_.errors = {{"4433", 606}};  // not authorized
  EXPECT_FALSE(map().has_value());
  router_.stop();
  EXPECT_EQ(router_.requests, (Words{"GetExternalIPAddress", "AddPortMapping 4433"}));
}

TEST_F(UpnpOnLoopback, WithoutAnAddressOutsideNoPortIsAskedFor) {
  for (const char* none : {"", "2001:db8::1", "router"}) {
    router_.outside = none;
    EXPECT_FALSE(map().has_value()) << none;
  }
  router_.stop();
  EXPECT_EQ(router_.requests, Words(3, "GetExternalIPAddress"));
}

TEST_F(UpnpOnLoopback, WhatIsAbandonedLeavesNoMapping) {
  for (const std::string step : {"GetExternalIPAddress", "AddPortMapping"}) {
    abandoned_ = false;
    router_.on_request = [&](const std::string& action) {
      abandoned_ = abandoned_ || action == step;
    };
    EXPECT_FALSE(map().has_value()) << step;
  }
  router_.stop();
  EXPECT_EQ(router_.requests, (Words{"GetExternalIPAddress", "GetExternalIPAddress",
                                     "AddPortMapping 4433", "DeletePortMapping 4433"}));
}

TEST_F(UpnpOnLoopback, AnAbandonedConflictIsNotFollowedByTheNextPort) {
  router_.errors = {{"4433", 718}};
  router_.on_request = [&](const std::string& action) { abandoned_ = action == "AddPortMapping"; };
  EXPECT_FALSE(map().has_value());
  router_.stop();
  EXPECT_EQ(router_.requests, (Words{"GetExternalIPAddress", "AddPortMapping 4433"}));
}

/// A bound UDP socket of the router's.
FileDescriptor datagrams_at(const char* ip, uint16_t port) {
  FileDescriptor socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, ip, &address.sin_addr);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot bind");
  }
  return socket;
}

/// Answers searches by SSDP until it ends.
class AnswersToSearches {
 public:
  explicit AnswersToSearches(const std::string& location) {
    ip_mreq group{};
    ::inet_pton(AF_INET, "239.255.255.250", &group.imr_multiaddr);
    ::inet_pton(AF_INET, "10.9.0.1", &group.imr_interface);
    if (::setsockopt(socket_.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group) != 0) {
      throw std::runtime_error("cannot join the group");
    }
    answer_ = "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age=120\r\nST: " + std::string{kRouterType} +
              "\r\nUSN: uuid:1::" + kRouterType + "\r\nEXT:\r\nLOCATION: " + location + "\r\n\r\n";
    thread_ = std::thread{[this] { serve(); }};
  }
  ~AnswersToSearches() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  AnswersToSearches(const AnswersToSearches&) = delete;
  AnswersToSearches& operator=(const AnswersToSearches&) = delete;

 private:
  void serve() {
    std::vector<char> bytes(2048);
    for (;;) {
      sockaddr_in from{};
      socklen_t size = sizeof from;
      auto* const any = reinterpret_cast<sockaddr*>(&from);
      const ssize_t got = ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0, any, &size);
      if (got <= 0) {
        return;
      }
      const std::string_view request{bytes.data(), static_cast<size_t>(got)};
      if (request.starts_with("M-SEARCH") && request.find(kRouterType) != request.npos) {
        (void)::sendto(socket_.get(), answer_.data(), answer_.size(), 0, any, size);
      }
    }
  }

  FileDescriptor socket_ = datagrams_at("0.0.0.0", 1900);
  std::string answer_;
  std::thread thread_;
};

/// The number of the first thing that was not as it should be; 0: none.
int use_the_router(bool refuses_pcp) {
  ServiceOfARouter router{"10.9.0.1"};
  auto searches = std::make_unique<AnswersToSearches>(router.url("/description.xml"));
  std::optional<FileDescriptor> silent;
  if (!refuses_pcp) {
    silent = datagrams_at("10.9.0.1", kRouterPort);
  }
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  int changes = 0;
  auto mapping = std::make_unique<RouterMapping>(
      UpnpMapper::Parts{clock, loop},
      RouterMappingOptions{.local = ipv4(0, 0, 0, 0, 4433),
                           .far = ipv4(203, 0, 113, 1, 4747),
                           .way =
                               [](const Address&) {
                                 return WayOut{ipv4(10, 9, 0, 1), ipv4(10, 9, 0, 2)};
                               }},
      [&] { ++changes; });
  const auto is_soon = [&](const std::function<bool()>& done) {
    return runtime::run_until(clock, loop, done, 10s);
  };
  if (!is_soon([&] { return changes > 0; }) || mapping->mapped() != ipv4(198, 51, 100, 9, 4433)) {
    return 1;
  }
  if (mapping->protocol() != MappingProtocol::kUpnp || changes != 1) {
    return 2;
  }
  searches.reset();  // the service is known
  mapping->handle_network_change();
  if (!is_soon([&] { return router.additions == 2; }) || changes != 1) {
    return 3;
  }
  mapping.reset();
  if (!is_soon([&] { return router.removals > 0; })) {
    return 4;
  }
  router.stop();
  Words wanted{"GetExternalIPAddress", "AddPortMapping 4433", "GetExternalIPAddress",
               "AddPortMapping 4433"};
  // Twice, if the end came before the answer.
  wanted.resize(std::max(router.requests.size(), wanted.size() + 1), "DeletePortMapping 4433");
  return router.requests == wanted ? 0 : 5;
}

TEST(UpnpInANetwork, AServiceIsFoundUsedAndLeftWherePcpFails) {
  if (const std::string why = netns::namespaces_forbidden(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  netns::NamespaceOptions options;
  options.work = [] {
    // NOLINTNEXTLINE(concurrency-mt-unsafe,cert-env33-c)
    if (std::system("ip link set lo up && ip link add n0 type veth peer name n1 && "
                    "ip link set n0 up && ip link set n1 up && ip addr add 10.9.0.1/24 dev n0 && "
                    "ip addr add 10.9.0.2/24 dev n0 && ip route add 239.0.0.0/8 dev n0") != 0) {
      return 10;
    }
    const int silent = use_the_router(false);
    const int refusing = use_the_router(true);
    return silent > 0 ? 20 + silent : refusing > 0 ? 30 + refusing : 100;
  };
  EXPECT_EQ(netns::run_in_namespace(std::move(options)), 100);
}

}  // namespace
}  // namespace cress::mapping
