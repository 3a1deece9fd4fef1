// Goal: results of different experiments are never compared, and those of the same always are,
// whatever tool wrote them last. Method: records as `run` writes them, changed in one respect.
#include "eval/compare/run_record.hh"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

#include "eval/compare/compare.hh"
#include "transport/base/rng.hh"

namespace cress::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRows = R"([
  {"scheme": "cress", "link": "3g", "direction": "forward", "seed": 1, "window_s": [10.0, 60.0],
   "delay95_ms": 103.5, "ssim_db": null, "packets_lost": 0},
  {"scheme": "cress", "link": "3g", "direction": "reverse", "seed": 1, "window_s": [10.0, 60.0],
   "delay95_ms": 90.25, "ssim_db": 14.125, "packets_lost": 7}
])";

Experiment call() {
  return {"3g",
          {{"duration_s", 60.0},
           {"skip_s", 10.0},
           {"delay_ms", 20.0},
           {"loss", 0.0},
           {"queue", "infinite"},
           {"video", "clips/talk.y4m"},
           {"audio", "synthetic"},
           {"one_way", false}},
          {{"down", {{"embedded", "3g"}, {"digest", "d0"}}},
           {"up", {{"embedded", "3g"}, {"digest", "u0"}}},
           {"video", {{"file", "clips/talk.y4m"}, {"digest", "v0"}}},
           {"audio", {{"name", "synthetic"}}}}};
}

RunRecord record_of(std::vector<Experiment> experiments) {
  return {.program = "cress-eval 1",
          .commit = "unknown",
          .command = "run",
          .experiments = std::move(experiments)};
}

/// As read from a folder whose results.json is `rows`.
RecordedResults recorded(const std::vector<Experiment>& experiments,
                         const std::string& rows = kRows) {
  auto record = parse_record(record_json(record_of(experiments), rows));
  EXPECT_TRUE(record) << (record ? "" : record.error().what);
  auto results = report::parse_results(rows);
  EXPECT_TRUE(results);
  return {std::move(record).value(), std::move(results).value()};
}

