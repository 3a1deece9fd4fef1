#include "eval/cellsim_command.hh"

#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string_view>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/cross_flows.hh"
#include "eval/harness/queue_spec.hh"
#include "eval/run_command.hh"
#include "traces/links.hh"
#include "transport/runtime/address_text.hh"

namespace cress::eval {
namespace {

constexpr const char* kAbout =
    "cress-eval cellsim [OPTIONS] -- COMMAND...\n"
    "COMMAND runs in a private network whose only way out is the emulated link: up from it, down\n"
    "into it. It finds the addresses of both ends in $CRESS_NEAR (its own, 100.64.0.2), "
    "$CRESS_FAR\n"
    "(100.64.0.1), $CRESS_NEAR6 and $CRESS_FAR6. What is on the far side:\n"
    "  --far host     this machine, at $CRESS_FAR; the default for root\n"
    "  --far private  another private network, without any rights; the default for others, and\n"
    "                 with --peer, which runs a second program there\n"
    "Everything ends with COMMAND, and nothing stays behind. The exit code is COMMAND's.\n"
    "\n"
    "Examples:\n"
    "  cress-eval cellsim --link lte-slow --peer 'nc -l -p 7000 >got' \\\n"
    "    -- sh -c 'nc -N $CRESS_FAR 7000 <file'\n"
    "  cress-eval cellsim --link 3g --peer 'cress-call --headless --listen 0.0.0.0:4433 ...' \\\n"
    "    -- cress-call --headless ...\n"
    "  sudo cress-eval cellsim --down my.down --up my.up --log logs -- bash\n"
    "  cress-eval cellsim --link wifi --tcp cubic --queue droptail:100 --json \\\n"
    "    --peer 'python3 -m http.server' -- sh -c 'curl -so /dev/null http://$CRESS_FAR:8000/big'\n"
    "  cress-eval cellsim --link lte-fast --proxy 127.0.0.1:9000 --to 127.0.0.1:7000\n";

/// `sim::load_trace`, shared.
std::shared_ptr<const sim::DeliveryTrace> trace_at(const std::string& path) {
  return std::make_shared<const sim::DeliveryTrace>(sim::load_trace(path));
}

void set_traces(const CellsimArguments& arguments, const std::string& data,
                cellsim::PathOptions& path) {
  const std::string name = link_name_of(arguments.link, arguments.rate);
  if (!name.empty()) {
    if (!arguments.down.empty() || !arguments.up.empty()) {
      throw std::invalid_argument("give either --link or --down and --up, not both");
    }
    traces::NamedLink named = traces::resolve_link(name, data);
    path.name = named.name;
    path.queue = named.path.queue;
    path.jitter = named.path.jitter;
    path.burst_loss = named.path.burst_loss;
    path.down = std::make_shared<const sim::DeliveryTrace>(std::move(named.down));
    path.up = std::make_shared<const sim::DeliveryTrace>(std::move(named.up));
    return;
  }
  if (arguments.down.empty() || arguments.up.empty()) {
    throw std::invalid_argument(
        "no link: give --link NAME (`cress-eval links` lists them), or both --down and --up");
  }
  path.name = std::filesystem::path{arguments.down}.stem().string();
  path.down = trace_at(arguments.down);
  path.up = trace_at(arguments.up);
}

cellsim::PathOptions path_of(const CellsimArguments& arguments, const std::string& data) {
  cellsim::PathOptions path;
  set_traces(arguments, data, path);
  path.delay = parse_duration(arguments.delay, "--delay");
  if (path.delay > 10s) {
    throw std::invalid_argument("--delay " + arguments.delay + ": more than 10 s");
  }
  if (!(arguments.loss >= 0 && arguments.loss < 1)) {
    throw std::invalid_argument("--loss: a probability, 0 <= P < 1 (5 % is 0.05)");
  }
  path.loss = arguments.loss;
  path.seed = arguments.seed;
  path.queue = arguments.queue.empty() ? path.queue : arguments.queue;
  const harness::QueueSpec queue = harness::QueueSpec::parse(path.queue);
  path.make_queue = [queue](const Rng& rng) { return queue.make(rng); };
  if (!arguments.path.jitter.empty()) {
    path.jitter = parse_jitter(arguments.path.jitter);
  }
  if (!arguments.path.burst_loss.empty()) {
    path.burst_loss = parse_burst_loss(arguments.path.burst_loss);
  }
  path.duplicate = parse_duplicate(arguments.path.duplicate);
  path.detours = parse_detours(arguments.path.detour);
  path.skip = parse_duration(arguments.skip, "--skip");
  if (!arguments.log.empty() && std::filesystem::exists(arguments.log) &&
      !std::filesystem::is_directory(arguments.log)) {
    throw std::invalid_argument("--log " + arguments.log + ": a file; it must be a folder");
  }
  path.log_folder = arguments.log;
  path.command_line = arguments.typed;
  return path;
}

cellsim::FarSide far_side_of(const CellsimArguments& arguments) {
  if (arguments.far == "host" && !arguments.peer.empty()) {
    throw std::invalid_argument("--peer runs in a private network: it does not go with --far host");
  }
  const bool takes_host =
      arguments.far.empty() ? geteuid() == 0 && arguments.peer.empty() : arguments.far == "host";
  return takes_host ? cellsim::FarSide::kHost : cellsim::FarSide::kPrivate;
}

cellsim::CellsimReport run_proxy(const CellsimArguments& arguments, const std::string& data,
                                 std::ostream& err) {
  if (arguments.to.empty()) {
    throw std::invalid_argument("--proxy needs --to HOST:PORT, where its datagrams go");
  }
  if (!arguments.command.empty() || !arguments.peer.empty()) {
    throw std::invalid_argument("--proxy runs no COMMAND and no --peer: start them yourself");
  }
  if (!arguments.path.cross.empty()) {
    throw std::invalid_argument("--cross takes a private network: it does not go with --proxy");
  }
  if (!arguments.tcp.empty() || !arguments.far.empty() || arguments.internet) {
    throw std::invalid_argument("--tcp, --far and --internet are of a network: not with --proxy");
  }
  if (arguments.head_start) {
    throw std::invalid_argument("--head-start goes with --peer");
  }
  cellsim::ProxyOptions options;
  options.path = path_of(arguments, data);
  options.listen = runtime::resolve(arguments.proxy).front();
  options.server = runtime::resolve(arguments.to).front();
  options.duration =
      arguments.duration.empty() ? Duration{} : parse_duration(arguments.duration, "--duration");
  options.quiet = arguments.quiet;
  return cellsim::run_proxy(options, err);
}

cellsim::CellsimReport run_command(const CellsimArguments& arguments, const std::string& data,
                                   std::ostream& err) {
  if (!arguments.to.empty() || !arguments.duration.empty()) {
    throw std::invalid_argument("--to and --duration go with --proxy");
  }
  if (arguments.command.empty()) {
    throw std::invalid_argument(
        "cellsim: no COMMAND; it stands behind --, as in cress-eval cellsim --link 3g -- bash");
  }
  if (arguments.internet && far_side_of(arguments) != cellsim::FarSide::kHost) {
    throw std::invalid_argument("--internet goes through this machine: it takes --far host (root)");
  }
  cellsim::CellsimOptions options;
  options.path = path_of(arguments, data);
  options.command.command = arguments.command;
  if (!arguments.peer.empty()) {
    options.peer.command = {"/bin/sh", "-c", arguments.peer};
  }
  if (arguments.peer.empty() && arguments.head_start) {
    throw std::invalid_argument("--head-start goes with --peer");
  }
  constexpr Duration kHeadStart = 300ms;
  options.head_start =
      arguments.head_start ? parse_duration(*arguments.head_start, "--head-start") : kHeadStart;
  options.far = far_side_of(arguments);
  options.internet = arguments.internet;
  options.congestion_control = arguments.tcp;
  options.quiet = arguments.quiet;
  for (const harness::CrossFlow& flow : parse_cross(arguments.path.cross)) {
    cellsim::check_cross_kind(flow.kind);
    options.cross.push_back({.kind = flow.kind,
                             .count = flow.count,
                             .start = flow.start,
                             .length = flow.length,
                             .up = flow.up});
  }
  return cellsim::run_cellsim(options, err);
}

}  // namespace

SplitArguments split_arguments(int argc, const char* const* argv) {
  const std::span all{argv, static_cast<size_t>(argc)};
  SplitArguments split;
  bool is_cellsim = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string_view argument = all[i];
    is_cellsim = is_cellsim || argument == "cellsim";
    if (is_cellsim && argument == "--") {
      split.command.assign(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end());
      break;
    }
    split.own.push_back(all[i]);
  }
  return split;
}

