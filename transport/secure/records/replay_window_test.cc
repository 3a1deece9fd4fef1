#include "transport/secure/records/replay_window.hh"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <vector>

namespace cress::secure {
namespace {

/// The slow twin: keeps every number that was ever used.
class SetOfAll {
 public:
  explicit SetOfAll(size_t kept_max) : kept_max_(kept_max) {}
  bool is_new(uint64_t number) const { return !used_.contains(number) && number >= floor(); }
  bool insert(uint64_t number) {
    const bool is_newest = used_.empty() || number > newest();
    used_.insert(number);
    return is_newest;
  }
  uint64_t newest() const { return used_.empty() ? 0 : *used_.rbegin(); }
  size_t kept() const { return std::min(used_.size(), kept_max_); }

 private:
  /// One above the largest of those that are not among the newest `kept_max`.
  uint64_t floor() const {
    return used_.size() <= kept_max_
               ? 0
               : *std::prev(used_.end(), static_cast<ptrdiff_t>(kept_max_ + 1)) + 1;
  }

  size_t kept_max_;
  std::set<uint64_t> used_;
};

/// Every order of `left` more numbers below `below`, those that are not new being refused.
void try_all(const ReplayWindow& window, const SetOfAll& twin, uint64_t below, int left) {
  ASSERT_EQ(window.newest(), twin.newest());
  ASSERT_EQ(window.size(), twin.kept());
  for (uint64_t number = 0; number < below; ++number) {
    ASSERT_EQ(window.is_new(number), twin.is_new(number)) << number;
    if (left > 0 && twin.is_new(number)) {
      ReplayWindow window_after = window;
      SetOfAll twin_after = twin;
      ASSERT_EQ(window_after.insert(number), twin_after.insert(number)) << number;
      ASSERT_NO_FATAL_FAILURE(try_all(window_after, twin_after, below, left - 1));
    }
  }
}

TEST(ReplayWindow, IsTheTwinInEveryOrderOfSevenNumbers) {
  for (size_t kept = 1; kept <= 5; ++kept) {
    ASSERT_NO_FATAL_FAILURE(try_all(ReplayWindow{kept}, SetOfAll{kept}, 7, 7)) << kept;
  }
}

TEST(ReplayWindow, NumberEvictedLastIsRefusedAndTheNextOneIsNot) {
  ReplayWindow window{3};
  for (const uint64_t number : {100, 200, 300, 400}) {
    EXPECT_TRUE(window.insert(number));
  }
  EXPECT_FALSE(window.is_new(99));
  EXPECT_FALSE(window.is_new(100)) << "evicted by 400";
  EXPECT_TRUE(window.is_new(101));
  EXPECT_FALSE(window.insert(101)) << "new, but not the newest";
  EXPECT_FALSE(window.is_new(101)) << "evicted by itself";
  EXPECT_TRUE(window.is_new(102));
  EXPECT_FALSE(window.is_new(200));
}

TEST(ReplayWindow, IsExactAtTheEndsOfTheNumbers) {
  ReplayWindow window{2};
  EXPECT_EQ(window.newest(), 0U);
  EXPECT_TRUE(window.is_new(0));
  EXPECT_TRUE(window.insert(0));
  EXPECT_FALSE(window.is_new(0));
  EXPECT_TRUE(window.is_new(~uint64_t{0}));
  EXPECT_TRUE(window.insert(~uint64_t{0}));
  EXPECT_FALSE(window.is_new(~uint64_t{0}));
  EXPECT_EQ(window.newest(), ~uint64_t{0});
  EXPECT_FALSE(window.insert(~uint64_t{0} - 1));
  EXPECT_FALSE(window.is_new(0));
  EXPECT_TRUE(window.is_new(1));
}

TEST(ReplayWindowDeathTest, KeepsAtLeastOneAndTakesANumberOnce) {
  EXPECT_DEATH(ReplayWindow{0}, "at least one");
  ReplayWindow window{2};
  window.insert(5);
  EXPECT_DEATH(window.insert(5), "used once");
}

}  // namespace
}  // namespace cress::secure
