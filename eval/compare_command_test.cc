// Goal: `compare` cannot be misled: other experiments are refused with the name of the option,
// whichever is first; the same experiment is accepted from any JSON tool. Method: runs the program
// itself.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "eval/command_test_tools.hh"
#include "eval/compare/compare.hh"
#include "eval/report/run_files.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

class CompareRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder() = fs::path{testing::TempDir()} / ("cress-compare-runs-" + std::to_string(::getpid()));
    fs::remove_all(folder());
    fs::create_directories(folder());
    write("a.down", lines(10));
    write("a.up", lines(20));
    for (const char* other : {"other", "faster"}) {
      fs::create_directories(folder() / other);
      write(std::string{other} + "/a.down", lines(other == std::string{"faster"} ? 5 : 10));
      write(std::string{other} + "/a.up", lines(20));
    }
    run("base", kBase);
    run("call", kCall);
  }
  static void TearDownTestSuite() { fs::remove_all(folder()); }

  static fs::path& folder() {
    static fs::path path;
    return path;
  }
  static std::string at(const std::string& name) { return (folder() / name).string(); }
  static void write(const std::string& name, const std::string& text) {
    std::ofstream{folder() / name, std::ios::binary} << text;
  }
  /// A trace: one opportunity every `gap_ms`.
  static std::string lines(int gap_ms) {
    std::string text;
    for (int ms = gap_ms; ms <= 1000; ms += gap_ms) {
      text += std::to_string(ms) + "\n";
    }
    return text;
  }
  /// The options, with %FILE for a file of the test's folder.
  static void run(const std::string& name, std::string options) {
    for (size_t i = 0; (i = options.find('%', i)) != std::string::npos; i += at("").size()) {
      options.replace(i, 1, at(""));
    }
    const Ran ran = cress_eval("run --no-report --out " + at(name) + " " + options);
    ASSERT_EQ(ran.exit_code, 0) << options << "\n" << ran.output;
  }
  static Ran compare(const std::string& a, const std::string& b, const std::string& more = "") {
    return cress_eval("compare " + at(a) + " " + at(b) + " " + more);
  }
  static void expect_refused(const Ran& ran, const std::string& says) {
    EXPECT_EQ(ran.exit_code, 2) << ran.output;
    EXPECT_EQ(ran.lines(), 1) << ran.output;
    EXPECT_TRUE(ran.output.starts_with("cress-eval: ")) << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << says << "\n" << ran.output;
  }

  static constexpr const char* kBase =
      "--scheme cubic --down %a.down --up %a.up --duration 10s --skip 2s";
  static constexpr const char* kCall =
      "--scheme cress --down %a.down --up %a.up --duration 2s --skip 0s "
      "--video synthetic:64x48@10";
};

TEST_F(CompareRuns, OtherExperimentsAreRefusedByOptionBothWays) {
  const struct {
    const char* base;
    const char* options;
    const char* says;
  } cases[] = {
      {"base", "--scheme cubic --down %a.down --up %a.up --duration 20s --skip 2s",
       "the experiments differ: --duration is 10s in A and 20s in B"},
      {"base", "--scheme cubic --down %a.down --up %a.up --duration 10s --skip 3s", "--skip is 2s"},
      {"base", "--scheme cubic --down %a.down --up %a.up --duration 10s --skip 2s --delay 50ms",
       "--delay is 20ms in A and 50ms in B"},
      {"base", "--scheme cubic --down %a.down --up %a.up --duration 10s --skip 2s --loss 0.05",
       "--loss is 0 in A and 0.05 in B"},
      {"base", "--scheme cubic --down %a.down --up %a.up --duration 10s --skip 2s --queue codel",
       "--queue is infinite in A and codel in B"},
      {"base", "--scheme cubic --down %faster/a.down --up %a.up --duration 10s --skip 2s",
       "--down"},
      {"base", "--scheme cubic --link 3g --duration 10s --skip 2s", "--link is a in A and 3g in B"},
      {"call",
       "--scheme cress --down %a.down --up %a.up --duration 2s --skip 0s --video "
       "synthetic:64x48@15",
       "--video is synthetic:64x48@10 in A and synthetic:64x48@15 in B"},
      {"call",
       "--scheme cress --down %a.down --up %a.up --duration 2s --skip 0s --video "
       "synthetic:64x48@10 --one-way",
       "--one-way is false in A and true in B"},
      {"call",
       "--scheme cress --down %a.down --up %a.up --duration 2s --skip 0s --video "
       "synthetic:64x48@10 --audio none",
       "--audio is synthetic in A and none in B"},
      {"call", "--scheme cress --down %a.down --up %a.up --duration 2s --skip 0s",
       "--video is synthetic:64x48@10 in A and not given in B"},
  };
  for (const auto& c : cases) {
    run("other-run", c.options);
    expect_refused(compare(c.base, "other-run"), c.says);
    const std::string says = c.says;
    const size_t option = says.find("--");
    expect_refused(compare("other-run", c.base),
                   says.substr(option, says.find(' ', option) - option));
  }
}