void add_cellsim_options(CLI::App& command, CellsimArguments& a) {
  command.footer(kAbout);
  command.add_option("--link", a.link, "An embedded or recorded link (see `cress-eval links`)");
  command.add_option("--rate", a.rate,
                     "A link of this rate both ways: 12Mbit/s, or with steps "
                     "12Mbit/s,3Mbit/s@20s");
  command.add_option("--down", a.down, "Mahimahi trace of the way into COMMAND");
  command.add_option("--up", a.up, "Mahimahi trace of the way out of COMMAND");
  command.add_option("--delay", a.delay, "Propagation, each way")->capture_default_str();
  command.add_option("--loss", a.loss, "Random loss, each way, before the queue: 0.05 is 5 %")
      ->capture_default_str();
  command.add_option("--queue", a.queue, kQueueAbout);
  add_path_options(command, a.path);
  command.add_option("--seed", a.seed, "Of loss and queue")->capture_default_str();
  command.add_option("--skip", a.skip, "Not scored at the start")->capture_default_str();
  command.add_option("--log", a.log,
                     "Folder for uplink.log and downlink.log, as Mahimahi writes them");
  command.add_option("--peer", a.peer, "A second program, on the far side: one line for the shell");
  command.add_option("--head-start", a.head_start, "COMMAND starts so long after the peer [300ms]");
  command.add_option("--far", a.far, "What is on the far side: host or private")
      ->check(CLI::IsMember({"host", "private"}));
  command.add_flag("--internet", a.internet,
                   "With --far host: COMMAND reaches the internet, too (IPv4)");
  command.add_option("--tcp", a.tcp,
                     "Congestion control of TCP in the private networks: cubic, bbr, ...");
  command.add_option("--proxy", a.proxy,
                     "Instead of a network: carry UDP from IP:PORT, without any rights");
  command.add_option("--to", a.to, "With --proxy: the server, HOST:PORT");
  command.add_option("--duration", a.duration, "With --proxy: end after [Ctrl-C ends it]");
  command.add_flag("--json", a.json, "The summary as JSON on standard output, after COMMAND's");
  command.add_flag("--quiet", a.quiet, "No lines of its own on standard error");
}

int execute_cellsim(const CellsimArguments& arguments, const std::string& data, std::ostream& out,
                    std::ostream& err) {
  const bool is_proxy = !arguments.proxy.empty();
  const cellsim::CellsimReport report =
      is_proxy ? run_proxy(arguments, data, err) : run_command(arguments, data, err);
  if (arguments.json) {
    out << cellsim::report_json(report, path_of(arguments, data)) << std::flush;
  } else if (!arguments.quiet) {
    err << cellsim::report_lines(report) << std::flush;
  }
  return report.exit_code == 0 && !report.logs_complete ? 2 : report.exit_code;
}

}  // namespace cress::eval
