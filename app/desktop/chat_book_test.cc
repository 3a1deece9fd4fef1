#include "app/desktop/chat_book.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cress::desktop {
namespace {

using State = ui::ChatLine::State;

std::vector<State> states_of(const ChatBook& book) {
  std::vector<State> states;
  const ui::ChatLines lines = book.lines();
  for (const ui::ChatLine& line : lines ? *lines : std::vector<ui::ChatLine>{}) {
    states.push_back(line.state);
  }
  return states;
}

TEST(ChatBook, KeepsTheNewestTwoHundredLines) {
  ChatBook book;
  EXPECT_EQ(book.lines(), nullptr);
  for (int i = 0; i < 250; ++i) {
    book.add("Ada", std::to_string(i));
  }
  ASSERT_EQ(book.lines()->size(), 200U);
  EXPECT_EQ(book.lines()->front().text, "50");
  EXPECT_EQ(book.lines()->back().text, "249");
  EXPECT_LT(book.lines()->front().id, book.lines()->back().id);
}

TEST(ChatBook, TheNewestOwnLinesAreThoseThatWait) {
  ChatBook book;
  book.add_own("one", true);
  book.add("Ada", "hello");
  book.add_own("two", true);
  book.add_own("three", true);
  EXPECT_TRUE(book.settle(2));
  EXPECT_EQ(states_of(book),
            (std::vector{State::kThere, State::kThere, State::kWaiting, State::kWaiting}));
  EXPECT_FALSE(book.settle(2)) << "nothing new";
  EXPECT_TRUE(book.settle(0));
  EXPECT_EQ(states_of(book), std::vector(4, State::kThere));
}

TEST(ChatBook, WhatWaitedIsNotSentOnceItsConnectionIsGone) {
  ChatBook book;
  book.add_own("refused", false);
  book.add_own("waits", true);
  EXPECT_EQ(states_of(book), (std::vector{State::kFailed, State::kWaiting}));
  EXPECT_TRUE(book.fail_waiting());
  EXPECT_FALSE(book.fail_waiting());
  EXPECT_EQ(states_of(book), std::vector(2, State::kFailed));
  EXPECT_FALSE(book.settle(0)) << "it stays so";
}

TEST(ChatBook, ClearedItKnowsNothing) {
  ChatBook book;
  book.add("Ada", "secret");
  book.clear();
  EXPECT_EQ(book.lines(), nullptr);
  book.add("Ada", "next");
  EXPECT_GT(book.lines()->front().id, 1U) << "a new line is new to the window";
}

}  // namespace
}  // namespace cress::desktop
