// Goal: the program's output stays as it was: its help, its error messages, and the tables and
// files of small runs. Method: runs the program itself, as a user would.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "eval/command_test_tools.hh"
#include "eval/subcommands.hh"
#include "media/codec/versions.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;

std::string without(std::string text, const std::string& what, const std::string& instead = "") {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), instead);
    at += instead.size();
  }
  return text;
}

class CommandsGolden : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{testing::TempDir()} /
              ("cress-golden-" +
               std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("a.down", "1\n5\n9\n40\n41\n100\n");
    write("a.up", "2\n4\n60\n");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream{folder_ / name, std::ios::binary} << content;
  }

  /// Exit code and output, without what depends on the machine.
  std::string ran(const std::string& arguments) const {
    const Ran ran =
        shell("cd " + folder_.string() + " && " + CRESS_BIN + "/cress-eval " + arguments);
    return fmt::format("$ {}\n{}: {}\n", arguments, ran.exit_code, common(ran.output));
  }
  std::string common(std::string text) const {
    for (const std::string& place : {folder_.string() + "/", std::string{CRESS_BIN} + "/"}) {
      text = without(text, place);
    }
    text = without(without(text, CRESS_DATA, "DATA"), CRESS_VERSION, "VERSION");
    // Another compiler or commit has another build.
    return std::regex_replace(text, std::regex{" build [0-9a-f]{16}"}, " build BUILD");
  }
  /// Digests of the files of a folder of results; the record without its commit and paths.
  std::string files_of(const std::string& name) const {
    std::vector<fs::path> files;
    if (!fs::is_directory(folder_ / name)) {
      return "no folder " + name + "\n";
    }
    for (const auto& entry : fs::recursive_directory_iterator{folder_ / name}) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    std::string text;
    for (const fs::path& file : files) {
      const std::string called = file.filename();
      if (called == "run.json") {
        auto record = nlohmann::ordered_json::parse(bytes_of(file));
        record.erase("commit");
        text += common(record.dump(1)) + "\n";
      } else if (called == "results.json" || called.ends_with(".csv") || called == "bd_rate.json" ||
                 called.ends_with(".ivf")) {
        text += called + " " + golden_digest(bytes_of(file)) + "\n";
      } else {
        text += file.parent_path().filename() == "runs" ? "" : called + "\n";
      }
    }
    return text;
  }

  fs::path folder_;
};

TEST_F(CommandsGolden, FiguresAreDescribedInOneColumn) {
  std::istringstream lines{ran("reproduce --help")};
  std::set<size_t> columns;
  int figures = 0;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string name : {"fig1 ", "loss ", "distributions ", "sensitivity "}) {
      if (const size_t at = line.find("  " + name); at != std::string::npos) {
        columns.insert(line.find_first_not_of(' ', at + 2 + name.size()));
        ++figures;
      }
    }
  }
  EXPECT_GE(figures, 4);
  EXPECT_EQ(columns.size(), 1U);
}

TEST_F(CommandsGolden, HelpIsAsRecorded) {
  const std::string parser = "CLI11 " CLI11_VERSION;
  std::string golden = parser + "\n";
  for (const char* command : {"", "run", "encoder", "reproduce", "sweep", "compare", "cellsim",
                              "relay-load", "report", "schemes", "links"}) {
    // Line breaks depend on the length of the data folder's path.
    const std::string text =
        std::regex_replace(ran(std::string{command} + " --help"), std::regex{"\\s+"}, " ");
    golden += fmt::format("{} {} {}\n", command, text.size(), golden_digest(text));
  }
  golden += ran("schemes") + ran("links --data /proc");
  golden += golden_digest(ran("schemes --json")) + golden_digest(ran("links --json --data /proc"));
  golden += "\n" + ran("--version");
  if (!golden_begins("help", parser)) {
    GTEST_SKIP() << "golden help was recorded with another parser than " << parser;
  }
  expect_golden("help", golden);
}

