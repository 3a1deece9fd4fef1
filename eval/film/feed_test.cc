#include "eval/film/feed.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "media/source/synthetic_camera.hh"

namespace cress::film {
namespace {

ShownPicture numbered(int number) {
  const TimePoint at = kTimeZero + 1ms * number;
  return {at, at + 5ms, nullptr, std::to_string(number)};
}

TEST(OriginalFeed, ShowsEachPictureWhenItIsCaptured) {
  media::SyntheticCamera camera{{.width = 32, .height = 16, .frame_rate = {25, 1}}};
  OriginalFeed feed{camera, kTimeZero + 100ms};
  for (int i = 0; i < 3; ++i) {
    const auto shown = feed.poll();
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(shown->captured, kTimeZero + 40ms * i);
    EXPECT_EQ(shown->shown, shown->captured);
    EXPECT_EQ(*shown->picture, *camera.picture(static_cast<uint64_t>(i)));
  }
  EXPECT_FALSE(feed.poll().has_value());
  EXPECT_FALSE(feed.poll().has_value());
}

TEST(ProducedFeed, GivesAllInOrderWithABoundedLead) {
  std::atomic<int> made = 0;
  ProducedFeed feed{[&made](const ProducedFeed::Show& show) {
    for (int i = 0; i < 500; ++i) {
      ++made;
      show(numbered(i));
    }
  }};
  for (int i = 0; i < 500; ++i) {
    // The producer holds one more than may wait.
    EXPECT_LE(made.load(), i + static_cast<int>(ProducedFeed::kWaitingMax) + 1);
    const auto shown = feed.poll();
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(shown->note, std::to_string(i));
    EXPECT_EQ(shown->captured, kTimeZero + 1ms * i);
  }
  EXPECT_FALSE(feed.poll().has_value());
  EXPECT_FALSE(feed.poll().has_value());
}

TEST(ProducedFeed, RethrowsTheProducersErrorAfterItsLastPicture) {
  ProducedFeed feed{[](const ProducedFeed::Show& show) {
    show(numbered(0));
    throw std::runtime_error("no such link");
  }};
  EXPECT_TRUE(feed.poll().has_value());
  EXPECT_THROW(feed.poll(), std::runtime_error);
  EXPECT_FALSE(feed.poll().has_value());
}

TEST(ProducedFeed, EndlessProducerStopsWithoutAViewer) {
  std::atomic<bool> unwound = false;
  struct Guard {
    std::atomic<bool>& flag;
    ~Guard() { flag = true; }
  };
  {
    ProducedFeed feed{[&unwound](const ProducedFeed::Show& show) {
      const Guard guard{unwound};
      for (int i = 0;; ++i) {
        show(numbered(i));
      }
    }};
    EXPECT_TRUE(feed.poll().has_value());
  }
  EXPECT_TRUE(unwound.load());
}

TEST(ProducedFeed, FinishRunsTheProducerToItsEnd) {
  int result = 0;
  ProducedFeed feed{[&result](const ProducedFeed::Show& show) {
    for (int i = 0; i < 100; ++i) {
      show(numbered(i));
    }
    result = 42;
  }};
  EXPECT_TRUE(feed.poll().has_value());
  feed.finish();
  EXPECT_EQ(result, 42);
  EXPECT_FALSE(feed.poll().has_value());
  feed.finish();
}

TEST(ProducedFeed, FinishRethrowsTheProducersError) {
  ProducedFeed feed{[](const ProducedFeed::Show& show) {
    for (int i = 0; i < 100; ++i) {
      show(numbered(i));
    }
    throw std::runtime_error("too late");
  }};
  EXPECT_THROW(feed.finish(), std::runtime_error);
}

}  // namespace
}  // namespace cress::film
