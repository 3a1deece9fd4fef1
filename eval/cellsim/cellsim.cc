#include "eval/cellsim/cellsim.hh"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "eval/cellsim/cross_flows.hh"
#include "eval/cellsim/direction_monitor.hh"
#include "eval/cellsim/ends.hh"
#include "eval/cellsim/packet_path.hh"
#include "eval/cellsim/real_time.hh"
#include "eval/cellsim/signal_file.hh"
#include "transport/base/check.hh"
#include "transport/netns/address_translation.hh"
#include "transport/netns/namespace_process.hh"

namespace cress::cellsim {
namespace {

constexpr const char* kInterface = "cress0";
constexpr DataSize kMtu{1500};
// A tenth of a second at 1 Gbit/s: longer than this process sleeps on any machine worth measuring
// on.
constexpr uint32_t kDeviceQueue = 10'000;
constexpr Duration kTick = 1s;
constexpr Duration kPeerPatience = 2s;

netns::InterfaceOptions interface_of(const netns::Prefix& ipv4, const netns::Prefix& ipv6) {
  return {
      .name = kInterface, .mtu = kMtu, .queue_packets = kDeviceQueue, .addresses = {ipv4, ipv6}};
}

/// In a private network the kernel permits only the congestion controls that the machine permits to
/// all.
void check_congestion_control(const std::string& name) {
  std::ifstream file{"/proc/sys/net/ipv4/tcp_allowed_congestion_control"};
  std::string all;
  for (std::string allowed; file >> allowed; all += " " + allowed) {
    if (allowed == name) {
      return;
    }
  }
  throw std::runtime_error("TCP's \"" + name + "\" is not among what this machine allows (" +
                           all.substr(std::min<size_t>(1, all.size())) +
                           "); `sysctl -w net.ipv4.tcp_allowed_congestion_control='" +
                           all.substr(std::min<size_t>(1, all.size())) + " " + name +
                           "'` as root allows it");
}

netns::NamespaceOptions inside(const CellsimOptions& options, const Ends& ends) {
  netns::NamespaceOptions made;
  made.environment = ends.environment();
  // So that ping works for any user whose group the network's owner can map.
  const std::string group = std::to_string(getegid());
  made.settings = {{"net/ipv4/ping_group_range", group + " " + group, false}};
  if (!options.congestion_control.empty()) {
    check_congestion_control(options.congestion_control);
    made.settings.push_back({"net/ipv4/tcp_congestion_control", options.congestion_control});
  }
  return made;
}

void set_program(netns::NamespaceOptions& options, const Program& program) {
  options.command = program.command;
  options.work = program.work;
}

netns::NamespaceOptions near_options(const CellsimOptions& options, const Ends& ends) {
  netns::NamespaceOptions made = inside(options, ends);
  set_program(made, options.command);
  made.interface = interface_of(ends.near4(), ends.near6());
  netns::Prefix everything4 = ends.near4();
  netns::Prefix everything6 = ends.near6();
  everything4.length = everything6.length = 0;
  made.interface->routes = {everything4, everything6};
  return made;
}

/// The far side in this machine's own network.
struct HostSide {
  netns::RouteSocket routes;
  ReservedEnds reserved{routes};
  netns::TunDevice tun{"cress%d"};
  std::optional<netns::AddressTranslation> translation;

  explicit HostSide(bool internet) {
    netns::InterfaceOptions options = interface_of(reserved.ends().far4(), reserved.ends().far6());
    options.name = tun.name();
    routes.configure(options);
    if (internet) {
      const Ends& ends = reserved.ends();
      translation.emplace("cress-cellsim-" + std::to_string(ends.number), ends.near4().address);
    }
  }
};

/// COMMAND's network, the far side, the link between them, until COMMAND has ended.
class Session {
 public:
  Session(const CellsimOptions& options, std::ostream& notes)
      : options_(options), notes_(notes), far_is_host_(options.far == FarSide::kHost) {
    check(!(far_is_host_ && !options.peer.empty()), "a peer's far side is private");
    check(far_is_host_ || !options.internet, "a private far side has no internet");
    if (far_is_host_) {
      host_.emplace(options.internet);
      ends_ = host_->reserved.ends();
    } else {
      netns::NamespaceOptions far = inside(options, ends_);
      set_program(far, options.peer);
      if (options.peer.empty()) {
        far.work = [] {
          return 0;
        };  // never started: only the network is needed, for others to join
      }
      far.in_foreground = false;
      far.interface = interface_of(ends_.far4(), ends_.far6());
      peer_.emplace(std::move(far));
    }
    near_.emplace(near_options(options, ends_));
    cross_.emplace(
        options.cross,
        CrossFlows::Sides{.near = {ends_.near4().address, near_->process_id()},
                          .far = {ends_.far4().address,
                                  far_is_host_ ? std::optional<pid_t>{} : peer_->process_id()}},
        options.path.seed, clock_);
    up_.emplace(options.path, DirectionMonitor::Way::kUp, clock_.read_both().wall);
    down_.emplace(options.path, DirectionMonitor::Way::kDown, clock_.read_both().wall);
  }

