#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "eval/relay_load/relay_load.hh"

namespace cress::eval {

/// The arguments of `cress-eval encoder`, as typed.
struct EncoderArguments {
  std::vector<std::string> videos{"synthetic"};
  std::vector<std::string> encoders{"cress", "cbr"};
  std::vector<std::string> budgets;
  std::vector<std::string> sizes;
  std::vector<int> cpu_used{-8};
  std::vector<int> quantizers{20, 30, 40, 50};
  bool quantizers_given = false;
  std::vector<int64_t> rates;
  bool rate_distortion = false;
  uint64_t frames = 300;
  uint64_t skip = 0;
  uint64_t seed = 1;
  std::string out = "cress-encoder";
  bool save_ivf = false;
  bool save_y4m = false;
  bool json = false;
  bool no_report = false;
};

void add_encoder_options(CLI::App& command, EncoderArguments& arguments);
/// `data`: the folder with recorded links. Throws std::invalid_argument or std::runtime_error with
/// one clear line; finished results are kept.
void execute_encoder(const EncoderArguments& arguments, const std::string& data, std::ostream& out);

/// The arguments of `cress-eval reproduce`, as typed.
struct ReproduceArguments {
  std::vector<std::string> names;
  std::string duration;
  std::string out = "cress-reproduce";
  uint64_t seed = 1;
  unsigned jobs = 0;  ///< 0: one a core
  bool json = false;
};

void add_reproduce_options(CLI::App& command, ReproduceArguments& arguments);
/// Writes NAME.svg, NAME.csv, NAME.json and index.html. `data`: the folder with recorded links.
/// Throws std::invalid_argument or std::runtime_error with one clear line.
void execute_reproduce(const ReproduceArguments& arguments, const std::string& data,
                       std::ostream& out);

/// The arguments of `cress-eval sweep`, as typed.
struct SweepArguments {
  std::string plan;
  std::string out = "cress-sweep";
  unsigned jobs = 0;  ///< 0: one a core
  std::string shard;  ///< "I/N"; empty: all
  bool json = false;
  bool dry_run = false;
  std::string print_jobs;  ///< number of shell commands; "all": one per run; empty: none
  std::vector<std::string> merge;
  bool allow_missing = false;
  std::string program;  ///< the program under which the runs are stored; empty: version and build
  std::string command;  ///< how the printed commands call this program; empty: by its path
  std::string data;
  bool is_data_given =
      false;  ///< given on the command line, so that printed commands include it too
};

void add_sweep_options(CLI::App& command, SweepArguments& arguments);
/// 0: done; 1: some runs failed, the others are kept; 130: interrupted, the same command continues.
/// Throws std::invalid_argument or std::runtime_error with one clear line; finished results are
/// kept. The caller must have only one thread: workers are forked.
int execute_sweep(const SweepArguments& arguments, std::ostream& out, std::ostream& err);

/// The arguments of `cress-eval compare`, as typed.
struct CompareArguments {
  std::string before;
  std::string after;
  std::string noise = "seeds";
  double confidence = 0.95;
  std::vector<std::string> pairs;  ///< "OLD=NEW"
  bool all = false;
  bool allow_missing = false;
  bool unchecked = false;
  bool json = false;
};

void add_compare_options(CLI::App& command, CompareArguments& arguments);
/// 0: nothing got worse; 1: something got worse, beyond noise. Throws std::invalid_argument or
/// std::runtime_error with one clear line.
int execute_compare(const CompareArguments& arguments, std::ostream& out);

/// The arguments of `cress-eval relay-load`, as typed.
struct RelayLoadArguments {
  int rooms = 4;
  int members = 5;
  int video_kbps = 500;
  std::optional<Duration> duration;  ///< 20 s
  std::optional<Duration> skip;      ///< 5 s
  int churn_per_minute = 0;
  std::string hostile;  ///< empty: no attack
  bool empties = false;
  bool goes_first = false;
  bool against_turn = false;
  uint64_t seed = 1;
  bool json = false;
};

void add_relay_load_options(CLI::App& command, RelayLoadArguments& arguments);
/// 0: all members joined and stayed; 1: not all. Throws std::runtime_error with one clear line. The
/// caller must have only one thread: the relay is forked.
int execute_relay_load(const RelayLoadArguments& arguments, std::ostream& out, std::ostream& err);

/// The printed form of a result: lines for people, or one JSON object.
std::string relay_load_text(const relay_load::RelayLoadResult& result);
std::string relay_load_json(const relay_load::RelayLoadResult& result);

}  // namespace cress::eval