TEST_F(CompareRuns, TheFirstTenSecondsOrMinuteIsNotScored) {
  for (const auto& [duration, skip] :
       {std::pair{"199s", "10s"}, {"200s", "50s"}, {"20s", "5s"}, {"240s", "60s"}}) {
    const std::string options =
        std::string{"--scheme cubic --down %a.down --up %a.up --duration "} + duration;
    run("usual", options.c_str());
    run("all", (options + " --skip 0s").c_str());
    expect_refused(compare("usual", "all"), std::string{"--skip is "} + skip + " in A");
  }
}

TEST_F(CompareRuns, SeedsFoldersAndSchemesDoNotMakeAnotherExperiment) {
  run("again",
      "--scheme cubic,reno --down %other/a.down --up %other/a.up --duration 10s --skip 2s --seed 9 "
      "--jobs 1 --loss 0.0");
  expect_refused(compare("base", "again"), "--allow-missing");
  const Ran same = compare("base", "again", "--allow-missing --noise 50%");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_NE(compare("base", "again", "--pair cubic=reno").exit_code, 2);
  const Ran report = cress_eval("report " + at("base"));
  EXPECT_EQ(report.exit_code, 0) << report.output;
}

TEST_F(CompareRuns, SweepOfTheSamePlanComparesEqual) {
  write("plan.toml",
        "scheme = \"cubic\"\nlink = [{down = \"a.down\", up = \"a.up\"}]\nseed = 1\n"
        "duration = \"10s\"\nskip = \"2s\"\nloss = [0, 0.1]\n");
  ASSERT_EQ(cress_eval("sweep " + at("plan.toml") + " --out " + at("sweep")).exit_code, 0);
  const Ran same = compare("sweep", "base", "--allow-missing --noise none");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_NE(same.output.find("0 worse, 0 better"), std::string::npos) << same.output;
  write("plan.toml",
        "scheme = \"cubic\"\nlink = [{down = \"faster/a.down\", up = \"a.up\"}]\nseed = 1\n"
        "duration = \"10s\"\nskip = \"2s\"\nloss = [0, 0.1]\n");
  ASSERT_EQ(cress_eval("sweep " + at("plan.toml") + " --out " + at("swept")).exit_code, 0);
  expect_refused(compare("sweep", "swept"), "--down");
  expect_refused(compare("swept", "sweep", "--allow-missing"), "--down");
}