TEST_F(CommandsGolden, WrongArgumentsAreRefusedInTheWordsRecorded) {
  const std::string parser = "CLI11 " CLI11_VERSION;
  std::string golden = parser + "\n";
  write("empty.toml", "");
  write("bad.toml", "scheme = \"cress\"\nlink = \"3g\"\nloss = \"x\"\n");
  write("scheme.toml", "scheme = \"creess\"\nlink = \"3g\"\n");
  write("queue.toml", "scheme = \"cress\"\nlink = \"3g\"\nqueue = \"x\"\n");
  write("delay.toml", "scheme = \"cress\"\nlink = \"3g\"\ndelay = \"11s\"\n");
  for (const char* arguments :
       {"run --link wifi --delay 10.001s",
        "run --link wifi --delay 10s --duration 0.0s",
        "run --link wifi --loss 1",
        "run --link wifi --loss -0.01",
        "run --link wifi --loss nan",
        "run --link wifi --duration 86401s",
        "run --link wifi --duration 4x",
        "run --link wifi --duration 1e8",
        "run --link wifi --duration inf",
        "run --link wifi --duration 4s --skip 4s",
        "run --link wifi --duration 4s --skip 4.5s",
        "run --link wifi --duration -1",
        "run --link wifi --skip -1s",
        "run --link wifi --video synthetic:15x64@30",
        "run --link wifi --video synthetic:64x15@30",
        "run --link wifi --video synthetic:4097x64@30",
        "run --link wifi --video synthetic:64x4097@1",
        "run --link wifi --video synthetic:64x64@0",
        "run --link wifi --video synthetic:64x64@121",
        "run --link wifi --video synthetic:64x64@30x",
        "run --link wifi --video synthetic:64x64",
        "run --link wifi --save webm",
        "run --link wifi --film",
        "run --link wifi --save avi",
        "run --link wifi --video synthetic --scheme sprout --film cress",
        "run --link wifi --video synthetic --scheme sprout,cress,gcc --film",
        "run --link wifi --video synthetic --scheme sprout,cress --film sprout,sprout",
        "run --link wifi --audio none --duration 1s",
        "run --down a.down",
        "run --up a.up",
        "run --link 3g --up a.up",
        "run --link 3g --scheme cress-",
        "run --link 3g --duration 1s --scheme ,",
        "run --link 3g --jobs -1",
        "run --link 3g --seed x",
        "run extra",
        "--frobnicate",
        "sweep",
        "sweep none.toml",
        "sweep empty.toml",
        "sweep bad.toml",
        "sweep scheme.toml",
        "sweep queue.toml",
        "sweep delay.toml",
        "sweep bad.toml --shard 3/2",
        "compare",
        "compare a",
        "compare a b",
        "compare a b --confidence 0",
        "compare a b --confidence 1",
        "compare a b --confidence x",
        "compare a b --pair x",
        "compare a b --pair =x",
        "compare a b --pair x=",
        "compare a b --noise lots",
        "compare a b --noise delay95_ms=-1",
        "relay-load --rooms 0",
        "relay-load --rooms 1001",
        "relay-load --members 1",
        "relay-load --members 41",
        "relay-load --video-kbps 19",
        "relay-load --video-kbps 5001",
        "relay-load --duration 0.5s",
        "relay-load --duration 86401s",
        "relay-load --skip -1",
        "relay-load --churn 6001",
        "relay-load --churn -1",
        "relay-load --hostile nobody",
        "relay-load --duration 3s --skip 3s",
        "relay-load --duration 3s --skip 4s",
        "cellsim --link 3g",
        "cellsim --link 3g --",
        "cellsim -- true",
        "cellsim --down a.down -- true",
        "cellsim --link 3g --down a.down -- true",
        "cellsim --link 3g --up a.up -- true",
        "cellsim --link 3g --delay 10.1s -- true",
        "cellsim --link 3g --loss 1 -- true",
        "cellsim --link 3g --to a:1 -- true",
        "cellsim --link 3g --duration 1s -- true",
        "cellsim --link 3g --proxy 127.0.0.1:0",
        "cellsim --link 3g --far host --peer x -- true",
        "cellsim --link 3g --proxy 127.0.0.1:0 --to 127.0.0.1:1 -- true",
        "cellsim --link 3g --proxy 127.0.0.1:0 --to 127.0.0.1:1 --peer x",
        "cellsim --link 3g --internet --far private -- true",
        "cellsim --far moon -- true",
        "cellsim --link 3g --queue x -- true",
        "reproduce",
        "reproduce fig77",
        "reproduce fig2 --duration 3.9s",
        "reproduce fig2 --duration 86401s",
        "reproduce fig2 --out a.up",
        "report",
        "report nowhere",
        "report a.up",
        "encoder --video synthetic:32x32@15 --frames 4 --cpu-used 0",
        "encoder --video synthetic:32x32@15 --frames 4 --cpu-used -17",
        "encoder --video synthetic:32x32@15 --frames 4 --quantizers -1",
        "encoder --video synthetic:32x32@15 --frames 4 --skip 4",
        "encoder --video synthetic:32x32@15 --frames 4 --rates 1",
        "encoder --video synthetic:32x32@15 --frames 4 --rd --rates 1,1,2",
        "encoder --video synthetic:32x32@15 --frames 4 --rd --rates 1000001,2",
        "encoder --video synthetic:32x32@15 --frames 4 --size 15x64",
        "encoder --video synthetic:32x32@15 --frames 4 --size 64x64x64",
        "encoder --video synthetic:32x32@15 --frames 4 --size 4097x64",
        "encoder --video none.ivf",
        "encoder --video synthetic:32x32@15 --frames 4 --encoder none",
        "encoder --video synthetic:32x32@15 --frames 4 --out a.up --video synthetic:64x48@15 "
        "--frames 1"}) {
    golden += ran(arguments);
  }
  if (!golden_begins("refusals", parser)) {
    GTEST_SKIP() << "golden refusals were recorded with another parser than " << parser;
  }
  expect_golden("refusals", golden);
}

