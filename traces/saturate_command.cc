#include "traces/saturate_command.hh"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "traces/saturate/run.hh"
#include "transport/process/command_line.hh"
#include "transport/runtime/address_text.hh"

namespace cress::traces {
namespace {

// Unassigned by IANA and below Linux's own range for clients.
constexpr const char* kPort = "27500";
constexpr const char* kFeedbackPort = "27501";
constexpr Duration kUsual = 60s;
constexpr Duration kMost = 24h;

constexpr const char* kExamples =
    "Examples:\n"
    "  on a server:  cress-trace saturate --listen\n"
    "  on a laptop behind the link, one direction after the other:\n"
    "    cress-trace saturate --connect server:27500 --token T --one-way down --out drive\n"
    "    cress-trace saturate --connect server:27500 --token T --one-way up --out drive\n"
    "  both at once, with feedback over another network (the server has two addresses):\n"
    "    server:  cress-trace saturate --listen --feedback-listen\n"
    "    laptop:  cress-trace saturate --connect 192.0.2.1:27500 --feedback 198.51.100.1:27501 \\\n"
    "               --token T --duration 5m --out drive\n"
    "\n"
    "up is from who connects to who listens. Writes PREFIX.up, PREFIX.down (Mahimahi) and\n"
    "PREFIX.json (of one direction PREFIX.up.json or PREFIX.down.json), which says when the link\n"
    "was saturated and when not. It costs data: all that\n"
    "the link can carry. Ctrl-C ends the measuring and keeps what there is.\n";

}  // namespace

struct SaturateCommand::Arguments {
  std::string connect;
  std::string listen;
  std::string feedback;
  std::string feedback_listen;
  std::string bind;
  std::string feedback_bind;
  std::string token;
  std::string one_way;
  std::optional<Duration> duration{};
  int packet_bytes = 1500;
  std::string out;
  bool json = false;
  // The options given at all, possibly without a value.
  CLI::Option* listens = nullptr;
  CLI::Option* feedback_listens = nullptr;
  CLI::Option* one_ways = nullptr;
};

SaturateCommand::SaturateCommand(CLI::App& app) : arguments_(std::make_unique<Arguments>()) {
  Arguments& a = *arguments_;
  CLI::App* command =
      app.add_subcommand("saturate", "Record a real link: keep it full, both ways, and watch");
  command->footer(kExamples);
  command->add_option("--connect", a.connect, "HOST:PORT of who listens, over the link to record");
  a.listens = command
                  ->add_option("--listen", a.listen,
                               "IP:PORT or PORT to wait at (bare: port 27500 of all addresses)")
                  ->expected(0, 1);
  command->add_option("--feedback", a.feedback,
                      "HOST:PORT of who listens, over another path, for what is not load");
  a.feedback_listens = command
                           ->add_option("--feedback-listen", a.feedback_listen,
                                        "IP:PORT or PORT for that (bare: port 27501)")
                           ->expected(0, 1);
  command->add_option("--bind", a.bind, "With --connect: IP:PORT of this machine to connect from");
  command->add_option("--feedback-bind", a.feedback_bind, "The same for --feedback");
  command->add_option("--token", a.token,
                      "Secret that both ends share; who listens makes one and shows it");
  a.one_ways =
      command
          ->add_option("--one-way", a.one_way,
                       "With --connect: saturate one direction, down (bare) or up; default both")
          ->expected(0, 1);
  runtime::add_duration(*command, "--duration", a.duration,
                        "How long to measure once queues are full [60s]; with --listen the longest "
                        "to take part in [24h]",
                        {1s, kMost, "from 1s to 24h"});
  command->add_option("--packet-size", a.packet_bytes, "IP bytes of a packet of load")
      ->check(CLI::Range(1280, 9000))
      ->capture_default_str();
  command->add_option("--out", a.out, "PREFIX of the files to write");
  command->add_flag("--json", a.json, "Print the summary as one JSON object");
}

SaturateCommand::~SaturateCommand() = default;

namespace {

/// "IP:PORT", or a port of all addresses.
Address local_address(const std::string& option, const std::string& text) {
  const bool port_only = !text.empty() && text.size() <= 5 &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const std::string whole = port_only ? "[::]:" + text : text;
  const auto address = runtime::parse_address(whole);
  if (!address) {
    throw std::runtime_error(option + " " + text + ": " + runtime::describe(address.error()) +
                             "; write IP:PORT, such as 0.0.0.0:27500");
  }
  return *address;
}

void require(bool condition, const std::string& what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

}  // namespace

void SaturateCommand::run(const CommandStreams& streams) const {
  const Arguments& a = *arguments_;
  const bool listens = a.listens->count() > 0;
  const bool feedback_listens = a.feedback_listens->count() > 0;
  require(listens != !a.connect.empty(), "saturate needs either --listen or --connect HOST:PORT");
  require(!listens || (a.feedback.empty() && a.bind.empty() && a.feedback_bind.empty()),
          "--feedback, --bind and --feedback-bind go with --connect");
  require(listens || !feedback_listens, "--feedback-listen goes with --listen");
  require(!a.feedback.empty() || a.feedback_bind.empty(), "--feedback-bind goes with --feedback");
  require(listens || !a.token.empty(),
          "--connect needs the --token that who listens has been given, or shows");
  const bool one_way = a.one_ways->count() > 0;
  require(!listens || !one_way, "--one-way goes with --connect: who listens does as it is told");
  require(a.one_way.empty() || a.one_way == "down" || a.one_way == "up",
          "--one-way is down (also without a word) or up, not " + a.one_way);
  SaturateRunOptions options;
  options.token = a.token;
  options.packet_size = DataSize{a.packet_bytes};
  options.out = a.out;
  options.json = a.json;
  options.up = !one_way || a.one_way == "up";
  options.down = !one_way || a.one_way != "up";
  options.duration = a.duration.value_or(listens ? kMost : kUsual);
  if (listens) {
    options.listen = local_address("--listen", a.listen.empty() ? kPort : a.listen);
    if (feedback_listens) {
      options.feedback_listen = local_address(
          "--feedback-listen", a.feedback_listen.empty() ? kFeedbackPort : a.feedback_listen);
    }
  } else {
    require(!a.out.empty() || a.json, "--connect needs --out PREFIX, or --json for numbers alone");
    options.connect = a.connect;
    options.feedback = a.feedback.empty() ? std::nullopt : std::optional{a.feedback};
    options.bind = a.bind.empty() ? Address{} : local_address("--bind", a.bind);
    options.feedback_bind =
        a.feedback_bind.empty() ? Address{} : local_address("--feedback-bind", a.feedback_bind);
  }
  run_saturate(options, {streams.out, streams.messages, streams.progress_bar});
}

}  // namespace cress::traces