  CellsimReport run() {
    say_hello();
    loop_.on_readable(signals_.handle(), [this] { pass_on_signals(); });
    TimePoint begin = clock_.now();
    if (!options_.peer.empty()) {
      peer_->start();
      loop_.on_readable(peer_->handle(), [this] { handle_peer_exit(); });
      begin += options_.head_start;
    }
    begin_.arm(begin);
    loop_.run();
    return report();
  }

 private:
  void say_hello() {
    if (options_.quiet) {
      return;
    }
    const std::string far = address_text(ends_.far4());
    notes_ << fmt::format(
                  "cellsim: {}, {:g} ms each way, queue {}{}; COMMAND is {}, {}\n",
                  options_.path.name, to_milliseconds(options_.path.delay), options_.path.queue,
                  options_.path.loss > 0 ? fmt::format(", loss {:g}", options_.path.loss) : "",
                  address_text(ends_.near4()),
                  far_is_host_             ? "this machine " + far
                  : !options_.peer.empty() ? "the peer " + far
                                           : fmt::format("the far side {} (join it: "
                                                         "nsenter -t {} -n{})",
                                                         far, peer_->process_id(),
                                                         geteuid() == 0 ? ""
                                                                        : " -U "
                                                                          "--preserve-credentials"))
           << std::flush;
  }

  netns::TunDevice& far_tun() { return far_is_host_ ? host_->tun : peer_->tun(); }

  void begin() {
    path_.emplace(PacketPath::Parts{clock_, loop_, near_->tun(), far_tun()},
                  PacketPath::Options{up_->link_options(), down_->link_options()});
    near_->start();
    cross_->begin(clock_.now() - (path_->now() - kTimeZero));
    loop_.on_readable(near_->handle(), [this] { handle_exit(); });
    tick();
  }

  void tick() {
    path_->catch_up();
    for (DirectionMonitor* monitor : {&*up_, &*down_}) {
      advance(*monitor);
    }
    tick_.arm(clock_.now() + kTick);
  }

  void advance(DirectionMonitor& monitor) {
    try {
      monitor.advance(path_->now());
    } catch (const std::runtime_error& error) {
      logs_complete_ = false;
      notes_ << "cellsim: " << error.what() << "\n" << std::flush;
    }
  }

  void pass_on_signals() {
    while (const auto signal = signals_.poll_signal()) {
      if (!path_) {  // COMMAND does not run yet
        exit_code_ = 128 + signal->number;
        loop_.stop();
      } else if (!signal->is_terminals) {
        near_->send_signal(signal->number);
      }
    }
  }

  void handle_exit() {
    const auto code = near_->poll_exit();
    if (!code) {
      return;
    }
    loop_.forget(near_->handle());
    exit_code_ = *code;
    path_->catch_up();
    end_ = path_->now();
    if (options_.peer.empty() || peer_has_ended_) {
      loop_.stop();
      return;
    }
    peer_->send_signal(SIGTERM);
    patience_.arm(clock_.now() + kPeerPatience);
  }

  void handle_peer_exit() {
    const auto code = peer_->poll_exit();
    if (!code) {
      return;
    }
    loop_.forget(peer_->handle());
    peer_has_ended_ = true;
    if (end_) {
      loop_.stop();
    } else if (*code != 0) {
      notes_ << "cellsim: the peer ended early, with exit code " << *code << "\n" << std::flush;
    }
  }

  CellsimReport report() {
    CellsimReport report;
    report.exit_code = exit_code_;
    report.real_time = real_time_.is_first();
    if (!path_) {
      return report;
    }
    const TimePoint end = end_.value_or(path_->now());
    report.length = end - kTimeZero;
    for (DirectionMonitor* monitor : {&*up_, &*down_}) {
      advance(*monitor);
      report.directions.push_back(monitor->finish(end));
    }
    report.directions[0].packets_lost = path_->up().lost();
    report.directions[1].packets_lost = path_->down().lost();
    report.directions[0].packets_missed = near_->routes().counters(kInterface).sent_dropped;
    report.directions[1].packets_missed =
        (far_is_host_ ? host_->routes : peer_->routes()).counters(far_tun().name()).sent_dropped;
    report.cross = cross_->report(report.length);
    report.late_p50 = path_->lateness().quantile(0.50);
    report.late_p99 = path_->lateness().quantile(0.99);
    report.late_max = path_->lateness().value_max();
    report.logs_complete = logs_complete_;
    return report;
  }

