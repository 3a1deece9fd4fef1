// Goal: any wrong argument, or wrong file, gives exit 2 and one clear line, and finished work is
// kept. Method: runs the program itself, as a user would.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "eval/command_test_tools.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{testing::TempDir()} /
              ("cress-eval-" +
               std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("good", "1\n5\n9\n1000\n");
  }
  fs::path write(const std::string& name, const std::string& content) {
    std::ofstream{folder_ / name, std::ios::binary} << content;
    return folder_ / name;
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string out() const { return " --out " + (folder_ / "out").string(); }

  void expect_refused(const std::string& arguments, const std::string& says) {
    const Ran ran = cress_eval(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments << "\n" << ran.output;
    EXPECT_EQ(ran.lines(), 1) << arguments << "\n" << ran.output;
    EXPECT_TRUE(ran.output.starts_with("cress-eval: ")) << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << arguments << "\n" << ran.output;
  }

  fs::path folder_;
};

TEST_F(CommandLine, HelpAndVersionAreThereWithExamples) {
  EXPECT_EQ(cress_eval("--help").exit_code, 0);
  const Ran help = cress_eval("run --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("Examples:"), std::string::npos);
  EXPECT_NE(help.output.find("red:MIN,MAX,P"), std::string::npos);
  EXPECT_EQ(cress_eval("--version").output, "cress-eval " CRESS_VERSION "\n");
}

TEST_F(CommandLine, BrokenTracesAreNamedWithTheirLine) {
  const struct {
    const char* name;
    std::string content;
    const char* says;
  } cases[] = {{"empty", "", "empty"},
               {"letters", "1\n2\nabc\n", "letters:3"},
               {"negative", "1\n-2\n", "negative:2"},
               {"backwards", "1\n9\n5\n", "backwards:3"},
               {"huge", "1\n99999999999999999999999\n", "huge:2"},
               {"binary", std::string("\x7f\x45\x4c\x46\x00\x01\xff\xfe\n", 9), "binary:1"},
               {"truncated", "1\n2\n3 4", "truncated:3"}};
  for (const auto& c : cases) {
    write(c.name, c.content);
    expect_refused("run --down " + file(c.name) + " --up " + file("good") + out(), c.says);
  }
  expect_refused("run --down " + file("absent") + " --up " + file("good") + out(), "absent");
}

TEST_F(CommandLine, BrokenVideosAreRefusedBeforeAnythingRuns) {
  write("zero.y4m", "YUV4MPEG2 W64 H48 F30:1\n");
  write("broken.y4m", "YUV4MPEG2 W64 H48 F30:1\nFRAME\nxx");
  write("text.mp4", "this is no film\n");
  for (const char* name : {"zero.y4m", "broken.y4m", "text.mp4", "absent.mp4"}) {
    expect_refused("run --link wifi --video " + file(name) + out(), name);
    EXPECT_FALSE(fs::exists(folder_ / "out" / "results.json")) << name;
  }
  expect_refused("run --link wifi --video synthetic:0x0@30" + out(), "synthetic");
}

TEST_F(CommandLine, UnknownNamesComeWithASuggestion) {
  expect_refused("run --link wifi --scheme sprotu" + out(), "did you mean \"sprout\"");
  expect_refused("run --link wfii" + out(), "wifi");
  expect_refused("run --link wifi --scheme gcc" + out(), "--video");
  expect_refused("run --link wifi --scheme cubic --video synthetic" + out(), "carries no call");
  expect_refused("run --link wifi --scheme sprout,sprout" + out(), "twice");
}

TEST_F(CommandLine, WrongArgumentsAreRefusedByName) {
  expect_refused("", "subcommand");
  expect_refused("frobnicate", "no command \"frobnicate\"");
  expect_refused("run --link wifi --frobnicate", "--frobnicate");
  expect_refused("run" + out(), "--link");
  expect_refused("run --down " + file("good") + out(), "--up");
  expect_refused("run --link wifi --down x --up y" + out(), "not both");
  expect_refused("run --link wifi --duration 5parsecs" + out(), "--duration");
  expect_refused("run --link wifi --duration 0s" + out(), "--duration");
  expect_refused("run --link wifi --duration 10s --skip 10s" + out(), "--skip");
  expect_refused("run --link wifi --loss 1.5" + out(), "--loss");
  expect_refused("run --link wifi --loss x" + out(), "--loss");
  expect_refused("run --link wifi --delay -1ms" + out(), "--delay");
  expect_refused("run --link wifi --queue codle" + out(), "codle");
  expect_refused("run --link wifi --one-way" + out(), "--one-way");
}

TEST_F(CommandLine, WrongPathOptionsAreRefused) {
  expect_refused("run --link wifi --jitter 11s" + out(), "--jitter");
  expect_refused("run --link wifi --jitter x" + out(), "--jitter");
  for (const char* text :
       {"0.1", "0.1,0", "0.1,0.3,2", "a,b", "0.1,0.3,1,1", "-1,1", ",", "nan,1"}) {
    expect_refused(std::string{"run --link wifi --burst-loss="} + text + out(), "--burst-loss");
  }
  expect_refused("run --link wifi --duplicate 1" + out(), "--duplicate");
  expect_refused("run --link wifi --detour 40ms" + out(), "TIME@START");
  expect_refused("run --link wifi --detour 40ms@x" + out(), "--detour");
  expect_refused("run --link wifi --detour 11s@1s" + out(), "10 s longer");
  expect_refused("run --link wifi --detour 40ms@1s+0s" + out(), "lasts for no time");
  for (const char* text : {"cubic", "cubic:0@1s", "cubic:65@1s", "cubic:x@1s", "@1s", "cubic@",
                           "cubic@1s+0s", "cubic@1s+", "cubic@-1s", "cubic@1s/down"}) {
    expect_refused(std::string{"run --link wifi --cross "} + text + out(), "--cross");
  }
  expect_refused("run --link wifi --cross cubik@1s" + out(), "did you mean \"cubic\"");
  expect_refused("run --link wifi --cross omniscient@1s" + out(), "omniscient");
  expect_refused("run --link wifi --cross reno:60@1s --cross reno:60@1s" + out(), "100 flows");
  expect_refused("run --rate 12" + out(), "constant:12Mbit/s");
  expect_refused("run --link wifi --rate 12Mbit/s" + out(), "not both");
  expect_refused("run --link constant:12" + out(), "constant:12Mbit/s");
}

TEST_F(CommandLine, LinksOfHomesBringTheirQueueUnlessOneIsGiven) {
  const auto queue_of = [&](const std::string& options) {
    cress_eval("run --scheme reno --duration 4s --no-report " + options + out());
    const auto record =
        nlohmann::json::parse(load_text(folder_ / "out" / "run.json", DataSize{1 << 20}));
    return record["experiments"][0]["options"]["queue"].get<std::string>();
  };
  EXPECT_EQ(queue_of("--link home"), "droptail:64");
  EXPECT_EQ(queue_of("--link home --queue codel"), "codel");
  EXPECT_EQ(queue_of("--rate 6Mbit/s"), "infinite");
  EXPECT_EQ(queue_of("--link wifi"), "infinite");
}

TEST_F(CommandLine, CrossTrafficAndImpairmentsReachTheRun) {
  const auto result_of = [&](const std::string& options) {
    const Ran ran =
        cress_eval("run --scheme reno --rate 6Mbit/s --duration 8s --json " + options + out());
    return nlohmann::json::parse(ran.output)[0];
  };
  const auto plain = result_of("");
  EXPECT_FALSE(plain.contains("sharing"));
  EXPECT_EQ(result_of("--cross cubic:2@1s+5s --cross web@0/up")["sharing"]["flows"].size(), 2U);
  EXPECT_GT(result_of("--burst-loss 0.01,0.5")["packets_lost"], 10);
  EXPECT_NE(result_of("--jitter 40ms")["delay50_ms"], plain["delay50_ms"]);
  EXPECT_NE(result_of("--duplicate 0.5"), plain);
  EXPECT_NE(result_of("--detour 40ms@0s")["delay50_ms"], plain["delay50_ms"]);
}

TEST_F(CommandLine, ALinkWithCommasInItsNameHasAReport) {
  const Ran ran =
      cress_eval("run --scheme reno --rate 6Mbit/s,2Mbit/s@3s --jitter 1ms --duration 6s" + out());
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(fs::exists(folder_ / "out" / "report.html"));
}

TEST_F(CommandLine, UnwritableOutputIsReportedBeforeTheWork) {
  expect_refused("run --link wifi --duration 5s --out /proc/no", "/proc/no");
  write("a-file", "");
  expect_refused("run --link wifi --duration 5s --out " + file("a-file"), "a-file");
}

TEST_F(CommandLine, AFullDiskKeepsTheOldFileWhole) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  ASSERT_EQ(cress_eval("run --scheme reno --link 3g --duration 5s --no-report" + out()).exit_code,
            0);
  fs::create_symlink("/dev/full", folder_ / "out" / "timeline.csv.part");
  expect_refused("run --scheme reno,cubic --link 3g --duration 5s --jobs 1" + out(),
                 "timeline.csv");
  std::ifstream results{folder_ / "out" / "results.json"};
  EXPECT_FALSE(nlohmann::json::parse(results, nullptr, false).is_discarded());
}

TEST_F(CommandLine, ARunWritesAllItsFilesAndJsonIsWhatItPrints) {
  const Ran ran = cress_eval(
      "run --scheme sprout,skype-like --link wifi --video synthetic:160x96@15 --duration 6s "
      "--json" +
      out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  std::ifstream results{folder_ / "out" / "results.json"};
  EXPECT_EQ(nlohmann::json::parse(ran.output), nlohmann::json::parse(results));
  for (const char* name : {"timeline.csv", "frames.csv", "report.html"}) {
    EXPECT_GT(fs::file_size(folder_ / "out" / name), 1000U) << name;
  }
}

TEST_F(CommandLine, ACallsWorstMomentsAreInItsReportAndTheSameTwice) {
  const std::string run =
      "run --scheme skype-like,omniscient --link lte-slow --video synthetic:160x96@15 --duration "
      "8s "
      "--audio none --out ";
  for (const char* name : {"one", "two"}) {
    const Ran ran = cress_eval(run + file(name));
    ASSERT_EQ(ran.exit_code, 0) << ran.output;
  }
  const auto bytes = [&](const char* out, const std::string& name) {
    return load_text(folder_ / out / name, DataSize{10'000'000});
  };
  const auto moments = nlohmann::json::parse(bytes("one", "worst.json"));
  EXPECT_EQ(moments.size(), 12U);  // three, in both directions, of two schemes
  std::vector<std::string> names{"worst.json", "report.html"};
  for (const auto& moment : moments) {
    names.push_back(moment.at("picture"));
    EXPECT_EQ(bytes("one", names.back()).substr(0, 4), "RIFF");
    EXPECT_LE(moment.at("shown_s"), moment.at("until_s"));
    EXPECT_LT(moment.at("captured_s"), moment.at("shown_s"));
  }
  for (const std::string& name : names) {
    EXPECT_EQ(bytes("one", name), bytes("two", name)) << name;
  }
  const std::string page = bytes("one", "report.html");
  size_t pictures = 0;
  for (size_t at = 0; (at = page.find("data:image/webp;base64,UklGR", at)) != std::string::npos;) {
    ++at;
    ++pictures;
  }
  EXPECT_EQ(pictures, moments.size());
  // A later run leaves none of them behind.
  ASSERT_EQ(
      cress_eval("run --scheme cubic --link wifi --duration 5s --out " + file("one")).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "one" / "worst.json"));
  EXPECT_FALSE(fs::exists(folder_ / "one" / names.back()));
}

TEST_F(CommandLine, JobsDoNotChangeTheBytes) {
  const std::string run =
      "run --scheme sprout,cubic,reno,sprout-ewma --link lte-slow --duration 10s --no-report "
      "--json ";
  const Ran one = cress_eval(run + "--jobs 1 --out " + file("one"));
  const Ran four = cress_eval(run + "--jobs 4 --out " + file("four"));
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_EQ(one.output, four.output);
}

TEST_F(CommandLine, ReproduceRefusesWhatItCannotDoAndItsHelpNamesEveryFigure) {
  expect_refused("reproduce", "NAME");
  expect_refused("reproduce fig77" + out(), "there is no figure \"fig77\"; there are fig1");
  expect_refused("reproduce fig1 --duration 1s" + out(), "--duration");
  expect_refused("reproduce fig2 --out /proc/no", "/proc/no");
  const Ran help = cress_eval("reproduce --help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name : {"fig1 ", "intro ", "sensitivity ", "Examples:"}) {
    EXPECT_NE(help.output.find(name), std::string::npos) << name;
  }
}

TEST_F(CommandLine, ReproduceWritesItsPictureTableAndPage) {
  const Ran ran = cress_eval("reproduce loss --duration 4s --json" + out());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(nlohmann::json::parse(ran.output).at(0).at("rows").size(), 12U);
  for (const char* name : {"loss.svg", "loss.csv", "loss.json", "index.html"}) {
    EXPECT_GT(fs::file_size(folder_ / "out" / name), 300U) << name;
  }
}

TEST_F(CommandLine, ReportOfAFolderWithoutARunIsRefused) {
  expect_refused("report " + folder_.string(), "results.json");
}

TEST_F(CommandLine, ListsSchemesAndLinksAlsoAsJson) {
  for (const char* list : {"schemes", "links"}) {
    EXPECT_GT(cress_eval(list).lines(), 4) << list;
    const Ran json = cress_eval(std::string{list} + " --json");
    EXPECT_GE(nlohmann::json::parse(json.output).size(), 5U) << list;
  }
}

}  // namespace
}  // namespace cress::eval
