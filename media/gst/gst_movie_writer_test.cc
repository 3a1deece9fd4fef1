#include "media/gst/gst_movie_writer.hh"

#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "media/frame/ivf.hh"
#include "media/frame/scale_picture.hh"
#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/audio_clip.hh"
#include "media/source/synthetic_camera.hh"
#include "media/source/y4m.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

class Movie : public ::testing::Test {
 protected:
  Movie() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("cress_movie_" + std::string(info->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Movie() override { fs::remove_all(folder_); }

  fs::path at(const char* name) const { return folder_ / name; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::vector<Picture> pictures_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    Y4mReader reader{file};
    EXPECT_TRUE(reader.read_header().has_value());
    std::vector<Picture> pictures;
    for (;;) {
      auto picture = reader.read_picture();
      EXPECT_TRUE(picture.has_value());
      if (!picture || !picture->has_value()) {
        return pictures;
      }
      pictures.push_back(picture->value());
    }
  }
  template <class Act>
  static std::string error_of(Act act) {
    try {
      act();
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "no error";
  }

  GstRuntime runtime_;
  fs::path folder_;
};

Picture grey(int width, int height, uint8_t level) {
  Picture picture = make_picture(width, height);
  std::fill_n(picture.y(), picture.luma_size(), level);
  return picture;
}

double psnr_db(const Picture& a, const Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const double difference = a.y()[i] - b.y()[i];
    sum += difference * difference;
  }
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.luma_size()) / sum);
}

struct TimedLevel {
  int64_t at_ms = 0;
  int level = 0;
};

// When each encoded frame of a file is on screen, and the brightness of its first pixel.
std::vector<TimedLevel> times_of(const fs::path& path) {
  GError* error = nullptr;
  GstElement* pipeline =
      gst_parse_launch(("filesrc location=" + path.string() +
                        " ! matroskademux ! vp8dec ! appsink name=sink sync=false")
                           .c_str(),
                       &error);
  EXPECT_EQ(error, nullptr);
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  std::vector<TimedLevel> times;
  while (GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 20 * GST_SECOND)) {
    GstBuffer* buffer = gst_sample_get_buffer(sample);
    guint8 level = 0;
    gst_buffer_extract(buffer, 0, &level, 1);
    times.push_back({static_cast<int64_t>(GST_BUFFER_PTS(buffer) / 1'000'000), level});
    gst_sample_unref(sample);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(pipeline);
  return times;
}

TEST_F(Movie, Y4mHasTheNewestPictureAtEachTick) {
  const MovieOptions options{.width = 6, .height = 4, .frame_rate = {10, 1}};
  MovieWriter movie{at("m.y4m"), options};
  movie.add_picture(100ms, grey(6, 4, 50));  // black before
  movie.add_picture(310ms, grey(6, 4, 60));  // first seen at 400 ms
  movie.add_picture(320ms, grey(6, 4, 70));  // in its place
  movie.add_picture(500ms, grey(6, 4, 80));  // exactly on a tick
  movie.finish(750ms);
  std::vector<int> levels;
  for (const Picture& picture : pictures_of(at("m.y4m"))) {
    levels.push_back(picture.y()[23]);
  }
  EXPECT_EQ(levels, (std::vector<int>{16, 50, 50, 50, 70, 80, 80, 80}));
  EXPECT_EQ(files(), std::vector<std::string>{"m.y4m"});
}

TEST_F(Movie, TheLastPictureIsInAY4mEvenBetweenTwoTicks) {
  for (const Duration last : {1000ms, 1001ms, 1033ms, 1034ms}) {
    MovieWriter movie{at("m.y4m"), {.width = 2, .height = 2, .frame_rate = {30, 1}}};
    movie.add_picture(0ms, grey(2, 2, 50));
    movie.add_picture(last, grey(2, 2, 90));
    movie.finish();
    const std::vector<Picture> pictures = pictures_of(at("m.y4m"));
    EXPECT_EQ(pictures.back().y()[0], 90) << to_milliseconds(last);
    EXPECT_EQ(pictures[pictures.size() - 2].y()[0], 50) << to_milliseconds(last);
  }
}

TEST_F(Movie, EqualCallsGiveEqualY4mBytes) {
  SyntheticCamera camera{{.width = 64, .height = 48}};
  for (const char* name : {"a.y4m", "b.y4m"}) {
    MovieWriter movie{at(name), {.width = 48, .height = 36}};
    for (uint64_t i = 0; i < 5; ++i) {
      movie.add_picture(40ms * static_cast<int64_t>(i), *camera.picture(i));
    }
    movie.finish();
  }
  EXPECT_EQ(bytes_of(at("a.y4m")), bytes_of(at("b.y4m")));
  EXPECT_EQ(pictures_of(at("a.y4m"))[0], scale_picture(*camera.picture(0), 48, 36));
}