  const CellsimOptions& options_;
  std::ostream& notes_;
  const bool far_is_host_;
  SignalFile signals_;
  const runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  Ends ends_;
  std::optional<HostSide> host_;
  std::optional<netns::NamespaceProcess> peer_;
  std::optional<netns::NamespaceProcess> near_;
  std::optional<CrossFlows> cross_;  // ends before the networks do
  std::optional<DirectionMonitor> up_, down_;
  std::optional<PacketPath> path_;
  runtime::EventLoop::Timer begin_{loop_, [this] { begin(); }};
  runtime::EventLoop::Timer tick_{loop_, [this] { tick(); }};
  runtime::EventLoop::Timer patience_{loop_, [this] { loop_.stop(); }};
  std::optional<TimePoint> end_;
  bool peer_has_ended_ = false;
  bool logs_complete_ = true;
  int exit_code_ = 0;
  RealTime real_time_;  // last: the processes are created before
};

nlohmann::ordered_json number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json milliseconds(const std::optional<Duration>& value) {
  return number(value ? std::optional{to_milliseconds(*value)} : std::nullopt);
}

std::string milliseconds_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f} ms", *value) : "-";
}

}  // namespace

CellsimReport run_cellsim(const CellsimOptions& options, std::ostream& notes) {
  if (!options.command.command.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread begins
    const char* const path = std::getenv("PATH");
    netns::require_program(options.command.command.front(), path != nullptr ? path : "");
  }
  if (!options.path.log_folder.empty()) {
    std::filesystem::create_directories(options.path.log_folder);
  }
  return Session{options, notes}.run();
}

std::string report_lines(const CellsimReport& report) {
  std::string text;
  for (const DirectionReport& direction : report.directions) {
    const Score& score = direction.score;
    text += fmt::format(
        "{:<9} {:.0f} of {:.0f} kbit/s ({:.1f} %), delay95 {} (least possible {}), {} packets, {} "
        "dropped, {} lost\n",
        direction.direction, score.throughput_kbps, score.capacity_kbps, score.utilization * 100,
        milliseconds_text(score.delay95_ms), milliseconds_text(score.omniscient95_ms),
        score.packets_delivered, score.packets_dropped, direction.packets_lost);
    if (direction.packets_missed > 0) {
      text += fmt::format("{:<9} {} packets were sent faster than they could be read\n", "",
                          direction.packets_missed);
    }
  }
  for (const CrossReport& cross : report.cross) {
    text +=
        fmt::format("{:<9} {} got {:.0f} kbit/s from {:g} to {:g} s\n", cross.direction, cross.kind,
                    cross.goodput_kbps, to_seconds(cross.start), to_seconds(cross.end));
  }
  if (report.late_p99) {
    constexpr Duration kLateMax = 2ms;
    text +=
        fmt::format("timing    {:.1f} s, packets late by p50 {:.2f}, p99 {:.2f}, max {:.2f} ms{}\n",
                    to_seconds(report.length), to_milliseconds(*report.late_p50),
                    to_milliseconds(*report.late_p99), to_milliseconds(report.late_max),
                    *report.late_p99 > kLateMax ? ": this machine was too busy to trust this" : "");
  }
  return text;
}

std::string report_json(const CellsimReport& report, const PathOptions& path) {
  nlohmann::ordered_json json;
  json["version"] = CRESS_VERSION;
  json["link"] = path.name;
  json["delay_ms"] = to_milliseconds(path.delay);
  json["loss"] = path.loss;
  json["queue"] = path.queue;
  json["seed"] = path.seed;
  json["skip_s"] = to_seconds(path.skip);
  json["length_s"] = to_seconds(report.length);
  json["exit_code"] = report.exit_code;
  json["real_time"] = report.real_time;
  json["logs_complete"] = report.logs_complete;
  json["late_ms_p50"] = milliseconds(report.late_p50);
  json["late_ms_p99"] = milliseconds(report.late_p99);
  json["late_ms_max"] = to_milliseconds(report.late_max);
  json["directions"] = nlohmann::ordered_json::array();
  for (const DirectionReport& direction : report.directions) {
    const Score& score = direction.score;
    json["directions"].push_back({{"direction", direction.direction},
                                  {"capacity_kbps", score.capacity_kbps},
                                  {"throughput_kbps", score.throughput_kbps},
                                  {"utilization", score.utilization},
                                  {"delay95_ms", number(score.delay95_ms)},
                                  {"omniscient95_ms", number(score.omniscient95_ms)},
                                  {"self_inflicted_ms", number(score.self_inflicted_ms)},
                                  {"packets_delivered", score.packets_delivered},
                                  {"packets_lost", direction.packets_lost},
                                  {"packets_dropped", score.packets_dropped},
                                  {"packets_missed", direction.packets_missed}});
  }
  if (!report.cross.empty()) {
    json["cross"] = nlohmann::ordered_json::array();
  }
  for (const CrossReport& cross : report.cross) {
    json["cross"].push_back({{"flow", cross.kind},
                             {"direction", cross.direction},
                             {"start_s", to_seconds(cross.start)},
                             {"end_s", to_seconds(cross.end)},
                             {"goodput_kbps", cross.goodput_kbps}});
  }
  return json.dump(2) + "\n";
}

}  // namespace cress::cellsim
