#include "eval/relay_load/hostile.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "eval/relay_load/attack.hh"
#include "eval/relay_load/loopback.hh"
#include "relay/members/hostile_datagram.hh"
#include "relay/members/load_member.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/handshake/handshake.hh"

namespace cress::relay_load {
namespace {

constexpr Duration kTurn = Attack::kTurn;
using Parts = AttackParts;

class Noise final : public Attack {
 public:
  explicit Noise(const Parts& parts)
      : parts_(parts), rng_(parts.options.seed), socket_(parts.clock, {.bind = loopback_of(0)}) {}

  void take_turn(TimePoint /*now*/, bool is_active) override {
    constexpr int kDatagrams = 200;
    std::vector<Transmit> volley;
    for (int i = 0; is_active && i < kDatagrams; ++i) {
      std::vector<std::byte> bytes(20 + rng_.below(1180));
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(rng_.below(256));
      }
      bytes[0] = static_cast<std::byte>(0x10 + rng_.below(10));
      volley.push_back({parts_.options.relay, std::move(bytes)});
    }
    parts_.shared.datagrams += socket_.send_batch(volley).sent;
  }

 private:
  Parts parts_;
  Rng rng_;
  runtime::UdpSocket socket_;
};

struct JoinerOptions {
  int joins_per_turn = 1;
  /// The number of datagrams; nullopt: as many as the handshake needs.
  std::optional<int> words{};
  /// The last flight is repeated.
  bool repeats = false;
  Duration lasts{};
  /// From this many networks (/24), in turn.
  uint64_t networks = 1;
};
constexpr uint64_t kEverywhere = 1U << 14U;

/// Joins that lead to nothing, each from a port of its own.
class Joiners final : public Attack {
 public:
  Joiners(const Parts& parts, const secure::Credential& credential, JoinerOptions options)
      : parts_(parts), options_(options), context_(secure::Role::kJoiner, credential) {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }

  void take_turn(TimePoint now, bool is_active) override {
    for (int i = 0; is_active && i < options_.joins_per_turn; ++i) {
      begin(now);
    }
    joiners_.remove_if([&](Joiner& joiner) { return !go_on(now, joiner); });
  }

 private:
  static constexpr Duration kRepeat = 500ms;
  struct Joiner {
    Joiner(TimePoint now, const secure::HandshakeContext& context, Duration lasts)
        : socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
          handshake(now, context),
          until(now + lasts) {}
    runtime::FileDescriptor socket;
    secure::Handshake handshake;
    TimePoint until;
    int words = 0;
    std::vector<std::byte> last_word{};
    TimePoint repeat_at = kNever;
  };

  void begin(TimePoint now) {
    const uint64_t network = parts_.shared.joins++ % options_.networks;
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr =
        htonl(static_cast<uint32_t>((127U << 24U) + (64U << 16U) + (network << 8U) + 1));
    sockaddr_in relay{};
    relay.sin_family = AF_INET;
    relay.sin_port = htons(parts_.options.relay.port);
    relay.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const Joiner& joiner = joiners_.emplace_back(now, context_, options_.lasts);
    const int fd = joiner.socket.get();
    if (bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
        connect(fd, reinterpret_cast<const sockaddr*>(&relay), sizeof relay) != 0) {
      joiners_.pop_back();  // out of files or ports: fewer joins, and those are counted
      --parts_.shared.joins;
    }
  }
  void say(const Joiner& joiner, const std::vector<std::byte>& word) {
    parts_.shared.datagrams += send(joiner.socket.get(), word.data(), word.size(), 0) > 0 ? 1 : 0;
  }
  // False: it has ended.
  bool go_on(TimePoint now, Joiner& joiner) {
    std::array<std::byte, 2048> heard{};
    for (ssize_t size = 0;
         (size = recv(joiner.socket.get(), heard.data(), heard.size(), MSG_DONTWAIT)) > 0;) {
      (void)joiner.handshake.handle_datagram(now,
                                             std::span{heard}.first(static_cast<size_t>(size)));
    }
    if (joiner.handshake.poll_timeout() <= now) {
      joiner.handshake.handle_timeout(now);
    }
    while (auto word = joiner.handshake.poll_transmit()) {
      if (!options_.words || joiner.words < *options_.words) {
        ++joiner.words;
        say(joiner, *word);
        joiner.last_word = *std::move(word);
        joiner.repeat_at = options_.repeats ? now + kRepeat : kNever;
      }
    }
    if (joiner.repeat_at <= now) {
      joiner.repeat_at += kRepeat;
      say(joiner, joiner.last_word);
    }
    return now < joiner.until && joiner.handshake.state() == secure::Handshake::State::kRunning;
  }