TEST_F(Movie, AWebmKeepsEachPicturesTimeToTheMillisecond) {
  MovieWriter movie{at("m.webm"), {.width = 33, .height = 17}};
  movie.add_picture(50ms, grey(33, 17, 60));
  movie.add_picture(50ms + 400us, grey(33, 17, 80));  // the first was never seen
  movie.add_picture(51ms, grey(33, 17, 100));
  movie.add_picture(3217ms, grey(66, 34, 150));  // another size
  movie.finish(5s);
  const std::vector<TimedLevel> times = times_of(at("m.webm"));
  ASSERT_EQ(times.size(), 4U);
  const std::vector<TimedLevel> expected{{0, 16}, {50, 80}, {51, 100}, {3217, 150}};
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].at_ms, expected[i].at_ms);
    EXPECT_NEAR(times[i].level, expected[i].level, 2) << i;
  }
  EXPECT_EQ(files(), std::vector<std::string>{"m.webm"});
}

TEST_F(Movie, WebmAddsNoVisibleArtefacts) {
  SyntheticCamera camera{{.width = 320, .height = 180}};
  MovieWriter movie{at("m.webm"), {.width = 320, .height = 180}};
  for (uint64_t i = 0; i < 60; ++i) {
    movie.add_picture(FrameRate{}.time_of(i), *camera.picture(i));
  }
  movie.finish();
  const auto seen = open_video(at("m.webm"));
  EXPECT_EQ(dynamic_cast<GstFileSource&>(*seen).clip_length(), 60U);
  double worst = 100;
  for (uint64_t i = 0; i < 60; ++i) {
    worst = std::min(worst, psnr_db(*camera.picture(i), *seen->picture(i)));
  }
  RecordProperty("worst_psnr_db", std::to_string(worst));
  EXPECT_GT(worst, 40.0);
}

TEST_F(Movie, AnIvfHoldsEveryPictureWithItsTimeAndStartsWithAKeyFrame) {
  SyntheticCamera camera{{.width = 160, .height = 90}};
  MovieWriter movie{at("m.ivf"), {.width = 160, .height = 90}};
  for (uint64_t i = 0; i < 30; ++i) {
    movie.add_picture(33ms * static_cast<int64_t>(i), *camera.picture(i));
  }
  movie.finish();
  std::ifstream file(at("m.ivf"), std::ios::binary);
  IvfReader reader{file};
  const auto header = reader.read_header();
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->width, 160);
  EXPECT_EQ(header->height, 90);
  EXPECT_EQ(header->frame_count, 30U);
  EXPECT_EQ(header->timebase_denominator, 1000U);
  for (uint64_t i = 0; i < 30; ++i) {
    const auto frame = reader.read_frame();
    ASSERT_TRUE(frame.has_value() && frame->has_value()) << i;
    EXPECT_EQ((*frame)->time, 33 * i);
    const bool is_key = (std::to_integer<int>((*frame)->data[0]) & 1) == 0;  // RFC 6386 §9.1
    EXPECT_TRUE(is_key || i > 0);
  }
  EXPECT_FALSE(reader.read_frame().value().has_value());
  const auto seen = open_video(at("m.ivf"));
  EXPECT_GT(psnr_db(*camera.picture(29), *seen->picture(29)), 40.0) << "and others read it too";
}

// The audio's loudness in a window, as a share of full scale.
double loudness(const std::vector<int16_t>& samples, Duration from, Duration until) {
  double sum = 0;
  const auto begin = static_cast<size_t>(audio_samples(from));
  const auto end = std::min(static_cast<size_t>(audio_samples(until)), samples.size());
  for (size_t i = begin; i < end; ++i) {
    sum += std::abs(samples[i]) / 32768.0;
  }
  return sum / static_cast<double>(end - begin);
}

AudioFrame tone_of_500_hz() {
  AudioFrame tone{};
  for (size_t i = 0; i < tone.size(); ++i) {
    tone[i] = static_cast<int16_t>((i / 48) % 2 == 0 ? 8000 : -8000);  // fits the frame
  }
  return tone;
}

TEST_F(Movie, AudioIsAtItsTimeAndGapsAreSilent) {
  const AudioFrame tone = tone_of_500_hz();
  MovieWriter movie{at("m.webm"), {.width = 32, .height = 16, .with_sound = true}};
  for (int i = 0; i < 100; ++i) {
    const Duration now = 20ms * i;
    movie.add_picture(now, grey(32, 16, static_cast<uint8_t>(50 + i)));
    if (i < 20 || i >= 60) {
      movie.add_sound(now + (i % 2 == 0 ? 3ms : 0ms), tone);  // jitter makes no gaps
    }
    if (i == 70) {
      movie.add_sound(20ms * 65, tone);  // already written
    }
  }
  movie.finish();
  const auto sound = open_audio(at("m.webm"));
  const std::vector<int16_t>& samples = dynamic_cast<const AudioClip&>(*sound).samples();
  EXPECT_NEAR(to_seconds(audio_duration(static_cast<int64_t>(samples.size()))), 2.0, 0.05);
  EXPECT_NEAR(loudness(samples, 30ms, 380ms), 0.23, 0.04);
  EXPECT_LT(loudness(samples, 420ms, 1180ms), 0.01);
  EXPECT_NEAR(loudness(samples, 1220ms, 1980ms), 0.23, 0.04);
  EXPECT_EQ(times_of(at("m.webm")).size(), 100U);
}

