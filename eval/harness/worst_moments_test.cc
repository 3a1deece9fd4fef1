#include "eval/harness/worst_moments.hh"

#include <gtest/gtest.h>

namespace cress::harness {
namespace {

constexpr TimePoint at(Duration time) { return kTimeZero + time; }

ShownMoment shown(uint32_t frame, Duration captured, Duration shown_at, double ssim) {
  return {.frame = frame,
          .captured = at(captured),
          .shown = at(shown_at),
          .ssim = ssim,
          .picture = std::make_shared<const media::Picture>(media::make_picture(16, 16))};
}

TEST(WorstMoments, EachKindHasItsOwnPicture) {
  WorstMoments worst{{at(1s), at(10s)}};
  worst.note(shown(1, 900ms, 950ms, 0.01));  // before the window
  worst.note(shown(2, 1s, 1100ms, 0.9));
  worst.note(shown(3, 1500ms, 1600ms, 0.5));
  worst.note(shown(4, 1600ms, 1700ms, 0.9));  // displayed for three seconds
  worst.note(shown(5, 2700ms, 4700ms, 0.9));  // two seconds old
  worst.note(shown(6, 4700ms, 9s, 0.95));     // older still, and the last
  const auto moments = worst.finish();
  ASSERT_EQ(moments.size(), 3U);
  EXPECT_EQ(moments[0].kind, MomentKind::kFreeze);
  EXPECT_EQ(moments[0].moment.frame, 5U);
  EXPECT_EQ(moments[0].moment.until, at(9s));
  EXPECT_EQ(moments[1].kind, MomentKind::kDelay);
  EXPECT_EQ(moments[1].moment.frame, 6U);
  EXPECT_EQ(moments[1].moment.until, at(10s));
  EXPECT_EQ(moments[2].kind, MomentKind::kQuality);
  EXPECT_EQ(moments[2].moment.frame, 3U);
  for (const WorstMoment& moment : moments) {
    EXPECT_NE(moment.moment.picture, nullptr);
  }
}

TEST(WorstMoments, NothingDisplayedGivesNoMoment) {
  WorstMoments worst{{at(1s), at(10s)}};
  EXPECT_TRUE(worst.finish().empty());
  worst.note(shown(1, 100ms, 150ms, 0.5));
  EXPECT_TRUE(worst.finish().empty()) << "before the window";
}

}  // namespace
}  // namespace cress::harness
