#include "transport/runtime/driver.hh"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "transport/base/take_front.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/closed_port_test_tools.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/private_network_test.hh"

namespace cress::runtime {
namespace {

Address address(std::string_view text) { return *parse_address(text); }

Transmit message(const Address& to, std::string_view text) {
  Transmit transmit{to, std::vector<std::byte>(text.size())};
  std::memcpy(transmit.bytes.data(), text.data(), text.size());
  return transmit;
}

/// Of datagram `i`: each longer than the one before, so that the kernel takes them one by one.
std::string nth_text(int i) {
  return std::to_string(i) + std::string(static_cast<size_t>(i % 100), '.');
}

/// Records every call with its time, checks that time never goes back, and executes the test's
/// callbacks.
class Notebook final : public Machine {
 public:
  struct Entry {
    std::string what;
    TimePoint now{};
  };

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    std::string text(bytes.size(), '\0');
    std::memcpy(text.data(), bytes.data(), bytes.size());
    note("got " + text, now);
    if (on_datagram) {
      on_datagram(now, from, text);
    }
  }
  void handle_timeout(TimePoint now) override {
    note("timeout", now);
    due = kNever;
    if (on_timeout) {
      on_timeout(now);
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    check_time(now);
    if (on_poll) {
      on_poll(now);
    }
    return take_front(out);
  }
  TimePoint poll_timeout() const override { return due; }
  bool drained(TimePoint now) override {
    check_time(now);
    EXPECT_TRUE(out.empty());
    if (on_drained) {
      on_drained(now);
    }
    return true;
  }
  void handle_path_error(TimePoint now, const PathError& error) override {
    note("path error", now);
    last_error = error;
  }

  void note(const std::string& what, TimePoint now) {
    check_time(now);
    entries.push_back({what, now});
  }
  std::vector<std::string> whats() const {
    std::vector<std::string> texts;
    texts.reserve(entries.size());
    for (const Entry& entry : entries) {
      texts.push_back(entry.what);
    }
    return texts;
  }

  std::function<void(TimePoint, const Address&, const std::string&)> on_datagram;
  std::function<void(TimePoint)> on_timeout;
  std::function<void(TimePoint)> on_drained;
  std::function<void(TimePoint)> on_poll;
  std::deque<Transmit> out;
  TimePoint due = kNever;
  std::vector<Entry> entries;
  std::optional<PathError> last_error;

 private:
  void check_time(TimePoint now) {
    EXPECT_GE(now, last_now_) << "time went back";
    last_now_ = now;
  }
  TimePoint last_now_{TimePoint::min()};
};

/// A machine, its socket, a peer's socket, and the loop.
class DriverTest : public ::testing::Test {
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
  void run_for(Duration duration) {
    EventLoop::Timer end{loop_, [&] { loop_.stop(); }};
    end.arm(clock_.now() + duration);
    loop_.run();
  }
  void peer_sends(std::string_view text) {
    EXPECT_EQ(peer_.send_batch(std::vector{message(socket_.local_address(), text)}).sent, 1U);
  }
  static void wait_readable(const UdpSocket& socket) {
    pollfd wait{.fd = socket.handle(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&wait, 1, 10'000), 1) << "nothing came";
  }
  std::vector<std::string> peer_received(size_t count) {
    std::vector<std::string> texts;
    while (texts.size() < count && !HasFailure()) {
      wait_readable(peer_);
      for (const ReceivedDatagram& datagram : peer_.receive_batch().datagrams) {
        texts.emplace_back(datagram.bytes.size(), '\0');
        std::memcpy(texts.back().data(), datagram.bytes.data(), datagram.bytes.size());
      }
    }
    return texts;
  }
  static void busy(Duration duration) { std::this_thread::sleep_for(duration); }

  MonotonicClock clock_;
  EventLoop loop_{clock_};
  UdpSocket socket_{clock_, {.bind = address("127.0.0.1:0")}};
  UdpSocket peer_{clock_, {.bind = address("127.0.0.1:0")}};
  Notebook machine_;
  Driver driver_{{.clock = clock_, .loop = loop_, .socket = socket_, .machine = machine_}};
};

TEST_F(DriverTest, NewMachineIsPolledFirst) {
  machine_.out.push_back(message(peer_.local_address(), "hello"));
  run_for(10ms);
  EXPECT_EQ(peer_received(1), std::vector<std::string>{"hello"});
  EXPECT_EQ(driver_.stats().datagrams_sent, 1U);
}

TEST_F(DriverTest, EachDatagramIsAnsweredInOrder) {
  for (int i = 0; i < 100; ++i) {
    peer_sends("question " + std::to_string(i));
  }
  int answered = 0;
  machine_.on_datagram = [&](TimePoint, const Address& from, const std::string& text) {
    EXPECT_EQ(from, peer_.local_address());
    machine_.out.push_back(message(from, "answer to " + text));
    if (++answered == 100) {
      loop_.stop();
    }
  };
  run();
  const auto answers = peer_received(100);
  ASSERT_EQ(answers.size(), 100U);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(answers[i], "answer to question " + std::to_string(i));
  }
  EXPECT_EQ(driver_.stats().datagrams_received, 100U);
}

TEST_F(DriverTest, DatagramsThatWaitedAreOneChange) {
  UdpSocket socket{clock_, {.bind = address("127.0.0.1:0")}};
  Notebook machine;
  Driver driver{{.clock = clock_, .loop = loop_, .socket = socket, .machine = machine}};
  std::vector<Transmit> questions;
  for (int i = 0; i < 100; ++i) {  // more than one batch
    questions.push_back(message(socket.local_address(), "question " + nth_text(i)));
  }
  EXPECT_EQ(peer_.send_batch(questions).sent, 100U);
  size_t heard = 0;
  int drains = 0;
  machine.on_datagram = [&](TimePoint now, const Address& from, const std::string& text) {
    ++heard;
    machine.out.push_back(message(from, "answer to " + text));
    machine.due = now;
  };
  machine.on_timeout = [&](TimePoint) { EXPECT_EQ(heard, 100U) << "comes after what came"; };
  machine.on_drained = [&](TimePoint) { drains += heard > 0 ? 1 : 0; };
  driver.wake();
  EXPECT_EQ(heard, 100U);
  EXPECT_LE(drains, 6) << "one and a last for each batch and for the time-out";
  EXPECT_TRUE(machine.out.empty());
  EXPECT_EQ(machine.whats().back(), "timeout");
  const auto answers = peer_received(100);
  ASSERT_EQ(answers.size(), 100U);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(answers[i], "answer to question " + nth_text(static_cast<int>(i)));
  }
}

TEST_F(DriverTest, StepsGatherForLongerTheBusierTheyAre) {
  // A machine that wants to be called all the time, with calls that take this long.
  const auto usual_gap = [&](Duration work) {
    UdpSocket socket{clock_, {.bind = address("127.0.0.1:0")}};
    Notebook machine;
    Driver driver{{.clock = clock_, .loop = loop_, .socket = socket, .machine = machine},
                  {.gather = 2ms, .gather_busy = 20ms}};
    std::vector<TimePoint> steps;
    machine.due = clock_.now();
    machine.on_timeout = [&](TimePoint) {
      steps.push_back(clock_.now());
      busy(work);
      machine.due = clock_.now() + 1ms;
    };
    run_for(400ms);
    std::vector<Duration> gaps;
    for (size_t i = 1; i < steps.size(); ++i) {
      gaps.push_back(steps[i] - steps[i - 1]);
    }
    EXPECT_GE(gaps.size(), 5U);
    std::ranges::sort(gaps);
    return gaps.empty() ? Duration{} : gaps[gaps.size() / 2];
  };
  const Duration idle = usual_gap(0ms);
  const Duration busy = usual_gap(12ms);
  EXPECT_GE(idle, 1900us);
  EXPECT_LT(idle, 19ms);
  EXPECT_GE(busy, 19ms);
}

TEST_F(DriverTest, TimeoutsComeAtTheirTimeAndGoOn) {
  TimePoint due = clock_.now() + 5ms;
  machine_.due = due;
  machine_.on_timeout = [&](TimePoint now) {
    EXPECT_GE(now, due);
    if (machine_.entries.size() == 10) {
      loop_.stop();
      return;
    }
    due = machine_.due = now + 2ms;
  };
  run();
  EXPECT_EQ(driver_.stats().timeouts, 10U);
}

TEST_F(DriverTest, ArrivalsWhileBusyKeepTheirTimes) {
  // The first stamps of a new socket may be made at reading: the kernel takes a moment to begin
  // stamping. Hence a few tries.
  constexpr Duration kBusy = 20ms;
  bool kept = false;
  for (int i = 0; i < 50 && !kept; ++i) {
    machine_.entries.clear();
    TimePoint sent{};
    machine_.on_datagram = [&](TimePoint, const Address&, const std::string&) { loop_.stop(); };
    driver_.wake([&](TimePoint now) {
      machine_.note("picture", now);
      peer_sends("in between");
      sent = clock_.now();
      busy(kBusy);
      machine_.note("coded", now);
    });
    run();
    ASSERT_EQ(machine_.whats(), (std::vector<std::string>{"picture", "coded", "got in between"}));
    kept = machine_.entries[2].now < sent + kBusy / 2;
  }
  EXPECT_TRUE(kept) << "datagrams are stamped when they are read, not when they arrive";
}

TEST_F(DriverTest, OutputsAfterABusyTimeAreStampedWhenTheyLeave) {
  TimePoint free{};
  int polls = 0;
  machine_.on_poll = [&](TimePoint now) {
    polls += free > TimePoint{} ? 1 : 0;
    EXPECT_GE(now, free);
  };
  machine_.on_timeout = [&](TimePoint) { loop_.stop(); };
  driver_.wake([&](TimePoint) {
    peer_sends("in between");
    machine_.due = clock_.now();
    busy(10ms);
    free = clock_.now();
  });
  run();
  EXPECT_EQ(machine_.whats(), (std::vector<std::string>{"got in between", "timeout"}));
  EXPECT_GT(polls, 0);
}

TEST_F(DriverTest, OutputsLeaveBeforeTheMachineDoesOtherWork) {
  machine_.out.push_back(message(peer_.local_address(), "coded"));
  machine_.on_drained = [&](TimePoint) {
    if (driver_.stats().datagrams_sent == 0) {
      ADD_FAILURE() << "it waits while a frame is decoded";
    }
  };
  driver_.wake();
  EXPECT_EQ(driver_.stats().datagrams_sent, 1U);
}

TEST_F(DriverTest, AnswersToOtherWorkAreStampedAfterIt) {
  TimePoint done{};
  machine_.on_poll = [&](TimePoint now) { EXPECT_GE(now, done); };
  machine_.on_drained = [&](TimePoint) {
    if (done == TimePoint{}) {
      busy(5ms);
      done = clock_.now();
      machine_.out.push_back(message(peer_.local_address(), "decoded"));
    }
  };
  driver_.wake();
  EXPECT_EQ(peer_received(1), std::vector<std::string>{"decoded"});
}

TEST_F(DriverTest, AWakeHandsOverFirstWhatHasArrived) {
  peer_sends("earlier");
  wait_readable(socket_);
  driver_.wake([&](TimePoint now) {
    machine_.note("picture", now);
    machine_.out.push_back(message(peer_.local_address(), "coded"));
  });
  EXPECT_EQ(machine_.whats(), (std::vector<std::string>{"got earlier", "picture"}));
  EXPECT_EQ(peer_received(1), std::vector<std::string>{"coded"});
}

TEST_F(DriverTest, ChangesMadeWhileOutputsAreTakenAreDrainedToo) {
  int rounds = 0;
  machine_.on_drained = [&](TimePoint) {
    if (++rounds <= 3) {
      machine_.out.push_back(message(peer_.local_address(), "round " + std::to_string(rounds)));
    }
  };
  driver_.wake();
  EXPECT_EQ(rounds, 4);
  EXPECT_EQ(peer_received(3), (std::vector<std::string>{"round 1", "round 2", "round 3"}));
}

TEST_F(DriverTest, AWakeInsideACallOfTheMachineIsABug) {
  machine_.on_drained = [&](TimePoint) { driver_.wake(); };
  EXPECT_DEATH(driver_.wake(), "stepped from inside");
}

TEST_F(DriverTest, EndlessPastTimeoutsFailACheckInsteadOfSpinning) {
  machine_.on_timeout = [&](TimePoint) { machine_.due = kTimeZero; };
  machine_.due = kTimeZero;
  EXPECT_DEATH(run(), "keeps asking for the same instant");
}

TEST_F(DriverTest, AMachineThatAsksForThePastOnceIsWokenOnce) {
  machine_.due = kTimeZero;
  run_for(20ms);
  EXPECT_EQ(machine_.whats(), std::vector<std::string>{"timeout"});
}

TEST_F(DriverTest, LongDatagramsAreCountedAndNotHandedOver) {
  peer_sends(std::string(5000, 'x'));
  peer_sends("short");
  machine_.on_datagram = [&](TimePoint, const Address&, const std::string&) { loop_.stop(); };
  run();
  EXPECT_EQ(machine_.whats(), std::vector<std::string>{"got short"});
  EXPECT_EQ(driver_.stats().datagrams_truncated, 1U);
}

TEST_F(DriverTest, UnsendableDatagramIsCountedAndTheRestSent) {
  driver_.wake([&](TimePoint) {
    machine_.out.push_back(message(peer_.local_address(), std::string(70'000, 'x')));
    machine_.out.push_back(message(peer_.local_address(), "fits"));
  });
  EXPECT_EQ(peer_received(1), std::vector<std::string>{"fits"});
  EXPECT_EQ(driver_.stats().send_too_large, 1U);
  EXPECT_EQ(driver_.stats().datagrams_sent, 1U);
}

TEST_F(DriverTest, MoreThanMayWaitLeavesWhileItIsCollected) {
  constexpr size_t kCount = 3 * Driver::kWaitingMax;
  driver_.wake([&](TimePoint) {
    for (size_t i = 0; i < kCount; ++i) {
      machine_.out.push_back(message(peer_.local_address(), "one of many"));
    }
  });
  EXPECT_EQ(driver_.stats().datagrams_sent, kCount);
  EXPECT_EQ(driver_.stats().send_overflow, 0U);
}

TEST_F(DriverTest, ARefusalReachesTheMachineAndEndsNothing) {
  const ClosedPort closed{clock_, address("127.0.0.1:0")};
  machine_.out.push_back(message(closed.address(), "hello?"));
  driver_.wake();
  ASSERT_TRUE(run_until(clock_, loop_, [&] { return machine_.last_error.has_value(); }));
  EXPECT_EQ(*machine_.last_error,
            (PathError{.to = closed.address(), .kind = PathError::Kind::kRefused}));
  peer_sends("still there?");
  machine_.on_datagram = [&](TimePoint, const Address&, const std::string&) { loop_.stop(); };
  run();
  EXPECT_EQ(driver_.stats().path_errors, 1U);
}

TEST_F(DriverTest, ExceptionsOfTheMachineLeaveTheRunAndItCanGoOn) {
  peer_sends("bad");
  peer_sends("good");
  machine_.on_datagram = [&](TimePoint, const Address&, const std::string& text) {
    if (text == "bad") {
      throw std::runtime_error("of the machine");
    }
    loop_.stop();
  };
  EXPECT_THROW(loop_.run(), std::runtime_error);
  peer_sends("good");  // datagrams received together with the bad one are lost, as on a network
  run();
  EXPECT_EQ(machine_.whats().back(), "got good");
}

/// The texts of the UDP datagrams in the frames waiting at the end of an Ethernet.
std::vector<std::string> read_wire(int fd) {
  constexpr size_t kEthernet = 14;
  constexpr size_t kHeaders = kEthernet + 20 + 8;
  std::vector<std::string> texts;
  std::array<char, 2048> frame{};
  for (ssize_t size = 0; (size = read(fd, frame.data(), frame.size())) >= 0;) {
    const bool is_ipv4 = frame[12] == 0x08 && frame[13] == 0x00;
    if (is_ipv4 && frame[kEthernet + 9] == IPPROTO_UDP && static_cast<size_t>(size) > kHeaders) {
      texts.emplace_back(frame.data() + kHeaders, static_cast<size_t>(size) - kHeaders);
    }
  }
  return texts;
}

/// Sends `count` datagrams through a socket whose buffer is full after some twenty, until the
/// neighbour is found; returns those seen on the wire.
std::vector<std::string> send_through_a_full_socket(PrivateNetwork& network, int count,
                                                    DriverStats& stats) {
  const auto wire = network.add_ethernet();
  if (wire == nullptr) {
    return {};
  }
  const MonotonicClock clock;
  EventLoop loop{clock};
  UdpSocket socket{clock, {.send_buffer = DataSize{20'000}}};
  Notebook machine;
  Driver driver{{clock, loop, socket, machine}};
  const Address to = address("198.51.100.2:4433");
  driver.wake([&](TimePoint) {
    for (int i = 0; i < count; ++i) {
      machine.out.push_back(message(to, nth_text(i)));
    }
  });
  EXPECT_LT(driver.stats().datagrams_sent, 100U) << "the socket should be full";
  network.set_neighbour();
  std::vector<std::string> texts;
  EventLoop::Timer guard{loop, [&] { loop.stop(); }};
  guard.arm(clock.now() + 20s);
  loop.on_readable(wire->get(), [&] {
    for (std::string& text : read_wire(wire->get())) {
      texts.push_back(std::move(text));
    }
    if (texts.size() + driver.stats().send_overflow == static_cast<size_t>(count)) {
      loop.stop();
    }
  });
  loop.run();
  loop.forget(wire->get());
  stats = driver.stats();
  return texts;
}

TEST(Driver, AFullSocketIsWaitedForAndNothingIsLostOrReordered) {
  std::vector<std::string> texts;
  DriverStats stats;
  PrivateNetwork::run(
      [&](PrivateNetwork& network) { texts = send_through_a_full_socket(network, 500, stats); });
  if (texts.empty()) {
    GTEST_SKIP() << "a private network with an Ethernet takes root's rights and /dev/net/tun";
  }
  ASSERT_EQ(texts.size(), 500U);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(texts[static_cast<size_t>(i)], nth_text(i));
  }
  EXPECT_EQ(stats.datagrams_sent, 500U);
  EXPECT_EQ(stats.send_overflow, 0U);
}

TEST(Driver, WaitingDatagramsForAFullSocketAreBounded) {
  std::vector<std::string> texts;
  DriverStats stats;
  PrivateNetwork::run(
      [&](PrivateNetwork& network) { texts = send_through_a_full_socket(network, 5000, stats); });
  if (texts.empty()) {
    GTEST_SKIP() << "a private network with an Ethernet takes root's rights and /dev/net/tun";
  }
  EXPECT_GE(stats.send_overflow, 5000 - Driver::kWaitingMax - 100);
  EXPECT_EQ(stats.datagrams_sent + stats.send_overflow, 5000U);
  EXPECT_EQ(texts.size(), stats.datagrams_sent);
}

TEST(Driver, ContinuesWithoutANetworkUntilItReturns) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    EventLoop loop{clock};
    UdpSocket left_socket{clock};
    UdpSocket right_socket{clock};
    Notebook left;
    Notebook right;
    network.set_second_address("192.0.2.1");
    Address to = address("192.0.2.1:0");
    to.port = right_socket.local_address().port;
    left.due = clock.now();
    const Driver left_driver{{clock, loop, left_socket, left}};
    const Driver right_driver{{clock, loop, right_socket, right}};
    // A beat every 2 ms; the network is down for beats 21 to 60.
    int beats = 0;
    left.on_timeout = [&](TimePoint now) {
      ++beats;
      if (beats == 21) {
        network.remove_second_address();
      } else if (beats == 61) {
        network.set_second_address("192.0.2.1");
      }
      left.out.push_back(message(to, std::to_string(beats)));
      left.due = now + 2ms;
    };
    right.on_datagram = [&](TimePoint, const Address&, const std::string& text) {
      if (text == "100") {
        loop.stop();
      }
    };
    EventLoop::Timer guard{loop, [&] { loop.stop(); }};
    guard.arm(clock.now() + 20s);
    loop.run();
    EXPECT_EQ(left_driver.stats().send_unroutable, 40U);
    EXPECT_EQ(right_driver.stats().datagrams_received, 60U);
    EXPECT_EQ(right.whats().back(), "got 100");
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

}  // namespace
}  // namespace cress::runtime
