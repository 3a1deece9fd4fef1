#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eval/experiment.hh"
#include "eval/report/page_parts.hh"
#include "eval/subcommands.hh"
#include "eval/sweep/digest.hh"
#include "eval/sweep/pool.hh"
#include "eval/sweep/progress_line.hh"
#include "eval/sweep/shard.hh"
#include "eval/sweep_runs.hh"
#include "transport/base/text.hh"

namespace cress::eval {
namespace {

using sweep::Json;

constexpr const char* kAllJobs = "all";
constexpr int kFailedExit = 1;
constexpr int kInterruptedExit = 130;  // a shell's code for SIGINT
constexpr const char* kExamples = R"(Examples:
  cress-eval sweep plan.toml --dry-run
  cress-eval sweep plan.toml --out build/sweep        again after a kill: goes on
  cress-eval sweep plan.toml --shard 3/8 --out here   on the third of eight machines
  cress-eval sweep plan.toml --merge a b c --out all
  cress-eval sweep plan.toml --print-jobs 16 | parallel --sshlogin host1,host2 --workdir .
A plan:
  scheme = ["cress", "sprout", "cubic"]
  link = ["lte-slow", "3g"]
  seed = "1..5"
  duration = "60s")";

/// Version and build: other code may give other numbers, so its runs are stored under another name.
std::string this_program(const SweepArguments& arguments) {
  if (!arguments.program.empty()) {
    return arguments.program;
  }
  constexpr size_t kDigits = 16;
  const std::string build = sweep::build_id().substr(0, kDigits);
  return "cress-eval " CRESS_VERSION + (build.empty() ? "" : fmt::format(" build {}", build));
}

size_t jobs_of(const SweepArguments& arguments) {
  return arguments.jobs > 0 ? arguments.jobs : std::max(1U, std::thread::hardware_concurrency());
}

/// A plan, its folder, and the runs of this command.
struct Sweep {
  const SweepArguments& arguments;
  std::vector<PlannedRun> runs;
  std::vector<size_t> mine;  ///< of this shard, in the plan's order
};

Sweep load_sweep(const SweepArguments& arguments) {
  const sweep::Shard shard =
      arguments.shard.empty() ? sweep::Shard{} : sweep::Shard::parse(arguments.shard);
  Sweep sweep{arguments, load_plan(arguments.plan, arguments.data, this_program(arguments)), {}};
  for (size_t i = 0; i < sweep.runs.size(); ++i) {
    if (shard.holds(i)) {
      sweep.mine.push_back(i);
    }
  }
  return sweep;
}

void print_plan(const Sweep& sweep, std::ostream& out) {
  const auto store = sweep::RunStore::reading(sweep.arguments.out);
  Json list = Json::array();
  size_t done = 0;
  for (const size_t i : sweep.mine) {
    const PlannedRun& run = sweep.runs[i];
    const bool is_done = store.find(run.definition).has_value();
    done += is_done ? 1 : 0;
    if (sweep.arguments.json) {
      list.push_back({{"run", i + 1},
                      {"scheme", run.spec.scheme},
                      {"link", run.spec.link.name},
                      {"seed", run.spec.seed},
                      {"options", Json::parse(run.options)},
                      {"done", is_done},
                      {"command", command_of(run)}});
    } else {
      out << fmt::format("{:>6} {:<4} {}\n", i + 1, is_done ? "done" : "", command_of(run));
    }
  }
  if (sweep.arguments.json) {
    out << list.dump(2) << "\n";
  } else {
    out << fmt::format("{} runs, {} done, {} to do\n", sweep.mine.size(), done,
                       sweep.mine.size() - done);
  }
}

/// A command line for this program that works anywhere on this machine.
std::string own_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "cress-eval" : path.string();
}