/// The error that refuses the comparison; empty: none.
std::string refusal(RecordedResults a, RecordedResults b, bool allow_missing = false) {
  try {
    match_experiments(a, b, allow_missing);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

std::string refusal(const Experiment& a, const Experiment& b) {
  return refusal(recorded({a}), recorded({b}));
}

TEST(RunRecord, DifferentExperimentsAreRefusedByOptionBothWays) {
  const struct {
    const char* says;
    const char* old_value;
    const char* new_value;
    std::function<void(Experiment&)> change;
  } cases[] = {
      {"--duration", "60s", "20s", [](Experiment& e) { e.options["duration_s"] = 20; }},
      {"--skip", "10s", "5.5s", [](Experiment& e) { e.options["skip_s"] = 5.5; }},
      {"--delay", "20ms", "100ms", [](Experiment& e) { e.options["delay_ms"] = 100; }},
      {"--loss", "0", "0.05", [](Experiment& e) { e.options["loss"] = 0.05; }},
      {"--queue", "infinite", "codel", [](Experiment& e) { e.options["queue"] = "codel"; }},
      {"--video", "talk.y4m", "synthetic:320x180@15",
       [](Experiment& e) {
         e.options["video"] = "synthetic:320x180@15";
         e.inputs["video"] = {{"name", "synthetic:320x180@15"}};
       }},
      {"--video", "v0", "v1", [](Experiment& e) { e.inputs["video"]["digest"] = "v1"; }},
      {"--audio", "synthetic", "none", [](Experiment& e) { e.options["audio"] = "none"; }},
      {"--one-way", "false", "true", [](Experiment& e) { e.options["one_way"] = true; }},
      {"--down", "d0", "d1", [](Experiment& e) { e.inputs["down"]["digest"] = "d1"; }},
      {"--up", "u0", "u1", [](Experiment& e) { e.inputs["up"]["digest"] = "u1"; }},
      {"--frame-rate", "not given", "15", [](Experiment& e) { e.options["frame_rate"] = 15; }},
      {"--video", "talk.y4m", "not given",
       [](Experiment& e) {
         for (const char* name : {"video", "audio", "one_way"}) {
           e.options.erase(name);
         }
       }},
  };
  for (const auto& c : cases) {
    Experiment other = call();
    c.change(other);
    const std::string forth = refusal(call(), other);
    const std::string back = refusal(other, call());
    const auto expect = [&](const std::string& text, const char* a, const char* b) {
      const size_t option = text.find(c.says);
      const size_t first = text.find(a, option);
      ASSERT_NE(option, std::string::npos) << c.says << ": " << text;
      ASSERT_NE(first, std::string::npos) << a << ": " << text;
      EXPECT_LT(first, text.find(" in A")) << text;
      EXPECT_NE(text.find(b, text.find(" in A")), std::string::npos) << b << ": " << text;
      EXPECT_TRUE(text.ends_with(" in B")) << text;
    };
    expect(forth, c.old_value, c.new_value);
    expect(back, c.new_value, c.old_value);
  }
  Experiment shorter = call();
  shorter.options["duration_s"] = 20.0;
  shorter.options["skip_s"] = 5.0;  // derived from the duration, which the user gave
  EXPECT_EQ(refusal(shorter, call()),
            "the experiments differ: --duration is 20s in A and 60s in B");
}

TEST(RunRecord, OtherLinksAreRefusedByName) {
  Experiment other = call();
  other.link = "lte";
  std::string rows = kRows;
  for (size_t at = rows.find("3g"); at != std::string::npos; at = rows.find("3g")) {
    rows.replace(at, 2, "lte");
  }
  EXPECT_EQ(refusal(recorded({call()}), recorded({other}, rows)),
            "the experiments differ: --link is 3g in A and lte in B");
}

TEST(RunRecord, FileIsIdentifiedByItsBytesNotItsPath) {
  Experiment moved = call();
  moved.options["video"] = "/elsewhere/copy.y4m";
  moved.inputs["video"]["file"] = "/elsewhere/copy.y4m";
  moved.inputs["down"] = {{"file", "my.down"}, {"digest", "d0"}};
  RecordedResults a = recorded({call()});
  RecordedResults b = recorded({moved});
  match_experiments(a, b, false);
  EXPECT_EQ(count(compare(a.results, b.results, {}), Verdict::kSame), 3U);
}

TEST(RunRecord, OneSidedExperimentsAreLeftToTheRows) {
  Experiment lossy = call();
  lossy.options["loss"] = 0.05;
  Experiment lossier = call();
  lossier.options["loss"] = 0.1;
  const auto row = [](double loss, double delay) {
    Experiment e = call();
    e.options["loss"] = loss;
    return Json{{"scheme", "cress"},  {"link", "3g"},        {"direction", "forward"}, {"seed", 1},
                {"window_s", {0, 1}}, {"delay95_ms", delay}, {"options", e.options}};
  };
  const RecordedResults one = recorded({call()}, Json::array({row(0, 100)}).dump());
  const RecordedResults two =
      recorded({call(), lossy}, Json::array({row(0, 100), row(0.05, 100)}).dump());
  const RecordedResults third =
      recorded({call(), lossier}, Json::array({row(0, 200), row(0.1, 100)}).dump());
  EXPECT_EQ(refusal(one, two), "");
  EXPECT_EQ(refusal(two, one), "");
  EXPECT_EQ(refusal(two, third), "the experiments differ: --loss is 0.05 in A and 0.1 in B");
  RecordedResults a = two;
  RecordedResults b = third;
  match_experiments(a, b, true);
  const Comparison comparison =
      compare(a.results, b.results, {.noise = {}, .allow_missing = true, .pairs = {}});
  EXPECT_EQ(comparison.missing.size(), 2U);
  ASSERT_EQ(comparison.changes.size(), 1U);
  EXPECT_EQ(comparison.changes.front().after.mean, 200);
  EXPECT_NE(refusal(recorded({lossy}), recorded({lossier}), true), "") << "none in common";
  // The same name for different bytes is never ignored silently.
  Experiment replaced = call();
  replaced.inputs["up"]["digest"] = "u1";
  const RecordedResults mixed =
      recorded({replaced, lossy}, Json::array({row(0, 100), row(0.05, 100)}).dump());
  EXPECT_NE(refusal(two, mixed, true).find("--up"), std::string::npos);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// As other JSON tools write the same values.
std::vector<std::string> rewritten(const std::string& text) {
  const Json json = Json::parse(text);
  const nlohmann::json sorted = json;
  std::vector<std::string> all{json.dump(),
                               sorted.dump(4),
                               sorted.dump(1, '\t'),
                               text + "\n\n",
                               replaced(text, "\n", "\r\n"),
                               "\xEF\xBB\xBF" + text,
                               replaced(text, "60.0", "60"),
                               replaced(text, "60.0", "6e1"),
                               replaced(text, "10.0", "1.0E+1"),
                               replaced(text, "\"3g\"", "\"\\u0033g\""),
                               replaced(text, "103.5", "103.50000000000001"),
                               replaced(text, " 0,", " -0.0,"),
                               replaced(text, "\": ", "\":")};
  if (json.is_array()) {
    Json turned = json;
    std::reverse(turned.begin(), turned.end());
    all.push_back(turned.dump(2));
    all.push_back(replaced(text, "\"seed\": 1", "\"seed\": 1.0"));
  }
  return all;
}

TEST(RunRecord, EqualValuesInAnotherSpellingAreEqual) {
  const std::string record = record_json(record_of({call()}), kRows);
  const auto original = recorded({call()});
  for (const std::string& rows : rewritten(kRows)) {
    for (const std::string& json : {record, rewritten(record).at(1)}) {
      auto parsed = parse_record(json);
      auto results = report::parse_results(rows);
      ASSERT_TRUE(parsed && results) << rows;
      RecordedResults b{std::move(parsed).value(), std::move(results).value()};
      EXPECT_NO_THROW(check_belongs(b)) << rows;
      EXPECT_TRUE(has_values_of(b.record, rows)) << rows;
      RecordedResults a = original;
      EXPECT_NO_THROW(match_experiments(a, b, false)) << rows;
      const Comparison comparison = compare(a.results, b.results, {.noise = parse_noise("none")});
      EXPECT_EQ(comparison.changes.size(), 3U) << rows;
      EXPECT_EQ(count(comparison, Verdict::kWorse), 0U) << rows;
    }
  }
  for (const std::string& json : rewritten(record)) {
    auto parsed = parse_record(json);
    ASSERT_TRUE(parsed) << json;
    RecordedResults b{std::move(parsed).value(), original.results};
    EXPECT_TRUE(has_values_of(b.record, kRows)) << json;
    EXPECT_EQ(refusal(original, b), "") << json;
  }
}

TEST(RunRecord, ResultsOfAnotherRunAreNotItsOwn) {
  const std::string rows = kRows;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"103.5", "103.6"},
                                                        {"null", "1"},
                                                        {"null", "0"},
                                                        {"\"seed\": 1", "\"seed\": 2"},
                                                        {"60.0", "20.0"},
                                                        {"reverse", "forward"},
                                                        {"\"cress\"", "\"cubic\""},
                                                        {"\"3g\"", "\"lte\""}}) {
    const std::string other = replaced(rows, from, to);
    ASSERT_NE(other, rows) << from;
    EXPECT_FALSE(has_values_of(recorded({call()}).record, other)) << from;
  }
  RecordedResults edited = recorded({call()});
  EXPECT_TRUE(has_values_of(edited.record, kRows));
  edited.record.experiments.front().options["queue"] = "codel";
  EXPECT_FALSE(has_values_of(edited.record, kRows)) << "an option changed by hand";
}