TEST_F(CommandsGolden, FlowsLeaveTheFilesRecorded) {
  std::string golden;
  golden +=
      ran("run --scheme reno,cubic,cress --link 3g --duration 6s --loss 0.03 --delay 35ms "
          "--queue droptail:20 --jobs 2 --seed 4 --out flows");
  golden += files_of("flows");
  golden +=
      ran("run --scheme sprout --down a.down --up a.up --duration 3s --skip 250ms --json "
          "--no-report --out traces");
  golden += files_of("traces");
  golden +=
      ran("run --scheme vegas --link lte-slow --duration 0.1m --skip 0s --out quiet --queue "
          "red:5,20,0.1 --no-report");
  golden += files_of("quiet");
  write("plan.toml",
        "scheme = [\"reno\", \"cubic\"]\nlink = [\"3g\", {down = \"a.down\", up = \"a.up\"}]\n"
        "duration = \"3s\"\nskip = \"500ms\"\nseed = \"1..2\"\nloss = 0.01\ndelay = \"5ms\"\n"
        "queue = \"codel\"\n");
  golden += ran("sweep plan.toml --out sweep --jobs 2");
  golden += files_of("sweep");
  golden += ran("sweep plan.toml --out sweep --dry-run");
  golden += ran("sweep plan.toml --out sweep --json");
  golden += ran("compare sweep sweep") + ran("compare sweep sweep --all --pair reno=cubic");
  golden += ran("compare flows flows --all --noise none --json");
  golden += ran("compare flows sweep") + ran("report flows");
  expect_golden("flows", golden);
}

TEST_F(CommandsGolden, CallsAndEncodersLeaveTheFilesRecorded) {
  const std::string versions = media::codec_versions();
  std::string golden = versions + "\n";
  golden +=
      ran("run --scheme cress,gcc --link 3g --duration 4s --skip 1s --video synthetic:64x48@10 "
          "--out calls --loss 0.02");
  golden += files_of("calls");
  golden +=
      ran("run --scheme sprout --link 3g --duration 3s --video synthetic:64x48@10 --one-way "
          "--audio none --out oneway --json --seed 3 --no-report");
  golden += files_of("oneway");
  golden +=
      ran("encoder --video synthetic:64x48@15 --video synthetic:48x48@10 --frames 12 --skip 2 "
          "--encoder cbr,quantizer --quantizers 20,40 --budget walk:20,90 --budget none "
          "--size 32x32,64x48 --cpu-used -8,-6 --seed 5 --save-ivf --json --out bench");
  golden += files_of("bench");
  golden +=
      ran("encoder --video synthetic:64x48@15 --frames 12 --encoder cbr,cress,quantizer --rd "
          "--rates 20,40,80 --json --out rd");
  golden += files_of("rd");
  if (!golden_begins("calls", versions)) {
    GTEST_SKIP() << "golden calls were recorded with other codecs than " << versions;
  }
  // Too long to be kept completely: later differences show in the digest.
  const std::string digest = golden_digest(golden);
  expect_golden("calls", golden.substr(0, 9'000) + "\n" + digest + "\n");
}

TEST(RelayLoadGolden, ResultsArePrintedAsRecorded) {
  relay_load::RelayLoadResult result{.members = 10,
                                     .not_let_in = 1,
                                     .joins = 12,
                                     .streams = 40,
                                     .stream_kbps = 512.4,
                                     .datagrams_in_per_s = 1000.6,
                                     .datagrams_out_per_s = 4000.4,
                                     .relay_cpu = 0.1234,
                                     .streams_per_core = 324,
                                     .datagrams_out_per_core_s = 32'418.7,
                                     .sound = {.p50 = 120us, .p99 = 1'234us, .p999 = 15ms},
                                     .wait_p50 = 64us,
                                     .wait_p99 = 1'024us,
                                     .resident_begin = 10'250'000,
                                     .resident_most = 20'350'000,
                                     .resident_end = 15'000'000};
  std::string golden = relay_load_text(result) + relay_load_json(result);
  result.hostile = {.datagrams_sent = 77,
                    .joins_begun = 5,
                    .calm = {.p50 = 1ms, .p99 = 2ms, .p999 = 3ms},
                    .attacked = {.p50 = 4ms, .p99 = 5ms, .p999 = {}},
                    .p99_growth = {.median = 1.25, .low = 0.9, .high = 1.5},
                    .frames_calm = 20ms,
                    .frames_attacked = 21ms,
                    .frames_growth = {.median = 1.05, .low = 1, .high = 1.1},
                    .pairs = 3,
                    .refused = {{"replayed", 4}, {"bad_handshake", 9}}};
  result.turn = {.sent = 100,
                 .delivered = 98,
                 .cpu = 0.5,
                 .datagrams_per_core_s = 16'000,
                 .p50 = 200us,
                 .p99 = 900us};
  golden += relay_load_text(result) + relay_load_json(result);
  expect_golden("relay_load", golden);
}

}  // namespace
}  // namespace cress::eval
