#include "traces/trace_formats.hh"

#include <gtest/gtest.h>

#include "traces/embedded_models.hh"
#include "traces/model_json.hh"
#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

std::string csv_error(std::string_view text) {
  const auto trace = parse_csv(text);
  return trace ? "no error" : std::to_string(trace.error().line) + ": " + trace.error().what;
}
std::string steps_error(std::string_view text) {
  const auto trace = parse_steps(text);
  return trace ? "no error" : std::to_string(trace.error().line) + ": " + trace.error().what;
}
std::string times_ms(const sim::DeliveryTrace& trace) { return sim::format_trace(trace); }

sim::DeliveryTrace random_trace(Rng& rng) {
  sim::DeliveryTrace trace;
  int64_t ms = 0;
  const uint64_t lines = 1 + rng.below(300);
  for (uint64_t i = 0; i < lines; ++i) {
    ms += rng.chance(0.3) ? 0 : static_cast<int64_t>(rng.below(400));
    trace.opportunities.push_back({std::chrono::milliseconds{ms}});
  }
  trace.opportunities.back().at = std::chrono::milliseconds{ms + 1};
  return trace;
}

TEST(TraceFormats, AreNamedAndGuessedByExtension) {
  EXPECT_EQ(format_named("steps"), TraceFormat::kSteps);
  EXPECT_EQ(format_named("Steps"), std::nullopt);
  for (const auto format : {TraceFormat::kMahimahi, TraceFormat::kCsv, TraceFormat::kSteps}) {
    EXPECT_EQ(format_named(name_of(format)), format);
  }
  EXPECT_EQ(format_of("a/b.csv"), TraceFormat::kCsv);
  EXPECT_EQ(format_of("b.steps"), TraceFormat::kSteps);
  EXPECT_EQ(format_of("b.down"), TraceFormat::kMahimahi);
}

// Property: a table of deliveries keeps every opportunity.
TEST(TraceFormats, CsvGivesTheTraceBack) {
  Rng rng{1};
  for (int round = 0; round < 500; ++round) {
    const sim::DeliveryTrace trace = random_trace(rng);
    const auto again = parse_csv(format_csv(trace));
    ASSERT_TRUE(again) << again.error().what;
    ASSERT_EQ(*again, trace) << "round " << round;
  }
}

// Property: steps keep the bytes of every interval, to one opportunity at its edge.
TEST(TraceFormats, StepsKeepTheBytesOfEachInterval) {
  Rng rng{2};
  for (int round = 0; round < 200; ++round) {
    const sim::DeliveryTrace trace = random_trace(rng);
    const auto again = parse_steps(format_steps(trace, 100ms));
    ASSERT_TRUE(again) << again.error().what;
    const TimePoint last{trace.period()};
    for (TimePoint to = kTimeZero; to < last; to += 100ms) {
      const int64_t had = trace.capacity(kTimeZero, to).bytes();
      const int64_t has = again->capacity(kTimeZero, to).bytes();
      ASSERT_LE(std::abs(had - has), sim::kOpportunitySize.bytes())
          << "round " << round << " at " << to_milliseconds(to) << " ms";
    }
    ASSERT_LE(again->period() - trace.period(), 100ms);
  }
}

TEST(TraceFormats, CsvCollectsBytesIntoOpportunities) {
  EXPECT_EQ(times_ms(*parse_csv("time_s,bytes\r\n0.001,1000\r\n0.002,1000\r\n\r\n1.5,4000\r\n")),
            "2\n1500\n1500\n1500\n");
  EXPECT_EQ(times_ms(*parse_csv("0.0106, 1500\n")), "11\n");
}

TEST(TraceFormats, StepsHoldUntilTheNextRowAndTheLastAsLongAsTheOneBefore) {
  // 12 kbit/s is an opportunity a second.
  EXPECT_EQ(times_ms(*parse_steps("0,12\n2,0\n4,12\n")), "1000\n2000\n5000\n6000\n");
  EXPECT_EQ(times_ms(*parse_steps("0,24\n")), "500\n1000\n");
  EXPECT_EQ(times_ms(*parse_steps("time_s,kbps\n0,12\n1,0\n")), "1000\n2000\n");
}

