// Goal: plans give the same runs, and runs have the same names, as when this was recorded: a
// store's names must not change while its definitions do not.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "eval/sweep/digest.hh"
#include "eval/sweep/plan.hh"
#include "eval/sweep/progress_line.hh"
#include "eval/sweep/shard.hh"
#include "eval/sweep/store.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::sweep {
namespace {

std::string outcome_of_plan(const std::string& text) {
  const auto plan = parse_plan(text);
  if (!plan) {
    // The rest is the text of the library's version.
    const std::string& what = plan.error().what;
    return fmt::format("line {}: {}\n", plan.error().line, what.substr(0, what.find("TOML")));
  }
  std::string runs;
  for (size_t run = 0; run < plan->size(); ++run) {
    for (size_t key = 0; key < kKeyNames.size(); ++key) {
      if (const PlanValue* value = plan->value(run, static_cast<Key>(key))) {
        runs += fmt::format("{}={}{}{}@{} ", kKeyNames[key], value->text,
                            value->down.empty() ? "" : "<" + value->down,
                            value->up.empty() ? "" : ">" + value->up, value->line);
      }
    }
    runs += "\n";
  }
  return plan->size() <= 4 ? runs : fmt::format("{} runs {}\n", plan->size(), golden_digest(runs));
}

TEST(SweepGolden, PlansGiveTheRecordedRuns) {
  const std::string good = "scheme = \"cress\"\nlink = \"3g\"\n";
  std::string golden;
  for (const std::string& text : std::vector<std::string>{
           good,
           good + "seed = \"1..3\"",
           good + "seed = [1, \"4..5\", 18446744073709551]",
           good + "seed = \"7\"",
           good + "seed = \"3..3\"",
           good + "seed = \"1..10000\"",
           good + "seed = \"1..10001\"",
           good + "seed = \"..3\"",
           good + "seed = \"1...3\"",
           good + "seed = true",
           good + "seed = \"\"",
           good + "loss = [0, 0.05, 1e-7, 5]",
           good + "loss = inf",
           good + "loss = true",
           good + "delay = [\"20ms\", 1, 2.5]",
           good + "duration = [[1]]",
           good + "skip = \"10s\"\none_way = [true, false]\naudio = \"none\"\nvideo = 'a b'",
           good + "queue = [\"codel\", \"droptail:5\"]\nloss = [0.1, 0.2]",
           good + "queue = \"a\\u0000b\"",
           good + "one_way = \"true\"",
           "scheme = [\"a\", \"b\"]\nlink = [\"l\", {down = \"d\", up = \"u\"}]\nseed = [1, 2]",
           "scheme = \"a\"\nlink = {down = \"d\", up = \"u\", name = \"n\"}",
           "scheme = \"a\"\nlink = {up = \"u\"}",
           "scheme = \"a\"\nlink = {down = 1, up = \"u\"}",
           "scheme = \"a\"\nlink = 4",
           "scheme = \"a\"\nlink = []",
           good + "[[run]]\n[[run]]\nseed = 4\n[[run]]\nlink = [\"x\", \"y\"]\nloss = 0.5",
           "[[run]]\nscheme = \"a\"",
           "[[run]]\nlink = \"a\"",
           good + "run = 3",
           good + "run = []",
           good + "run = [1, 2]",
           good + "[[run]]\n[[run.run]]\nseed = 1",
           good + "sead = 1",
           good + "duratoin = 1",
           good + "xuratoinq = 1",
           good + "ab = 1",
           good + "verylongkeythatisnotoneoftheplanskeysandgoesonandon = 1",
           good + "scheme = 1",
           good + "x = ",
           good + "\n\n# comment [[[[[[[[[[[[[[[[[[[[\nqueue = \"[[[[[[[[[[[[[[[[[[[[[\"",
           good + "queue = '\\'\nloss = 0.1",
           good + "queue = \"\\\"[[[[[[[[[[[[[[[[[[[\"",

           good + "#" + std::string(kPlanLineBytesMax - 1, 'x'),
           good + "#" + std::string(kPlanLineBytesMax, 'x'),
           good + "#" + std::string(kPlanDotsOfALineMax, '.'),
           good + "#" + std::string(kPlanDotsOfALineMax + 1, '.'),
           "a = " + std::string(kPlanBracketDepthMax, '[') + std::string(kPlanBracketDepthMax, ']'),
           "a = " + std::string(kPlanBracketDepthMax + 1, '['),
           "a = [],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]",
           std::string(kPlanBytesMax, '\n'),
           std::string(kPlanBytesMax + 1, '\n'),
           good + "seed = \"1..10000\"\nloss = [0, 0.1, 0.2, 0.3, 0.4]",
           good + "seed = \"1..10000\"\nloss = [0, 0.1, 0.2, 0.3, 0.4]\n[[run]]\n[[run]]",
           good + "seed = [\"1..10000\", 4]",
       }) {
    golden += outcome_of_plan(text);
  }
  std::string tables = good;
  for (size_t i = 0; i < kPlanTablesMax; ++i) {
    tables += "[[run]]\n";
  }
  golden += outcome_of_plan(tables) + outcome_of_plan(tables + "[[run]]\n");
  expect_golden("plans", golden);
}

TEST(SweepGolden, NamesAreThoseRecorded) {
  std::string golden;
  Rng rng{2};
  for (const size_t length : {0U, 1U, 2U, 7U, 8U, 64U, 1000U}) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) {
      bytes += static_cast<char>(rng.below(256));
    }
    golden += Digest{}.add(bytes).hex() + " " + Digest{}.add(static_cast<int64_t>(length)).hex() +
              " " + RunDefinition{.program = "p", .what = bytes}.key() + "\n";
  }
  golden += Digest{}.hex() + " " + Digest{}.add(-1).hex() + " " + Digest{}.add("a").add("b").hex() +
            " " + Digest{}.add("ab").hex() + "\n";
  for (const char* text : {"1/1", "3/8", "8/8", "9/8", "0/8", "1/0", "1000000/1000000", "1/1000001",
                           "", "/", "1", "1/", "/2", "1/2/3", "-1/2", " 1/2", "1/2 "}) {
    try {
      const Shard shard = Shard::parse(text);
      golden += fmt::format("{}: {} of {}:", text, shard.number, shard.count);
      for (size_t run = 0; run < 20; ++run) {
        golden += shard.holds(run) ? fmt::format(" {}", run) : "";
      }
      golden += "\n";
    } catch (const std::invalid_argument& error) {
      golden += fmt::format("{}: {}\n", text, error.what());
    }
  }
  for (const char* text :
       {"", "plain", "a b", "it's", "a/b.c_d-e:=+,@%", "$HOME", "*", "'", "z'z"}) {
    golden += shell_word(text) + "\n";
  }
  expect_golden("names", golden);
}

