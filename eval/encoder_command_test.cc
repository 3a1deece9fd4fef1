// Goal: the encoder bench gives the same bytes for the same seed, keeps finished results, and
// reports wrong arguments in one line. Method: runs the program itself, as a user would.

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "eval/command_test_tools.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Ran encoder(const std::string& arguments) { return cress_eval("encoder " + arguments); }

constexpr const char* kCamera = "--video synthetic:128x96@15 ";
constexpr const char* kSmall = "--video synthetic:128x96@15 --frames 30 ";

class EncoderCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{testing::TempDir()} /
              ("cress-encoder-" +
               std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& content) {
    std::ofstream{folder_ / name, std::ios::binary} << content;
    return folder_ / name;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string out(const std::string& name = "out") const { return " --out " + file(name) + " "; }

  void expect_refused(const std::string& arguments, const std::string& says) {
    const Ran ran = encoder(arguments + out());
    EXPECT_EQ(ran.exit_code, 2) << arguments << "\n" << ran.output;
    EXPECT_EQ(ran.lines(), 1) << arguments << "\n" << ran.output;
    EXPECT_TRUE(ran.output.starts_with("cress-eval: ")) << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << arguments << "\n" << ran.output;
  }
  /// Wrong arguments are reported before anything is written.
  void expect_refused_at_once(const std::string& arguments, const std::string& says) {
    expect_refused(arguments, says);
    EXPECT_FALSE(fs::exists(folder_ / "out")) << arguments;
  }

  fs::path folder_;
};

TEST_F(EncoderCommand, HelpHasExamplesAndTheEncoders) {
  const Ran help = encoder("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"Examples:", "cbr-drop", "walk:150,2500", "--rd", "--save-ivf"}) {
    EXPECT_NE(help.output.find(word), std::string::npos) << word;
  }
}

TEST_F(EncoderCommand, TheSameSeedGivesTheSameBytesAndAnotherDoesNot) {
  const std::string run =
      std::string{kSmall} + "--encoder cbr,quantizer --quantizers 30 --budget walk:60,600 ";
  ASSERT_EQ(encoder(run + "--save-ivf --save-y4m" + out("one")).exit_code, 0);
  ASSERT_EQ(encoder(run + "--save-ivf --save-y4m" + out("two")).exit_code, 0);
  ASSERT_EQ(encoder(run + "--seed 2" + out("other")).exit_code, 0);
  int compared = 0;
  for (const auto& entry : fs::directory_iterator{folder_ / "one"}) {
    const fs::path name = entry.path().filename();
    if (name == "timing.json") {
      continue;
    }
    EXPECT_EQ(bytes_of(entry.path()), bytes_of(folder_ / "two" / name)) << name;
    EXPECT_GT(fs::file_size(entry.path()), 100U) << name;
    ++compared;
  }
  EXPECT_GE(compared, 7);  // three files of results, two .ivf, two .y4m
  EXPECT_NE(bytes_of(folder_ / "one" / "results.json"),
            bytes_of(folder_ / "other" / "results.json"));
}

