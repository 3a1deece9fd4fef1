#include "relay/tunnel/live_tunnel.hh"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "relay/tunnel/packet_gate.hh"
#include "transport/base/text_file.hh"
#include "transport/netns/address_translation.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/network_watch.hh"
#include "transport/runtime/own_address.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/records/records.hh"

namespace cress::tunnel {
namespace {

constexpr const char* kInterface = "cress0";
// Packets waiting in the device are invisible to the forecast: a program that sends faster than
// this process reads shall notice soon. Waiting packets are read within a millisecond.
constexpr uint32_t kDeviceQueue = 500;
constexpr int kReadsMax = 64;
constexpr Duration kTick = 1s;
// By then a close without an answer is over, and so is a command that was asked to end.
constexpr Duration kGoodbyeMax = 1s;
// Connections that the command left behind close within a round trip or two.
constexpr Duration kQuiet = 300ms;
constexpr Duration kLingerMax = 3s;
// A tunnel outlives a train's tunnel: programs inside have time-outs of their own.
constexpr Duration kSilenceMax = 10min;

netns::Prefix everything(netns::Prefix of) {
  of.length = 0;
  return of;
}

SecureTunnelOptions machine_options(const LiveTunnelOptions& options) {
  SecureTunnelOptions machine{.network = options.network,
                              .reach = {.is_private = !options.command.empty(),
                                        .routes = options.routes,
                                        .internet = options.internet}};
  machine.connection.role = options.role;
  machine.connection.secret = options.link.secret;
  machine.connection.peer.silence_max = kSilenceMax;
  if (options.role == secure::Role::kJoiner) {
    const auto addresses = runtime::resolve(secure::host_and_port(options.link));
    machine.connection.listener = addresses.front();
    machine.connection.other_listeners.assign(addresses.begin() + 1, addresses.end());
  }
  return machine;
}

runtime::UdpSocketOptions socket_options(const LiveTunnelOptions& options) {
  return {.bind = options.bind,
          .answer_from_asked = options.role == secure::Role::kListener,
          .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind}};
}

/// The network behind the tunnel: a private one with a command, or this machine's.
class NearSide {
 public:
  explicit NearSide(const LiveTunnelOptions& options) : options_(options) {
    if (options.command.empty()) {
      tun_.emplace("cress%d");
      return;
    }
    netns::NamespaceOptions inside;
    inside.command = options.command;
    inside.interface =
        netns::InterfaceOptions{.name = kInterface, .mtu = kMtuMin, .queue_packets = kDeviceQueue};
    const std::string group = std::to_string(getegid());
    inside.settings = {{"net/ipv4/ping_group_range", group + " " + group, false}};
    process_.emplace(std::move(inside));
  }

  netns::TunDevice& tun() { return process_ ? process_->tun() : *tun_; }
  netns::NamespaceProcess* process() { return process_ ? &*process_ : nullptr; }

  /// Why this network must not be configured here; empty: it may.
  std::string obstacle(const TunnelNetwork& network) const {
    const bool is_listener = options_.role == secure::Role::kListener;
    return process_ ? ""
                    : overlap_of({network.own4(is_listener), network.own6(is_listener)},
                                 netns::RouteSocket{}.destinations());
  }

  /// Addresses and routes; once.
  void configure(const TunnelNetwork& network) {
    const bool is_listener = options_.role == secure::Role::kListener;
    netns::InterfaceOptions made{
        .name = tun().name(),
        .mtu = network.mtu,
        .queue_packets = kDeviceQueue,
        .addresses = {network.own4(is_listener), network.own6(is_listener)},
        .routes = options_.routes};
    if (process_) {
      made.routes = {everything(made.addresses[0]), everything(made.addresses[1])};
      process_->routes().configure(made);
      return;
    }
    netns::RouteSocket{}.configure(made);
    if (options_.internet) {
      translation_.emplace("cress-tunnel-" + made.name, network.own4(false).address);
    }
  }

 private:
  const LiveTunnelOptions& options_;
  std::optional<netns::NamespaceProcess> process_;
  std::optional<netns::TunDevice> tun_;
  std::optional<netns::AddressTranslation> translation_;
};

class LiveTunnel final : public SecureTunnel {
 public:
  LiveTunnel(const LiveTunnelOptions& options, std::ostream& out, std::ostream& notes);
  int run();

 protected:
  bool drained(TimePoint now) override;

 private:
  void begin(const TunnelNetwork& network);
  void handle_event(TimePoint now, const secure::Event& event);
  void read_device();
  void handle_exit();
  void linger();
  void end(int code, const std::string& why);
  void finish();
  void tick();
  void note(const std::string& words) { notes_ << "cress-tunnel: " << words << std::endl; }

