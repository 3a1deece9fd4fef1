#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/headless/headless.hh"
#include "app/room/relay_test_tools.hh"
#include "media/gst/gst_file_source.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/secure/link/link.hh"

namespace cress::headless {
namespace {

/// A relay, and a folder for the members' output.
class HeadlessRoomTest : public ::testing::Test {
 protected:
  HeadlessRoomTest()
      : folder_(std::filesystem::path(::testing::TempDir()) / "cress-headless-room") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~HeadlessRoomTest() override { std::filesystem::remove_all(folder_); }

  /// Runs the program itself; returns its exit status. Its output is in NAME.txt.
  int run(const std::string& name, const std::string& more, const std::string& link) const {
    const std::string command = std::string(CRESS_BIN) +
                                "/cress-call --headless --video-in test --audio-in test --size "
                                "160x120 --duration 6s --name " +
                                name + " --stats " + (folder_ / (name + ".jsonl")).string() + " " +
                                more + " '" + link + "' > " + (folder_ / (name + ".txt")).string() +
                                " 2>&1";
    const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said(const std::string& name) const {
    std::ifstream file{folder_ / (name + ".txt")};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  static std::vector<nlohmann::json> lines(const std::filesystem::path& path) {
    std::ifstream file{path};
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(file, line);) {
      all.push_back(nlohmann::json::parse(line));
    }
    return all;
  }

  media::GstRuntime gst_;
  std::filesystem::path folder_;
  room::RelayHost relay_;
};

TEST_F(HeadlessRoomTest, ThreeProgramsRecordEachOtherAndWriteALineForEachMember) {
  const std::vector<std::string> names{"Ada", "Ben", "Cem"};
  const std::vector<std::string> outputs{"--video-out " + (folder_ / "ada.webm").string() +
                                             " --audio-out " + (folder_ / "ada.wav").string(),
                                         "--video-out " + (folder_ / "ben").string() + "/", ""};
  std::vector<int> results(names.size(), -1);
  std::vector<std::thread> programs;
  for (size_t i = 0; i < names.size(); ++i) {
    programs.emplace_back([&, i] { results[i] = run(names[i], outputs[i], relay_.link()); });
  }
  for (std::thread& program : programs) {
    program.join();
  }
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(results[i], 0) << said(names[i]);
  }
  EXPECT_GT(media::open_video(folder_ / "ada.webm")->picture(0)->width, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "ada.wav"));
  const auto files = std::filesystem::directory_iterator{folder_ / "ben"};
  EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "a file for each other member";
  size_t members_max = 0;
  uint64_t frames = 0;
  for (const nlohmann::json& line : lines(folder_ / "Ada.jsonl")) {
    if (line.contains("members")) {
      members_max = std::max(members_max, line["members"].size());
      for (const auto& member : line["members"]) {
        EXPECT_TRUE(member["name"] == "Ben" || member["name"] == "Cem");
        frames = std::max(frames, member["frames_shown"].get<uint64_t>());
      }
      EXPECT_TRUE(line["room"] == "lab" || line["members"].empty());
    }
  }
  EXPECT_EQ(members_max, 2U);
  EXPECT_GT(frames, 30U);
}

TEST_F(HeadlessRoomTest, WrongSecretIsReportedInOneLine) {
  EXPECT_EQ(run("Eve", "", relay_.link(secure::make_secret())), 1);
  EXPECT_NE(said("Eve").find("not in the room: "), std::string::npos) << said("Eve");
}

}  // namespace
}  // namespace cress::headless