TEST_F(EncoderCommand, ResultsAreTheSumsOfTheFrames) {
  const Ran ran =
      encoder(std::string{kSmall} + "--encoder cbr --budget constant:200 --skip 10 --json" + out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const json results = json::parse(ran.output);
  EXPECT_EQ(results, json::parse(bytes_of(folder_ / "out" / "results.json")));
  ASSERT_EQ(results.size(), 1U);
  std::istringstream frames{bytes_of(folder_ / "out" / "frames.csv")};
  std::string line;
  std::getline(frames, line);
  ASSERT_TRUE(line.starts_with("cell,encoder,frame,time_s,scored,budget_bytes,size_bytes,key,"));
  int64_t bytes = 0;
  int64_t over = 0;
  int scored = 0;
  while (std::getline(frames, line)) {
    std::array<long, 6> f{};
    ASSERT_EQ(std::sscanf(line.c_str(), "%ld,cbr,%ld,%*[^,],%ld,%ld,%ld,", &f[0], &f[1], &f[2],
                          &f[3], &f[4]),
              5)
        << line;
    EXPECT_NEAR(static_cast<double>(f[3]), 200'000.0 / 8 / 15, 1);
    if (f[2] == 1) {
      ++scored;
      bytes += f[4];
      over += f[4] > f[3] ? 1 : 0;
    }
  }
  EXPECT_EQ(scored, 20);
  EXPECT_EQ(results[0]["frames"], 20);
  EXPECT_EQ(results[0]["bytes"], bytes);
  EXPECT_NEAR(results[0]["over_share"].get<double>(), static_cast<double>(over) / 20, 1e-9);
  const json timing = json::parse(bytes_of(folder_ / "out" / "timing.json"));
  EXPECT_GT(timing[0]["encode_p50_ms"].get<double>(), 0);
  EXPECT_LE(timing[0]["encode_p50_ms"].get<double>(), timing[0]["encode_p95_ms"].get<double>());
}

TEST_F(EncoderCommand, EveryCombinationIsACell) {
  const Ran ran = encoder(std::string{kCamera} +
                          "--video synthetic:64x64@15 --encoder cbr,quantizer --quantizers 20,40 "
                          "--budget constant:100 --budget link:3g.up --size 64x48,96x64 "
                          "--cpu-used -8,-4 --frames 3 --json" +
                          out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(json::parse(ran.output).size(), 2U * 3 * 2 * 2 * 2);
}

TEST_F(EncoderCommand, RateDistortionComparesAgainstConstantBitrate) {
  const Ran ran = encoder(std::string{kCamera} +
                          "--encoder quantizer --quantizers 10,20,30,40,50 --rd "
                          "--rates 60,120,240,480 --frames 60 --json" +
                          out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const json bd = json::parse(ran.output);
  ASSERT_EQ(bd.size(), 1U);
  EXPECT_EQ(bd[0]["anchor"], "cbr");
  EXPECT_EQ(bd[0]["encoder"], "quantizer");
  EXPECT_LT(std::abs(bd[0]["bd_rate_psnr_percent"].get<double>()), 60);
  const json cells = json::parse(bytes_of(folder_ / "out" / "results.json"));
  EXPECT_EQ(cells.size(), 4U + 5);
  EXPECT_EQ(cells[0]["budget"], "none");  // the quantizer's points, once
  EXPECT_EQ(std::count_if(cells.begin(), cells.end(),
                          [](const json& cell) { return cell["encoder"] == "cbr"; }),
            4);
}

TEST_F(EncoderCommand, ASavedIvfIsAClipAgain) {
  ASSERT_EQ(encoder(std::string{kSmall} + "--encoder cbr --save-ivf" + out("first")).exit_code, 0);
  const std::string ivf = file("first/00-cbr-constant-600-128x96-cpu8.ivf");
  ASSERT_TRUE(fs::exists(ivf));
  const Ran again = encoder("--video " + ivf + " --encoder cbr --frames 30 --json" + out("second"));
  ASSERT_EQ(again.exit_code, 0) << again.output;
  const json result = json::parse(again.output)[0];
  EXPECT_EQ(result["video"], "00-cbr-constant-600-128x96-cpu8.ivf");
  EXPECT_EQ(result["width"], 128);
  EXPECT_GT(result["psnr_db"].get<double>(), 30);
}

TEST_F(EncoderCommand, BudgetsComeFromATableOfBytes) {
  write("budgets.csv", "budget_bytes\n1000\n0\n3000\n");
  const Ran ran = encoder(std::string{kSmall} +
                          "--encoder cbr --budget csv:" + file("budgets.csv") + " --json" + out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const json result = json::parse(ran.output)[0];
  EXPECT_EQ(result["skipped"], 10);  // every third has no window
  EXPECT_NEAR(result["budget_kbps"].get<double>(), 4000.0 / 3 * 15 * 8 / 1000, 0.01);
}

TEST_F(EncoderCommand, WrongArgumentsAreRefusedByNameBeforeAnythingRuns) {
  const std::string small{kSmall};
  expect_refused_at_once("--frobnicate", "--frobnicate");
  expect_refused_at_once(small + "--encoder h264", "there are");
  expect_refused_at_once(small + "--encoder cbr,cbr", "twice");
  expect_refused_at_once(small + "--budget lots", "--budget lots");
  expect_refused_at_once(small + "--budget constant:0", "kbit/s");
  expect_refused_at_once(small + "--budget link:no-such", "no-such");
  expect_refused_at_once(small + "--budget trace:" + file("absent"), "absent");
  expect_refused_at_once(small + "--size 640", "--size 640");
  expect_refused_at_once(small + "--size 8x8", "--size 8x8");
  expect_refused_at_once(small + "--size 64x64,64x64", "twice");
  expect_refused_at_once(small + "--cpu-used 3", "--cpu-used 3");
  expect_refused_at_once(small + "--cpu-used fast", "--cpu-used");
  expect_refused_at_once(small + "--quantizers 64", "--quantizers 64");
  expect_refused_at_once(small + "--frames 0", "--frames");
  expect_refused_at_once(small + "--frames -5", "--frames");
  expect_refused_at_once(small + "--skip 30", "--skip");
  expect_refused_at_once(small + "--rates 100,200", "--rd");
  expect_refused_at_once(small + "--rd --rates 100", "--rates");
  expect_refused_at_once(small + "--rd --rates 100,0", "--rates 0");
  expect_refused_at_once(small + "--rd --budget constant:100", "--budget");
  expect_refused_at_once("--video synthetic:1x1@30", "synthetic:1x1@30");
}

TEST_F(EncoderCommand, BrokenFilesAreNamed) {
  write("broken.y4m", "YUV4MPEG2 W64 H48 F30:1\nFRAME\nxx");
  write("tiny.y4m", "YUV4MPEG2 W8 H8 F30:1\nFRAME\n" + std::string(96, 'x'));
  write("text.mp4", "this is no film\n");
  write("cut.ivf", std::string("DKIF\0\0\x20\0VP80\x40\0\x30\0\x1E\0\0\0\x01\0\0\0\x01\0\0\0"
                               "\0\0\0\0\x63\0\0\0",
                               36));
  write("empty.ivf", std::string("DKIF\0\0\x20\0VP80\x40\0\x30\0\x1E\0\0\0\x01\0\0\0\0\0\0\0"
                                 "\0\0\0\0",
                                 32));
  for (const char* name :
       {"broken.y4m", "tiny.y4m", "text.mp4", "cut.ivf", "empty.ivf", "absent"}) {
    expect_refused_at_once("--encoder cbr --video " + file(name), name);
  }
  write("bad.csv", "1000\n-5\n");
  expect_refused_at_once(std::string{kSmall} + "--budget csv:" + file("bad.csv"), "bad.csv:2");
  write("bad.trace", "1\n2\nx\n");
  expect_refused_at_once(std::string{kSmall} + "--budget trace:" + file("bad.trace"),
                         "bad.trace:3");
}

TEST_F(EncoderCommand, UnwritableOutputIsReportedBeforeTheWork) {
  write("a-file", "");
  const Ran ran = encoder(std::string{kSmall} + "--out " + file("a-file"));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.output.find("a-file"), std::string::npos);
}

TEST_F(EncoderCommand, FinishedCellsAreKeptWhenALaterOneFails) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  fs::create_directories(folder_ / "out");
  fs::create_symlink("/dev/full", folder_ / "out" / "01-cbr-drop-constant-200-128x96-cpu8.y4m");
  expect_refused(std::string{kSmall} + "--encoder cbr,cbr-drop --budget constant:200 --save-y4m",
                 "01-cbr-drop-constant-200-128x96-cpu8.y4m");
  const json results = json::parse(bytes_of(folder_ / "out" / "results.json"));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]["encoder"], "cbr");
  EXPECT_GT(bytes_of(folder_ / "out" / "frames.csv").size(), 1000U);
}

TEST_F(EncoderCommand, ARecordedClipIsBenchedToo) {
  const fs::path clip = fs::path{CRESS_DATA} / "video" / "foremanI_cif_30.mp4";
  if (!fs::exists(clip)) {
    GTEST_SKIP() << "no data: recorded clips in " << CRESS_DATA;
  }
  const Ran ran = encoder("--video " + clip.string() +
                          " --encoder cbr --budget constant:400 --frames 60 --json" + out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const json result = json::parse(ran.output)[0];
  EXPECT_EQ(result["width"], 352);
  EXPECT_GT(result["psnr_db"].get<double>(), 25);
  EXPECT_NEAR(result["bitrate_kbps"].get<double>(), 400, 120);
}

}  // namespace
}  // namespace cress::eval
