#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "eval/relay_load/relay_load.hh"
#include "eval/subcommands.hh"
#include "transport/process/command_line.hh"

namespace cress::eval {
namespace {

double milliseconds(const std::optional<Duration>& duration) {
  return duration ? to_milliseconds(*duration) : 0;
}

std::string text_of(const relay_load::Growth& growth) {
  const auto percent = [](double factor) { return 100 * (factor - 1); };
  return fmt::format("{:+.0f} % ({:+.0f} to {:+.0f})", percent(growth.median), percent(growth.low),
                     percent(growth.high));
}

std::string text_of(const relay_load::HostileResult& hostile) {
  std::string text = fmt::format("hostile        {} datagrams sent, {} joins begun\n",
                                 hostile.datagrams_sent, hostile.joins_begun);
  const auto line = [&](const char* when, const relay_load::SoundDelay& delay) {
    text += fmt::format("{}  p50 {:.2f}, p99 {:.2f}, p99.9 {:.2f} ms in other rooms\n", when,
                        milliseconds(delay.p50), milliseconds(delay.p99), milliseconds(delay.p999));
  };
  line("  while quiet  ", hostile.calm);
  line("  while at it  ", hostile.attacked);
  text += fmt::format("  p99 grows      {}, median and middle half of {} pairs\n",
                      text_of(hostile.p99_growth), hostile.pairs);
  text += fmt::format("  frames' p95    {:.2f} ms, then {:.2f} ms in all rooms: {}\n",
                      milliseconds(hostile.frames_calm), milliseconds(hostile.frames_attacked),
                      text_of(hostile.frames_growth));
  for (const auto& [reason, count] : hostile.refused) {
    text += fmt::format("  refused        {} {}\n", count, reason);
  }
  return text;
}

nlohmann::ordered_json to_json(const relay_load::SoundDelay& delay) {
  return {{"p50_ms", milliseconds(delay.p50)},
          {"p99_ms", milliseconds(delay.p99)},
          {"p999_ms", milliseconds(delay.p999)}};
}

nlohmann::ordered_json to_json(const relay_load::Growth& growth) {
  return {{"median", growth.median}, {"low", growth.low}, {"high", growth.high}};
}

nlohmann::ordered_json to_json(const relay_load::HostileResult& hostile) {
  return {{"datagrams_sent", hostile.datagrams_sent},
          {"joins_begun", hostile.joins_begun},
          {"calm", to_json(hostile.calm)},
          {"attacked", to_json(hostile.attacked)},
          {"p99_growth", to_json(hostile.p99_growth)},
          {"frames_calm_p95_ms", milliseconds(hostile.frames_calm)},
          {"frames_attacked_p95_ms", milliseconds(hostile.frames_attacked)},
          {"frames_p95_growth", to_json(hostile.frames_growth)},
          {"pairs", hostile.pairs},
          {"refused", hostile.refused}};
}

nlohmann::ordered_json to_json(const relay_load::TurnResult& turn) {
  return {{"sent", turn.sent},
          {"delivered", turn.delivered},
          {"cpu", turn.cpu},
          {"datagrams_per_core_s", turn.datagrams_per_core_s},
          {"p50_ms", milliseconds(turn.p50)},
          {"p99_ms", milliseconds(turn.p99)}};
}

nlohmann::ordered_json to_json(const relay_load::RelayLoadResult& result) {
  return {{"members", result.members},
          {"not_let_in", result.not_let_in},
          {"joins", result.joins},
          {"streams", result.streams},
          {"stream_kbps", result.stream_kbps},
          {"datagrams_in_per_s", result.datagrams_in_per_s},
          {"datagrams_out_per_s", result.datagrams_out_per_s},
          {"relay_cpu", result.relay_cpu},
          {"streams_per_core", result.streams_per_core},
          {"datagrams_out_per_core_s", result.datagrams_out_per_core_s},
          {"sound_p50_ms", milliseconds(result.sound.p50)},
          {"sound_p99_ms", milliseconds(result.sound.p99)},
          {"sound_p999_ms", milliseconds(result.sound.p999)},
          {"wait_p50_ms", milliseconds(result.wait_p50)},
          {"wait_p99_ms", milliseconds(result.wait_p99)},
          {"resident_begin_bytes", result.resident_begin},
          {"resident_most_bytes", result.resident_most},
          {"resident_end_bytes", result.resident_end},
          {"hostile", result.hostile ? to_json(*result.hostile) : nullptr},
          {"turn", result.turn ? to_json(*result.turn) : nullptr}};
}

}  // namespace

std::string relay_load_text(const relay_load::RelayLoadResult& result) {
  std::string text = fmt::format("members        {} in, {} not, {} joins\n", result.members,
                                 result.not_let_in, result.joins);
  text += fmt::format("streams        {:.0f}, {:.0f} kbit/s each as sent by the relay\n",
                      result.streams, result.stream_kbps);
  text += fmt::format("datagrams      {:.0f} in, {:.0f} out a second\n", result.datagrams_in_per_s,
                      result.datagrams_out_per_s);
  text +=
      fmt::format("relay          {:.1f} % of a core: {:.0f} streams, {:.0f} datagrams/s a core\n",
                  100 * result.relay_cpu, result.streams_per_core, result.datagrams_out_per_core_s);
  text += fmt::format("sound's way    p50 {:.2f}, p99 {:.2f}, p99.9 {:.2f} ms, socket to socket\n",
                      milliseconds(result.sound.p50), milliseconds(result.sound.p99),
                      milliseconds(result.sound.p999));
  text += fmt::format("in the relay   p50 <= {:.2f}, p99 <= {:.2f} ms until looked at\n",
                      milliseconds(result.wait_p50), milliseconds(result.wait_p99));
  const auto megabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  text += fmt::format("memory         {:.1f} MB, at most {:.1f} MB, then {:.1f} MB\n",
                      megabytes(result.resident_begin), megabytes(result.resident_most),
                      megabytes(result.resident_end));
  if (result.hostile) {
    text += text_of(*result.hostile);
  }
  if (result.turn) {
    text += fmt::format(
        "turnserver     {:.1f} % of a core: {:.0f} datagrams/s a core, {} of {} delivered, p50 "
        "{:.2f}, p99 {:.2f} ms\n",
        100 * result.turn->cpu, result.turn->datagrams_per_core_s, result.turn->delivered,
        result.turn->sent, milliseconds(result.turn->p50), milliseconds(result.turn->p99));
    text += fmt::format("relay / turn   {:.2f} datagrams for the same processor time\n",
                        result.datagrams_out_per_core_s / result.turn->datagrams_per_core_s);
  }
  return text;
}

std::string relay_load_json(const relay_load::RelayLoadResult& result) {
  return to_json(result).dump(2) + "\n";
}

void add_relay_load_options(CLI::App& command, RelayLoadArguments& arguments) {
  command.add_option("--rooms", arguments.rooms, "Rooms")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--members", arguments.members, "In each room; all send, all look at all")
      ->check(CLI::Range(2, 40))
      ->capture_default_str();
  command.add_option("--video-kbps", arguments.video_kbps, "Of each member's pictures")
      ->check(CLI::Range(20, 5000))
      ->capture_default_str();
  runtime::add_duration(command, "--duration", arguments.duration, "In all [20s]",
                        {1s, 24h, "from 1s to 24h"});
  runtime::add_duration(command, "--skip", arguments.skip, "Not counted at the start [5s]",
                        {0s, 24h, "at most 24h"});
  command
      .add_option("--churn", arguments.churn_per_minute, "Members that leave for others a minute")
      ->check(CLI::Range(0, 6000))
      ->capture_default_str();
  std::vector<std::string> kinds;
  std::ranges::transform(relay_load::kHostileNames, std::back_inserter(kinds),
                         &relay_load::HostileName::name);
  command
      .add_option("--hostile", arguments.hostile,
                  "Somebody who does this every other five seconds, to be compared with the others")
      ->check(CLI::IsMember(kinds));
  command.add_flag("--empties", arguments.empties,
                   "All leave before the counting and after it: memory with nobody in");
  command.add_flag("--against-turn", arguments.against_turn,
                   "Then the same datagrams through a TURN server (coturn's turnserver)");
  command.add_flag("--first", arguments.goes_first,
                   "Relay and probe go before all else on a machine that others use (as root)");
  command.add_option("--seed", arguments.seed, "Of sizes and leavers")->capture_default_str();
  command.add_flag("--json", arguments.json, "The result as JSON");
  command.footer(
      "Examples:\n"
      "  cress-eval relay-load --rooms 10 --members 5\n"
      "  cress-eval relay-load --rooms 2 --members 10 --churn 1000 --empties --duration 75s\n"
      "  cress-eval relay-load --hostile half-open --duration 45s --json\n"
      "Relay and members share this machine; what the members take is not counted.");
}

int execute_relay_load(const RelayLoadArguments& arguments, std::ostream& out, std::ostream& err) {
  const Duration duration = arguments.duration.value_or(20s);
  const Duration skip = arguments.skip.value_or(5s);
  if (skip >= duration) {
    throw std::runtime_error("--skip must be less than --duration");
  }
  if (arguments.against_turn && !relay_load::has_turn_server()) {
    throw std::runtime_error("--against-turn: there is no turnserver; apt-get install coturn");
  }
  const bool shows = isatty(STDERR_FILENO) != 0;
  const auto result =
      relay_load::run_relay_load({.rooms = arguments.rooms,
                                  .members = arguments.members,
                                  .video = DataRate::kilobits_per_second(arguments.video_kbps),
                                  .duration = duration,
                                  .skip = skip,
                                  .churn_per_minute = arguments.churn_per_minute,
                                  .hostile = relay_load::find_hostile(arguments.hostile),
                                  .empties = arguments.empties,
                                  .goes_first = arguments.goes_first,
                                  .against_turn = arguments.against_turn,
                                  .seed = arguments.seed},
                                 [&](double share) {
                                   if (shows) {
                                     err << fmt::format("\r{:3.0f} %", 100 * share) << std::flush;
                                   }
                                 });
  if (shows) {
    err << "\r     \r";
  }
  out << (arguments.json ? relay_load_json(result) : relay_load_text(result));
  return result.not_let_in == 0 ? 0 : 1;
}

}  // namespace cress::eval
