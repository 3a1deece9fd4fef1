#include "eval/film/film.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/y4m.hh"
#include "transport/base/rng.hh"

namespace cress::film {
namespace {

namespace fs = std::filesystem;
using media::Picture;
using media::PicturePtr;

constexpr TimePoint kStart = kTimeZero;

PicturePtr grey(int level, int width = 64, int height = 36) {
  Picture picture = media::make_picture(width, height);
  std::fill_n(picture.y(), picture.luma_size(), static_cast<uint8_t>(level));
  return std::make_shared<const Picture>(std::move(picture));
}

class ListFeed final : public Feed {
 public:
  explicit ListFeed(std::vector<ShownPicture> pictures, size_t* polled = nullptr)
      : pictures_(std::move(pictures)), polled_(polled) {}
  std::optional<ShownPicture> poll() override {
    if (at_ == pictures_.size()) {
      return std::nullopt;
    }
    if (polled_ != nullptr) {
      ++*polled_;
    }
    return std::move(pictures_[at_++]);
  }

 private:
  std::vector<ShownPicture> pictures_;
  size_t at_ = 0;
  size_t* polled_;
};

// A picture every 100 ms, 50 ms old when it is displayed, with level 50 + its number; none are
// captured in [frozen_from, frozen_until).
std::vector<ShownPicture> steady(int count, Duration frozen_from = 1h, Duration frozen_until = 1h) {
  std::vector<ShownPicture> pictures;
  for (int i = 0; i < count; ++i) {
    const Duration captured = 100ms * i;
    if (captured < frozen_from || captured >= frozen_until) {
      pictures.push_back({kStart + captured, kStart + captured + 50ms, grey(50 + i), {}});
    }
  }
  return pictures;
}

std::vector<Pane> one_pane(std::vector<ShownPicture> pictures, size_t* polled = nullptr) {
  std::vector<Pane> panes;
  panes.push_back({"one", std::make_unique<ListFeed>(std::move(pictures), polled)});
  return panes;
}

// Positions in a film of one pane.
constexpr int kWidth = 640;
constexpr int kHeight = 400;
constexpr int kInner = kWidth - 20;
constexpr int kBarRow = kHeight - 10 - 68 - 8 - 6;
constexpr int kGraphBottom = kHeight - 10;

FilmOptions options(Duration length, TimePoint begin = kStart) {
  return {
      .width = kWidth, .height = kHeight, .frame_rate = {10, 1}, .begin = begin, .length = length};
}

int luma(const Picture& canvas, int x, int y) { return canvas.y()[y * canvas.width + x]; }

// The bar's length as a share of its track, from where the colour changes.
double bar_share(const Picture& canvas) {
  const int track = luma(canvas, 10 + kInner - 1, kBarRow);
  int length = 0;
  while (length < kInner && luma(canvas, 10 + length, kBarRow) != track) {
    ++length;
  }
  return static_cast<double>(length) / kInner;
}

int bar_redness(const Picture& canvas) {
  return canvas.v()[kBarRow / 2 * canvas.chroma_width() + 5];
}

// The film's canvas at the step that shows `time`.
void step_to(Film& film, TimePoint time) {
  do {
    ASSERT_TRUE(film.step());
  } while (film.time() < time);
  ASSERT_EQ(film.time(), time);
}

TEST(Film, ShowsTheNewestPictureByThenInEachPane) {
  std::vector<Pane> panes;
  panes.push_back({"left", std::make_unique<ListFeed>(steady(20))});
  panes.push_back({"right", std::make_unique<ListFeed>(steady(20, 500ms, 900ms))});
  Film film{options(2s), std::move(panes)};
  for (int i = 0; film.step(); ++i) {
    EXPECT_EQ(film.time(), kStart + 100ms * i);
    if (i > 0) {
      const int right = i - 1 >= 5 && i - 1 < 9 ? 4 : i - 1;
      EXPECT_EQ(luma(film.canvas(), 160, 140), 50 + i - 1);
      EXPECT_EQ(luma(film.canvas(), 480, 140), 50 + right);
    }
  }
}

TEST(Film, BarShowsThePicturesAgeAndGrowsWhileFrozen) {
  Film film{options(4s), one_pane(steady(40, 1100ms, 2900ms))};
  step_to(film, kStart + 1s);
  EXPECT_NEAR(bar_share(film.canvas()), 0.05, 0.005) << "captured at 0.9 s, of a full bar of 2 s";
  const int calm = bar_redness(film.canvas());
  step_to(film, kStart + 1500ms);
  EXPECT_NEAR(bar_share(film.canvas()), 0.25, 0.005);
  const int worried = bar_redness(film.canvas());
  step_to(film, kStart + 2500ms);
  EXPECT_NEAR(bar_share(film.canvas()), 0.75, 0.005);
  const int alarmed = bar_redness(film.canvas());
  step_to(film, kStart + 3s);
  EXPECT_NEAR(bar_share(film.canvas()), 0.05, 0.005);
  EXPECT_LT(calm, 128) << "not red";
  EXPECT_GT(worried, calm + 20);
  EXPECT_GT(alarmed, worried + 20);
}

TEST(Film, FrozenPictureIsMarked) {
  Film film{options(3s), one_pane(steady(30, 1s, 2s))};
  // The picture is 392 × 220 in a room of 620 × 220; the label begins eight pixels inside it.
  const auto corner = [&film] { return luma(film.canvas(), 124 + 8 + 2, 38 + 8 + 2); };
  step_to(film, kStart + 1100ms);
  EXPECT_EQ(corner(), 59) << "150 ms on screen: the picture";
  step_to(film, kStart + 1500ms);
  EXPECT_NE(corner(), 59) << "the label";
  step_to(film, kStart + 2100ms);
  EXPECT_EQ(corner(), 70);
}

TEST(Film, BeforeTheFirstPictureTheAgeCountsFromTheRunsBegin) {
  Film film{options(3s), one_pane({{kStart + 900ms, kStart + 1s, grey(200), {}}})};
  step_to(film, kStart + 500ms);
  EXPECT_NEAR(bar_share(film.canvas()), 0.25, 0.005);
  EXPECT_EQ(luma(film.canvas(), 320, 140), 16);
  step_to(film, kStart + 1s);
  EXPECT_NEAR(bar_share(film.canvas()), 0.05, 0.005);
  EXPECT_EQ(luma(film.canvas(), 320, 140), 200);
}

TEST(Film, TheGraphIsTheAgeOverTheLastTenSeconds) {
  Film film{options(20s), one_pane(steady(200, 3050ms, 4550ms))};
  step_to(film, kStart + 9s);
  // The peak, 1.5 s at 4.5 s, is 4.5 s ago: 45 of 100 columns of time from the right.
  const auto height_at = [&film](Duration ago) {
    const auto column = kInner - 1 - static_cast<int>(ago * kInner / Film::kGraphSpan);
    const int ground = luma(film.canvas(), 10, kGraphBottom - 68 + 1);
    int height = 0;
    while (height < 68 &&
           luma(film.canvas(), 10 + column, kGraphBottom - 1 - height) > ground + 12) {
      ++height;
    }
    return height;
  };
  EXPECT_NEAR(height_at(4450ms), 68 * 1.6 / 2, 4);
  EXPECT_NEAR(height_at(5250ms), 68 * 0.8 / 2, 4);
  EXPECT_LE(height_at(3s), 5);
  EXPECT_EQ(height_at(9900ms), 0) << "nothing was known then";
  step_to(film, kStart + 19s);
  EXPECT_LE(height_at(4450ms), 5) << "the peak has gone by";
}

TEST(Film, IsAsLongAsAskedAndMayBeginLater) {
  Film film{options(1050ms, kStart + 2s), one_pane(steady(40))};
  ASSERT_TRUE(film.step());
  EXPECT_EQ(film.time(), kStart + 2s);
  EXPECT_EQ(luma(film.canvas(), 320, 140), 50 + 19);
  EXPECT_NEAR(bar_share(film.canvas()), 0.05, 0.005);
  int steps = 1;
  while (film.step()) {
    ++steps;
  }
  EXPECT_EQ(steps, 11);
  EXPECT_FALSE(film.step());
}

TEST(Film, DescribesTheScreenInText) {
  const auto first = [](const PaneState& state) { return state_words(state).front(); };
  EXPECT_EQ(first({}), "no picture yet");
  PaneState state{
      .any = true, .still = 40ms, .pictures_per_second = 24, .width = 480, .height = 360};
  EXPECT_EQ(first(state), "24 pictures a second, 480x360");
  state.frozen = 8450ms;
  EXPECT_EQ(state_words(state),
            (std::vector<std::string>{"24 pictures a second, 480x360, frozen 8.4 s so far",
                                      "24 pictures a second, frozen 8.4 s so far",
                                      "24 a second, frozen 8.4 s so far", "frozen 8.4 s so far"}));
  state.is_frozen = true;
  state.still = 1250ms;
  EXPECT_EQ(first(state), "frozen 1.2 s, 8.4 s so far");
}

TEST(Film, CountsPicturesAndFreezesAsTheyHappen) {
  // A second of 30 pictures, a second of none, half a second of every third.
  std::vector<ShownPicture> pictures;
  for (int i = 0; i < 75; ++i) {
    const TimePoint at = kStart + media::FrameRate{}.time_of(static_cast<uint64_t>(i));
    if (i < 30 || (i >= 60 && i % 3 == 0)) {
      pictures.push_back({at, at, grey(90, 320, 180), {}});
    }
  }
  FilmOptions thirty = options(2500ms);
  thirty.frame_rate = media::FrameRate{};
  Film film{thirty, one_pane(std::move(pictures))};
  std::vector<PaneState> states;
  while (film.step()) {
    states.push_back(film.state(0));
  }
  ASSERT_EQ(states.size(), 75U);
  EXPECT_EQ(states[29].pictures_per_second, 30);
  EXPECT_EQ(states[29].frozen, 0ms);
  EXPECT_EQ(states[59].pictures_per_second, 0);
  EXPECT_FALSE(states[34].is_frozen) << "167 ms are no freeze";
  EXPECT_TRUE(states[35].is_frozen);
  EXPECT_NEAR(to_milliseconds(states[59].still), 1000, 1);
  EXPECT_EQ(states[59].frozen, states[59].still);
  EXPECT_EQ(states[74].pictures_per_second, 5);
  EXPECT_EQ(states[74].frozen, states[59].frozen);
  EXPECT_EQ(states[74].width, 320);
}

TEST(Film, HoldsAPictureAheadAndNoMore) {
  std::vector<ShownPicture> pictures = steady(50);
  std::vector<std::weak_ptr<const Picture>> alive;
  alive.reserve(pictures.size());
  for (const ShownPicture& picture : pictures) {
    alive.emplace_back(picture.picture);
  }
  size_t polled = 0;
  Film film{options(3s), one_pane(std::move(pictures), &polled)};
  EXPECT_EQ(polled, 0U);
  for (size_t i = 0; film.step(); ++i) {
    EXPECT_EQ(polled, i + 1);
    const auto gone = static_cast<size_t>(
        std::ranges::count_if(alive, [](const auto& picture) { return picture.expired(); }));
    EXPECT_EQ(gone, i) << "what was shown is scaled and let go";
  }
}

TEST(Film, PicturesOfAnySizeFindTheirPlace) {
  std::vector<ShownPicture> pictures;
  constexpr std::array<std::pair<int, int>, 7> kSizes{
      {{1, 1}, {2, 2}, {640, 480}, {161, 91}, {90, 160}, {1920, 8}, {3, 1000}}};
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const TimePoint at = kStart + 100ms * static_cast<int64_t>(i);
    pictures.push_back({at, at, grey(200, kSizes[i].first, kSizes[i].second), "note"});
  }
  Film film{options(700ms), one_pane(std::move(pictures))};
  while (film.step()) {
    // The thinnest are two pixels wide or high, next to the room's middle.
    bool seen = false;
    for (int i = 0; i < 25; ++i) {
      seen |= luma(film.canvas(), 318 + i % 5, 38 + 110 - 2 + i / 5) == 200;
    }
    EXPECT_TRUE(seen) << to_milliseconds(film.time());
  }
}

TEST(Film, AFittingHeightLeavesNoBorders) {
  for (size_t panes = 1; panes <= 3; ++panes) {
    const int height = fitting_height(panes, 640, 360);
    std::vector<Pane> list;
    for (size_t i = 0; i < panes; ++i) {
      list.push_back({"a name too long for its pane, which therefore has to be cut somewhere",
                      std::make_unique<ListFeed>(
                          std::vector<ShownPicture>{{kStart, kStart, grey(200, 640, 360), {}}})});
    }
    Film film{{.height = height, .length = 40ms}, std::move(list)};
    ASSERT_TRUE(film.step());
    EXPECT_EQ(luma(film.canvas(), 10, 38), 200) << panes;
    EXPECT_EQ(luma(film.canvas(), 10, height - 142 - 1), 200) << panes;
    EXPECT_LT(luma(film.canvas(), 10, height - 142), 100) << panes;
  }
  EXPECT_EQ(fitting_height(2, 640, 360), 532);
}

// Delays like a bad link's: a camera's pictures late by 80 ms and more, some missing for a while.
std::unique_ptr<Feed> made_up_feed(std::shared_ptr<media::VideoSource> video, uint64_t seed,
                                   Duration length) {
  return std::make_unique<ProducedFeed>(
      [video = std::move(video), seed, length](const ProducedFeed::Show& show) {
        Rng rng{seed};
        TimePoint last = kStart;
        for (uint64_t i = 0; video->frame_rate().time_of(i) < length; ++i) {
          const TimePoint captured = kStart + video->frame_rate().time_of(i);
          const Duration stall = rng.chance(0.05) ? from_seconds(rng.exponential(0.5)) : 0ms;
          last = std::max(last, captured + 80ms + stall);
          show({captured, last, video->picture(i), "made up"});
        }
      });
}

class WholeFilm : public ::testing::Test {
 protected:
  WholeFilm() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_film_" + std::string(info->name()));
    fs::create_directories(folder_);
  }
  ~WholeFilm() override { fs::remove_all(folder_); }