  const LiveTunnelOptions& options_;
  std::ostream& notes_;
  NearSide near_;  // before the signal handlers, which must not exist in the processes inside
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket socket_;
  runtime::Driver driver_;
  runtime::EventLoop::Timer ticks_;
  runtime::EventLoop::Timer goodbye_;
  runtime::EventLoop::Timer linger_;
  std::optional<runtime::NetworkWatch> watch_;
  std::ofstream stats_;
  std::optional<TunnelNetwork> configured_;
  bool is_running_ = false;  // the command is
  std::optional<int> code_;  // its exit code
  uint64_t packets_moved_ = 0;
  int exit_code_ = 0;  // the command's
  TimePoint linger_until_ = kNever;
  std::optional<uint64_t> lingered_;  // packets_moved_ when it was last looked at
};

LiveTunnel::LiveTunnel(const LiveTunnelOptions& options, std::ostream& out, std::ostream& notes)
    : SecureTunnel(kTimeZero, machine_options(options)),
      options_(options),
      notes_(notes),
      near_(options),
      socket_(clock_, socket_options(options)),
      driver_({clock_, loop_, socket_, *this}),
      ticks_(loop_, [this] { tick(); }),
      goodbye_(loop_, [this] { finish(); }),
      linger_(loop_, [this] { linger(); }) {
  if (!options.stats.empty()) {
    stats_.open(options.stats);
    if (!stats_) {
      throw std::runtime_error("--stats " + options.stats.string() + ": cannot be written");
    }
    ticks_.arm(clock_.now() + kTick);
  }
  if (options.role == secure::Role::kListener) {
    secure::Link link = options.link;
    link.port = socket_.local_address().port;
    if (link.host.empty()) {
      link.host = runtime::own_host(options.bind);
    }
    if (const std::string obstacle = near_.obstacle(options.network); !obstacle.empty()) {
      throw std::runtime_error(obstacle);
    }
    // Before COMMAND begins: without the link nobody can reach it.
    print_now(out, secure::format_link(link) + "\n");
    begin(options.network);
  }
  watch_.emplace(loop_, [this](const runtime::NetworkChange&) {
    socket_.forget_asked_addresses();
    driver_.wake([this](TimePoint now) { handle_network_change(now); });
  });
}

int LiveTunnel::run() {
  loop_.on_signals([this](int /*signal*/) {
    if (code_) {
      loop_.stop();
      return;
    }
    end(0, "");
  });
  loop_.run();
  return code_.value_or(1);
}

/// The network is known: sets up what is behind the tunnel.
void LiveTunnel::begin(const TunnelNetwork& network) {
  configured_ = network;
  near_.configure(network);
  loop_.on_readable(near_.tun().handle(), [this] { read_device(); });
  if (auto* process = near_.process()) {
    process->start();
    is_running_ = true;
    loop_.on_readable(process->handle(), [this] { handle_exit(); });
  }
  const bool is_listener = options_.role == secure::Role::kListener;
  note("the tunnel is " + near_.tun().name() + ", " +
       netns::format_prefix(network.own4(is_listener)) +
       (options_.command.empty() ? "" : ", with " + options_.command.front()));
}

void LiveTunnel::handle_event(TimePoint now, const secure::Event& event) {
  if (const auto* connected = std::get_if<secure::Connected>(&event)) {
    note("connected to " + runtime::format_address(connected->peer));
  } else if (std::holds_alternative<secure::Unreachable>(event)) {
    note("nothing has been heard for 3 seconds");
  } else if (std::holds_alternative<secure::Reachable>(event)) {
    note("the network is back");
  } else if (const auto* path = std::get_if<secure::PathChanged>(&event)) {
    note("the other end is now at " + runtime::format_address(path->peer));
  } else if (const auto* closed = std::get_if<secure::Closed>(&event)) {
    if (options_.role == secure::Role::kJoiner && connection().has_ended()) {
      // After the command has ended no peer is needed.
      const bool is_over = linger_until_ != kNever;
      end(is_over ? exit_code_ : 1, is_over ? "" : secure::describe(closed->reason));
    } else if (!code_) {
      note(secure::describe(closed->reason));
    }
  }
  (void)now;
}

bool LiveTunnel::drained(TimePoint now) {
  while (const auto event = poll_event()) {
    handle_event(now, *event);
  }
  if (!disagreement().empty()) {
    end(1, disagreement());
  }
  if (network() && !configured_ && !code_) {
    const std::string obstacle = near_.obstacle(*network());
    if (obstacle.empty()) {
      begin(*network());
    } else {
      end(1, obstacle);
    }
  } else if (network() && configured_ && *network() != *configured_) {
    end(1, "the listener came back with another --address or --mtu; begin anew");
  }
  while (const auto packet = poll_packet()) {
    if (configured_) {
      ++packets_moved_;
      near_.tun().write(
          *packet);  // as on any link, packets that the interface does not accept are lost
    }
  }
  if (code_ && connection().is_finished() && !is_running_) {
    goodbye_.arm(now);  // not from inside this call
  }
  return true;
}

void LiveTunnel::read_device() {
  driver_.wake([this](TimePoint now) {
    for (int i = 0; i < kReadsMax; ++i) {
      const auto packet = near_.tun().read();
      if (!packet) {
        break;
      }
      ++packets_moved_;
      send(now, *packet);
    }
  });
}

void LiveTunnel::handle_exit() {
  if (const auto code = near_.process()->poll_exit()) {
    loop_.forget(near_.process()->handle());
    is_running_ = false;
    exit_code_ = *code;
    linger_until_ = clock_.now() + kLingerMax;
    linger();
  }
}

/// The kernel still sends the rest of the command's connections: the last bytes and their closing
/// packets. The tunnel stays until all is quiet.
void LiveTunnel::linger() {
  const uint64_t moved = packets_moved_;
  linger_.arm(clock_.now() + kQuiet);
  if (code_ || clock_.now() >= linger_until_ || (lingered_ && moved == *lingered_)) {
    linger_.cancel();
    end(exit_code_, "");
    driver_.wake();
  }
  lingered_ = moved;
}

/// Closes towards the other end and ends the command; the first reason counts.
void LiveTunnel::end(int code, const std::string& why) {
  if (code_) {
    return;
  }
  code_ = code;
  if (!why.empty()) {
    note(why);
  }
  if (is_running_) {
    near_.process()->send_signal(SIGTERM);
  }
  goodbye_.arm(clock_.now() + kGoodbyeMax);
  // Also called from inside the driver, where changes are made directly.
  loop_.post([this] { driver_.wake([this](TimePoint now) { hang_up(now); }); });
}

void LiveTunnel::finish() {
  if (stats_.is_open()) {
    tick();
  }
  loop_.stop();
}

void LiveTunnel::tick() {
  const TimePoint now = clock_.now();
  ticks_.arm(now + kTick);
  nlohmann::ordered_json line{{"time_s", to_seconds(now)},
                              {"connected", tunnel() != nullptr},
                              {"sessions", sessions()},
                              {"datagrams_sent", connection().stats().datagrams_sent},
                              {"datagrams_received", connection().stats().datagrams_received}};
  if (const Tunnel* current = tunnel()) {
    const TunnelStats& stats = current->stats();
    const session::Endpoint& endpoint = current->endpoint();
    line["flows"] = current->flows();
    line["queued_bytes"] = current->queued().bytes();
    line["packets_in"] = stats.packets_in;
    line["packets_out"] = stats.packets_out;
    line["bytes_in"] = stats.bytes_in.bytes();
    line["bytes_out"] = stats.bytes_out.bytes();
    line["packets_cut"] = stats.packets_cut;
    line["packets_not_carried"] = stats.packets_not_carried;
    line["packets_foreign"] = stats.packets_foreign;
    line["packets_dropped"] = stats.packets_dropped;
    line["paddings_sent"] = stats.paddings_sent;
    line["messages_lost"] = stats.messages_lost;
    line["parts_abandoned"] = current->assembler().abandoned;
    line["message_max_bytes"] = endpoint.message_max().bytes();
    if (const auto rate = endpoint.control().forecast_rate()) {
      line["forecast_kbps"] = rate->kilobits_per_second();
    }
    if (const auto rtt = endpoint.stats().smoothed_rtt) {
      line["rtt_ms"] = to_milliseconds(*rtt);
    }
  }
  stats_ << line.dump() << "\n" << std::flush;
}

}  // namespace

int run_tunnel(const LiveTunnelOptions& options, std::ostream& out, std::ostream& notes) {
  LiveTunnelOptions made = options;
  if (made.role == secure::Role::kListener && made.link.secret.empty()) {
    made.link.secret = secure::make_secret();
  }
  if (!made.command.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread begins
    const char* const path = std::getenv("PATH");
    netns::require_program(made.command.front(), path != nullptr ? path : "");
  }
  LiveTunnel tunnel{made, out, notes};
  return tunnel.run();
}

}  // namespace cress::tunnel
