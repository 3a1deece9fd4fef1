#include "traces/commands.hh"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "traces/links.hh"
#include "traces/model_json.hh"
#include "traces/trace_plot.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::traces {
namespace {

struct Outcome {
  int status = -1;
  std::string out;
  std::string messages;
};

/// Runs the real program, as a user at a shell would, in a folder of the test's own.
class TraceProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-trace-program" / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Outcome run(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.string() + "' && '" CRESS_BIN "/cress-trace' " +
                                arguments + " 2>messages.txt";
    FILE* pipe = ::popen(command.c_str(), "r");
    Outcome outcome;
    std::array<char, 4096> buffer{};
    for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      outcome.out.append(buffer.data(), got);
    }
    const int status = ::pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.messages = read("messages.txt");
    return outcome;
  }
  /// The run failed correctly: exit 2, nothing printed, one line with the reason.
  void expect_refused(const std::string& arguments, const std::string& why) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << '\n' << outcome.messages;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.messages.starts_with("cress-trace: ")) << outcome.messages;
    EXPECT_EQ(std::count(outcome.messages.begin(), outcome.messages.end(), '\n'), 1)
        << outcome.messages;
    EXPECT_NE(outcome.messages.find(why), std::string::npos) << outcome.messages;
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream{folder_ / name, std::ios::binary} << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file{folder_ / name, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

  std::filesystem::path folder_;
};

TEST_F(TraceProgram, HelpShowsExamplesAndVersionIsOneLine) {
  const Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"generate", "fit", "stat", "convert", "Examples:", "Exit status"}) {
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(run("generate --help").status, 0);
  EXPECT_EQ(run("--version").out, "cress-trace " CRESS_VERSION "\n");
}

TEST_F(TraceProgram, GeneratesTheEmbeddedTraceByItsName) {
  const Outcome outcome = run("generate --link 3g --direction up -o a.up");
  EXPECT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(read("a.up"), sim::format_trace(embedded_trace("3g", Direction::kUp)));
  EXPECT_NE(outcome.messages.find("a.up: "), std::string::npos);
}

TEST_F(TraceProgram, SameSeedSameBytesOtherSeedOthers) {
  EXPECT_EQ(run("generate --link wifi --seconds 5 --seed 1 -o a").status, 0);
  EXPECT_EQ(run("generate --link wifi --seconds 5 --seed 1 -o b").status, 0);
  EXPECT_EQ(run("generate --link wifi --seconds 5 --seed 2 -o c").status, 0);
  EXPECT_EQ(read("a"), read("b"));
  EXPECT_NE(read("a"), read("c"));
}

TEST_F(TraceProgram, AFittedModelGeneratesATraceLikeTheFirst) {
  ASSERT_EQ(run("generate --link lte-slow --seconds 300 -o a.down").status, 0);
  ASSERT_EQ(run("fit a.down -o model.json").status, 0);
  const auto model = parse_model(read("model.json"));
  ASSERT_TRUE(model) << model.error();
  EXPECT_EQ(run("fit a.down").out, read("model.json"));
  ASSERT_EQ(run("generate --model model.json --seconds 3600 -o b.down").status, 0);
  const double first =
      statistics(sim::load_trace(folder_ / "a.down")).mean_rate.kilobits_per_second();
  const double again =
      statistics(sim::load_trace(folder_ / "b.down")).mean_rate.kilobits_per_second();
  EXPECT_NEAR(again / first, 1, 0.2);
}

TEST_F(TraceProgram, StatPrintsTheSameNumbersAsWordsAndAsJson) {
  write("a.down", "0\n10\n20\n1020\n2000\n");
  const Outcome words = run("stat a.down");
  EXPECT_EQ(words.status, 0);
  EXPECT_NE(words.out.find("5 of 1500 bytes"), std::string::npos) << words.out;
  EXPECT_NE(words.out.find("2 silences over 200 ms: 99.00 % of the time"), std::string::npos);
  EXPECT_NE(words.out.find('#'), std::string::npos);
  const auto json = nlohmann::json::parse(run("stat --json a.down").out);
  EXPECT_EQ(json["opportunities"], 5);
  EXPECT_EQ(json["length_s"], 2.0);
  EXPECT_EQ(json["mean_kbps"], 30.0);
  EXPECT_EQ(json["outages"], 2);
  EXPECT_EQ(json["outage_share"], 0.99);
  EXPECT_EQ(json["interarrival_ms_p50"], 10);
  EXPECT_EQ(json["interarrival_ms_max"], 1000);
  EXPECT_TRUE(json["tail_exponent"].is_null());
}

