#include "app/call/chat.hh"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "app/call/call.hh"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"

namespace cress::app {
namespace {

using Kind = session::MessageOutcome::Kind;

TEST(Chat, NobodyWritesFasterThanALineASecondAfterFive) {
  ChatSender sender;
  const TimePoint start = kTimeZero + 1s;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(sender.put(start, "line")) << i;
  }
  EXPECT_FALSE(sender.put(start, "line"));
  EXPECT_FALSE(sender.put(start + 999ms, "line"));
  EXPECT_TRUE(sender.put(start + 1s, "line"));
  EXPECT_FALSE(sender.put(start + 1s, "line"));
}

TEST(Chat, NothingToSayIsNotSentAndCostsNothing) {
  ChatSender sender;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(sender.put(kTimeZero, "  \n\t \x01"));
  }
  EXPECT_TRUE(sender.put(kTimeZero, "x"));
  EXPECT_EQ(sender.waiting(), 1U);
}

TEST(Chat, AtMostSixteenLinesWait) {
  ChatSender sender;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(sender.put(kTimeZero + i * 1s, "line"), i < 16) << i;
  }
  EXPECT_EQ(sender.waiting(), ChatSender::kWaitingMax);
}

TEST(Chat, LinesBeyondALimitAreDroppedAndCounted) {
  ChatReceiver receiver;
  for (uint32_t serial = 1; serial <= 100; ++serial) {
    receiver.handle(kTimeZero + 1s, {serial, std::to_string(serial)});
  }
  EXPECT_EQ(receiver.over_limit(), 100U - 24);
  EXPECT_EQ(receiver.poll(), "1");
  receiver.handle(kTimeZero + 1500ms, {101, "later"});
  EXPECT_EQ(receiver.over_limit(), 100U - 24) << "half a second later one more is taken";
}

TEST(Chat, LinesThatNobodyTakesAreBounded) {
  ChatReceiver receiver;
  for (uint32_t serial = 1; serial <= 200; ++serial) {
    receiver.handle(kTimeZero + serial * 1s, {serial, std::to_string(serial)});
  }
  EXPECT_EQ(receiver.poll(), std::to_string(200 - ChatReceiver::kHeldMax + 1));
}

TEST(Chat, ARepeatedLineIsTakenOnce) {
  ChatReceiver receiver;
  receiver.handle(kTimeZero, {1, "once"});
  receiver.handle(kTimeZero, {1, "once"});
  receiver.handle(kTimeZero, {3, "three"});
  receiver.handle(kTimeZero, {2, "of the past"});
  EXPECT_EQ(receiver.poll(), "once");
  EXPECT_EQ(receiver.poll(), "three");
  EXPECT_EQ(receiver.poll(), std::nullopt);
}

/// Two ends and a link that loses what the test says.
class ChatOverLink : public ::testing::Test {
 protected:
  static std::unique_ptr<control::Control> control() {
    return std::make_unique<control::CressControl>(control::call_control());
  }
  /// Nothing takes time on the way: what is sent is there at once.
  void pass(Duration length, double loss) {
    for (const TimePoint end = now_ + length; now_ < end; now_ += 10ms) {
      step(near_, far_, loss);
      step(far_, near_, loss);
      while (auto line = far_.poll_chat()) {
        heard_.push_back(*std::move(line));
      }
    }
  }
  void step(Call& from, Call& to, double loss) {
    if (from.poll_timeout() <= now_) {
      from.handle_timeout(now_);
    }
    while (const auto bytes = from.poll_transmit(now_)) {
      if (!rng_.chance(loss)) {
        (void)to.handle_datagram(now_, *bytes);
      }
    }
  }

  TimePoint now_ = kTimeZero;
  Rng rng_{3};
  Call near_{kTimeZero, {}, control()};
  Call far_{kTimeZero, {}, control()};
  std::vector<std::string> heard_;
};

TEST_F(ChatOverLink, LinesArriveOnceAndInOrderThroughHeavyLoss) {
  pass(1s, 0);
  std::vector<std::string> said;
  for (int i = 0; i < 20; ++i) {
    said.push_back("line " + std::to_string(i));
    EXPECT_TRUE(near_.send_chat(now_, said.back())) << i;
    pass(1s, 0.4);
  }
  pass(5s, 0);
  EXPECT_EQ(heard_, said);
  EXPECT_EQ(near_.chat_waiting(), 0U);
}

TEST_F(ChatOverLink, LinesWaitForTheEndOfAnOutage) {
  pass(1s, 0);
  EXPECT_TRUE(near_.send_chat(now_, "are you there?"));
  pass(10s, 1);
  EXPECT_TRUE(heard_.empty());
  EXPECT_EQ(near_.chat_waiting(), 1U);
  pass(3s, 0);
  EXPECT_EQ(heard_, std::vector<std::string>{"are you there?"});
  EXPECT_EQ(near_.chat_waiting(), 0U);
}

TEST_F(ChatOverLink, TheLongestLineFits) {
  pass(1s, 0);
  const std::string longest(kChatLineMax, 'x');
  EXPECT_TRUE(near_.send_chat(now_, longest + " and more"));
  pass(1s, 0);
  EXPECT_EQ(heard_, std::vector<std::string>{longest});
}

}  // namespace
}  // namespace cress::app