TEST(TraceFormats, ErrorsNameTheLineAndTheRemedy) {
  EXPECT_EQ(csv_error(""), "0: the table is empty; each row is time_s,bytes");
  EXPECT_EQ(csv_error("time_s,bytes\n"), "0: the table is empty; each row is time_s,bytes");
  EXPECT_EQ(csv_error("0,1500\nabc\n"), "2: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("a,b\nc,d\n"), "2: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("1;1500\n"), "1: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("1,nan\n"), "1: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("1,inf\n"), "1: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("1,1500,3\n"), "1: not two numbers; each row is time_s,bytes");
  EXPECT_EQ(csv_error("-1,1500\n"),
            "1: a time outside 0 to 604800 s; times are seconds from the start");
  EXPECT_EQ(csv_error("1e9,1500\n"),
            "1: a time outside 0 to 604800 s; times are seconds from the start");
  EXPECT_EQ(csv_error("1,-5\n"), "1: a negative or absurd amount; each row is time_s,bytes");
  EXPECT_EQ(csv_error("2,1500\n1,1500\n"),
            "2: a time not after the row before; sort the rows by time");
  EXPECT_EQ(csv_error("1,1e14\n"),
            "1: more than 50 million opportunities of 1500 bytes; check the unit or cut the table");
  EXPECT_EQ(csv_error("1,1400\n"),
            "0: less than one opportunity of 1500 bytes; nothing would ever leave the link");
  EXPECT_EQ(csv_error("0,1500\n"),
            "0: everything is delivered at time 0, so the trace cannot repeat; add a later row");
  EXPECT_EQ(steps_error("1,5\n1,6\n"), "2: a time not after the row before; sort the rows by time");
  EXPECT_EQ(steps_error("0,0\n"),
            "0: less than one opportunity of 1500 bytes; nothing would ever leave the link");
  EXPECT_EQ(steps_error("0,1e12\n"),
            "1: more than 50 million opportunities of 1500 bytes; check the unit or cut the table");
}

TEST(ModelJson, GivesEveryEmbeddedModelBack) {
  for (const EmbeddedModel& model : embedded_models()) {
    const auto again = parse_model(format_model(model.fitted));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, model.fitted);
  }
}

TEST(ModelJson, RejectsInvalidModelsWithOneSentence) {
  const std::string sound = format_model(embedded_models().front().fitted);
  const auto error_of = [](const std::string& text) {
    const auto model = parse_model(text);
    return model ? std::string{"no error"} : model.error();
  };
  const auto replaced = [&sound](std::string_view old, std::string_view fresh) {
    std::string text = sound;
    return text.replace(text.find(old), old.size(), fresh);
  };
  EXPECT_EQ(error_of(""), "not a JSON object; a model is what `cress-trace fit` writes");
  EXPECT_EQ(error_of("[1]"), "not a JSON object; a model is what `cress-trace fit` writes");
  EXPECT_EQ(error_of(sound.substr(0, sound.size() / 2)),
            "not a JSON object; a model is what `cress-trace fit` writes");
  EXPECT_EQ(error_of("{}"), "\"mean_kbps\" is missing or not a number");
  EXPECT_EQ(error_of(replaced("\"mean_kbps\": ", "\"mean_kbps\": \"x\", \"y\": ")),
            "\"mean_kbps\" is missing or not a number");
  EXPECT_EQ(error_of(replaced("{", "{\"extra\": 1,")),
            "has members that no link model has; `cress-trace fit` writes a sound one");
  EXPECT_EQ(error_of(replaced("\"mean_kbps\": ", "\"mean_kbps\": -")),
            "out of range: mean rate: 1 kbit/s to 1 Gbit/s");
  EXPECT_EQ(error_of(replaced("\"slow_time_s\": ", "\"slow_time_s\": 1e300, \"slow_time_s\": 1")),
            "no error");
}

}  // namespace
}  // namespace cress::traces
