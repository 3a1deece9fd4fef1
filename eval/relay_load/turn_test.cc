// Goal: what is said to a TURN server is as RFC 8656 has it, and what comes through it is counted.
// Method: a small server of our own in place of coturn, this test program run again.

#include "eval/relay_load/turn.hh"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cress::relay_load {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<uint8_t>;

constexpr const char* kPort = "CRESS_TEST_TURN_PORT";
constexpr size_t kHeader = 20;

struct Arrived {
  sockaddr_in from{};
  Bytes bytes;
};

int bound_socket(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
  return fd;
}

uint16_t port_of(int fd) {
  sockaddr_in here{};
  socklen_t size = sizeof here;
  getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
  return ntohs(here.sin_port);
}

std::optional<Arrived> receive(int fd) {
  Arrived arrived{.bytes = Bytes(2048)};
  socklen_t size = sizeof arrived.from;
  const ssize_t got = recvfrom(fd, arrived.bytes.data(), arrived.bytes.size(), MSG_DONTWAIT,
                               reinterpret_cast<sockaddr*>(&arrived.from), &size);
  if (got < 0) {
    return std::nullopt;
  }
  arrived.bytes.resize(static_cast<size_t>(got));
  return arrived;
}

void send(int fd, const sockaddr_in& to, const Bytes& bytes) {
  sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

uint32_t number(const Bytes& bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = value << 8U | (at + i < bytes.size() ? bytes[at + i] : 0U);
  }
  return value;
}