TEST_F(Movie, VideoWithoutItsAudioIsNotDelayed) {
  MovieWriter movie{at("m.webm"), {.width = 32, .height = 16, .with_sound = true}};
  for (int i = 0; i < 400; ++i) {
    movie.add_picture(50ms * i, grey(32, 16, static_cast<uint8_t>(50 + i % 100)));
  }
  movie.add_sound(2s, AudioFrame{});  // far too late
  movie.finish();
  EXPECT_EQ(times_of(at("m.webm")).size(), 400U);
  EXPECT_LE(dynamic_cast<const AudioClip&>(*open_audio(at("m.webm"))).samples().size(),
            static_cast<size_t>(audio_samples(20s)));
}

TEST_F(Movie, AudioFiveSecondsBehindIsKeptAndNoLater) {
  for (const auto& [newest, loud] : {std::pair{5000ms, 0.23}, {5200ms, 0.0}}) {
    MovieWriter movie{at("m.webm"), {.width = 32, .height = 16, .with_sound = true}};
    movie.add_picture(0ms, grey(32, 16, 50));
    movie.add_picture(newest, grey(32, 16, 60));
    movie.add_picture(6s, grey(32, 16, 70));  // now the one before is in the file
    for (int i = 0; i < 10; ++i) {
      movie.add_sound(20ms * i, tone_of_500_hz());
    }
    movie.finish();
    const auto sound = open_audio(at("m.webm"));
    const auto& samples = dynamic_cast<const AudioClip&>(*sound).samples();
    EXPECT_NEAR(loudness(samples, 40ms, 160ms), loud, 0.04);
    const std::vector<TimedLevel> times = times_of(at("m.webm"));
    ASSERT_EQ(times.size(), 3U);
    EXPECT_EQ(times[1].at_ms, newest.count());
  }
}

TEST_F(Movie, TheOldFileStaysWholeUntilTheNewOneIs) {
  for (const char* name : {"m.webm", "m.ivf", "m.y4m"}) {
    std::ofstream(at(name)) << "precious";
    {
      MovieWriter movie{at(name), {.width = 32, .height = 16}};
      movie.add_picture(0ms, grey(32, 16, 99));
      movie.add_picture(1s, grey(32, 16, 98));
      EXPECT_EQ(bytes_of(at(name)), "precious");
      EXPECT_TRUE(fs::exists(at(name).string() + ".part"));
    }
    EXPECT_EQ(bytes_of(at(name)), "precious") << "never finished";
    EXPECT_FALSE(fs::exists(at(name).string() + ".part"));
    MovieWriter movie{at(name), {.width = 32, .height = 16}};
    movie.finish();
    EXPECT_GT(bytes_of(at(name)).size(), 44U);
    EXPECT_NE(bytes_of(at(name)).substr(0, 8), "precious");
  }
}

TEST_F(Movie, UnwritableFileIsReportedInOneLine) {
  const MovieOptions small{.width = 32, .height = 16};
  for (const char* name : {"nowhere/m.webm", "nowhere/m.y4m"}) {
    EXPECT_EQ(error_of([&] { MovieWriter movie(at(name), small); }),
              at(name).string() + ": cannot be opened for writing: No such file or directory");
  }
  EXPECT_EQ(error_of([&] { MovieWriter movie(at("m.avi"), small); }),
            at("m.avi").string() + ": a movie's name ends in .webm, .ivf or .y4m");
  EXPECT_NE(error_of([&] {
              MovieWriter movie(at("m.y4m"), {.width = 32, .height = 16, .with_sound = true});
            }).find("m.y4m: a .y4m holds no sound"),
            std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(Movie, FullDiskIsReportedWithoutWaiting) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  SyntheticCamera camera{{.width = 320, .height = 180}};
  for (const char* name : {"full.webm", "full.ivf", "full.y4m"}) {
    fs::create_symlink("/dev/full", at(name));
    const std::string error = error_of([&] {
      MovieWriter movie{at(name), {.width = 320, .height = 180}};
      for (uint64_t i = 0; i < 100; ++i) {
        movie.add_picture(FrameRate{}.time_of(i), *camera.picture(i));
      }
      movie.finish();
    });
    EXPECT_TRUE(error.starts_with(at(name).string() + ": cannot be written")) << error;
    const bool tells_why = error.find("No space left on device") != std::string::npos ||
                           error.find("is the disk full?") != std::string::npos;
    EXPECT_TRUE(tells_why) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace cress::media
