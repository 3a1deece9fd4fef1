// Goal: the port that a router grants by UPnP is the one that was asked for, and what is abandoned
// leaves no mapping behind. Method: a small router on loopback that answers one request at a time.

#include "transport/mapping/router/upnp.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/base/file_descriptor.hh"
#include "transport/base/text_file.hh"
#include "transport/mapping/router_test_tools.hh"

namespace cress::mapping {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kType = "urn:schemas-upnp-org:service:WANIPConnection:1";

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
  ServiceOfARouter() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

  UpnpService service() const {
    return {"http://127.0.0.1:" + std::to_string(port_) + "/ctl", kType};
  }
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
    while (text.find("</s:Envelope>") == std::string::npos) {
      const ssize_t got = ::read(peer, chunk.data(), chunk.size());
      if (got <= 0) {
        break;
      }
      text.append(chunk.data(), static_cast<size_t>(got));
    }
    return text;
  }
  std::string answer(const std::string& request) {
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
      return http("200 OK", "<u:" + action + "Response xmlns:u=\"" + kType +
                                "\"><NewExternalIPAddress>" + outside +
                                "</NewExternalIPAddress></u:" + action + "Response>");
    }
    return http("404 Not Found", "");
  }
  static std::string http(const std::string& status, const std::string& body) {
    const std::string all =
        "<?xml version=\"1.0\"?><s:Envelope "
        "xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>" +
        body + "</s:Body></s:Envelope>";
    return "HTTP/1.1 " + status + "\r\nContent-Type: text/xml\r\nContent-Length: " +
           std::to_string(all.size()) + "\r\nConnection: close\r\n\r\n" + all;
  }

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
  EXPECT_EQ(router_.requests,
            (Words{"GetExternalIPAddress", "GetExternalIPAddress", "AddPortMapping 4433",
                   "DeletePortMapping 4433"}));
}

TEST_F(UpnpOnLoopback, AnAbandonedConflictIsNotFollowedByTheNextPort) {
  router_.errors = {{"4433", 718}};
  router_.on_request = [&](const std::string& action) {
    abandoned_ = action == "AddPortMapping";
  };
  EXPECT_FALSE(map().has_value());
  router_.stop();
  EXPECT_EQ(router_.requests, (Words{"GetExternalIPAddress", "AddPortMapping 4433"}));
}

}  // namespace
}  // namespace cress::mapping
