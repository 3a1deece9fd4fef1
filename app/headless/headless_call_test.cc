#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/headless/headless.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::headless {
namespace {

namespace fs = std::filesystem;

/// The program as a listener, whose link is its first line.
class ListeningProgram {
 public:
  explicit ListeningProgram(const std::string& arguments)
      : pipe_(popen((CRESS_BIN "/cress-call --headless --listen 127.0.0.1:0 " + arguments).c_str(),
                    "r")) {
    std::array<char, 4096> text{};
    if (pipe_ != nullptr && fgets(text.data(), text.size(), pipe_) != nullptr) {
      link_ = text.data();
      link_.erase(link_.find_last_not_of('\n') + 1);
    }
  }
  ~ListeningProgram() { wait(); }
  ListeningProgram(const ListeningProgram&) = delete;
  ListeningProgram& operator=(const ListeningProgram&) = delete;

  const std::string& link() const { return link_; }
  int wait() {
    if (pipe_ == nullptr) {
      return -1;
    }
    const int status = pclose(std::exchange(pipe_, nullptr));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  FILE* pipe_;
  std::string link_;
};

struct HeadlessCallTest : ::testing::Test {
  HeadlessCallTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  ~HeadlessCallTest() override { fs::remove_all(folder); }
  std::string file(const char* name) const { return (folder / name).string(); }
  int run(const HeadlessOptions& options) { return run_headless(options, out, err); }
  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream stream{path};
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  media::GstRuntime gst;
  const fs::path folder = fs::path{testing::TempDir()} / "cress-headless-call";
  std::ostringstream out;
  std::ostringstream err;
};

/// One joins and is killed after two seconds; then another joins.
TEST_F(HeadlessCallTest, ASilentEndsPlaceIsForTheSameEndOrForAnyone) {
  struct Case {
    std::string listener;
    bool has_identity;
    bool is_let_in;
  };
  const std::vector<Case> cases{
      {"", false, false}, {"", true, true}, {"--replace anyone", false, true}};
  for (const Case& one : cases) {
    ListeningProgram lea{"--video-in test --size 160x90 --duration 9s " + one.listener +
                         " 2> /dev/null"};
    const std::string identity = one.has_identity ? file("identity") : "";
    const std::string jo = std::string{"timeout -s KILL 2 " CRESS_BIN "/cress-call --headless "} +
                           (one.has_identity ? "--identity-file " + identity + " " : "") + "'" +
                           lea.link() + "' 2> /dev/null";
    EXPECT_NE(std::system(jo.c_str()), 0) << "was not killed";
    err.str("");
    const int status = run({.link = lea.link(),
                            .identity_file = identity,
                            .video_in = "test",
                            .size = {160, 90},
                            .duration = 500ms,
                            .wait = 20s});
    EXPECT_EQ(status, one.is_let_in ? 0 : 1) << one.listener << " " << err.str();
    EXPECT_EQ(err.str().find("in a call with somebody else") != std::string::npos, !one.is_let_in)
        << err.str();
  }
}

TEST_F(HeadlessCallTest, ACallOfTwoSecondsLeavesItsFilesAndLines) {
  ListeningProgram lea{"--name Lea --video-in test --audio-in test --size 160x90 --video-out " +
                       file("lea.y4m") + " --stats " + file("lea.jsonl") + " --frames " +
                       file("lea.csv") + " 2> " + file("lea.txt")};
  ASSERT_EQ(lea.link().find("cress://127.0.0.1:"), 0U) << lea.link();
  EXPECT_EQ(run({.link = lea.link(),
                 .name = "Jo",
                 .video_in = "test",
                 .audio_in = "test",
                 .size = {160, 90},
                 .video_out = file("jo.webm"),
                 .audio_out = file("jo.wav"),
                 .stats = file("jo.jsonl"),
                 .frames = "-",
                 .duration = 2100ms,
                 .progress = true}),
            0);
  EXPECT_EQ(lea.wait(), 0) << "the other end hung up: no failure";
  const auto said = lines_of(file("lea.txt"));
  ASSERT_EQ(said.size(), 1U) << "progress is for a terminal";
  EXPECT_EQ(said[0].find("Only this machine can reach"), 0U) << said[0];
  EXPECT_NE(err.str().find("Connected to 127.0.0.1:"), std::string::npos) << err.str();
  EXPECT_NE(err.str().find("   1 s  up "), std::string::npos) << err.str();
  EXPECT_EQ(err.str().find("cress-call:"), std::string::npos) << err.str();
  EXPECT_EQ(err.str().find("left out"), std::string::npos) << err.str();

  std::vector<double> times;
  double connected_s = 0;
  double ended_s = 0;
  for (const std::string& line : lines_of(file("jo.jsonl"))) {
    const auto json = nlohmann::json::parse(line);
    const double t_s = json.at("t_s");
    if (!json.contains("event")) {
      times.push_back(t_s);
    } else if (json.at("event") == "connected") {
      connected_s = t_s;
    } else if (json.at("event") == "ended") {
      ended_s = t_s;
    }
  }
  // One line per second, one when it hangs up, and one at the end, a second after.
  ASSERT_GE(times.size(), 4U);
  EXPECT_LE(times.size(), 6U);
  EXPECT_GE(times.front(), 1.0);
  // The lines give times in whole milliseconds.
  EXPECT_GE(times[1] - times[0], 0.999 - 1e-6);
  EXPECT_GE(times[2], connected_s + 2.099) << "when it is over";
  EXPECT_GE(ended_s, connected_s + 3.099);
  EXPECT_GE(times.back(), ended_s);

  // A busy machine may miss the first frame.
  EXPECT_TRUE(out.str().starts_with("member,frame,capture_s,display_s,size_bytes\n,")) << out.str();
  EXPECT_GT(std::ranges::count(out.str(), '\n'), 30);
  EXPECT_GT(lines_of(file("lea.csv")).size(), 30U);
  const auto movie = media::open_video(file("jo.webm"));
  EXPECT_EQ(movie->picture(0)->width, 160);
  EXPECT_EQ(movie->picture(0)->height, 90);
  EXPECT_GT(fs::file_size(file("jo.wav")), 2U * 48'000U * 2U) << "over 2 s";
  const auto pictures = fs::file_size(file("lea.y4m")) / (160U * 90U * 3U / 2U);
  EXPECT_GE(pictures, 45U) << "until the last picture came";
  EXPECT_LE(pictures, 100U);
}

TEST_F(HeadlessCallTest, NoPeerIsAFailureWithItsReason) {
  EXPECT_EQ(run({.link = "cress://127.0.0.1:9/#AAAAAAAAAAAAAAAAAAAAAA", .wait = 200ms}), 1);
  EXPECT_EQ(err.str().find("cress-call: no call: nobody answers"), 0U) << err.str();
  EXPECT_EQ(out.str(), "");
}

TEST_F(HeadlessCallTest, AListenerWaitsAsLongAsItWasAsked) {
  EXPECT_EQ(run({.listen = "[::1]:0", .stats = file("lea.jsonl"), .wait = 1200ms}), 1);
  EXPECT_EQ(out.str().find("cress://[::1]:"), 0U) << out.str();
  EXPECT_EQ(std::ranges::count(out.str(), '\n'), 1);
  EXPECT_NE(err.str().find("no call: "), std::string::npos) << err.str();
  size_t samples = 0;
  for (const std::string& line : lines_of(file("lea.jsonl"))) {
    samples += line.find("\"event\"") == std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(samples, 3U) << "after 1 s, after 2 s, and at the end";
}

TEST_F(HeadlessCallTest, AWrongLinkIsRefusedBeforeAnythingBegins) {
  EXPECT_THROW(run({.link = "cress://h:1/"}), std::runtime_error);
  EXPECT_THROW(run({.listen = "127.0.0.1:0", .video_out = "/no/such/folder/a.y4m"}),
               std::runtime_error);
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace cress::headless