TEST_F(TraceProgram, StatReportsATraceShorterThanASecond) {
  write("a.down", "1\n");
  EXPECT_NE(run("stat a.down").out.find("shorter than a second"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(run("stat --json a.down").out)["rate_1s_kbps_p50"].is_null());
}

TEST_F(TraceProgram, PlotIsAWholeSvgEvenOfTheOddestTraces) {
  write("one<&>.down", "1\n");
  write("same.down", "5\n5\n5\n");
  write("long.down", "0\n604800000\n");
  for (const std::string name : {"one<&>", "same", "long"}) {
    ASSERT_EQ(run(std::string{"stat '"}
                      .append(name)
                      .append(".down' --plot '")
                      .append(name)
                      .append(".svg'"))
                  .status,
              0)
        << name;
    const std::string svg = read(name + ".svg");
    EXPECT_TRUE(svg.starts_with("<svg ")) << name;
    EXPECT_TRUE(svg.ends_with("</svg>\n")) << name;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << name;
  }
  EXPECT_NE(read("one<&>.svg").find("one&lt;&amp;&gt;.down"), std::string::npos);
}

TEST_F(TraceProgram, PlotShowsBothPanelsWithAxesAndTheTail) {
  const std::string svg = plot_svg(embedded_trace("outages", Direction::kDown), "outages");
  for (const char* words :
       {"Interarrival times", "Rate over time", "time between opportunities (ms)", "rate (Mbit/s)",
        "time (s)", "stroke-dasharray"}) {
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  }
}

TEST_F(TraceProgram, ConvertsThroughEveryFormatAndBack) {
  ASSERT_EQ(run("generate --link lte-fast --seconds 10 -o a.down").status, 0);
  ASSERT_EQ(run("convert a.down a.csv").status, 0);
  EXPECT_TRUE(read("a.csv").starts_with("time_s,bytes\n"));
  ASSERT_EQ(run("convert a.csv b.down").status, 0);
  EXPECT_EQ(read("a.down"), read("b.down"));
  ASSERT_EQ(run("convert a.down a.txt --to steps --interval 500ms").status, 0);
  EXPECT_TRUE(read("a.txt").starts_with("time_s,kbps\n0.000,"));
  ASSERT_EQ(run("convert a.txt c.down --from steps").status, 0);
  const auto lines = [](const std::string& text) {
    return static_cast<double>(std::count(text.begin(), text.end(), '\n'));
  };
  EXPECT_NEAR(lines(read("c.down")), lines(read("a.down")), 1);
}

TEST_F(TraceProgram, OutputIsAsRecorded) {
  std::string golden;
  for (const std::string arguments :
       {"--help", "generate --help", "fit --help", "stat --help", "convert --help",
        "generate --link outages --direction up --seconds 30 --seed 5 -o a.up",
        "generate --link wifi --seconds 12.3456 -o b.down", "generate --link 3g -o c.steps",
        "stat a.up --plot a.svg", "stat b.down", "stat c.steps", "stat a.up --json",
        "convert a.up a.csv", "convert a.up a2.csv --to steps",
        "convert b.down b.steps --interval 1.5s", "convert a2.csv again --from steps",
        "stat again --json"}) {
    const Outcome outcome = run(arguments);
    golden += "$ " + arguments + "\n";
    golden += arguments.ends_with("--help") ? golden_digest(outcome.out) + "\n" : outcome.out;
    golden += outcome.messages;
  }
  for (const char* name :
       {"a.up", "b.down", "c.steps", "a.svg", "a.csv", "a2.csv", "b.steps", "again"}) {
    golden += std::string{name} + " " + golden_digest(read(name)) + "\n";
  }
  expect_golden("program", golden);
}

TEST_F(TraceProgram, NumbersAreAcceptedUpToTheirLimits) {
  write("a.down", "1\n20\n");
  for (const char* arguments :
       {"generate --link 3g -o b --seconds 0.001", "generate --link 3g -o b --seed 0 --seconds 1",
        "generate --link 3g -o b --seed 18446744073709551615 --seconds 1",
        "convert a.down b --to steps --interval 1ms",
        "convert a.down b --to steps --interval 1h"}) {
    EXPECT_EQ(run(arguments).status, 0) << arguments;
  }
  expect_refused("generate --link 3g -o c --seconds 0.0009", "from 0.001 to 604800");
  expect_refused("generate --link 3g -o c --seconds 604800.1", "from 0.001 to 604800");
  expect_refused("generate --link 3g -o c --seed 18446744073709551616", "2^64 - 1");
  expect_refused("generate --link 3g -o c --seed 1x", "not a whole number");
  expect_refused("convert a.down c --to steps --interval 0.9ms", "from 1ms to 1h");
  expect_refused("convert a.down c --to steps --interval 3600.1s", "from 1ms to 1h");
}

TEST_F(TraceProgram, AModelFileMayHaveAMillionBytes) {
  std::string model = format_model(embedded_model("3g", Direction::kDown));
  model.resize(1'000'000, ' ');
  write("a.json", model);
  write("b.json", model + " ");
  EXPECT_EQ(run("generate --model a.json --seconds 1 -o a.down").status, 0);
  EXPECT_EQ(run("generate --model a.json --seconds 1 --seed 1 -o b.down").status, 0);
  EXPECT_EQ(read("a.down"), read("b.down")) << "a model's own seed is 1";
  expect_refused("generate --model b.json --seconds 1 -o c.down", "b.json: ");
}

TEST_F(TraceProgram, RefusesBadArgumentsInOneLine) {
  expect_refused("", "A subcommand is required");
  expect_refused("fly", "no command \"fly\"; there are generate, fit, stat, convert, saturate");
  expect_refused("generate -o a", "--link or --model");
  expect_refused("generate --link 3g", "--output");
  expect_refused("generate --link 5g -o a", "no embedded link is called \"5g\"");
  expect_refused("generate --link 3g --model m.json -o a", "excludes");
  expect_refused("generate --link 3g --direction sideways -o a", "sideways");
  expect_refused("generate --link 3g --seconds 0 -o a", "--seconds");
  expect_refused("generate --link 3g --seconds nan -o a", "--seconds");
  expect_refused("generate --link 3g --seconds 1e9 -o a", "--seconds");
  expect_refused("generate --link 3g --seed -1 -o a", "--seed");
  expect_refused("generate --link 3g --seed 99999999999999999999 -o a", "--seed");
  expect_refused("generate --link 3g --seed 1.5 -o a", "--seed");
  expect_refused("convert a b --to steps --interval nan", "--interval");
  expect_refused("generate --link wifi --seconds 604800 -o a", "more than 50000000 lines");
  expect_refused("stat", "FILE is required");
  expect_refused("convert a b --to xml", "--to");
  EXPECT_FALSE(exists("a"));
}

TEST_F(TraceProgram, RefusesBadTracesNamingFileAndLine) {
  write("empty", "");
  write("words", "1\nabc\n");
  write("backwards", "5\n3\n");
  write("negative", "-5\n");
  write("huge", "99999999999999999999\n");
  write("zero", "0\n");
  write("binary", std::string_view{"\x7f"
                                   "ELF\0\1\2\n1\n",
                                   10});
  write("truncated", "1\n2\n3-");
  struct Bad {
    std::string file;
    std::string why;
  };
  const std::array bads{
      Bad{"empty", "empty: the trace is empty; "},
      Bad{"words", "words:2: not a number of milliseconds (\"abc\"); "},
      Bad{"backwards", "backwards:2: a time earlier than the line before"},
      Bad{"negative", "negative:1: a time before the trace's start"},
      Bad{"huge", "huge:1: a time beyond seven days"},
      Bad{"zero", "zero: every time is 0"},
      Bad{"binary", "binary:1: not a number"},
      Bad{"truncated", "truncated:3: not a number"},
      Bad{"missing", "missing: cannot be opened: No such file"},
      Bad{".", ".: cannot be read: Is a directory"},
  };
  for (const Bad& bad : bads) {
    expect_refused("stat " + bad.file, bad.why);
    expect_refused("fit " + bad.file, bad.why);
    expect_refused(std::string{"convert --to csv "}.append(bad.file).append(" out"), bad.why);
  }
  write("bad.csv", "0,1\n1,x\n");
  expect_refused("stat bad.csv", "bad.csv:2: not two numbers; each row is time_s,bytes");
  write("bad.json", "{\"mean_kbps\": 5}");
  expect_refused("generate --model bad.json -o out", "bad.json: \"rate_max_kbps\" is missing");
  write("single", "7\n");
  expect_refused("fit single", "a single opportunity says nothing");
  EXPECT_FALSE(exists("out"));
}

TEST_F(TraceProgram, LeavesNothingHalfWrittenBehind) {
  write("a.down", "1\n2\n");
  expect_refused("convert a.down no/such/b.csv", "no/such/b.csv: cannot be written");
  expect_refused("generate --link 3g -o no/such/b", "no/such/b: cannot be written");
  expect_refused("stat a.down --plot no/such/b.svg", "no/such/b.svg: cannot be written");
  expect_refused("convert a.down . --to csv", ".: cannot be written");
  if (std::filesystem::is_character_file("/dev/full")) {
    expect_refused("generate --link 3g -o /dev/full", "No space left on device");
    const Outcome outcome = run("stat a.down > /dev/full");
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.messages, "cress-trace: standard output cannot be written\n");
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder_}) {
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
  }
}

TEST_F(TraceProgram, WritesToAPipeWhenAskedTo) {
  EXPECT_EQ(run("generate --link 3g --seconds 2 -o /dev/stdout").out,
            sim::format_trace(generate(embedded_model("3g", Direction::kDown), 2s,
                                       embedded_seed("3g", Direction::kDown))));
}

// Two opportunities are enough to fit. Method: the command in this process, with a stream in place
// of the terminal.
TEST_F(TraceProgram, ShowsProgressOnATerminalOnlyAndWipesIt) {
  write("a.down", "1\n20\n");
  for (const bool terminal : {true, false}) {
    std::ostringstream out;
    std::ostringstream messages;
    const std::string input = (folder_ / "a.down").string();
    EXPECT_EQ(run_cress_trace({"fit", input}, {out, messages, terminal}), 0);
    EXPECT_EQ(messages.str().find("fitting [") != std::string::npos, terminal);
    EXPECT_EQ(messages.str().ends_with("\r\033[K"), terminal);
    EXPECT_EQ(messages.str().find("\rfitting [#####.........................] 18 %\r") !=
                  std::string::npos,
              terminal);
    EXPECT_EQ(messages.str().empty(), !terminal);
  }
}

}  // namespace
}  // namespace cress::traces
