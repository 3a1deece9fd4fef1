#include "app/ui/model/history.hh"

#include <gtest/gtest.h>

namespace cress::ui {
namespace {

LinkSample sample_at(Duration at, double loss = 0) {
  LinkSample sample;
  sample.at = kTimeZero + at;
  sample.loss = loss;
  return sample;
}

TEST(History, KeepsThirtySecondsAndOneSampleThatReachesTheLeftEdge) {
  History history;
  for (int i = 0; i <= 1000; ++i) {
    history.add(sample_at(i * 100ms));
  }
  EXPECT_EQ(history.newest().at, kTimeZero + 100s);
  EXPECT_LE(history[0].at, kTimeZero + 70s);
  EXPECT_GE(history[1].at, kTimeZero + 70s);
  EXPECT_EQ(history.size(), 302U);
}

TEST(History, IsBoundedWhenSamplesComeFasterThanTicks) {
  History history;
  for (int i = 0; i < 10'000; ++i) {
    history.add(sample_at(i * 1ms, i));
  }
  EXPECT_EQ(history.size(), kHistorySamplesMax);
  EXPECT_EQ(history[0].loss, 8500);
  EXPECT_EQ(history.newest().loss, 9999);
}

TEST(History, ForgetsAllButOneAfterALongSilence) {
  History history;
  for (int i = 0; i < 50; ++i) {
    history.add(sample_at(i * 20ms));
  }
  history.add(sample_at(10min));
  EXPECT_EQ(history.size(), 2U);
  history.clear();
  EXPECT_TRUE(history.empty());
}

TEST(History, HasValueSemantics) {
  History a;
  a.add(sample_at(1s, 0.5));
  History b = a;
  EXPECT_EQ(a, b);
  b.add(sample_at(1s, 0.5));
  EXPECT_NE(a, b);
}

TEST(HistoryDeathTest, RefusesASampleFromThePast) {
  History history;
  history.add(sample_at(1s));
  EXPECT_DEATH(history.add(sample_at(999ms)), "from the past");
}

}  // namespace
}  // namespace cress::ui