void print_jobs(const Sweep& sweep, std::ostream& out) {
  const SweepArguments& a = sweep.arguments;
  size_t count = sweep.runs.size();
  if (a.print_jobs != kAllJobs) {
    const size_t wanted = parse_number<size_t>(a.print_jobs).value_or(0);
    if (wanted == 0) {
      throw std::invalid_argument(fmt::format(
          "--print-jobs {}: how many commands? A number, or nothing: one a run", a.print_jobs));
    }
    count = std::min(wanted, count);
  }
  // A user's command may have several words, a path is one word.
  const std::string program = a.command.empty() ? sweep::shell_word(own_path()) : a.command;
  for (size_t i = 1; i <= count; ++i) {
    out << program << (a.is_data_given ? " --data " + sweep::shell_word(a.data) : "") << " sweep "
        << sweep::shell_word(a.plan) << " --shard " << i << "/" << count << " --jobs "
        << std::max(a.jobs, 1U) << " --out " << sweep::shell_word(a.out)
        << (a.program.empty() ? "" : " --program " + sweep::shell_word(a.program)) << "\n";
  }
}

std::string summary_table(const std::string& results) {
  const auto parsed = report::parse_results(results);
  if (!parsed) {
    return {};  // nothing finished
  }
  const auto groups = report::seed_groups(*parsed);
  const auto options = report::telling_options(groups);
  const bool video = std::ranges::any_of(*parsed, &report::RunResult::has_video);
  std::vector<std::pair<const char*, const char*>> columns{
      {"throughput_kbps", "through kbit/s"}, {"utilization", "util"}, {"delay95_ms", "delay95 ms"}};
  if (video) {
    columns.insert(
        columns.end(),
        {{"frame_delay_p95_ms", "frame95 ms"}, {"ssim_db", "SSIM dB"}, {"frozen_s", "frozen s"}});
  }
  std::string text = fmt::format("{:<15} {:<24} {:<8} {:>5}", "scheme", "link", "way", "seeds");
  for (const auto& [measure, title] : columns) {
    text += fmt::format(" {:>17}", title);
  }
  text += "\n";
  for (size_t i = 0; i < groups.size(); ++i) {
    const report::SeedGroup& group = groups[i];
    text += fmt::format("{:<15} {:<24} {:<8} {:>5}", group.key.scheme, group.key.link,
                        group.key.direction, group.results.size());
    for (const auto& [measure, title] : columns) {
      const report::Sample sample = report::sample_of(group.values(measure));
      const int decimals = sample.mean < 10 ? 2 : 0;
      std::string cell = sample.count == 0 ? "-" : fmt::format("{:.{}f}", sample.mean, decimals);
      if (sample.count >= 2) {
        cell += fmt::format(" ±{:.{}f}", report::mean_interval(sample, 0.95).half(), decimals);
      }
      text += fmt::format(" {:>17}", cell);
    }
    text += options[i].empty() ? "\n" : fmt::format("  {}\n", options[i]);
  }
  return text + "(± : 95 % confidence, over seeds)\n";
}

/// The experiments of the results, each once, for `compare`.
void save_record(const Sweep& sweep, const sweep::RunStore& store, const std::string& results) {
  const SweepArguments& a = sweep.arguments;
  compare::RunRecord record = new_record("sweep");
  record.not_compared = {{"plan", a.plan},
                         {"out", a.out},
                         {"jobs", a.jobs},
                         {"data", a.data},
                         {"allow_missing", a.allow_missing},
                         {"program", this_program(a)}};
  std::set<std::pair<std::string, std::string>> seen;
  for (const PlannedRun& run : sweep.runs) {
    if (store.find(run.definition) && seen.insert({run.experiment.link, run.options}).second) {
      record.experiments.push_back(run.experiment);
    }
  }
  const auto file = store.folder() / compare::kRecordName;
  if (record.experiments.empty()) {  // results.json is an empty list
    std::filesystem::remove(file);
    return;
  }
  sweep::save_whole(compare::record_json(std::move(record), results), file);
}

