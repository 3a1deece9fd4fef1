#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "transport/base/fifo.hh"
#include "transport/base/rng.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/take_front.hh"

namespace cress {
namespace {

// Compared with std::deque, at random: first more is pushed than popped, then the reverse.
TEST(Fifo, IsADeque) {
  Rng rng{7};
  Fifo<int> fifo;
  std::deque<int> model;
  for (int i = 0; i < 20'000; ++i) {
    if (rng.chance(i % 2'000 < 1'000 ? 0.6 : 0.35)) {
      fifo.push_back(i);
      model.push_back(i);
    } else if (rng.chance(0.1)) {
      fifo.push_front(i);
      model.push_front(i);
    } else if (!model.empty()) {
      ASSERT_EQ(take_front(fifo), take_front(model));
    }
    ASSERT_EQ(fifo.size(), model.size());
    ASSERT_EQ(fifo.empty(), model.empty());
    if (!model.empty()) {
      const size_t some = rng.below(static_cast<uint32_t>(model.size()));
      ASSERT_EQ(fifo.front(), model.front());
      ASSERT_EQ(fifo.back(), model.back());
      ASSERT_EQ(fifo[some], model[some]);
    }
    if (i % 100 == 0) {
      ASSERT_TRUE(std::equal(fifo.begin(), fifo.end(), model.begin(), model.end()));
    }
  }
  fifo.clear();
  EXPECT_EQ(take_front(fifo), std::nullopt);
}

TEST(Fifo, TakenItemHoldsNothing) {
  const auto shared = std::make_shared<int>(1);
  Fifo<std::shared_ptr<int>> fifo;
  fifo.push_back(shared);
  fifo.push_back(shared);
  EXPECT_EQ(shared.use_count(), 3);
  fifo.pop_front();
  EXPECT_EQ(shared.use_count(), 2);
}

TEST(SpareBuffers, ABufferServesAgainEmptyAndLargeEnough) {
  SpareBuffers spare;
  std::vector<std::byte> first = spare.take(100);
  EXPECT_GE(first.capacity(), 100U);
  first.assign(100, std::byte{1});
  const std::byte* const where = first.data();
  spare.give(std::move(first));
  const std::vector<std::byte> again = spare.take(50);
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(again.data(), where);
  EXPECT_EQ(spare.kept(), 0U);
}

TEST(SpareBuffers, KeepsNoMoreThanItSaysAndNothingLarge) {
  SpareBuffers spare;
  for (size_t i = 0; i < 2 * SpareBuffers::kKeptMax; ++i) {
    spare.give(std::vector<std::byte>(10));
  }
  EXPECT_EQ(spare.kept(), SpareBuffers::kKeptMax);
  SpareBuffers others;
  others.give(std::vector<std::byte>(SpareBuffers::kSizeMax + 1));
  others.give({});
  EXPECT_EQ(others.kept(), 0U);
}

}  // namespace
}  // namespace cress