  // Two seeds of `open()` side by side, written to `name`.
  template <class Open>
  fs::path write(const char* name, Duration length, Open open) const {
    fs::path path = folder_ / name;
    std::vector<Pane> panes;
    panes.push_back({"one", made_up_feed(open(), 1, length)});
    panes.push_back({"two", made_up_feed(open(), 2, length)});
    const FilmOptions film_options{
        .width = 640, .height = 320, .length = length, .title = "a made-up link"};
    Film film{film_options, std::move(panes)};
    media::MovieWriter movie{path, {.width = 640, .height = 320}};
    double told = 0;
    write_film(film, movie, [&told](double share) {
      EXPECT_GE(share, told);
      told = share;
    });
    EXPECT_EQ(told, 1.0);
    return path;
  }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  media::GstRuntime runtime_;
  fs::path folder_;
};

std::shared_ptr<media::VideoSource> camera() {
  return std::make_shared<media::SyntheticCamera>(
      media::SyntheticCameraOptions{.width = 320, .height = 180});
}

TEST_F(WholeFilm, IsTheSameToTheByteThoughItsFeedsRunInThreads) {
  const std::string once = bytes_of(write("a.y4m", 2s, camera));
  const std::string twice = bytes_of(write("b.y4m", 2s, camera));
  EXPECT_EQ(once.size(), size_t{60} * (640 * 320 * 3 / 2 + 6) + once.find('\n') + 1);
  EXPECT_TRUE(once == twice);
}