  Parts parts_;
  JoinerOptions options_;
  secure::HandshakeContext context_;
  std::list<Joiner> joiners_;
};

/// A member that repeats each of its datagrams, also from another address.
class Echo final : public Attack {
 public:
  explicit Echo(const Parts& parts)
      : parts_(parts),
        socket_(parts.clock, {.bind = loopback_of(1)}),
        elsewhere_(parts.clock, {.bind = loopback_of(2)}),
        machine_(*this),
        driver_({parts.clock, parts.loop, socket_, machine_}) {}

  void take_turn(TimePoint /*now*/, bool is_active) override {
    is_active_ = is_active;
    parts_.shared.datagrams += elsewhere_.send_batch(said_).sent;
    said_.clear();
  }

 private:
  /// Its regular part, whose outgoing datagrams are recorded.
  struct EchoMachine final : Machine {
    explicit EchoMachine(Echo& echo)
        : owner(echo),
          member(echo.parts_.clock.now(), {.access = echo.parts_.options.access,
                                           .relay = echo.parts_.options.relay,
                                           .seed = echo.parts_.options.seed}) {}
    void handle_datagram(TimePoint now, const Address& from,
                         std::span<const std::byte> bytes) override {
      member.handle_datagram(now, from, bytes);
    }
    void handle_timeout(TimePoint now) override { member.handle_timeout(now); }
    std::optional<Transmit> poll_transmit(TimePoint now) override {
      return owner.repeat(member.poll_transmit(now));
    }
    TimePoint poll_timeout() const override { return member.poll_timeout(); }

    Echo& owner;
    relay::LoadMember member;
  };

  std::optional<Transmit> repeat(std::optional<Transmit> transmit) {
    constexpr size_t kCopies = 5;
    if (transmit && is_active_) {
      copies_.insert(copies_.end(), kCopies, *transmit);
      said_.push_back(*transmit);
    } else if (!transmit && !copies_.empty()) {
      transmit = std::move(copies_.back());
      copies_.pop_back();
    }
    parts_.shared.datagrams += transmit ? 1 : 0;
    return transmit;
  }

  Parts parts_;
  bool is_active_ = false;
  std::vector<Transmit> copies_;
  std::vector<Transmit> said_;  // since the last turn
  runtime::UdpSocket socket_;
  runtime::UdpSocket elsewhere_;
  EchoMachine machine_;
  runtime::Driver driver_;
};

/// A sender with the right key, and only invalid messages.
class Liar final : public Attack {
 public:
  Liar(const Parts& parts, int datagrams_per_turn)
      : parts_(parts),
        datagrams_per_turn_(datagrams_per_turn),
        rng_(parts.options.seed),
        socket_(parts.clock, {.bind = loopback_of(1)}),
        machine_(parts),
        driver_({parts.clock, parts.loop, socket_, machine_}) {}

  void take_turn(TimePoint /*now*/, bool is_active) override {
    driver_.wake([&](TimePoint now) {
      for (int i = 0; is_active && i < datagrams_per_turn_ && machine_.connection.is_connected();
           ++i) {
        machine_.connection.send(now, relay::hostile_datagram(rng_, frame_id_, sequence_));
        ++parts_.shared.datagrams;
      }
    });
  }