TEST_F(CompareRuns, ResultsWithoutTheirRecordAreRefusedUnlessUnchecked) {
  fs::create_directories(folder() / "bare");
  fs::copy_file(at("base/results.json"), at("bare/results.json"),
                fs::copy_options::overwrite_existing);
  expect_refused(compare("bare", "base"), "--unchecked");
  expect_refused(compare("base", "bare/results.json"), "bare/run.json");
  EXPECT_EQ(compare("bare", "base", "--unchecked --noise none").exit_code, 0);
  EXPECT_EQ(compare("base/results.json", "bare", "--unchecked --noise none").exit_code, 0);
  // The record of another run is not accepted for them.
  fs::copy_file(at("call/run.json"), at("bare/run.json"), fs::copy_options::overwrite_existing);
  expect_refused(compare("bare", "base"), "the experiments differ");
  expect_refused(compare("base", "bare", "--unchecked"), "the experiments differ");
  const std::string whole = bytes_of(at("base/run.json"));
  for (const std::string& text :
       {std::string{}, std::string{"{"}, whole.substr(0, whole.size() / 2),
        std::string(100'000, '['), std::string{"[]"}, std::string{"\0\xff", 2}}) {
    write("bare/run.json", text);
    expect_refused(compare("bare", "base"), "bare/run.json");
  }
}

TEST_F(CompareRuns, ChangedValuesMayBeWorseButNeverPass) {
  fs::create_directories(folder() / "changed");
  fs::copy_file(at("base/run.json"), at("changed/run.json"), fs::copy_options::overwrite_existing);
  auto results = nlohmann::json::parse(bytes_of(at("base/results.json")));
  for (auto& result : results) {
    result["throughput_kbps"] = 0.9 * result["throughput_kbps"].get<double>();
  }
  write("changed/results.json", results.dump());
  EXPECT_EQ(compare("base", "changed").exit_code, 1) << "a tenth less is a regression";
  expect_refused(compare("changed", "base"), "was written with other values");
}

TEST_F(CompareRuns, RunJsonHoldsEveryOptionWithItsValue) {
  const Json record = Json::parse(bytes_of(at("call/run.json")));
  EXPECT_EQ(record["program"], "cress-eval " CRESS_VERSION);
  EXPECT_EQ(record["command"], "run");
  const std::string commit = record["commit"];
  EXPECT_TRUE(commit == "unknown" || commit.size() >= 40) << commit;
  EXPECT_EQ(record["not_compared"]["seed"], 1);
  const Json experiment = record["experiments"].at(0);
  EXPECT_EQ(experiment["link"], "a");
  EXPECT_EQ(experiment["options"], (Json{{"duration_s", 2.0},
                                         {"skip_s", 0.0},
                                         {"delay_ms", 20.0},
                                         {"loss", 0.0},
                                         {"queue", "infinite"},
                                         {"video", "synthetic:64x48@10"},
                                         {"audio", "synthetic"},
                                         {"one_way", false}}));
  EXPECT_EQ(experiment["inputs"]["down"]["file"], at("a.down"));
  EXPECT_EQ(experiment["inputs"]["down"]["digest"].get<std::string>().size(), 32U);
  EXPECT_NE(experiment["inputs"]["down"]["digest"], experiment["inputs"]["up"]["digest"]);
}

// Goal: chance alone is no regression. Method: twenty repetitions with other seeds.
TEST_F(CompareRuns, TwentyRepeatsWithOtherSeedsAreNoRegression) {
  write("repeats.toml",
        "scheme = \"cubic\"\nlink = \"3g\"\nseed = \"1..84\"\nduration = \"20s\"\nloss = 0.01\n");
  ASSERT_EQ(cress_eval("sweep " + at("repeats.toml") + " --out " + at("repeats")).exit_code, 0);
  const auto all = report::parse_results(bytes_of(at("repeats/results.json")));
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 84U);
  const std::span<const report::RunResult> runs{*all};
  for (size_t repeat = 1; repeat <= 20; ++repeat) {
    const auto comparison = compare::compare(runs.subspan(0, 4), runs.subspan(4 * repeat, 4), {});
    EXPECT_EQ(compare::count(comparison, compare::Verdict::kWorse), 0U)
        << compare::comparison_table(comparison, true);
  }
}

}  // namespace
}  // namespace cress::eval
