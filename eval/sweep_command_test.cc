// Goal: a sweep gives the same bytes whatever was done to it, and wrong plans are reported in one
// line. Method: runs the program itself, as a user, a batch system or an accident would.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "eval/command_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const std::string kProgram = std::string{CRESS_BIN} + "/cress-eval";

/// The program in the background, in no shell, so that signals reach it alone.
class Background {
 public:
  explicit Background(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kProgram);
    std::vector<char*> words;
    for (std::string& word : arguments) {
      words.push_back(word.data());
    }
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      if (freopen("/dev/null", "w", stdout) != nullptr &&
          freopen("/dev/null", "w", stderr) != nullptr) {
        execv(words[0], words.data());
      }
      _exit(127);
    }
  }
  pid_t pid() const { return pid_; }
  void send(int number) const { kill(pid_, number); }
  /// Its status, as returned by waitpid.
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
};

class Sweep : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{testing::TempDir()} /
              ("cress-sweep-" +
               std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    plan_ = write("plan.toml",
                  "scheme = [\"cubic\", \"reno\"]\nlink = [\"3g\", \"lte-slow\"]\n"
                  "seed = \"1..3\"\nduration = \"20s\"\nloss = [0, 0.01]\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ / name, std::ios::binary} << text;
    return (folder_ / name).string();
  }
  std::string out(const std::string& name) const { return (folder_ / name).string(); }
  std::string results(const std::string& name) const {
    return bytes_of(folder_ / name / "results.json");
  }
  /// The finished runs: for each name its file number.
  std::map<std::string, ino_t> finished(const std::string& name) const {
    std::map<std::string, ino_t> files;
    std::error_code none_yet;
    for (const auto& entry : fs::directory_iterator{folder_ / name / "runs", none_yet}) {
      struct stat status {};
      if (entry.path().extension() == ".json" && stat(entry.path().c_str(), &status) == 0) {
        files[entry.path().filename()] = status.st_ino;
      }
    }
    return files;
  }
  void expect_refused(const std::string& arguments, const std::string& says) const {
    const Ran ran = cress_eval(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments << "\n" << ran.output;
    EXPECT_EQ(ran.lines(), 1) << arguments << "\n" << ran.output;
    EXPECT_TRUE(ran.output.starts_with("cress-eval: ")) << ran.output;
    EXPECT_NE(ran.output.find(says), std::string::npos) << arguments << "\n" << ran.output;
  }
  void expect_plan_refused(const std::string& text, const std::string& says) const {
    const std::string plan = write("wrong.toml", text);
    expect_refused("sweep " + plan + " --out " + out("wrong"), says);
    EXPECT_FALSE(fs::exists(folder_ / "wrong")) << "refused before anything is made";
  }

  fs::path folder_;
  std::string plan_;
};

TEST_F(Sweep, GivesTheObjectsThatRunGivesAndTheirOptions) {
  const std::string plan = write("one.toml",
                                 "scheme = \"cubic\"\nlink = \"3g\"\nseed = 7\nduration = \"20s\"\n"
                                 "delay = \"35ms\"\nqueue = \"droptail:50\"\nloss = 0.01\n");
  const Ran swept = cress_eval("sweep " + plan + " --json --out " + out("sweep"));
  ASSERT_EQ(swept.exit_code, 0) << swept.output;
  const Ran run = cress_eval(
      "run --scheme cubic --link 3g --seed 7 --duration 20s --delay 35ms --queue droptail:50 "
      "--loss 0.01 --json --no-report --out " +
      out("run"));
  auto list = nlohmann::ordered_json::parse(swept.output);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["options"]["queue"], "droptail:50");
  EXPECT_EQ(list[0]["options"]["delay_ms"], 35.0);
  EXPECT_EQ(list[0]["options"]["duration_s"], 20.0);
  list[0].erase("options");
  EXPECT_EQ(list, nlohmann::ordered_json::parse(run.output));
}

