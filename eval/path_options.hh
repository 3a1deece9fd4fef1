#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/harness/cross.hh"
#include "transport/sim/link.hh"

/// Command-line options of impairments and cross traffic. All parsers throw std::invalid_argument
/// with one clear line.
namespace cress::eval {

/// The help text of --queue.
inline constexpr const char* kQueueAbout =
    "infinite | droptail:N | codel | fq-codel | pie | dualpi2 | red:MIN,MAX,P (packets) [the "
    "link's, or infinite]";

struct PathArguments {
  std::vector<std::string> detour;  ///< each as for parse_detours
  std::string jitter;               ///< empty: the link's own
  std::string burst_loss;           ///< empty: the link's own
  double duplicate = 0;
  std::vector<std::string> cross;
};

void add_path_options(CLI::App& command, PathArguments& arguments);

/// A time of at most 10 s.
Duration parse_jitter(const std::string& text);
/// "ENTER,LEAVE[,LOSS]", probabilities.
sim::BurstLoss parse_burst_loss(const std::string& text);
/// 0 <= share < 1.
double parse_duplicate(double share);
/// Each text is "TIME@START[+LENGTH]".
std::vector<sim::Detour> parse_detours(const std::vector<std::string>& texts);
/// Each text is "KIND[:N]@START[+LENGTH][/up]".
std::vector<harness::CrossFlow> parse_cross(const std::vector<std::string>& texts);

/// The name for traces::resolve_link of --link or --rate; empty where neither was given.
std::string link_name_of(const std::string& link, const std::string& rate);

/// The options that were given, for run.json.
nlohmann::ordered_json path_options(const PathArguments& arguments);

/// `cress::parse_duration`, which throws std::invalid_argument naming `option`.
Duration parse_duration(const std::string& text, const std::string& option);

}  // namespace cress::eval
