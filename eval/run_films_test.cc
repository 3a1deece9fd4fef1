// Goal: a run's movies are what its viewers saw, and do not change its results. Method: runs the
// program itself over short calls of a small synthetic camera and opens its files again.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "eval/command_test_tools.hh"
#include "eval/metrics/picture_quality.hh"
#include "media/frame/scale_picture.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 160;
constexpr int kHeight = 96;
constexpr int kRate = 15;
constexpr int kSeconds = 4;
constexpr const char* kCall = " --link wifi --video synthetic:160x96@15 --duration 4s ";

media::SyntheticCamera camera(uint64_t seed) {
  return media::SyntheticCamera{{.width = kWidth,
                                 .height = kHeight,
                                 .frame_rate = {.numerator = kRate, .denominator = 1},
                                 .seed = seed}};
}

/// A picture that is displayed according to frames.csv.
struct ShownRow {
  uint64_t frame = 0;
  double display_s = 0;
  double psnr_db = 0;
};

std::vector<ShownRow> shown_rows(const fs::path& folder, const std::string& scheme,
                                 const std::string& direction) {
  std::ifstream file(folder / "frames.csv");
  std::vector<ShownRow> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      cells.push_back(cell);
    }
    if (cells.size() == 13 && cells[0] == scheme && cells[2] == direction && !cells[5].empty()) {
      rows.push_back({std::stoull(cells[3]), std::stod(cells[5]), std::stod(cells[12])});
    }
  }
  return rows;
}

class RunFilms : public testing::Test {
 protected:
  RunFilms() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path{testing::TempDir()} /
              ("cress-films-" + std::string{test->name()} + "-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunFilms() override { fs::remove_all(folder_); }

  /// Runs into folder `name` and expects success.
  fs::path run(const std::string& name, const std::string& arguments) const {
    const Ran ran = cress_eval("run" + std::string{kCall} + arguments + " --no-report --out " +
                               (folder_ / name).string());
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    return folder_ / name;
  }
  /// One line that contains `says`, after the one about movies that are removed; exit 2.
  void expect_refused(const std::string& arguments, const std::string& says) const {
    const Ran ran = cress_eval(arguments + " --no-report --out " + (folder_ / "out").string());
    EXPECT_EQ(ran.exit_code, 2) << arguments << "\n" << ran.output;
    const bool has_removed = ran.output.starts_with("cress-eval: removed movies");
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), has_removed ? 2 : 1) << arguments << "\n"
                                                                         << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << arguments << "\n" << ran.output;
  }
  size_t results_in(const std::string& name) const {
    std::ifstream results{folder_ / name / "results.json"};
    return nlohmann::json::parse(results).size();
  }

  media::GstRuntime runtime_;
  fs::path folder_;
};

void expect_same_results(const fs::path& a, const fs::path& b) {
  for (const char* name : {"results.json", "timeline.csv", "frames.csv"}) {
    EXPECT_FALSE(bytes_of(a / name).empty()) << name;
    EXPECT_TRUE(bytes_of(a / name) == bytes_of(b / name)) << name;
  }
}

/// Of 20 ms frames in the first `seconds`, how many are not silent.
int loud_frames(const fs::path& movie, int seconds) {
  const auto sound = media::open_audio(movie);
  int loud = 0;
  for (uint64_t i = 0; i < static_cast<uint64_t>(seconds) * 50; ++i) {
    const media::AudioFrame frame = sound->frame(i);
    loud += std::ranges::any_of(frame, [](int16_t s) { return std::abs(s) > 500; }) ? 1 : 0;
  }
  return loud;
}

TEST_F(RunFilms, SavedMoviesHoldVideoAndAudioAndChangeNoResult) {
  const fs::path plain = run("plain", "--scheme sprout-ewma,skype-like");
  const fs::path saved = run("saved", "--scheme sprout-ewma,skype-like --save");
  expect_same_results(plain, saved);
  for (const char* scheme : {"sprout-ewma", "skype-like"}) {
    for (const char* direction : {"forward", "reverse"}) {
      const fs::path movie = saved / (std::string{scheme} + "-" + direction + ".webm");
      ASSERT_TRUE(fs::exists(movie)) << movie;
      media::GstFileSource video{movie};
      EXPECT_EQ(video.width(), kWidth) << movie;
      EXPECT_EQ(video.height(), kHeight) << movie;
      const auto rows = shown_rows(saved, scheme, direction);
      ASSERT_GT(rows.size(), 30U) << movie;
      const auto in_time = std::ranges::count_if(
          rows, [](const ShownRow& row) { return row.display_s < kSeconds - 1.0 / kRate; });
      // Black first; two within a millisecond count as one.
      EXPECT_NEAR(static_cast<double>(video.clip_length()), static_cast<double>(in_time + 1), 2)
          << movie;
      EXPECT_GT(loud_frames(movie, kSeconds), 50) << movie;
    }
  }
}

