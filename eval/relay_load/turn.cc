#include "eval/relay_load/turn.hh"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

#include "eval/relay_load/child_process.hh"
#include "eval/relay_load/loopback.hh"
#include "eval/relay_load/quantile.hh"
#include "eval/relay_load/relay_process.hh"
#include "transport/base/big_endian.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::relay_load {
namespace {

// STUN (RFC 8489 §5) and TURN (RFC 8656 §18).
constexpr uint32_t kMagic = 0x2112'A442;
constexpr uint16_t kAllocate = 0x0003;
constexpr uint16_t kChannelBind = 0x0009;
constexpr uint16_t kSuccess = 0x0100;
constexpr uint16_t kXorPeerAddress = 0x0012;
constexpr uint16_t kXorRelayedAddress = 0x0016;
constexpr uint16_t kRequestedTransport = 0x0019;
constexpr uint16_t kChannelNumber = 0x000C;
constexpr uint16_t kChannel = 0x4000;
constexpr size_t kStunHeader = 20;
constexpr size_t kChannelHeader = 4;
constexpr uint32_t kUdp = 17U << 24U;

using Bytes = std::vector<std::byte>;

void put_attribute(Bytes& to, uint16_t type, std::span<const std::byte> value) {
  append_number(type, 2, to);
  append_number(value.size(), 2, to);
  to.insert(to.end(), value.begin(), value.end());  // all of ours have whole words
}
Bytes word(uint32_t value) {
  Bytes bytes;
  append_number(value, 4, bytes);
  return bytes;
}
Bytes request(uint16_t type, const Bytes& attributes) {
  Bytes bytes;
  append_number(type, 2, bytes);
  append_number(attributes.size(), 2, bytes);
  append_number(kMagic, 4, bytes);
  bytes.resize(kStunHeader, static_cast<std::byte>(type));  // one request of a kind at a time
  bytes.insert(bytes.end(), attributes.begin(), attributes.end());
  return bytes;
}
// Of IPv4.
Bytes xored(const Address& address) {
  Bytes bytes{std::byte{0}, std::byte{1}};
  append_number(address.port ^ (kMagic >> 16U), 2, bytes);
  const Bytes magic = word(kMagic);
  for (size_t i = 0; i < magic.size(); ++i) {
    bytes.push_back(std::byte{address.ip[12 + i]} ^ magic[i]);
  }
  return bytes;
}
std::optional<Address> relayed_address(std::span<const std::byte> answer) {
  for (uint64_t at = kStunHeader; at + 4 <= answer.size();) {
    const uint64_t type = number_at(answer, at, 2);
    const uint64_t size = number_at(answer, at + 2, 2);
    if (type == kXorRelayedAddress && size == 8 && at + 12 <= answer.size()) {
      Address address = loopback_of(0);
      address.port = static_cast<uint16_t>(number_at(answer, at + 6, 2) ^ (kMagic >> 16U));
      for (size_t i = 0; i < 4; ++i) {
        address.ip[12 + i] = static_cast<uint8_t>(std::to_integer<uint32_t>(answer[at + 8 + i]) ^
                                                  (kMagic >> (24U - 8U * i)));
      }
      return address;
    }
    at += 4 + (size + 3) / 4 * 4;
  }
  return std::nullopt;
}

std::optional<std::string> turn_server() {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream folders{path != nullptr ? path : ""};
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/turnserver").c_str(), X_OK) == 0) {
      return folder + "/turnserver";
    }
  }
  return std::nullopt;
}

void be_turn_server(const std::string& program, uint16_t port) {
  std::vector<std::string> words{
      program, "-n", "--no-auth", "--realm", "load", "--listening-ip", "127.0.0.1", "--relay-ip",
      "127.0.0.1", "--listening-port", std::to_string(port), "--allow-loopback-peers", "--no-cli",
      "--no-tls", "--no-dtls", "--no-tcp", "--no-tcp-relay",
      // Like the relay: one thread carries everything.
      "--relay-threads", "1", "--log-file", "/dev/null", "--pidfile", "/dev/null"};
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& one : words) {
    arguments.push_back(one.data());
  }
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
}

class Turn {
 public:
  explicit Turn(const std::vector<RelayedDatagram>& traffic)
      : traffic_(traffic), server_(start()), peer_(clock_, socket_options()) {
    uint32_t legs = 0;
    for (const RelayedDatagram& datagram : traffic) {
      legs = std::max(legs, datagram.leg + 1);
    }
    for (uint32_t leg = 0; leg < legs; ++leg) {
      clients_.push_back(std::make_unique<runtime::UdpSocket>(clock_, socket_options()));
      relayed_.push_back(allocate(*clients_.back()));
    }
  }

  TurnResult run() {
    begin_ = clock_.now();
    const Duration cpu_before = cpu_of(server_->pid());
    ticks_.arm(begin_);
    loop_.run();
    result_.cpu =
        to_seconds(cpu_of(server_->pid()) - cpu_before) / to_seconds(clock_.now() - begin_);
    result_.datagrams_per_core_s =
        static_cast<double>(result_.delivered) / to_seconds(clock_.now() - begin_) / result_.cpu;
    result_.p50 = quantile(delays_, 0.5);
    result_.p99 = quantile(delays_, 0.99);
    return result_;
  }