/// Results in the plan's order. Throws if a run is missing and that is not allowed.
std::string merged(const Sweep& sweep, const sweep::RunStore& store) {
  Json all = Json::array();
  size_t missing = 0;
  for (const PlannedRun& run : sweep.runs) {
    std::optional<Json> results = store.find(run.definition);
    missing += results ? 0 : 1;
    for (Json& object : results ? *results : Json::array()) {
      all.push_back(std::move(object));
    }
  }
  if (missing > 0 && !sweep.arguments.allow_missing) {
    throw std::runtime_error(fmt::format(
        "{} of {} runs of the plan are missing; run it again without --merge and --shard, or take "
        "what there is with --allow-missing",
        missing, sweep.runs.size()));
  }
  return all.dump(2) + "\n";
}

void finish(const Sweep& sweep, const sweep::RunStore& store, std::ostream& out) {
  const std::string results = merged(sweep, store);
  const auto file = store.folder() / "results.json";
  sweep::save_whole(results, file);
  save_record(sweep, store, results);
  if (sweep.arguments.json) {
    out << results;
    return;
  }
  out << summary_table(results) << fmt::format("results: {}\n", file.string());
}

int merge(const Sweep& sweep, std::ostream& out) {
  const sweep::RunStore store{sweep.arguments.out};
  const std::string program = this_program(sweep.arguments);
  for (const std::string& folder : sweep.arguments.merge) {
    if (!std::filesystem::is_directory(std::filesystem::path{folder} / "runs")) {
      throw std::invalid_argument(folder + ": no sweep's folder, it has no runs/");
    }
    const auto from = sweep::RunStore::reading(folder);
    size_t found = 0;
    for (const PlannedRun& run : sweep.runs) {
      if (const auto results = from.find(run.definition)) {
        ++found;
        if (!store.find(run.definition)) {
          store.put(run.definition, *results);
        }
      }
    }
    const std::string other = found == 0 ? from.other_program(program) : "";
    if (!other.empty()) {
      throw std::invalid_argument(fmt::format(
          "{}: its runs are of another program ({}, this is {}); use one build on all machines, or "
          "say --program NAME with each command",
          folder, other, program));
    }
  }
  finish(sweep, store, out);
  return 0;
}

/// The processes' work and its progress.
class Running {
 public:
  Running(const Sweep& sweep, const sweep::RunStore& store, std::ostream& err)
      : sweep_(sweep), store_(store), err_(err) {}

  sweep::PoolEnd run() {
    std::vector<size_t> todo;
    for (const size_t i : sweep_.mine) {
      if (!store_.find(sweep_.runs[i].definition)) {
        todo.push_back(i);
      }
    }
    done_ = sweep_.mine.size() - todo.size();
    line_ = sweep::ProgressLine{{.runs = sweep_.mine.size(),
                                 .done_before = done_,
                                 .is_terminal = isatty(STDERR_FILENO) == 1}};
    if (todo.empty()) {
      return sweep::PoolEnd::kAllDone;
    }
    const schemes::SchemeContext context;  // computed once; the workers share its memory
    const auto work = [&](size_t i, const std::function<void(double)>& on_progress) {
      return results_of(sweep_.runs[i], context, on_progress).dump();
    };
    const auto started = std::chrono::steady_clock::now();
    const auto ended = sweep::run_in_processes(
        todo, jobs_of(sweep_.arguments), work,
        {.on_end = [&](size_t i, const sweep::Outcome& outcome) { file(i, outcome); },
         .on_tick =
             [&](double running) {
               const Duration elapsed = std::chrono::steady_clock::now() - started;
               err_ << line_.poll(elapsed, done_, running).value_or("") << std::flush;
             },
         .on_interrupt =
             [&](size_t running) {
               err_ << line_.clear() << "cress-eval: stopping; waiting for the " << running
                    << " that run (Ctrl-C again: not for them)\n"
                    << std::flush;
             }});
    err_ << line_.clear() << std::flush;
    return ended;
  }

  size_t done() const { return done_; }
  size_t failed() const { return failed_; }

 private:
  void file(size_t i, const sweep::Outcome& outcome) {
    const PlannedRun& run = sweep_.runs[i];
    if (!outcome.is_done) {
      ++failed_;
      err_ << line_.clear() << "cress-eval: run " << i + 1 << " (" << words_of(run)
           << ") failed: " << outcome.text << "; alone: " << command_of(run) << "\n";
      return;
    }
    store_.put(run.definition, Json::parse(outcome.text));
    ++done_;
  }