TEST_F(Sweep, CallsVideoAndAudioComeFromThePlan) {
  const std::string plan =
      write("call.toml",
            "scheme = \"cress\"\nlink = \"wifi\"\nduration = \"4s\"\nskip = \"1s\"\n"
            "video = \"synthetic:160x96@15\"\none_way = [true, false]\n");
  const Ran swept = cress_eval("sweep " + plan + " --json --out " + out("sweep"));
  ASSERT_EQ(swept.exit_code, 0) << swept.output;
  const auto list = nlohmann::json::parse(swept.output);
  ASSERT_EQ(list.size(), 3U) << "forward alone, then forward and reverse";
  EXPECT_GT(list[0]["frames_displayed"], 20);
  EXPECT_EQ(list[0]["options"]["one_way"], true);
  EXPECT_EQ(list[2]["direction"], "reverse");
}

// Goal: SIGKILL at ten moments drawn from a seed loses and repeats nothing.
TEST_F(Sweep, KilledTenTimesItEndsWithTheResultsOfOneNeverKilled) {
  const auto started = Clock::now();
  const Ran whole = cress_eval("sweep " + plan_ + " --out " + out("whole"));
  const auto length = Clock::now() - started;
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  Rng rng{20};
  int killed = 0;
  std::map<std::string, ino_t> seen;
  for (int round = 0; round < 10; ++round) {
    const Background sweep{{"sweep", plan_, "--out", out("killed")}};
    std::this_thread::sleep_for(length * rng.uniform(0.03, 0.2));
    sweep.send(SIGKILL);
    killed += WIFSIGNALED(sweep.wait()) ? 1 : 0;
    for (const auto& [name, file] : finished("killed")) {
      const auto [before, fresh] = seen.try_emplace(name, file);
      EXPECT_EQ(before->second, file) << name << " was made again, round " << round;
    }
  }
  EXPECT_GE(killed, 5) << "the others had ended by themselves";
  const Ran last = cress_eval("sweep " + plan_ + " --out " + out("killed"));
  ASSERT_EQ(last.exit_code, 0) << last.output;
  for (const auto& [name, file] : finished("killed")) {
    const auto before = seen.find(name);
    EXPECT_TRUE(before == seen.end() || before->second == file) << name << " was made again";
  }
  EXPECT_EQ(finished("killed").size(), 24U);
  EXPECT_EQ(results("killed"), results("whole"));
  for (const auto& entry : fs::recursive_directory_iterator{folder_ / "killed"}) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
}

TEST_F(Sweep, JobsAndShardsAndMergingDoNotChangeTheBytes) {
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --jobs 1 --out " + out("one")).exit_code, 0);
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --jobs 5 --out " + out("five")).exit_code, 0);
  EXPECT_EQ(results("one"), results("five"));
  // Two machines with folders of their own, one of them in two shards.
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --shard 1/3 --out " + out("a")).exit_code, 0);
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --shard 3/3 --out " + out("a")).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "a" / "results.json")) << "a third is missing";
  const std::string merge = "sweep " + plan_ + " --out " + out("all") + " --merge " + out("a");
  expect_refused(merge, "8 of 24 runs of the plan are missing");
  const Ran partly = cress_eval(merge + " --allow-missing --json");
  EXPECT_EQ(nlohmann::json::parse(partly.output).size(), 16U);
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --shard 2/3 --out " + out("b")).exit_code, 0);
  EXPECT_EQ(cress_eval(merge + " " + out("b")).exit_code, 0);
  EXPECT_EQ(results("all"), results("one"));
  // One folder for all shards: the last one to end has everything.
  for (const char* shard : {"2/2", "1/2"}) {
    ASSERT_EQ(
        cress_eval("sweep " + plan_ + " --shard " + shard + " --out " + out("shared")).exit_code,
        0);
  }
  EXPECT_EQ(results("shared"), results("one"));
}

