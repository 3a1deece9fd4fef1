#include "eval/metrics/audio.hh"

#include <gtest/gtest.h>

#include <vector>

namespace cress::metrics {
namespace {

using Kind = PlayedSound::Kind;

TimePoint at(Duration since_start) { return kTimeZero + since_start; }
constexpr Window kWindow{.from = TimePoint{1s}, .to = TimePoint{3s}};

/// A frame every 20 ms in [from, to), played `delay` after its capture.
std::vector<PlayedSound> steady(Duration from, Duration to, Duration delay,
                                Kind kind = Kind::kReal) {
  std::vector<PlayedSound> played;
  for (Duration t = from; t < to; t += kSoundFrame) {
    played.push_back({.captured = at(t - delay), .played = at(t), .kind = kind});
  }
  return played;
}

void append(std::vector<PlayedSound>& played, const std::vector<PlayedSound>& more) {
  played.insert(played.end(), more.begin(), more.end());
}

TEST(MouthToEar, IsTheAgeOfAudioPlayedInTheWindow) {
  std::vector<PlayedSound> played = steady(0s, 1s, 900ms);  // before the window
  append(played, steady(1s, 2'900ms, 100ms));
  append(played, steady(2'900ms, 3s, 300ms));  // 5 of 100
  EXPECT_EQ(mouth_to_ear_quantile(played, kWindow, 0.5), Duration{100ms});
  EXPECT_EQ(mouth_to_ear_quantile(played, kWindow, 0.95), Duration{100ms});
  EXPECT_EQ(mouth_to_ear_quantile(played, kWindow, 0.951), Duration{300ms});
  EXPECT_EQ(mouth_to_ear_quantile(played, kWindow, 0.0), Duration{100ms});
}

TEST(MouthToEar, ConcealedAudioHasNoAge) {
  EXPECT_EQ(mouth_to_ear_quantile(steady(1s, 3s, 100ms, Kind::kMadeUp), kWindow, 0.95),
            std::nullopt);
  EXPECT_EQ(mouth_to_ear_quantile(steady(1s, 3s, 100ms, Kind::kSilence), kWindow, 0.95),
            std::nullopt);
}

TEST(ConcealedShare, CountsConcealedAudioAsAShareOfNonSilence) {
  std::vector<PlayedSound> played = steady(1s, 1'600ms, 100ms);
  append(played, steady(1'600ms, 1'800ms, 100ms, Kind::kMadeUp));
  append(played, steady(1'800ms, 4s, 100ms, Kind::kSilence));
  EXPECT_EQ(concealed_share(played, kWindow), 0.25);
  EXPECT_EQ(concealed_share(steady(1s, 3s, 0ms, Kind::kSilence), kWindow), std::nullopt);
}

TEST(UnheardShare, SkippedAudioIsUnheardAlthoughNothingWasConcealed) {
  std::vector<TimePoint> spoken;
  for (Duration t = 1s; t < 3s; t += kSoundFrame) {
    spoken.push_back(at(t));
  }
  EXPECT_EQ(unheard_share(spoken, steady(1s, 4s, 100ms), kWindow), 0.0);
  std::vector<PlayedSound> played = steady(1'600ms, 2'600ms, 600ms);  // captured 1 to 2 s
  append(played, steady(2'600ms, 3'100ms, 100ms));                    // 2.5 to 3 s
  EXPECT_EQ(unheard_share(spoken, played, kWindow), 0.25);
  EXPECT_EQ(unheard_share(spoken, {}, kWindow), 1.0);
  EXPECT_EQ(unheard_share({}, played, kWindow), std::nullopt);
}

TEST(UnheardShare, PlayedFramesNeedNotBeginWhereSpokenOnesDo) {
  const std::vector<TimePoint> spoken{at(1s), at(1'020ms)};
  // From 1.007 s on: 13 ms of the first frame, all of the second.
  const std::vector<PlayedSound> played{{.captured = at(1'007ms), .played = at(1'100ms)},
                                        {.captured = at(1'027ms), .played = at(1'120ms)}};
  EXPECT_EQ(unheard_share(spoken, played, kWindow), 0.0);
  const std::vector<PlayedSound> less{{.captured = at(1'012ms), .played = at(1'100ms)},
                                      {.captured = at(1'013ms), .played = at(1'120ms)}};
  EXPECT_EQ(unheard_share(spoken, less, kWindow), 0.5) << "8 ms of the first, twice";
}

}  // namespace
}  // namespace cress::metrics
