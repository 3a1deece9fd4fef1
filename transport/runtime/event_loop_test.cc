#include "transport/runtime/event_loop.hh"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "transport/runtime/file_descriptor.hh"

namespace cress::runtime {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  /// Runs until stop(); a test that never stops fails instead of hanging.
  void run() {
    bool late = false;
    EventLoop::Timer guard{loop_, [&] {
                             late = true;
                             loop_.stop();
                           }};
    guard.arm(clock_.now() + 20s);
    loop_.run();
    EXPECT_FALSE(late) << "nothing stopped the loop";
  }

  MonotonicClock clock_;
  EventLoop loop_{clock_};
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0) {
      read_end = std::make_unique<FileDescriptor>(ends[0]);
      write_end = std::make_unique<FileDescriptor>(ends[1]);
    }
  }
  void put(std::string_view text) const {
    EXPECT_EQ(write(write_end->get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  char take() const {
    char c = 0;
    return read(read_end->get(), &c, 1) == 1 ? c : '\0';
  }
  std::unique_ptr<FileDescriptor> read_end;
  std::unique_ptr<FileDescriptor> write_end;
};

TEST_F(EventLoopTest, TimersFireInOrderOfTheirTimesAndNeverEarly) {
  std::vector<int> fired;
  const TimePoint start = clock_.now();
  const std::array<Duration, 3> delays{30ms, 10ms, 20ms};
  std::vector<std::unique_ptr<EventLoop::Timer>> timers;
  for (int i = 0; i < 3; ++i) {
    const TimePoint at = start + delays[static_cast<size_t>(i)];
    timers.push_back(std::make_unique<EventLoop::Timer>(loop_, [&, i, at] {
      EXPECT_GE(clock_.now(), at);
      fired.push_back(i);
      if (fired.size() == 3) {
        loop_.stop();
      }
    }));
    timers.back()->arm(at);
  }
  run();
  EXPECT_EQ(fired, (std::vector<int>{1, 2, 0}));
}

TEST_F(EventLoopTest, ARearmedTimerFiresOnceAtItsNewTime) {
  int fired = 0;
  const TimePoint start = clock_.now();
  EventLoop::Timer timer{loop_, [&] {
                           ++fired;
                           EXPECT_GE(clock_.now(), start + 20ms);
                         }};
  EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
  timer.arm(start + 5ms);
  timer.arm(start + 20ms);
  end.arm(start + 60ms);
  run();
  EXPECT_EQ(fired, 1);
}

TEST_F(EventLoopTest, ATimerRearmedOutOfItsOwnCallbackGoesOn) {
  int fired = 0;
  std::unique_ptr<EventLoop::Timer> timer;
  timer = std::make_unique<EventLoop::Timer>(loop_, [&] {
    if (++fired == 50) {
      loop_.stop();
    }
    timer->arm(clock_.now());  // a past time fires at once
  });
  timer->arm(kTimeZero);
  run();
  EXPECT_EQ(fired, 50);
}

TEST_F(EventLoopTest, ACancelledTimerIsSilentEvenWhenItsTimeHasPassed) {
  EventLoop::Timer late{loop_, [] { FAIL() << "cancelled"; }};
  EventLoop::Timer never{loop_, [] { FAIL() << "never"; }};
  auto gone = std::make_unique<EventLoop::Timer>(loop_, [] { FAIL() << "destroyed"; });
  EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
  const TimePoint start = clock_.now();
  // All three are due in the same turn of the loop as the callback that cancels them.
  EventLoop::Timer canceller{loop_, [&] {
                               late.cancel();
                               never.arm(kNever);
                               gone.reset();
                             }};
  canceller.arm(start);
  late.arm(start + 1us);
  never.arm(start + 1us);
  gone->arm(start + 1us);
  end.arm(start + 10ms);
  std::this_thread::sleep_for(1ms);
  run();
}

TEST_F(EventLoopTest, AReadableFileCallsBackUntilItIsRead) {
  const Pipe pipe;
  std::string got;
  loop_.on_readable(pipe.read_end->get(), [&] {
    got += pipe.take();  // one of the three bytes per call
    if (got.size() == 4) {
      loop_.stop();
    }
  });
  pipe.put("abc");
  EventLoop::Timer more{loop_, [&] { pipe.put("d"); }};
  more.arm(clock_.now() + 5ms);
  run();
  EXPECT_EQ(got, "abcd");
}

TEST_F(EventLoopTest, AForgottenFileIsSilentAndStaysOpen) {
  const Pipe pipe;
  int calls = 0;
  loop_.on_readable(pipe.read_end->get(), [&] {
    ++calls;
    loop_.forget(pipe.read_end->get());
  });
  pipe.put("ab");
  EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
  end.arm(clock_.now() + 20ms);
  run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(pipe.take(), 'a');
  loop_.on_readable(pipe.read_end->get(), [&] { loop_.stop(); });
  run();  // watched again, it calls again: 'b' is still there
}

TEST_F(EventLoopTest, AFullFileCallsBackOnceWhenItTakesBytesAgain) {
  const Pipe pipe;
  const int fd = pipe.write_end->get();
  const std::vector<char> block(4096);
  while (write(fd, block.data(), block.size()) > 0) {
  }
  loop_.on_readable(fd, [] {});
  bool emptied = false;
  int calls = 0;
  loop_.when_writable(fd, [&] {
    ++calls;
    EXPECT_TRUE(emptied);
  });
  EventLoop::Timer reader{loop_, [&] {
                            emptied = true;
                            std::vector<char> sink(1 << 20);
                            while (read(pipe.read_end->get(), sink.data(), sink.size()) > 0) {
                            }
                          }};
  EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
  reader.arm(clock_.now() + 10ms);
  end.arm(clock_.now() + 40ms);
  run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, WorkPostedByOtherThreadsRunsHereInOrder) {
  constexpr int kEach = 2000;
  std::vector<int> next(2, 0);
  int total = 0;
  const auto here = std::this_thread::get_id();
  const auto poster = [&](size_t who) {
    for (int i = 0; i < kEach; ++i) {
      EXPECT_TRUE(loop_.post([&, who, i] {
        EXPECT_EQ(std::this_thread::get_id(), here);
        EXPECT_EQ(next[who]++, i);
        if (++total == 2 * kEach) {
          loop_.stop();
        }
      }));
    }
  };
  std::thread first{poster, 0};
  std::thread second{poster, 1};
  run();
  first.join();
  second.join();
  EXPECT_EQ(total, 2 * kEach);
}

TEST_F(EventLoopTest, BeyondTheLimitPostedWorkIsRefused) {
  size_t ran = 0;
  for (size_t i = 0; i < EventLoop::kPostedMax; ++i) {
    ASSERT_TRUE(loop_.post([&] { ++ran; }));
  }
  EXPECT_FALSE(loop_.post([] { FAIL() << "was refused"; }));
  EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
  end.arm(clock_.now() + 10ms);
  run();
  EXPECT_EQ(ran, EventLoop::kPostedMax);
  EXPECT_TRUE(loop_.post([] {}));
}

TEST_F(EventLoopTest, AStopBeforeTheRunCountsAndIsUsedUp) {
  loop_.stop();
  loop_.run();
  bool ran = false;
  EXPECT_TRUE(loop_.post([&] {
    ran = true;
    loop_.stop();
  }));
  run();
  EXPECT_TRUE(ran);
}

TEST_F(EventLoopTest, AnExceptionLeavesTheRunAndTheLoopGoesOn) {
  const Pipe pipe;
  int calls = 0;
  loop_.on_readable(pipe.read_end->get(), [&] {
    if (++calls == 1) {
      throw std::runtime_error("of a callback");
    }
    loop_.stop();
  });
  pipe.put("a");
  EXPECT_THROW(loop_.run(), std::runtime_error);
  run();
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(loop_.post([] { throw std::logic_error("of posted work"); }));
  loop_.forget(pipe.read_end->get());
  EXPECT_THROW(loop_.run(), std::logic_error);
}

TEST_F(EventLoopTest, SignalsCallBackEachTimeInsteadOfEndingTheProgram) {
  std::vector<int> signals;
  loop_.on_signals([&](int signal) {
    signals.push_back(signal);
    if (signals.size() == 1) {
      raise(SIGINT);
    } else {
      loop_.stop();
    }
  });
  EXPECT_TRUE(loop_.post([] { raise(SIGTERM); }));
  run();
  EXPECT_EQ(signals, (std::vector<int>{SIGTERM, SIGINT}));
}

}  // namespace
}  // namespace cress::runtime
