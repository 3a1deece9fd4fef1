#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/cellsim/link_score.hh"
#include "transport/base/address.hh"
#include "transport/sim/link.hh"
#include "transport/sim/queue.hh"
#include "transport/sim/trace.hh"

namespace cress::cellsim {

/// The options of an emulated path. `up` leads from COMMAND to the far side, `down` back to it; for
/// a proxy, `up` leads to the server.
struct PathOptions {
  std::string name{};  ///< of the link, for display
  std::shared_ptr<const sim::DeliveryTrace> down{};
  std::shared_ptr<const sim::DeliveryTrace> up{};
  Duration delay = 20ms;               ///< propagation, each way
  std::vector<sim::Detour> detours{};  ///< each way
  double loss = 0;                     ///< Bernoulli, each way
  Duration jitter{};  ///< uniform from 0, each way, for each packet alone: reorders
  sim::BurstLoss burst_loss{};
  double duplicate = 0;  ///< share of packets, each way
  uint64_t seed = 1;
  std::string queue = "infinite";  ///< for display
  /// Makes a queue for one direction; if empty: drop-tail without limit.
  std::function<std::unique_ptr<sim::Queue>(const Rng&)> make_queue{};
  Duration skip{};                     ///< not scored at the beginning
  std::filesystem::path log_folder{};  ///< empty: no logs
  std::string command_line{};          ///< for the logs' headers
};

/// Other traffic in the same queues: connections of the kernel's TCP, or on-off traffic over such.
struct CrossFlow {
  std::string kind;  ///< a congestion control of the kernel's, or "web"
  size_t count = 1;
  Duration start{};
  std::optional<Duration> length{};  ///< without: until COMMAND ends
  bool up = false;                   ///< through the uplink; otherwise the downlink
};

/// What is on the far side of the link.
enum class FarSide {
  kHost,     ///< this machine's own network; needs CAP_NET_ADMIN in it
  kPrivate,  ///< another private network; needs no privileges
};

/// A program to run at one end: a command, or work in a process of its own.
struct Program {
  std::vector<std::string> command;
  std::function<int()> work;
  bool empty() const { return command.empty() && work == nullptr; }
};

struct CellsimOptions {
  PathOptions path;
  Program command;
  Program peer;  ///< on the far side, which is then private; may be empty
  /// COMMAND is started this long after the peer.
  Duration head_start = 300ms;
  FarSide far = FarSide::kPrivate;
  /// For FarSide::kHost: networks beyond this machine are reachable, too, by address translation
  /// (IPv4). Needs root, and a machine that forwards packets.
  bool internet = false;
  /// TCP's congestion control in the private networks, "cubic"; empty: this machine's default.
  std::string congestion_control;
  /// Start with the traces.
  std::vector<CrossFlow> cross;
  bool quiet = false;
};

struct DirectionReport {
  std::string direction;  ///< "uplink" or "downlink"
  Score score;
  uint64_t packets_lost = 0;  ///< by random loss
  /// Sent faster than this process could read them; should be 0.
  uint64_t packets_missed = 0;
};

/// What one connection of other traffic got.
struct CrossReport {
  std::string kind;
  std::string direction;  ///< "uplink" or "downlink"
  Duration start{}, end{};
  double goodput_kbps = 0;
};

struct CellsimReport {
  int exit_code = 0;
  Duration length{};
  bool real_time = false;     ///< scheduled ahead of ordinary programs
  bool logs_complete = true;  ///< false: writing to the disk failed
  std::optional<Duration> late_p50, late_p99;
  Duration late_max{};
  std::vector<DirectionReport> directions;
  std::vector<CrossReport> cross{};
};

/// Runs COMMAND in a private network connected only by the emulated link, in real time, until it
/// ends; every process that it started ends then, too. The peer is sent SIGTERM, and killed after
/// two seconds. SIGINT, SIGTERM and SIGHUP are passed on to COMMAND meanwhile. COMMAND finds both
/// ends' addresses in CRESS_NEAR, CRESS_FAR, CRESS_NEAR6 and CRESS_FAR6. `notes`: a line at the
/// start, and errors during the run. As far side, the machine itself is 100.64.N.1 with the first
/// unused N. Errors: std::runtime_error, one clear line. Threads: the caller's process must have no
/// other thread.
CellsimReport run_cellsim(const CellsimOptions& options, std::ostream& notes);

struct ProxyOptions {
  PathOptions path;
  Address listen;
  Address server;
  Duration duration{};  ///< 0: until SIGINT or SIGTERM
  bool quiet = false;
};

/// The same for UDP between two programs, without any privileges: datagrams from a client to
/// `listen` go over the link to `server`, and its answers back. `notes`: a line with the listening
/// address.
CellsimReport run_proxy(const ProxyOptions& options, std::ostream& notes);

/// A line for each direction, and one on the precision of the emulation.
std::string report_lines(const CellsimReport& report);
/// The same as one JSON object.
std::string report_json(const CellsimReport& report, const PathOptions& path);

}  // namespace cress::cellsim