 private:
  // Often enough that no client's buffer is full: receive times are the kernel's, whenever they are
  // read.
  static constexpr Duration kLook = 5ms;
  static constexpr Duration kAnswerMax = 5s;
  // The time allowed for the last datagrams.
  static constexpr Duration kLinger = 200ms;

  static runtime::UdpSocketOptions socket_options() {
    // Like the members' (Caller).
    return {.bind = loopback_of(0), .receive_buffer = DataSize{1 << 20}, .takes_merged = true};
  }
  std::unique_ptr<ChildProcess> start() {
    const auto program = turn_server();
    if (!program) {
      throw std::runtime_error("there is no turnserver: apt-get install coturn");
    }
    // A port that is currently free.
    address_ = runtime::UdpSocket{clock_, socket_options()}.local_address();
    address_.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    return std::make_unique<ChildProcess>([&] { be_turn_server(*program, address_.port); });
  }
  // Repeats the request until it succeeds; a server that has just started receives nothing yet.
  Bytes ask(runtime::UdpSocket& client, uint16_t type, const Bytes& attributes) {
    const Transmit question{address_, request(type, attributes)};
    for (const TimePoint end = clock_.now() + kAnswerMax; clock_.now() < end;) {
      client.send_batch(std::span{&question, 1});
      usleep(20'000);
      for (const auto& answer : client.receive_batch().datagrams) {
        if (answer.bytes.size() >= kStunHeader &&
            number_at(answer.bytes, 0, 2) == (type | kSuccess)) {
          return {answer.bytes.begin(), answer.bytes.end()};
        }
      }
    }
    throw std::runtime_error("turnserver does not answer");
  }
  Address allocate(runtime::UdpSocket& client) {
    Bytes wish;
    put_attribute(wish, kRequestedTransport, word(kUdp));
    const auto relayed = relayed_address(ask(client, kAllocate, wish));
    if (!relayed) {
      throw std::runtime_error("turnserver gives no address");
    }
    Bytes binding;
    put_attribute(binding, kChannelNumber, word(uint32_t{kChannel} << 16U));
    put_attribute(binding, kXorPeerAddress, xored(peer_.local_address()));
    ask(client, kChannelBind, binding);
    return *relayed;
  }

  void tick() {
    const TimePoint now = clock_.now();
    std::vector<Transmit> due;
    for (; next_ < traffic_.size() && begin_ + traffic_[next_].at <= now; ++next_) {
      Bytes bytes(std::max<size_t>(traffic_[next_].size, sizeof(int64_t)));
      const int64_t stamp = now.time_since_epoch().count();
      std::memcpy(bytes.data(), &stamp, sizeof stamp);
      due.push_back({relayed_[traffic_[next_].leg], std::move(bytes)});
    }
    result_.sent += peer_.send_batch(due).sent;
    if (now - looked_at_ >= kLook) {
      looked_at_ = now;
      std::ranges::for_each(clients_, [this](const auto& client) { receive(*client); });
    }
    if (next_ < traffic_.size()) {
      ticks_.arm(begin_ + traffic_[next_].at);
    } else if (now > begin_ + traffic_.back().at + kLinger) {
      loop_.stop();
    } else {
      ticks_.arm(now + kLook);
    }
  }
  void receive(runtime::UdpSocket& client) {
    for (bool more = true; more;) {
      const runtime::ReceiveBatch batch = client.receive_batch();
      more = batch.more;
      for (const auto& datagram : batch.datagrams) {
        int64_t stamp = 0;
        if (datagram.bytes.size() < kChannelHeader + sizeof stamp ||
            number_at(datagram.bytes, 0, 2) != kChannel) {
          continue;
        }
        std::memcpy(&stamp, datagram.bytes.data() + kChannelHeader, sizeof stamp);
        ++result_.delivered;
        delays_.push_back(datagram.arrival - TimePoint{Duration{stamp}});
      }
    }
  }

  const std::vector<RelayedDatagram>& traffic_;
  runtime::MonotonicClock clock_;
  Address address_{};
  std::unique_ptr<ChildProcess> server_;
  runtime::UdpSocket peer_;
  std::vector<std::unique_ptr<runtime::UdpSocket>> clients_;
  std::vector<Address> relayed_;
  runtime::EventLoop loop_{clock_};
  TimePoint begin_{};
  TimePoint looked_at_{};
  size_t next_ = 0;
  TurnResult result_;
  std::vector<Duration> delays_;
  runtime::EventLoop::Timer ticks_{loop_, [this] { tick(); }};
};

}  // namespace

bool has_turn_server() { return turn_server().has_value(); }

TurnResult run_turn(const std::vector<RelayedDatagram>& traffic) {
  return traffic.empty() ? TurnResult{} : Turn{traffic}.run();
}

}  // namespace cress::relay_load
