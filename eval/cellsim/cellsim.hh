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

/// An emulated path, as its user describes it. `up` leads from COMMAND out, `down` into it; of a
/// proxy, `up` leads to the server.
struct PathOptions {
  std::string name{};  ///< of the link, for people
  std::shared_ptr<const sim::DeliveryTrace> down{};
  std::shared_ptr<const sim::DeliveryTrace> up{};
  Duration delay = 20ms;  ///< propagation, each way
  double loss = 0;        ///< Bernoulli, each way
  Duration jitter{};      ///< uniform from 0, each way, for each packet alone: reorders
  sim::BurstLoss burst_loss{};
  double duplicate = 0;  ///< share of packets, each way
  uint64_t seed = 1;
  std::string queue = "infinite";  ///< for people
  /// A queue for one direction; drop-tail without limit where empty.
  std::function<std::unique_ptr<sim::Queue>(const Rng&)> make_queue{};
  Duration skip{};                     ///< not scored at the start
  std::filesystem::path log_folder{};  ///< empty: no logs
  std::string command_line{};          ///< for the logs' heads
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
  kHost,     ///< this machine's own network; takes CAP_NET_ADMIN in it
  kPrivate,  ///< another private network; takes no rights
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
  Program peer;  ///< on the far side, which then is private; may be empty
  /// COMMAND is started so long after the peer.
  Duration head_start = 300ms;
  FarSide far = FarSide::kPrivate;
  /// Of FarSide::kHost: beyond this machine, too, by address translation (IPv4). Takes root, and a
  /// machine that forwards packets.
  bool internet = false;
  /// What the private networks' TCP uses, "cubic"; empty: what this machine's does.
  std::string congestion_control;
  /// Start with the traces.
  std::vector<CrossFlow> cross;
  bool quiet = false;
};

struct DirectionReport {
  std::string direction;  ///< "uplink" or "downlink"
  Score score;
  uint64_t packets_lost = 0;  ///< by Bernoulli loss
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
  bool real_time = false;     ///< scheduled before ordinary programs
  bool logs_complete = true;  ///< false: a disk took no more
  std::optional<Duration> late_p50, late_p99;
  Duration late_max{};
  std::vector<DirectionReport> directions;
  std::vector<CrossReport> cross{};
};

/// Runs COMMAND in a private network whose only way out is the emulated link, in real time, until
/// it ends; every process it left behind ends then, too. The peer is asked to end (SIGTERM), and
/// ended after two seconds. SIGINT, SIGTERM and SIGHUP are passed on to COMMAND meanwhile.
/// COMMAND finds both ends' addresses in CRESS_NEAR, CRESS_FAR, CRESS_NEAR6 and CRESS_FAR6.
/// `notes`: a line at the start, and what goes wrong meanwhile.
/// As far side, the machine itself is 100.64.N.1 with the first N that nobody uses.
/// Errors: std::runtime_error, one clear line. Threads: the caller's process has no other.
CellsimReport run_cellsim(const CellsimOptions& options, std::ostream& notes);

struct ProxyOptions {
  PathOptions path;
  Address listen;
  Address server;
  Duration duration{};  ///< 0: until SIGINT or SIGTERM
  bool quiet = false;
};

/// The same for UDP between two programs, without any rights: what a client sends to `listen` goes
/// over the link to `server`, and its answers back. `notes`: a line with the address listened at.
CellsimReport run_proxy(const ProxyOptions& options, std::ostream& notes);

/// A line for each direction, and one that says how exact the emulation was.
std::string report_lines(const CellsimReport& report);
/// The same as one JSON object.
std::string report_json(const CellsimReport& report, const PathOptions& path);

}  // namespace cress::cellsim
