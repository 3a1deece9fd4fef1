#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "traces/commands.hh"

namespace cress::traces {

/// `cress-trace saturate`: its arguments, and their execution.
class SaturateCommand {
 public:
  explicit SaturateCommand(CLI::App& app);
  ~SaturateCommand();

  /// After parsing. Throws std::runtime_error in one sentence.
  void run(const CommandStreams& streams) const;

 private:
  struct Arguments;
  std::unique_ptr<Arguments> arguments_;
};

}  // namespace cress::traces
