#include "transport/runtime/worker.hh"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "transport/runtime/loop_test_tools.hh"

namespace cress::runtime {
namespace {

TEST(Worker, WorksElsewhereInOrderAndIsDoneHere) {
  const MonotonicClock clock;
  EventLoop loop{clock};
  Worker worker{loop, 1000};
  const auto here = std::this_thread::get_id();
  std::vector<int> worked(1000);  // each task's turn
  int turn = 0;                   // the worker's
  std::vector<int> done;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(worker.add(
        [&, i] {
          EXPECT_NE(std::this_thread::get_id(), here);
          worked[static_cast<size_t>(i)] = turn++;
        },
        [&, i] {
          EXPECT_EQ(std::this_thread::get_id(), here);
          EXPECT_EQ(worked[static_cast<size_t>(i)], i);
          done.push_back(i);
        }));
  }
  EXPECT_TRUE(run_until(clock, loop, [&] { return done.size() == 1000; }));
  EXPECT_EQ(done, worked);
}

TEST(Worker, ExcessIsRejectedAndWaitingTasksAreDiscarded) {
  const MonotonicClock clock;
  EventLoop loop{clock};
  int done = 0;
  int worked = 0;
  // Before the worker: its thread is in them until its end.
  std::promise<void> begun;
  std::promise<void> may_end;
  {
    Worker worker{loop, 2};
    EXPECT_TRUE(worker.add(
        [&] {
          begun.set_value();
          may_end.get_future().wait();
          ++worked;
        },
        [&] { ++done; }));
    begun.get_future().wait();
    EXPECT_TRUE(worker.add([&] { ++worked; }, [&] { ++done; }));
    EXPECT_TRUE(worker.add([&] { ++worked; }, [&] { ++done; }));
    EXPECT_FALSE(worker.add([&] { ++worked; }, [&] { ++done; }));
    // The destructor runs while the first task does: it waits for it.
    may_end.set_value();
  }
  EXPECT_GE(worked, 1);
  EXPECT_LE(worked, 3);
  EXPECT_FALSE(run_until(
      clock, loop, [&] { return done > 0; }, 50ms))
      << "it is gone";
}

TEST(Worker, ExceptionOfWorkLeavesTheLoop) {
  const MonotonicClock clock;
  EventLoop loop{clock};
  Worker worker{loop, 2};
  bool is_done = false;
  worker.add([] { throw std::runtime_error("of the work"); }, [&] { is_done = true; });
  EXPECT_THROW(run_until(clock, loop, [] { return false; }), std::runtime_error);
  EXPECT_FALSE(is_done);
  worker.add([] {}, [&] { is_done = true; });
  EXPECT_TRUE(run_until(clock, loop, [&] { return is_done; })) << "and it goes on";
}

}  // namespace
}  // namespace cress::runtime