TEST_F(RunFilms, UncompressedMovieHasTheNewestPictureAtEachTick) {
  const fs::path out = run("out", "--scheme skype-like --save y4m");
  for (const auto& [direction, seed] : {std::pair{"forward", 1}, std::pair{"reverse", 2}}) {
    const fs::path movie = out / ("skype-like-" + std::string{direction} + ".y4m");
    const auto video = media::open_video(movie);
    EXPECT_EQ(video->frame_rate(), (media::FrameRate{kRate, 1}));
    media::SyntheticCamera original = camera(static_cast<uint64_t>(seed));
    const auto rows = shown_rows(out, "skype-like", direction);
    int compared = 0;
    for (int tick = 0; tick < kRate * kSeconds; ++tick) {
      const double time = static_cast<double>(tick) / kRate;
      const ShownRow* newest = nullptr;
      bool is_sure = true;  // frames.csv has milliseconds
      for (const ShownRow& row : rows) {
        newest = row.display_s <= time ? &row : newest;
        is_sure = is_sure && std::abs(row.display_s - time) > 0.001;
      }
      if (newest != nullptr && is_sure) {
        EXPECT_NEAR(metrics::psnr_db(*video->picture(static_cast<uint64_t>(tick)),
                                     *original.picture(newest->frame)),
                    newest->psnr_db, 0.001)
            << movie << " tick " << tick;
        ++compared;
      }
    }
    EXPECT_GT(compared, 40) << movie;
    const std::string bytes = bytes_of(movie);
    const size_t picture = size_t{kWidth} * kHeight * 3 / 2 + 6;
    EXPECT_EQ(bytes.size() - bytes.find('\n') - 1, picture * kRate * kSeconds) << "its length";
  }
}

TEST_F(RunFilms, OneWayCallLeavesOneMovieAndSilentEndsNoAudio) {
  const fs::path out = run("out", "--scheme skype-like --one-way --audio none --save webm");
  EXPECT_GT(media::GstFileSource{out / "skype-like-forward.webm"}.clip_length(), 30U);
  EXPECT_FALSE(fs::exists(out / "skype-like-reverse.webm"));
  EXPECT_THROW(media::open_audio(out / "skype-like-forward.webm"), std::runtime_error);
}

TEST_F(RunFilms, FilmHasBothSchemesAndChangesNoResult) {
  const fs::path plain = run("plain", "--scheme sprout-ewma,skype-like");
  const fs::path filmed = run("filmed", "--scheme sprout-ewma,skype-like --film --jobs 1");
  expect_same_results(plain, filmed);
  media::GstFileSource film{filmed / "film.webm"};
  EXPECT_EQ(film.width(), 1280);
  EXPECT_GT(film.height(), 360);
  EXPECT_EQ(film.clip_length(), size_t{30} * kSeconds) << "a slow camera is filmed at 30";
  EXPECT_EQ(film.frame_rate(), (media::FrameRate{30, 1}));
}

TEST_F(RunFilms, TwoOfMoreSchemesCanBeNamedForTheFilmAndKeepTheirPlace) {
  const fs::path plain = run("plain", "--scheme sprout,skype-like,sprout-ewma");
  const fs::path filmed =
      run("filmed", "--scheme sprout,skype-like,sprout-ewma --film sprout-ewma,skype-like");
  expect_same_results(plain, filmed);
  EXPECT_EQ(media::GstFileSource{filmed / "film.webm"}.clip_length(), size_t{30} * kSeconds);
}

// Mean difference in luma.
double difference(const media::Picture& a, const media::Picture& film, int x, int y) {
  double sum = 0;
  for (int row = 0; row < a.height; ++row) {
    for (int column = 0; column < a.width; ++column) {
      sum +=
          std::abs(a.y()[row * a.width + column] - film.y()[(y + row) * film.width + x + column]);
    }
  }
  return sum / static_cast<double>(a.luma_size());
}