TEST_F(WholeFilm, OfRecordedClipsLooksInWebmAsItWasDrawn) {
  const fs::path clip = fs::path(CRESS_DATA) / "video" / "gesture_man_640x480_30.mp4";
  if (!fs::exists(clip)) {
    GTEST_SKIP() << "no data: recorded clips in " << CRESS_DATA << "/video";
  }
  const std::shared_ptr<media::VideoSource> decoded = media::open_video(clip);
  // One for each feed, because they run at the same time; the pictures themselves never change.
  const auto open = [&decoded] {
    struct Borrowed final : public media::VideoSource {
      explicit Borrowed(const media::VideoSource& from) : rate(from.frame_rate()) {}
      int width() const override { return pictures.front()->width; }
      int height() const override { return pictures.front()->height; }
      media::FrameRate frame_rate() const override { return rate; }
      PicturePtr picture(uint64_t index) override { return pictures[index % pictures.size()]; }
      std::string description() const override { return "borrowed"; }
      media::FrameRate rate;
      std::vector<PicturePtr> pictures;
    };
    auto borrowed = std::make_shared<Borrowed>(*decoded);
    for (uint64_t i = 0; i < 60; ++i) {
      borrowed->pictures.push_back(decoded->picture(i));
    }
    return borrowed;
  };
  const auto drawn = media::open_video(write("film.y4m", 2s, open));
  const auto seen = media::open_video(write("film.webm", 2s, open));
  EXPECT_EQ(dynamic_cast<media::GstFileSource&>(*seen).clip_length(), 60U);
  for (uint64_t i = 0; i < 60; ++i) {
    const PicturePtr a = drawn->picture(i);
    const PicturePtr b = seen->picture(i);
    double sum = 0;
    for (size_t k = 0; k < a->luma_size(); ++k) {
      sum += std::pow(a->y()[k] - b->y()[k], 2);
    }
    EXPECT_LT(sum / static_cast<double>(a->luma_size()), 6.5) << "under 40 dB at picture " << i;
  }
}

}  // namespace
}  // namespace cress::film