void put(Bytes& to, uint32_t value, size_t size) {
  for (size_t i = size; i-- > 0;) {
    to.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

/// Where the value of an attribute is.
std::optional<size_t> attribute(const Bytes& message, uint16_t wanted) {
  for (size_t at = kHeader; at + 4 <= message.size(); at += 4 + number(message, at + 2, 2)) {
    if (number(message, at, 2) == wanted) {
      return at + 4;
    }
  }
  return std::nullopt;
}

class FakeServer {
 public:
  explicit FakeServer(uint16_t port) : socket_(bound_socket(port)) {}

  [[noreturn]] void run() {
    for (;;) {
      std::vector<pollfd> all{{socket_, POLLIN, 0}};
      for (const Client& client : clients_) {
        all.push_back({client.relayed, POLLIN, 0});
      }
      poll(all.data(), all.size(), -1);
      while (const auto arrived = receive(socket_)) {
        handle_request(*arrived);
      }
      for (const Client& client : clients_) {
        while (const auto arrived = receive(client.relayed)) {
          hand_over(client, *arrived);
        }
      }
    }
  }

 private:
  struct Client {
    sockaddr_in at{};
    int relayed = -1;
    uint32_t channel = 0;
    uint16_t peer_port = 0;
    uint32_t peer_ip = 0;
  };

  Client& client_at(const sockaddr_in& at) {
    for (Client& client : clients_) {
      if (client.at.sin_port == at.sin_port) {
        return client;
      }
    }
    clients_.push_back({.at = at, .relayed = bound_socket(0)});
    return clients_.back();
  }
  void handle_request(const Arrived& arrived) {
    const Bytes& message = arrived.bytes;
    if (number(message, 2, 2) + kHeader != message.size() || number(message, 4, 4) != 0x2112A442) {
      return;
    }
    Client& client = client_at(arrived.from);
    Bytes attributes;
    if (number(message, 0, 2) == 0x0003) {
      const auto transport = attribute(message, 0x0019);
      if (!transport || number(message, *transport, 4) != 17U << 24U) {
        return;
      }
      put(attributes, 0x8022'0005, 4);  // the server's name, of five letters
      put(attributes, 0x6372'6573, 4);
      put(attributes, 0x7300'0000, 4);
      put(attributes, 0x0016'0008, 4);
      put(attributes, 0x0001, 2);
      put(attributes, port_of(client.relayed) ^ 0x2112U, 2);
      put(attributes, INADDR_LOOPBACK ^ 0x2112A442U, 4);
    } else if (number(message, 0, 2) == 0x0009) {
      const auto channel = attribute(message, 0x000C);
      const auto peer = attribute(message, 0x0012);
      if (!channel || !peer || number(message, *peer, 2) != 1) {
        return;
      }
      client.channel = number(message, *channel, 2);
      client.peer_port = static_cast<uint16_t>(number(message, *peer + 2, 2) ^ 0x2112U);
      client.peer_ip = number(message, *peer + 4, 4) ^ 0x2112A442U;
    } else {
      return;
    }
    Bytes answer;
    put(answer, number(message, 0, 2) | 0x0100U, 2);
    put(answer, static_cast<uint32_t>(attributes.size()), 2);
    answer.insert(answer.end(), message.begin() + 4, message.begin() + kHeader);
    answer.insert(answer.end(), attributes.begin(), attributes.end());
    send(socket_, arrived.from, answer);
  }
  void hand_over(const Client& client, const Arrived& arrived) const {
    if (ntohs(arrived.from.sin_port) != client.peer_port ||
        ntohl(arrived.from.sin_addr.s_addr) != client.peer_ip || client.channel != 0x4000) {
      return;
    }
    Bytes data;
    put(data, client.channel, 2);
    put(data, static_cast<uint32_t>(arrived.bytes.size()), 2);
    data.insert(data.end(), arrived.bytes.begin(), arrived.bytes.end());
    send(socket_, client.at, data);
  }

  int socket_;
  std::vector<Client> clients_;
};

/// The server's process.
TEST(TurnServer, DISABLED_Fake) {
  const char* const port = std::getenv(kPort);  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(port, nullptr);
  FakeServer{static_cast<uint16_t>(std::atoi(port))}.run();  // NOLINT(cert-err34-c)
}

/// PATH is one folder with a turnserver, or without.
class TurnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    setenv("PATH", ("/nonexistent:" + folder_.string()).c_str(), 1);  // NOLINT
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);  // NOLINT
    fs::remove_all(folder_);
  }
  void install(const std::string& program) const {
    std::ofstream{folder_ / "turnserver"} << "#!/bin/sh\n" << program << "\n";
    fs::permissions(folder_ / "turnserver", fs::perms::owner_all);
  }
  void install_fake() const {
    install("while [ \"$1\" != --listening-port ]; do shift; done\n" + std::string{kPort} +
            "=$2 exec " + fs::read_symlink("/proc/self/exe").string() +
            " --gtest_filter=TurnServer.DISABLED_Fake --gtest_also_run_disabled_tests");
  }

  fs::path folder_ = fs::path{::testing::TempDir()} / "cress_turn_test";
  std::string path_ = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
};

TEST_F(TurnTest, EachDatagramComesThroughOnceToItsLeg) {
  install_fake();
  ASSERT_TRUE(has_turn_server());
  std::vector<RelayedDatagram> traffic;
  for (uint32_t i = 0; i < 60; ++i) {
    traffic.push_back({.at = i * 5ms, .leg = i % 3, .size = i % 2 == 0 ? 4U : 1100U});
  }
  const auto begun = std::chrono::steady_clock::now();
  const TurnResult result = run_turn(traffic);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, traffic.back().at)
      << "as long as the traffic";
  EXPECT_EQ(result.sent, 60U);
  EXPECT_EQ(result.delivered, 60U);
  ASSERT_TRUE(result.p50 && result.p99);
  EXPECT_GT(*result.p50, 0ms);
  EXPECT_LE(*result.p50, *result.p99);
  EXPECT_LT(*result.p50, 1s);
  EXPECT_GE(result.cpu, 0);
  EXPECT_LE(result.cpu, 1.5);
}

TEST_F(TurnTest, WithoutAServerItIsSaidWhatToInstall) {
  EXPECT_FALSE(has_turn_server());
  EXPECT_EQ(run_turn({}).sent, 0U) << "nothing to send takes no server";
  try {
    run_turn({{}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "there is no turnserver: apt-get install coturn");
  }
}

TEST_F(TurnTest, AServerThatDoesNotAnswerIsGivenUp) {
  install("exec /bin/sleep 60");
  try {
    run_turn({{}});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "turnserver does not answer");
  }
}

}  // namespace
}  // namespace cress::relay_load