TEST_F(RunFilms, OneSchemeIsFilmedNextToTheOriginal) {
  const fs::path out = run("out", "--scheme skype-like --film");
  media::GstFileSource film{out / "film.webm"};
  media::SyntheticCamera original = camera(1);
  // Panes of 624 × 374 at 10 and 644; the left one is younger than its neighbour's picture.
  for (const uint64_t index : {40, 70, 110}) {
    const media::Picture now = media::scale_picture(*original.picture(index / 2), 624, 374);
    const media::PicturePtr shot = film.picture(index);
    const double right = difference(now, *shot, 644, 38);
    EXPECT_LT(right, 4) << index;
    EXPECT_GT(difference(now, *shot, 10, 38), right) << index;
  }
}

TEST_F(RunFilms, WrongCombinationsAreRefusedWithOneLine) {
  expect_refused("run --link wifi --scheme sprout --save", "--save goes with --video");
  expect_refused("run --link wifi --scheme sprout --film", "--film goes with --video");
  expect_refused("run" + std::string{kCall} + "--scheme sprout,sprout-ewma,skype-like --film",
                 "--film shows two schemes");
  expect_refused("run" + std::string{kCall} + "--scheme skype-like --film skype-like,sprout",
                 "\"sprout\" is not run");
  expect_refused("run" + std::string{kCall} + "--scheme skype-like --save avi", "--save");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(RunFilms, OldMovieIsRemovedUnlessItIsTheInput) {
  const std::string mine = "my-forward.webm";
  const fs::path out = run("out", "--scheme skype-like --one-way --save y4m");
  const fs::path movie = out / "skype-like-forward.y4m";
  std::ofstream{out / mine} << "not Cress's";
  const std::string call = "run --link wifi --duration 4s --scheme skype-like --one-way --video ";
  expect_refused(call + movie.string(), "this run would replace it");
  EXPECT_TRUE(fs::exists(movie));
  run("out", "--scheme skype-like");
  EXPECT_FALSE(fs::exists(movie));
  EXPECT_TRUE(fs::exists(out / mine));
}

TEST_F(RunFilms, MoviesOfAnEarlierRunAreNamedWhenTheyAreRemoved) {
  const std::string again = "run" + std::string{kCall} + "--scheme skype-like --no-report --out " +
                            run("out", "--scheme skype-like --save").string();
  const std::string words = "cress-eval: removed movies of an earlier run: ";
  const Ran second = cress_eval(again);
  EXPECT_TRUE(second.output.starts_with(words + (folder_ / "out/skype-like-forward.webm").string()))
      << second.output;
  EXPECT_EQ(cress_eval(again).output.find(words), std::string::npos) << "there are none left";
}

TEST_F(RunFilms, FullDiskLosesTheMovieButNoResult) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  const fs::path out = folder_ / "out";
  fs::create_directories(out);
  const std::string schemes = "--scheme sprout-ewma,skype-like";
  for (const char* name : {"sprout-ewma-reverse.webm", "skype-like-forward.y4m", "film.webm"}) {
    fs::create_symlink("/dev/full", out / name);
    const std::string ending = fs::path{name}.extension().string().substr(1);
    expect_refused("run" + std::string{kCall} + schemes +
                       (name == std::string{"film.webm"} ? " --film" : " --save " + ending),
                   name);
    // The scheme's own results are there; those that had not yet begun are not.
    EXPECT_GE(results_in("out"), 2U) << name;
    fs::remove(out / name);
  }
  EXPECT_EQ(results_in("out"), 4U) << "filmed runs go side by side";
  for (const auto& entry : fs::directory_iterator{out}) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
}

TEST_F(RunFilms, UnopenableMovieIsReportedBeforeTheWork) {
  for (const char* name : {"skype-like-forward.webm", "film.webm"}) {
    fs::create_directories(folder_ / "out" / name);
    expect_refused("run" + std::string{kCall} + "--scheme skype-like" +
                       (name == std::string{"film.webm"} ? " --film" : " --save"),
                   name);
    EXPECT_EQ(results_in("out"), 0U) << name;
    fs::remove(folder_ / "out" / name);
  }
}

}  // namespace
}  // namespace cress::eval