TEST(RunRecord, ARowWithoutItsExperimentIsRefused) {
  Experiment elsewhere = call();
  elsewhere.link = "lte";
  EXPECT_THROW(check_belongs(recorded({elsewhere})), std::invalid_argument);
  Experiment lossy = call();
  lossy.options["loss"] = 0.05;
  // Two experiments over the link, and rows that do not say to which they belong.
  EXPECT_THROW(check_belongs(recorded({call(), lossy})), std::invalid_argument);
  const std::string other_options =
      replaced(kRows, "\"seed\"", "\"options\": {\"loss\": 3}, \"seed\"");
  EXPECT_THROW(check_belongs(recorded({call()}, other_options)), std::invalid_argument);
}

TEST(RunRecord, KeepsItsContents) {
  RunRecord record = record_of({call()});
  record.not_compared = {{"seed", 7}};
  record.commit = "abc-modified";
  const auto parsed = parse_record(record_json(record, kRows));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->program, "cress-eval 1");
  EXPECT_EQ(parsed->commit, "abc-modified");
  EXPECT_EQ(parsed->command, "run");
  EXPECT_EQ(parsed->not_compared, record.not_compared);
  EXPECT_EQ(parsed->digest, digest_of({call()}, kRows));
  ASSERT_EQ(parsed->experiments.size(), 1U);
  EXPECT_EQ(parsed->experiments[0].link, "3g");
  EXPECT_EQ(parsed->experiments[0].options, call().options);
  EXPECT_EQ(parsed->experiments[0].inputs, call().inputs);
}

