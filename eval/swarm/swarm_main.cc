#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "eval/swarm/scenario.hh"
#include "transport/base/text.hh"

namespace {

struct Options {
  uint64_t seed = 1;
  double seconds = 60;
  uint64_t count = 0;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string commit;
};

/// Runs scenarios, each in a process of its own, so that a failed check or a crash ends that one
/// alone.
class Swarm {
 public:
  void start(uint64_t seed) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) {
      throw std::runtime_error{"cannot start a process"};
    }
    if (child == 0) {
      run(seed);
    }
    running_.emplace(child, seed);
  }
  size_t running() const { return running_.size(); }
  uint64_t done() const { return done_; }
  /// The smallest seed that failed.
  std::optional<uint64_t> failed() const { return failed_; }

  /// Waits for one of those that run.
  void wait_for_one() {
    int status = 0;
    const pid_t child = wait(&status);
    const auto found = running_.find(child);
    if (found == running_.end()) {
      throw std::runtime_error{"cannot wait for a process"};
    }
    const uint64_t seed = found->second;
    running_.erase(found);
    ++done_;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      failed_ = std::min(failed_.value_or(seed), seed);
    }
  }

 private:
  [[noreturn]] static void run(uint64_t seed) {
    std::vector<std::string> steps;
    const std::string report = cress::swarm::run_drawn(seed, &steps);
    std::string text;
    for (const std::string& step : steps) {
      text += fmt::format("  {}\n", step);
    }
    if (!report.empty()) {
      fmt::print("{}{}", text, report);
      std::fflush(stdout);
    }
    _exit(report.empty() ? 0 : 1);
  }

  std::map<pid_t, uint64_t> running_;
  uint64_t done_ = 0;
  std::optional<uint64_t> failed_;
};

/// One line that replays the scenario.
void print_failure(uint64_t seed, const std::string& commit) {
  const std::string of = commit.empty() ? "" : fmt::format(" of commit {}", commit);
  const std::string checkout = commit.empty() ? "" : fmt::format("git checkout {} && ", commit);
  fmt::print("cress-swarm: seed {0}{1} fails; replay: {2}./cress swarm --seed {0} --count 1\n",
             seed, of, checkout);
}

int run_swarm(const Options& options) {
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed_s = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  Swarm swarm;
  uint64_t next = options.seed;
  const auto goes_on = [&] {
    return !swarm.failed() && (options.count > 0 ? next < options.seed + options.count
                                                 : elapsed_s() < options.seconds);
  };
  while (goes_on() || swarm.running() > 0) {
    if (goes_on() && swarm.running() < options.jobs) {
      swarm.start(next++);
    } else {
      swarm.wait_for_one();
    }
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r{} scenarios, {:.0f} s ", swarm.done(), elapsed_s());
    }
  }
  if (swarm.failed()) {
    print_failure(*swarm.failed(), options.commit);
    return 1;
  }
  fmt::print("cress-swarm: {} scenarios from seed {} on hold\n", swarm.done(), options.seed);
  return 0;
}

int flushed(int code) {
  if (!std::cout.flush() || std::fflush(stdout) != 0) {
    throw std::runtime_error{"standard output cannot be written"};
  }
  return code;
}

/// CLI11 alone wraps -1 to 2⁶⁴ - 1.
std::string check_whole(const std::string& text) {
  return cress::parse_number<uint64_t>(text) ? ""
                                             : text + ": not a whole number from 0 to 2^64 - 1";
}

/// CLI::Range lets nan through.
std::string check_number(const std::string& text) {
  const auto number = cress::parse_number<double>(text);
  return number && *number >= 0 ? "" : text + ": not a number of seconds";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Draws whole calls and rooms under faults from a seed and checks what must always hold"};
  app.footer(
      "Examples:\n"
      "  cress-swarm --seconds 60\n"
      "  cress-swarm --seed 1234 --count 1     replays one");
  Options options;
  app.add_option("--seconds", options.seconds, "How long to go on")
      ->check(check_number)
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first scenario; the next has the next seed")
      ->check(check_whole)
      ->capture_default_str();
  app.add_option("--count", options.count, "So many scenarios, however long they take")
      ->check(check_whole);
  app.add_option("--jobs", options.jobs, "Processes at a time")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--commit", options.commit, "Named in the line that replays a failure");
  app.set_version_flag("--version", "cress-swarm " CRESS_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      throw std::runtime_error{cress::one_line(error.what()) + "; see cress-swarm --help"};
    }
    app.exit(error);
    return flushed(0);
  }
  return flushed(run_swarm(options));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cress-swarm: %s\n", error.what());
    return 2;
  }
}