  const Sweep& sweep_;
  const sweep::RunStore& store_;
  std::ostream& err_;
  sweep::ProgressLine line_{{}};
  size_t done_ = 0;
  size_t failed_ = 0;
};

int run_plan(const Sweep& sweep, std::ostream& out, std::ostream& err) {
  const sweep::RunStore store{sweep.arguments.out};
  Running running{sweep, store, err};
  sweep::PoolEnd ended{};
  try {
    ended = running.run();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("{}; the {} runs already made are kept, the same command "
                    "goes on from there",
                    error.what(), running.done()));
  }
  if (ended == sweep::PoolEnd::kInterrupted) {
    err << fmt::format(
        "cress-eval: interrupted: {} of {} runs are done; the same command goes on\n",
        running.done(), sweep.mine.size());
    return kInterruptedExit;
  }
  if (running.failed() > 0) {
    err << fmt::format("cress-eval: {} of {} runs failed; the others are kept\n", running.failed(),
                       sweep.mine.size());
  }
  const bool is_whole = std::ranges::all_of(
      sweep.runs, [&](const PlannedRun& run) { return store.find(run.definition).has_value(); });
  if (is_whole || sweep.arguments.allow_missing) {
    finish(sweep, store, out);
  } else if (running.failed() == 0 && !sweep.arguments.json) {
    out << fmt::format("shard {} is done: {} runs in {}; the other shards' are still missing\n",
                       sweep.arguments.shard, sweep.mine.size(), sweep.arguments.out);
  }
  return running.failed() > 0 ? kFailedExit : 0;
}

}  // namespace

void add_sweep_options(CLI::App& command, SweepArguments& a) {
  command.footer(kExamples);
  command.add_option("PLAN", a.plan, "What to run, in TOML (docs/guide/cress-eval.md)")->required();
  command.add_option("--out", a.out, "Output folder; what is in it already is not run again")
      ->capture_default_str();
  command.add_option("--jobs", a.jobs, "Processes at a time [one a core]")
      ->check(CLI::Range(1U, 1024U));
  CLI::Option* const shard = command.add_option(
      "--shard", a.shard, "I/N: only the I-th of N parts, for one of many machines");
  command.add_flag("--json", a.json, "Print results.json instead of the table");
  CLI::Option* const dry_run =
      command.add_flag("--dry-run", a.dry_run, "Say what would run, and do nothing");
  CLI::Option* const print_jobs =
      command
          .add_option("--print-jobs", a.print_jobs,
                      "Print N shell commands, a shard each, for GNU parallel; without N one a run")
          ->expected(0, 1)
          ->default_str(kAllJobs)
          ->excludes(dry_run)
          ->excludes(shard);
  command
      .add_option("--command", a.command,
                  "With --print-jobs: what calls cress-eval there [this program's path]")
      ->needs(print_jobs);
  command.add_option("--merge", a.merge, "Run nothing: take the finished runs of these folders")
      ->expected(1, -1)
      ->excludes(dry_run)
      ->excludes(print_jobs);
  command.add_flag("--allow-missing", a.allow_missing,
                   "Write results.json even if runs are missing");
  command.add_option("--program", a.program,
                     "File runs under this name instead of version and build: for machines that "
                     "have built the same sources");
}

int execute_sweep(const SweepArguments& arguments, std::ostream& out, std::ostream& err) {
  if (!arguments.merge.empty() && !arguments.shard.empty()) {
    throw std::invalid_argument("--merge takes all shards together; leave --shard out");
  }
  const Sweep sweep = load_sweep(arguments);
  if (arguments.dry_run) {
    print_plan(sweep, out);
  } else if (!arguments.print_jobs.empty()) {
    print_jobs(sweep, out);
  } else if (!arguments.merge.empty()) {
    return merge(sweep, out);
  } else {
    return run_plan(sweep, out, err);
  }
  return 0;
}

}  // namespace cress::eval
