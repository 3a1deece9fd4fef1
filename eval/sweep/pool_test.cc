// Goal: whatever happens to one worker, the others and the caller continue. Method: workers that
// finish, throw, abort, are killed or never end.
#include "eval/sweep/pool.hh"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace cress::sweep {
namespace {

struct Told {
  std::map<size_t, Outcome> outcomes;
  double running_max = 0;
  PoolEnd end{};
};

std::vector<size_t> numbers(size_t count) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

Told run(size_t tasks, size_t jobs, const Work& work) {
  Told told;
  told.end = run_in_processes(
      numbers(tasks), jobs, work,
      {.on_end = [&](size_t task, Outcome outcome) { told.outcomes[task] = std::move(outcome); },
       .on_tick = [&](double running) { told.running_max = std::max(told.running_max, running); },
       .on_interrupt = [](size_t) {}});
  return told;
}

TEST(Pool, HandsBackEachTasksBytesWhateverTheNumberOfJobs) {
  for (const size_t jobs : {1, 3, 50}) {
    const Told told = run(20, jobs, [](size_t task, const auto& share) {
      share(0.5);
      return std::string(task * 10'000, static_cast<char>('a' + task));
    });
    EXPECT_EQ(told.end, PoolEnd::kAllDone);
    ASSERT_EQ(told.outcomes.size(), 20U);
    for (const auto& [task, outcome] : told.outcomes) {
      EXPECT_TRUE(outcome.is_done);
      EXPECT_EQ(outcome.text, std::string(task * 10'000, static_cast<char>('a' + task)));
    }
  }
}

TEST(Pool, CrashedWorkerAffectsNoOther) {
  const Told told = run(6, 2, [](size_t task, const auto&) -> std::string {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    switch (task) {
      case 1:
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
        break;
      case 2:
        raise(SIGKILL);
        break;
      case 3:
        throw std::runtime_error("the clip is gone");
      case 4:
        _exit(7);
      default:
        break;
    }
    return "well";
  });
  EXPECT_EQ(told.end, PoolEnd::kAllDone);
  EXPECT_EQ(told.outcomes.at(0).text, "well");
  EXPECT_EQ(told.outcomes.at(5).text, "well");
  EXPECT_NE(told.outcomes.at(1).text.find("SIGABRT"), std::string::npos);
  EXPECT_NE(told.outcomes.at(2).text.find("SIGKILL"), std::string::npos);
  EXPECT_EQ(told.outcomes.at(3).text, "the clip is gone");
  EXPECT_NE(told.outcomes.at(4).text.find("exit code 7"), std::string::npos);
  for (const size_t task : {1, 2, 3, 4}) {
    EXPECT_FALSE(told.outcomes.at(task).is_done);
  }
}

TEST(Pool, AThrowOfTheCallerEndsTheWorkers) {
  const auto work = [](size_t task, const auto&) -> std::string {
    if (task == 1) {
      pause();  // for ever
    }
    return {};
  };
  const auto on_end = [](size_t, const Outcome&) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(run_in_processes(numbers(2), 2, work,
                                {.on_end = on_end, .on_tick = [](double) {}, .on_interrupt = {}}),
               std::runtime_error);
}

TEST(Pool, InterruptFinishesRunningTasksAndStartsNone) {
  size_t ended = 0;
  size_t waited_for = 0;
  const auto work = [](size_t task, const auto&) -> std::string {
    if (task == 0) {
      kill(getppid(), SIGINT);
    }
    usleep(300'000);
    return {};
  };
  const auto end =
      run_in_processes(numbers(10), 2, work,
                       {.on_end = [&](size_t, const Outcome& o) { ended += o.is_done; },
                        .on_tick = [](double) {},
                        .on_interrupt = [&](size_t running) { waited_for = running; }});
  EXPECT_EQ(end, PoolEnd::kInterrupted);
  EXPECT_GE(waited_for, 1U);
  EXPECT_EQ(ended, waited_for);
}

TEST(Pool, SecondInterruptEndsRunningTasks) {
  const pid_t caller = getpid();
  const auto work = [&](size_t, const auto&) -> std::string {
    kill(caller, SIGINT);
    usleep(300'000);
    kill(caller, SIGINT);
    pause();
    return {};
  };
  const auto end = run_in_processes(numbers(1), 1, work,
                                    {.on_end = [](size_t, const Outcome&) {},
                                     .on_tick = [](double) {},
                                     .on_interrupt = [](size_t) {}});
  EXPECT_EQ(end, PoolEnd::kInterrupted);
}

TEST(Pool, ProgressIsTheSumOfTheRunningShares) {
  const Told told = run(2, 2, [](size_t, const auto& share) {
    share(0.5);
    usleep(500'000);
    return std::string{};
  });
  EXPECT_NEAR(told.running_max, 1.0, 1e-9);
}

}  // namespace
}  // namespace cress::sweep
