#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "eval/relay_load/relay_load.hh"

namespace cress::eval {

/// The arguments of `cress-eval relay-load`, as typed.
struct RelayLoadArguments {
  int rooms = 4;
  int members = 5;
  int video_kbps = 500;
  double duration_s = 20;
  double skip_s = 5;
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