TEST_F(Sweep, GnuParallelRunsItsJobsOverSshlogin) {
  if (shell("parallel --version").exit_code != 0) {
    GTEST_SKIP() << "GNU parallel is not installed (apt install parallel)";
  }
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --out " + out("whole")).exit_code, 0);
  const Ran jobs = shell(kProgram + " sweep " + plan_ + " --print-jobs 4 --out " + out("p") +
                         " | HOME=" + folder_.string() +
                         " parallel --will-cite --sshlogin 2/: --halt soon,fail=1");
  EXPECT_EQ(jobs.exit_code, 0) << jobs.output;
  EXPECT_EQ(finished("p").size(), 24U);
  const Ran merged =
      cress_eval("sweep " + plan_ + " --merge " + out("p") + " --out " + out("merged"));
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_EQ(results("merged"), results("whole"));
  EXPECT_EQ(cress_eval("sweep " + plan_ + " --print-jobs --out x").lines(), 24);
}

/// A child of `parent` other than those in `known`; nullopt after five seconds.
std::optional<pid_t> new_child(pid_t parent) {
  const std::string path =
      "/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children";
  for (int i = 0; i < 5000; ++i) {
    std::ifstream children{path};
    if (pid_t child = 0; children >> child) {
      return child;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return std::nullopt;
}

TEST_F(Sweep, CrashedRunAffectsNoOtherAndIsRepeatedNextTime) {
  // Runs of a third of a second: none ends before it is killed.
  const std::string plan = write("slow.toml",
                                 "scheme = \"cubic\"\nlink = \"lte-fast\"\n"
                                 "seed = \"1..3\"\nduration = \"1000s\"\n");
  ASSERT_EQ(cress_eval("sweep " + plan + " --out " + out("whole")).exit_code, 0);
  const Background sweep{{"sweep", plan, "--jobs", "2", "--out", out("hurt")}};
  const auto child = new_child(sweep.pid());
  ASSERT_TRUE(child.has_value());
  kill(*child, SIGKILL);
  const int status = sweep.wait();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(finished("hurt").size(), 2U);
  EXPECT_FALSE(fs::exists(folder_ / "hurt" / "results.json"));
  EXPECT_EQ(cress_eval("sweep " + plan + " --out " + out("hurt")).exit_code, 0);
  EXPECT_EQ(results("hurt"), results("whole"));
}

TEST_F(Sweep, CtrlCEndsItCleanlyAndTheSameCommandGoesOn) {
  const Background sweep{{"sweep", plan_, "--jobs", "1", "--out", out("stopped")}};
  ASSERT_TRUE(new_child(sweep.pid()).has_value());
  sweep.send(SIGINT);
  const int status = sweep.wait();
  ASSERT_TRUE(WIFEXITED(status)) << "not by the signal itself";
  EXPECT_EQ(WEXITSTATUS(status), 130);
  const size_t before = finished("stopped").size();
  EXPECT_GE(before, 1U) << "the one that ran was waited for";
  EXPECT_LT(before, 24U);
  EXPECT_EQ(cress_eval("sweep " + plan_ + " --out " + out("stopped")).exit_code, 0);
  EXPECT_EQ(finished("stopped").size(), 24U);
}

TEST_F(Sweep, FullDiskIsReportedAndLosesNothing) {
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --shard 1/2 --out " + out("full")).exit_code, 0);
  const auto before = finished("full");
  // A maximum file size of one block: like a full disk, but for this command only.
  const Ran full =
      shell("trap '' XFSZ; ulimit -f 1; " + kProgram + " sweep " + plan_ + " --out " + out("full"));
  EXPECT_EQ(full.exit_code, 2) << full.output;
  EXPECT_EQ(full.lines(), 1) << full.output;
  EXPECT_NE(full.output.find("cannot be written"), std::string::npos) << full.output;
  EXPECT_NE(full.output.find("12 runs already made are kept"), std::string::npos) << full.output;
  EXPECT_EQ(finished("full"), before);
  EXPECT_EQ(cress_eval("sweep " + plan_ + " --out " + out("full")).exit_code, 0);
  EXPECT_EQ(finished("full").size(), 24U);
}

TEST_F(Sweep, DryRunListsFinishedRunsAndMakesNothing) {
  const Ran before = cress_eval("sweep " + plan_ + " --dry-run --out " + out("dry"));
  EXPECT_EQ(before.exit_code, 0);
  EXPECT_NE(before.output.find("24 runs, 0 done, 24 to do"), std::string::npos) << before.output;
  EXPECT_NE(before.output.find("cress-eval run --scheme reno --link lte-slow --duration 20s"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "dry"));
  ASSERT_EQ(cress_eval("sweep " + plan_ + " --shard 1/4 --out " + out("dry")).exit_code, 0);
  const Ran after = cress_eval("sweep " + plan_ + " --dry-run --json --out " + out("dry"));
  const auto list = nlohmann::json::parse(after.output);
  EXPECT_EQ(std::ranges::count_if(list, [](const auto& run) { return run["done"] == true; }), 6);
}

TEST_F(Sweep, RunsNameDependsOnItsInputs) {
  write("my.down", "10\n20\n1000\n");
  write("my.up", "10\n20\n1000\n");
  const std::string plan = write("traces.toml",
                                 "scheme = \"reno\"\nduration = \"5s\"\n"
                                 "link = {down = \"my.down\", up = \"my.up\", name = \"mine\"}\n");
  const std::string sweep = "sweep " + plan + " --out " + out("traces");
  ASSERT_EQ(cress_eval(sweep).exit_code, 0);
  ASSERT_EQ(cress_eval(sweep).exit_code, 0);
  EXPECT_EQ(finished("traces").size(), 1U);
  write("my.down", "10\n20\n500\n");
  ASSERT_EQ(cress_eval(sweep).exit_code, 0);
  EXPECT_EQ(finished("traces").size(), 2U) << "another link, another run";
  ASSERT_EQ(cress_eval(sweep + " --program theirs").exit_code, 0);
  EXPECT_EQ(finished("traces").size(), 3U) << "another program, another run";
  expect_refused(
      "sweep " + plan + " --program ours --merge " + out("traces") + " --out " + out("m"),
      "another program");
}

TEST_F(Sweep, WrongPlansAreReportedWithTheirLine) {
  const std::string link = "link = \"3g\"\n";
  const std::string both = "scheme = \"cress\"\n" + link;
  expect_plan_refused(link + "scheme = [\"cress\",\n\"sprotu\"]", "wrong.toml:3: unknown scheme");
  expect_plan_refused("scheme = \"cress\"\nlink = [\"3g\", \"4h\"]", "wrong.toml:2: ");
  expect_plan_refused(both + "duration = \"5parsecs\"", "wrong.toml:3: duration 5parsecs");
  expect_plan_refused(both + "duration = \"10s\"\nskip = \"20s\"",
                      "wrong.toml:4: skip must be shorter");
  expect_plan_refused(both + "queue = \"codle\"", "wrong.toml:3: queue codle");
  expect_plan_refused(both + "loss = 1.5", "wrong.toml:3: loss");
  expect_plan_refused(both + "one_way = true", "wrong.toml:3: one_way");
  expect_plan_refused(both + "video = \"absent.y4m\"", "wrong.toml:3: ");
  write("broken.wav", "no sound");
  write("broken.y4m", "no picture");
  expect_plan_refused(both + "video = \"synthetic\"\naudio = \"broken.wav\"", "wrong.toml:4: ");
  expect_plan_refused(both + "video = \"broken.y4m\"\naudio = \"synthetic\"", "wrong.toml:3: ");
  expect_plan_refused(both + "video = \"synthetic:0x0@30\"", "wrong.toml:3: video synthetic:0x0");
  expect_plan_refused(both + "seed = [1, 2, 1]", "is in the plan twice");
  expect_plan_refused(both + "sede = 1", "wrong.toml:3: unknown key");
  expect_plan_refused("scheme = \"cubic\"\n" + link + "video = \"synthetic\"", "carries no call");
  expect_plan_refused("scheme = \"cubic\"\nlink = {down = \"a\", up = \"b\"}", "wrong.toml:2: ");
  expect_plan_refused("scheme = ", "wrong.toml:1: is not TOML");
}

TEST_F(Sweep, WrongArgumentsAreRefusedByName) {
  expect_refused("sweep", "PLAN");
  expect_refused("sweep " + out("absent.toml"), "absent.toml");
  expect_refused("sweep " + plan_ + " --shard 0/3", "--array=1-N");
  expect_refused("sweep " + plan_ + " --shard x", "I/N");
  expect_refused("sweep " + plan_ + " --jobs many", "--jobs");
  expect_refused("sweep " + plan_ + " --print-jobs some", "--print-jobs");
  expect_refused("sweep " + plan_ + " --merge " + out("absent"), "absent");
  expect_refused("sweep " + plan_ + " --merge a --shard 1/2", "--shard");
  expect_refused("sweep " + plan_ + " --out /proc/no", "/proc/no");
  const Ran help = cress_eval("sweep --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("Examples:"), std::string::npos);
}

class Compare : public Sweep {};

TEST_F(Compare, OnlyARegressionFails) {
  const std::string plan = write("schemes.toml",
                                 "scheme = [\"cress-cautious\", \"cress-bold\"]\nlink = \"3g\"\n"
                                 "seed = \"1..4\"\nduration = \"60s\"\n");
  ASSERT_EQ(cress_eval("sweep " + plan + " --out " + out("a")).exit_code, 0);
  const Ran same = cress_eval("compare " + out("a") + " " + out("a") + "/results.json");
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_NE(same.output.find("0 worse, 0 better"), std::string::npos) << same.output;
  const std::string folders = out("a") + " " + out("a");
  const Ran bold = cress_eval("compare " + folders + " --pair cress-cautious=cress-bold");
  EXPECT_EQ(bold.exit_code, 1) << bold.output;
  EXPECT_NE(bold.output.find("delay95_ms"), std::string::npos) << bold.output;
  // The same scheme with other seeds: differences are noise.
  const std::string again = write("again.toml",
                                  "scheme = [\"cress-cautious\", \"cress-bold\"]\nlink = \"3g\"\n"
                                  "seed = \"5..8\"\nduration = \"60s\"\n");
  ASSERT_EQ(cress_eval("sweep " + again + " --out " + out("b")).exit_code, 0);
  const Ran noise = cress_eval("compare " + out("a") + " " + out("b"));
  EXPECT_EQ(noise.exit_code, 0) << noise.output;
  // Without room for noise something always moves: what is better one way is worse the other way.
  int worse = 0;
  for (const auto& [before, after] : {std::pair{"a", "b"}, std::pair{"b", "a"}}) {
    const Ran strict =
        cress_eval("compare " + out(before) + " " + out(after) + " --noise none --json");
    const int found = nlohmann::json::parse(strict.output)["worse"];
    EXPECT_EQ(strict.exit_code, found > 0 ? 1 : 0);
    worse += found;
  }
  EXPECT_GT(worse, 0);
}

TEST_F(Compare, WrongInputsAreRefusedByName) {
  const std::string one = R"([{"scheme":"a","link":"l","direction":"forward","seed":1,
    "window_s":[0,1],"delay95_ms":10}])";
  const std::string two = R"([{"scheme":"b","link":"l","direction":"forward","seed":1,
    "window_s":[0,1],"delay95_ms":10}])";
  const std::string a = write("a.json", one);
  const std::string b = write("b.json", two);
  const std::string broken = write("broken.json", "[{\"scheme\":");
  const std::string compare = "compare --unchecked ";  // no program wrote these
  expect_refused(compare + a, "B");
  expect_refused(compare + a + " " + out("absent"), "absent");
  expect_refused(compare + a + " " + broken, "broken.json");
  expect_refused(compare + a + " " + b, "--allow-missing");
  expect_refused(compare + a + " " + b + " --allow-missing", "nothing to compare");
  expect_refused(compare + a + " " + a + " --noise lots", "--noise");
  for (const char* confidence : {"0", "1", "-0.5"}) {
    expect_refused(compare + a + " " + a + " --confidence " + confidence, "--confidence");
  }
  for (const char* pair : {"x", "=x", "x="}) {
    expect_refused(compare + a + " " + a + " --pair " + pair, "--pair");
  }
  EXPECT_EQ(cress_eval(compare + a + " " + b + " --pair a=b").exit_code, 0);
  EXPECT_NE(cress_eval("compare --help").output.find("Exit code"), std::string::npos);
}

}  // namespace
}  // namespace cress::eval