 private:
  struct LiarMachine final : Machine {
    explicit LiarMachine(const Parts& parts)
        : connection(parts.clock.now(),
                     {.role = secure::Role::kJoiner,
                      .credential = secure::room_credential(parts.options.access),
                      .listener = parts.options.relay}) {}
    void handle_datagram(TimePoint now, const Address& from,
                         std::span<const std::byte> bytes) override {
      connection.handle_datagram(now, from, bytes);
      while (connection.poll_datagram() || connection.poll_event()) {
      }
    }
    void handle_timeout(TimePoint now) override { connection.handle_timeout(now); }
    std::optional<Transmit> poll_transmit(TimePoint now) override {
      return connection.poll_transmit(now);
    }
    TimePoint poll_timeout() const override { return connection.poll_timeout(); }

    secure::Connection connection;
  };

  Parts parts_;
  int datagrams_per_turn_;
  Rng rng_;
  uint32_t frame_id_ = 1000;
  uint64_t sequence_ = 1;
  runtime::UdpSocket socket_;
  LiarMachine machine_;
  runtime::Driver driver_;
};

std::unique_ptr<Attack> make_attack(const Parts& parts) {
  secure::Credential credential = secure::room_credential(parts.options.access);
  switch (parts.options.kind) {
    case HostileKind::kNoise:
      return std::make_unique<Noise>(parts);
    case HostileKind::kProof:
    case HostileKind::kProofSpread:
      std::ranges::fill(credential.psk.bytes(), std::byte{0x66});
      return std::make_unique<Joiners>(
          parts, credential,
          JoinerOptions{.joins_per_turn = 2,
                        .lasts = 3s,
                        .networks = parts.options.kind == HostileKind::kProof ? 1 : kEverywhere});
    case HostileKind::kSlowJoin:
      return std::make_unique<Joiners>(
          parts, credential,
          JoinerOptions{.joins_per_turn = 1, .words = 2, .repeats = true, .lasts = 8s});
    case HostileKind::kHalfOpen:
    case HostileKind::kHalfOpenSpread:
      return std::make_unique<Joiners>(
          parts, credential,
          JoinerOptions{
              .joins_per_turn = 10,
              .words = 2,
              .lasts = 300ms,
              .networks = parts.options.kind == HostileKind::kHalfOpen ? 1 : kEverywhere});
    case HostileKind::kReplay:
      return std::make_unique<Echo>(parts);
    case HostileKind::kFlood:
      return std::make_unique<Liar>(parts, 100);
    case HostileKind::kGhost:
    case HostileKind::kPingFlood:
    case HostileKind::kDecoderBomb:
    case HostileKind::kCardStorm:
    case HostileKind::kRoamStorm:
    case HostileKind::kProofStorm:
    case HostileKind::kIdle:
      return make_insider(parts);
    case HostileKind::kForged:
      break;
  }
  return std::make_unique<Liar>(parts, 10);
}

void be_hostile(const HostileOptions& options, HostileProcess::Shared& shared) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  const auto attack = make_attack({clock, loop, options, shared});
  TimePoint next = clock.now();
  Rng rng{options.seed};
  runtime::EventLoop::Timer* again = nullptr;
  runtime::EventLoop::Timer turns{
      loop, [&] {
        const TimePoint now = clock.now();
        attack->take_turn(now, shared.active);
        // Not synchronized with anything: its victims are random.
        next = std::max(next + from_seconds(rng.uniform(0.5, 1.5) * to_seconds(kTurn)), now);
        again->arm(next);
      }};
  again = &turns;
  turns.arm(next);
  loop.run();
}

}  // namespace

std::optional<HostileKind> find_hostile(std::string_view name) {
  const auto at = std::ranges::find(kHostileNames, name, &HostileName::name);
  return at == kHostileNames.end() ? std::nullopt : std::optional{at->kind};
}

HostileProcess::HostileProcess(const HostileOptions& options)
    : process_(std::make_unique<ChildProcess>([&] { be_hostile(options, *shared_); })) {}

}  // namespace cress::relay_load
