#include "app/room/chat_order.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::room {
namespace {

using Lines = std::vector<std::string>;

TEST(ChatOrder, LinesInOrderAreNotHeld) {
  ChatOrder order;
  EXPECT_EQ(order.add(kTimeZero, 1, "a"), Lines{"a"});
  EXPECT_EQ(order.add(kTimeZero, 2, "b"), Lines{"b"});
  EXPECT_EQ(order.poll_timeout(), kNever);
  EXPECT_EQ(order.handle_timeout(kTimeZero + 1h), Lines{});
}

TEST(ChatOrder, ALineThatOvertookWaitsForTheOneBefore) {
  ChatOrder order;
  EXPECT_EQ(order.add(kTimeZero, 3, "c"), Lines{});
  EXPECT_EQ(order.add(kTimeZero + 1s, 2, "b"), Lines{});
  EXPECT_EQ(order.poll_timeout(), kTimeZero + ChatOrder::kHeldMax);
  EXPECT_EQ(order.add(kTimeZero + 1s, 5, "e"), Lines{});
  EXPECT_EQ(order.add(kTimeZero + 1500ms, 1, "a"), (Lines{"a", "b", "c"}));
  EXPECT_EQ(order.poll_timeout(), kTimeZero + 1s + ChatOrder::kHeldMax) << "for the fourth";
  EXPECT_EQ(order.add(kTimeZero + 2s, 4, "d"), (Lines{"d", "e"}));
  EXPECT_EQ(order.poll_timeout(), kNever);
}

TEST(ChatOrder, AMissingLineIsWaitedForForABoundedTime) {
  ChatOrder order;
  EXPECT_EQ(order.add(kTimeZero, 4, "d"), Lines{});
  EXPECT_EQ(order.add(kTimeZero + 1s, 2, "b"), Lines{});
  EXPECT_EQ(order.add(kTimeZero + 1s, 5, "e"), Lines{});
  EXPECT_EQ(order.add(kTimeZero + 1s, 7, "g"), Lines{});
  EXPECT_EQ(order.handle_timeout(kTimeZero + ChatOrder::kHeldMax - 1ns), Lines{});
  EXPECT_EQ(order.handle_timeout(kTimeZero + ChatOrder::kHeldMax), (Lines{"b", "d", "e"}));
  EXPECT_EQ(order.poll_timeout(), kTimeZero + 1s + ChatOrder::kHeldMax) << "for the seventh";
  EXPECT_EQ(order.add(kTimeZero + ChatOrder::kHeldMax, 1, "a"), Lines{"a"}) << "late, not lost";
  EXPECT_EQ(order.handle_timeout(kTimeZero + 1s + ChatOrder::kHeldMax), Lines{"g"});
  EXPECT_EQ(order.add(kTimeZero + 5s, 8, "h"), Lines{"h"});
}

TEST(ChatOrder, ALateLineDoesNotHoldUpTheNext) {
  ChatOrder order;
  EXPECT_EQ(order.add(kTimeZero, 3, "c"), Lines{});
  EXPECT_EQ(order.handle_timeout(kTimeZero + ChatOrder::kHeldMax), Lines{"c"});
  EXPECT_EQ(order.add(kTimeZero + 3s, 1, "a"), Lines{"a"});
  EXPECT_EQ(order.add(kTimeZero + 3s, 4, "d"), Lines{"d"});
}

TEST(ChatOrder, AfterTheEndNothingIsHeld) {
  ChatOrder order;
  EXPECT_EQ(order.finish(), Lines{});
  EXPECT_EQ(order.add(kTimeZero, 2, "b"), Lines{});
  EXPECT_EQ(order.add(kTimeZero, 9, "i"), Lines{});
  EXPECT_EQ(order.finish(), (Lines{"b", "i"}));
  EXPECT_EQ(order.poll_timeout(), kNever);
}

TEST(ChatOrder, RepeatedSerialsAndThoseOutOfRangeLoseNothing) {
  ChatOrder order;
  EXPECT_EQ(order.add(kTimeZero, 0, "zero"), Lines{"zero"});
  EXPECT_EQ(order.add(kTimeZero, 2, "b"), Lines{});
  EXPECT_EQ(order.add(kTimeZero, 2, "another"), Lines{"another"});
  EXPECT_EQ(order.add(kTimeZero, UINT32_MAX, "last"), Lines{});
  EXPECT_EQ(order.handle_timeout(kTimeZero + 2s), (Lines{"b", "last"}));
  EXPECT_EQ(order.add(kTimeZero + 3s, 3, "c"), Lines{"c"});
}

TEST(ChatOrder, NoMoreThanItsBoundIsHeld) {
  ChatOrder order;
  for (uint32_t i = 1; i <= ChatOrder::kLinesMax; ++i) {
    EXPECT_EQ(order.add(kTimeZero, 10 * i, std::to_string(i)), Lines{}) << i;
  }
  EXPECT_EQ(order.add(kTimeZero, 11, "over"), (Lines{"1", "over"}));
  EXPECT_EQ(order.add(kTimeZero, 1000, "17"), Lines{});
  EXPECT_EQ(order.add(kTimeZero, 2000, "18"), Lines{"2"});
  EXPECT_EQ(order.finish().size(), ChatOrder::kLinesMax);
}

TEST(ChatOrder, WhateverOvertakesWithinTheTimeIsInOrderAndWhole) {
  Rng rng{7};
  for (int round = 0; round < 300; ++round) {
    struct Arrival {
      TimePoint at;
      uint32_t serial;
    };
    std::vector<Arrival> arrivals;
    for (uint32_t serial = 1; serial <= 40; ++serial) {
      arrivals.push_back(
          {kTimeZero + serial * 200ms + static_cast<int64_t>(rng.below(1800)) * 1ms, serial});
    }
    std::ranges::sort(arrivals, {}, &Arrival::at);
    ChatOrder order;
    Lines read;
    for (const Arrival& arrival : arrivals) {
      while (order.poll_timeout() <= arrival.at) {
        const Lines due = order.handle_timeout(order.poll_timeout());
        ASSERT_FALSE(due.empty());
        read.insert(read.end(), due.begin(), due.end());
      }
      const Lines lines = order.add(arrival.at, arrival.serial, std::to_string(arrival.serial));
      read.insert(read.end(), lines.begin(), lines.end());
    }
    Lines said;
    for (uint32_t serial = 1; serial <= 40; ++serial) {
      said.push_back(std::to_string(serial));
    }
    ASSERT_EQ(read, said) << round;
  }
}

}  // namespace
}  // namespace cress::room