TEST(SweepGolden, ProgressIsPrintedAsRecorded) {
  std::string golden;
  for (const bool is_terminal : {true, false}) {
    for (const size_t runs : {0U, 10U, 400U}) {
      ProgressLine line{{.runs = runs, .done_before = runs / 5, .is_terminal = is_terminal}};
      golden += line.clear() + "|";
      size_t done = runs / 5;
      for (Duration at{}; at < 30s; at += 100ms) {
        done += at.count() % 1'700'000'000 == 0 && done < runs ? 1 : 0;
        if (const auto said = line.poll(at, done, to_seconds(at % 3s) / 3)) {
          golden += fmt::format("{} {}\n", at / 1ms, golden_digest(*said));
          golden += at > 25s || at < 4s ? *said + "\n" : "";
        }
      }
      golden += line.clear() + "|\n";
    }
  }
  for (const double seconds : {0.0, 0.5, 1.4, 59.6, 99.4, 99.6, 150.0, 5969.0, 5971.0, 86'400.0}) {
    golden += time_in_words(from_seconds(seconds)) + "\n";
  }
  for (char& c : golden) {
    c = c == '\r' || c == '\033' ? '^' : c;
  }
  expect_golden("progress", golden);
}

}  // namespace
}  // namespace cress::sweep