std::string error_of(const std::string& text) {
  const auto parsed = parse_record(text);
  return parsed ? "" : parsed.error().what;
}

TEST(RunRecord, BrokenPartIsNamed) {
  const Json whole = Json::parse(record_json(record_of({call()}), kRows));
  for (const char* name : {"program", "commit", "command", "digest"}) {
    Json broken = whole;
    broken[name] = 5;
    EXPECT_EQ(error_of(broken.dump()), fmt::format("\"{}\" must be a string", name));
    broken.erase(name);
    EXPECT_EQ(error_of(broken.dump()), fmt::format("\"{}\" must be a string", name));
  }
  for (const char* name : {"options", "inputs"}) {
    Json broken = whole;
    broken["experiments"][0][name] = "x";
    EXPECT_EQ(error_of(broken.dump()), fmt::format("experiment 1 \"{}\" must be an object", name));
  }
  Json broken = whole;
  broken["experiments"].push_back(broken["experiments"][0]);
  EXPECT_EQ(error_of(broken.dump()), "experiment 2 is there twice");
  broken["experiments"][1] = 5;
  EXPECT_EQ(error_of(broken.dump()), "experiment 2 is not an object");
  for (const Json& list : {Json::array(), Json{}, Json{"x"}.at(0)}) {
    broken["experiments"] = list;
    EXPECT_EQ(error_of(broken.dump()), "\"experiments\" must be a list of 1 to 50000");
  }
  EXPECT_EQ(error_of("[]"), "must be an object");
  EXPECT_EQ(error_of(std::string(100'000, '[')), "is not JSON");
  EXPECT_EQ(error_of(std::string(100'000, '[') + std::string(100'000, ']')),
            "is nested too deeply");
  EXPECT_EQ(error_of("{\"program\": 1e999}"), "holds a number that is out of range");
  const auto third_line = parse_record("{\n\n\"program\" 5}");
  ASSERT_FALSE(third_line);
  EXPECT_EQ(third_line.error().line, 3U);
}

TEST(RunRecord, AnyDamageGivesARecordOrAnError) {
  Rng rng{5};
  const std::string whole = record_json(record_of({call()}), kRows);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (uint64_t damage = 1 + rng.below(4); damage > 0; --damage) {
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    }
    if (rng.chance(0.3)) {
      text.resize(rng.below(text.size()) + 1);
    }
    auto parsed = parse_record(text);
    if (!parsed) {
      EXPECT_FALSE(parsed.error().what.empty());
      ++refused;
      continue;
    }
    RecordedResults damaged = recorded({call()});
    damaged.record = std::move(parsed).value();
    try {
      check_belongs(damaged);
      refusal(recorded({call()}), damaged);
    } catch (const std::invalid_argument&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST(RunRecord, OptionsAreTheSameInOtherNumbersAndOrder) {
  EXPECT_EQ(normal_options(R"({"loss":0,"duration_s":60})"),
            normal_options(R"({ "duration_s": 6e1, "loss": 0.0 })"));
  EXPECT_NE(normal_options(R"({"loss":0})"), normal_options(R"({"loss":0.1})"));
  EXPECT_EQ(normal_options("of another kind"), "of another kind");
}

}  // namespace
}  // namespace cress::compare
