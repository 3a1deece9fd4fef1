#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "eval/swarm/scenario.hh"

namespace {

/// Runs one scenario in a process of its own, so that a failed check or a crash ends only that one.
bool holds(uint64_t seed) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> steps;
    const std::string report = cress::swarm::run_drawn(seed, &steps);
    if (!report.empty()) {
      for (const std::string& step : steps) {
        fmt::print("  {}\n", step);
      }
      fmt::print("{}", report);
      std::fflush(stdout);
    }
    _exit(report.empty() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    throw std::runtime_error{"cannot start a process"};
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Draws whole calls and rooms under faults from a seed and checks what must always hold"};
  app.footer(
      "Examples:\n"
      "  cress-swarm --seconds 60\n"
      "  cress-swarm --seed 1234 --count 1     replays one");
  uint64_t seed = 1;
  double seconds = 60;
  uint64_t count = 0;
  app.add_option("--seconds", seconds, "How long to go on")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--seed", seed, "Of the first scenario; the next has the next seed")
      ->capture_default_str();
  app.add_option("--count", count, "So many scenarios, however long they take");
  app.set_version_flag("--version", CRESS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed_s = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  uint64_t done = 0;
  for (; count > 0 ? done < count : elapsed_s() < seconds; ++done) {
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} scenarios, {:.0f} s ", done, elapsed_s());
    }
    if (!holds(seed + done)) {
      fmt::print("cress-swarm: seed {0} fails; replay: ./cress swarm --seed {0} --count 1\n",
                 seed + done);
      return 1;
    }
  }
  fmt::print("cress-swarm: {} scenarios from seed {} on hold\n", done, seed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fputs("cress-swarm: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return 2;
  }
}
