#include "transport/sim/trace.hh"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::sim {
namespace {

using Kind = TraceError::Kind;
using std::chrono::milliseconds;

/// A folder of this test's own, emptied when the test ends.
class TraceFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-trace-files" / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream{file(name), std::ios::binary} << text;
    return file(name);
  }

 private:
  std::filesystem::path folder_;
};

DeliveryTrace trace_at(std::initializer_list<int> times_ms) {
  DeliveryTrace trace;
  for (const int ms : times_ms) {
    trace.opportunities.push_back({milliseconds{ms}});
  }
  return trace;
}

DeliveryTrace random_trace(Rng& rng) {
  DeliveryTrace trace;
  const uint64_t lines = 1 + rng.below(200);
  // From all in one millisecond to gaps of an hour, so that every width of number is met.
  const uint64_t gap_ms_max = uint64_t{1} << rng.below(22);
  Duration at{};
  for (uint64_t i = 0; i < lines; ++i) {
    at = std::min<Duration>(at + milliseconds{rng.below(gap_ms_max + 1)}, kTraceLengthMax);
    trace.opportunities.push_back({at});
  }
  trace.opportunities.back().at = std::max<Duration>(at, milliseconds{1});
  return trace;
}

TraceError error_of(std::string_view text) {
  const auto result = parse_trace(text);
  return result ? TraceError{Kind::kEmpty, 999'999} : result.error();
}

std::string message_of_loading(const std::filesystem::path& path) {
  try {
    load_trace(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

// Property: the two directions of the format are inverses.
TEST(Trace, ParseOfFormatGivesTheTraceBack) {
  Rng rng{1};
  for (int round = 0; round < 2000; ++round) {
    const DeliveryTrace trace = random_trace(rng);
    const auto again = parse_trace(format_trace(trace));
    ASSERT_TRUE(again) << "round " << round << ": " << describe(again.error());
    ASSERT_EQ(*again, trace) << "round " << round;
  }
}

// Property: any bytes give a valid trace or one error whose line exists.
TEST(Trace, AnyBytesGiveAValidTraceOrOneError) {
  Rng rng{2};
  const std::string_view alphabet = "0123456789\n\n\n\r- .x\0";
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const uint64_t length = rng.below(24);
    for (uint64_t i = 0; i < length; ++i) {
      text += rng.chance(0.05) ? static_cast<char>(rng.below(256))
                               : alphabet[rng.below(alphabet.size())];
    }
    const auto result = parse_trace(text);
    if (!result) {
      const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
      ASSERT_LE(result.error().line, lines);
      ASSERT_FALSE(describe(result.error()).empty());
      continue;
    }
    ++accepted;
    ASSERT_FALSE(result->opportunities.empty());
    ASSERT_TRUE(std::is_sorted(result->opportunities.begin(), result->opportunities.end()));
    ASSERT_GT(result->period(), Duration::zero());
    ASSERT_LE(result->period(), kTraceLengthMax);
  }
  EXPECT_GT(accepted, 1000);
}

TEST(Trace, FormatFloorsToWholeMilliseconds) {
  DeliveryTrace trace;
  trace.opportunities = {{1'999'999ns}, {2ms}, {2'000'001ns}};
  EXPECT_EQ(format_trace(trace), "1\n2\n2\n");
}

TEST(Trace, ReadsCarriageReturnsBlankLinesAndAMissingLastBreak) {
  EXPECT_EQ(*parse_trace("0\r\n5\r\n\r\n5\r\n17\r\n"), trace_at({0, 5, 5, 17}));
  EXPECT_EQ(*parse_trace("\n\n0\n\n5\n"), trace_at({0, 5}));
  EXPECT_EQ(*parse_trace("0\n5\n17"), trace_at({0, 5, 17}));
  EXPECT_EQ(*parse_trace("007\n"), trace_at({7}));
}

TEST(Trace, NamesEachErrorAndItsLine) {
  EXPECT_EQ(error_of(""), (TraceError{Kind::kEmpty, 0}));
  EXPECT_EQ(error_of("\n\r\n\n"), (TraceError{Kind::kEmpty, 0}));
  EXPECT_EQ(error_of("0\n0\n"), (TraceError{Kind::kZeroPeriod, 0}));
  EXPECT_EQ(error_of("1\n2\nabc\n"), (TraceError{Kind::kNotANumber, 3}));
  EXPECT_EQ(error_of("1\n\n2.5\n"), (TraceError{Kind::kNotANumber, 3}));
  EXPECT_EQ(error_of("1 \n"), (TraceError{Kind::kNotANumber, 1}));
  EXPECT_EQ(error_of("+1\n"), (TraceError{Kind::kNotANumber, 1}));
  EXPECT_EQ(error_of("0x10\n"), (TraceError{Kind::kNotANumber, 1}));
  EXPECT_EQ(error_of("1\r2\n"), (TraceError{Kind::kNotANumber, 1}));
  EXPECT_EQ(error_of("-\n"), (TraceError{Kind::kNotANumber, 1}));
  EXPECT_EQ(error_of("5\n-3\n"), (TraceError{Kind::kNegative, 2}));
  EXPECT_EQ(error_of("5\n9\n8\n"), (TraceError{Kind::kBackwards, 3}));
}

TEST(Trace, RefusesNumbersBeyondSevenDaysHoweverLong) {
  EXPECT_EQ(*parse_trace("604800000\n"), trace_at({604'800'000}));
  EXPECT_EQ(error_of("604800001\n"), (TraceError{Kind::kOutOfRange, 1}));
  EXPECT_EQ(error_of("1\n9223372036854775807\n"), (TraceError{Kind::kOutOfRange, 2}));
  EXPECT_EQ(error_of(std::string(5000, '9')), (TraceError{Kind::kOutOfRange, 1}));
  EXPECT_EQ(error_of("-" + std::string(5000, '9')), (TraceError{Kind::kNegative, 1}));
  EXPECT_EQ(error_of(std::string(5000, '9') + "x"), (TraceError{Kind::kNotANumber, 1}));
}

TEST(Trace, RefusesMoreLinesThanItsLimit) {
  std::string text;
  text.reserve(2 * (kTraceLinesMax + 1));
  for (size_t i = 0; i < kTraceLinesMax; ++i) {
    text += "1\n";
  }
  text += "1\n";
  EXPECT_EQ(error_of(text), (TraceError{Kind::kTooMany, kTraceLinesMax + 1}));
}

TEST(Trace, DescribesEveryErrorInOneLineWithWhatToDo) {
  for (const Kind kind : {Kind::kEmpty, Kind::kNotANumber, Kind::kNegative, Kind::kOutOfRange,
                          Kind::kBackwards, Kind::kTooMany, Kind::kZeroPeriod}) {
    const std::string text = describe({kind, 7});
    EXPECT_TRUE(text.starts_with("line 7: ")) << text;
    EXPECT_NE(text.find("; "), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
  EXPECT_FALSE(describe({Kind::kEmpty, 0}).starts_with("line"));
}

TEST(TraceCapacity, CountsTheHalfOpenIntervalOnly) {
  const DeliveryTrace trace = trace_at({0, 10, 10, 25});
  const auto lines = [&](Duration from, Duration to) {
    return trace.capacity(TimePoint{from}, TimePoint{to}).bytes() / kOpportunitySize.bytes();
  };
  EXPECT_EQ(lines(0ms, 10ms), 1);
  EXPECT_EQ(lines(0ms, 11ms), 3);
  EXPECT_EQ(lines(10ms, 25ms), 2);
  EXPECT_EQ(lines(10ms, 10ms), 0);
  EXPECT_EQ(lines(20ms, 10ms), 0);
  EXPECT_EQ(lines(-50ms, 1ms), 1);
  // The second round starts at 25 ms, where the first one's last line is.
  EXPECT_EQ(lines(25ms, 26ms), 2);
  EXPECT_EQ(lines(0ms, 50ms), 7);
  EXPECT_EQ(lines(0ms, 250ms), 39);
}

// Goal: the logarithmic count equals stepping through every repeated line.
TEST(TraceCapacity, EqualsCountingLineByLine) {
  Rng rng{3};
  for (int round = 0; round < 300; ++round) {
    DeliveryTrace trace = random_trace(rng);
    trace.opportunities.resize(1 + rng.below(trace.opportunities.size()));
    trace.opportunities.back().at = std::max<Duration>(trace.opportunities.back().at, 1ms);
    const int64_t period_ms = floor_milliseconds(TimePoint{trace.period()});
    const auto random_time = [&] {
      return TimePoint{milliseconds{rng.below(static_cast<uint64_t>(5 * period_ms))}};
    };
    const TimePoint from = random_time();
    const TimePoint to = random_time();
    DataSize slow;
    for (int repeat = 0; repeat < 6; ++repeat) {
      for (const DeliveryOpportunity& opportunity : trace.opportunities) {
        const TimePoint at{repeat * trace.period() + opportunity.at};
        slow += at >= from && at < to ? kOpportunitySize : DataSize{};
      }
    }
    ASSERT_EQ(trace.capacity(from, to), slow) << "round " << round;
  }
}

TEST(TraceCapacity, SaturatesInsteadOfOverflowing) {
  DeliveryTrace trace;
  trace.opportunities.assign(1'000'000, {1ms});
  EXPECT_GT(trace.capacity(kTimeZero, kNever).bytes(), int64_t{9'000'000'000'000'000'000});
}

TEST_F(TraceFiles, SavedTraceLoadsAgain) {
  Rng rng{4};
  const DeliveryTrace trace = random_trace(rng);
  save_trace(trace, file("a.down"));
  EXPECT_EQ(load_trace(file("a.down")), trace);
  EXPECT_FALSE(std::filesystem::exists(file("a.down.part")));
}

TEST_F(TraceFiles, LoadErrorsNameTheFileTheLineTheTextAndTheRemedy) {
  const auto path = write("a.down", "1\n2\nabc\n");
  EXPECT_EQ(message_of_loading(path),
            path.string() +
                ":3: not a number of milliseconds (\"abc\"); each line of a trace is "
                "one whole number of milliseconds");
  const auto backwards = write("b.down", "1\r\n20\r\n3\r\n");
  EXPECT_EQ(message_of_loading(backwards), backwards.string() +
                                               ":3: a time earlier than the line before (\"3\"); "
                                               "sort the lines by time");
  const auto empty = write("c.down", "");
  EXPECT_EQ(message_of_loading(empty),
            empty.string() + ": the trace is empty; write one time in milliseconds a line");
}

TEST_F(TraceFiles, LoadErrorShowsBinaryGarbageAsShortPrintableText) {
  std::string garbage;
  Rng rng{5};
  for (int i = 0; i < 4096; ++i) {
    garbage += static_cast<char>(rng.below(256));
  }
  const std::string message = message_of_loading(write("garbage", "\x7f" + garbage));
  EXPECT_LT(message.size(), 400U);
  EXPECT_NE(message.find(":1: not a number of milliseconds"), std::string::npos) << message;
  for (const char c : message) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

TEST_F(TraceFiles, LoadErrorsDistinguishMissingFilesFromFolders) {
  EXPECT_EQ(message_of_loading(file("none")),
            file("none").string() + ": cannot be opened: No such file or directory");
  EXPECT_EQ(message_of_loading(file("")), file("").string() + ": cannot be read: Is a directory");
}

TEST_F(TraceFiles, EndlessInputEndsWithAnError) {
  EXPECT_THROW(
      {
        try {
          load_text("/dev/zero", DataSize{1'000'000});
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(),
                       "/dev/zero: larger than 1000000 bytes; cut it into shorter files");
          throw;
        }
      },
      std::runtime_error);
}

TEST_F(TraceFiles, AFullDiskIsAnErrorAndTheDeviceIsLeftAlone) {
  if (!std::filesystem::is_character_file("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  try {
    save_trace(trace_at({1, 2, 3}), "/dev/full");
    FAIL() << "the write error went unnoticed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: cannot be written whole: No space left on device");
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(TraceFiles, AFailedSaveKeepsTheOldContentAndLeavesNoPart) {
  // A folder where the part file should go makes the write fail, for any user.
  save_trace(trace_at({1, 2}), file("kept"));
  std::filesystem::create_directory(file("kept.part"));
  EXPECT_THROW(save_trace(trace_at({9}), file("kept")), std::runtime_error);
  EXPECT_EQ(load_trace(file("kept")), trace_at({1, 2}));

  EXPECT_THROW(save_trace(trace_at({9}), file("no/such/folder")), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(file("no")));
}

TEST_F(TraceFiles, SavingThroughALinkKeepsTheLink) {
  save_trace(trace_at({1}), file("target"));
  std::filesystem::create_symlink(file("target"), file("link"));
  save_trace(trace_at({1, 2}), file("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(file("link")));
  EXPECT_EQ(load_trace(file("target")), trace_at({1, 2}));
}

TEST(Trace, EveryRecordedLinkSurvivesTheRoundTrip) {
  const std::filesystem::path folder = std::filesystem::path{CRESS_DATA} / "traces";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no data: recorded links in " << folder;
  }
  int seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
    if (entry.path().extension() != ".down" && entry.path().extension() != ".up") {
      continue;
    }
    const DeliveryTrace trace = load_trace(entry.path());
    EXPECT_EQ(*parse_trace(format_trace(trace)), trace) << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace cress::sim
