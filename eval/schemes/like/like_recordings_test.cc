// The modelled programs compared with recordings of the real ones: the same link, the same moments.
// Rates and queues of the first half of each recording determine the parameters of a profile; those
// of the second half show its error. A table is printed (docs/method-like.md).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "eval/schemes/like/like_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::schemes {
namespace {

using namespace like_test;

namespace fs = std::filesystem;

constexpr int kBinsPerSecond = 10;  // a row of a recording is 100 ms

/// A program's activity in each 100 ms.
struct Course {
  std::vector<double> offered_bytes;
  std::vector<std::optional<double>> queue_ms;  ///< the longest wait of what was delivered
};

struct RecordingInfo {
  const char* file;
  const char* trace;
  Duration trace_ahead;  ///< the trace began this long before the recording, by its capacities
  Duration media;        ///< when it began to send video; before, it rang
};

struct Recording {
  RecordingInfo info;
  Trace link;
  Course course;
};

/// Statistics of a window of a recording.
struct Summary {
  double rate_kbps = 0;
  double queue50_ms = 0;
  double queue95_ms = 0;
};

struct Comparison {
  Summary there, here;
  double error_kbps = 0;  ///< mean absolute, of each second

  /// Relative errors of rate, course and queue, the queue's weighted by half and only over 20 ms,
  /// below which it does not matter.
  double cost() const {
    const auto apart = [](double a, double b) { return std::abs(std::log(a / b)); };
    return apart(here.rate_kbps, there.rate_kbps) + error_kbps / there.rate_kbps +
           0.5 * apart(here.queue50_ms + 20, there.queue50_ms + 20) +
           0.5 * apart(here.queue95_ms + 20, there.queue95_ms + 20);
  }
};

Course load_course(const fs::path& path) {
  std::ifstream file{path};
  Course course;
  std::string line;
  std::getline(file, line);
  double least_ms = 1e9;
  while (std::getline(file, line)) {
    std::istringstream row{line};
    std::array<double, 6> cells{};
    for (double& cell : cells) {
      std::string text;
      std::getline(row, text, ',');
      cell = text.empty() ? 0 : std::stod(text);
    }
    course.offered_bytes.push_back(cells[1]);
    course.queue_ms.push_back(cells[2] > 0 ? std::optional{cells[4]} : std::nullopt);
    least_ms = cells[2] > 0 ? std::min(least_ms, cells[4]) : least_ms;
  }
  for (auto& queue : course.queue_ms) {
    queue = queue ? std::optional{*queue - least_ms} : queue;  // the emulator's own 20 ms
  }
  return course;
}

/// The trace as of the beginning of the recording.
Trace begun(const sim::DeliveryTrace& trace, Duration ahead, Duration length) {
  auto later = std::make_shared<sim::DeliveryTrace>();
  for (Duration period{}; period < length + ahead; period += trace.period()) {
    for (const sim::DeliveryOpportunity& opportunity : trace.opportunities) {
      if (period + opportunity.at >= ahead) {
        later->opportunities.push_back({period + opportunity.at - ahead});
      }
    }
  }
  return later;
}

/// What the model sends over the recording's link, and how long it waits there.
Course model_course(const Recording& recording, const LikeOptions& options, Duration length) {
  LikeFlow sender{at(recording.info.media), options, true};
  LikeFlow watcher{kTimeZero, options, false};
  sim::Link forward{{.trace = recording.link, .queue = nullptr}};
  sim::Link reverse{{.trace = stepped(2ms, 1s, 2ms, 1s), .queue = nullptr}};
  sim::World world{{sender, watcher, forward, reverse}};
  world.run_until(at(length + 15s));  // what waits at the end was offered too
  const auto bins = static_cast<size_t>(length / 100ms);
  Course course{std::vector<double>(bins), std::vector<std::optional<double>>(bins)};
  for (const sim::PacketRecord& record : forward.records()) {
    const auto sent = static_cast<size_t>((record.sent - kTimeZero) / 100ms);
    const auto left = static_cast<size_t>((record.left - kTimeZero) / 100ms);
    if (sent < bins) {
      course.offered_bytes[sent] += static_cast<double>(record.size.bytes());
    }
    if (left < bins) {
      auto& queue = course.queue_ms[left];
      queue = std::max(queue.value_or(0), to_milliseconds(record.left - record.sent));
    }
  }
  return course;
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[static_cast<size_t>(q * static_cast<double>(values.size()))];
}

double rate_of_second(const Course& course, size_t second) {
  double bytes = 0;
  for (size_t i = second * kBinsPerSecond; i < (second + 1) * kBinsPerSecond; ++i) {
    bytes += course.offered_bytes[i];
  }
  return bytes * 8 / 1000;
}

Summary summary_of(const Course& course, size_t from, size_t to) {
  Summary summary;
  std::vector<double> queues;
  for (size_t second = from; second < to; ++second) {
    summary.rate_kbps += rate_of_second(course, second) / static_cast<double>(to - from);
  }
  for (size_t i = from * kBinsPerSecond; i < to * kBinsPerSecond; ++i) {
    if (course.queue_ms[i]) {
      queues.push_back(*course.queue_ms[i]);
    }
  }
  summary.queue50_ms = quantile(queues, 0.50);
  summary.queue95_ms = quantile(queues, 0.95);
  return summary;
}

Comparison compare(const Course& there, const Course& here, size_t from, size_t to) {
  Comparison comparison{.there = summary_of(there, from, to), .here = summary_of(here, from, to)};
  for (size_t second = from; second < to; ++second) {
    comparison.error_kbps +=
        std::abs(rate_of_second(there, second) - rate_of_second(here, second)) /
        static_cast<double>(to - from);
  }
  return comparison;
}

constexpr size_t kHalf = 350;  // seconds
constexpr size_t kWhole = 700;

/// From when the call is established: video has begun, and the initial phase is over.
size_t fitted_from(const Recording& recording) {
  return static_cast<size_t>(recording.info.media / 1s) + 5;
}

constexpr std::array kSkype = {
    RecordingInfo{"skype-0.57mbps-poisson.down", "0.57mbps-poisson.down", 14ms, 10s}};
constexpr std::array kHangouts = {
    RecordingInfo{"hangouts-0.57mbps-poisson.down", "0.57mbps-poisson.down", 0ms, 3s}};
constexpr std::array kFacetime = {
    RecordingInfo{"facetime-TMobile-UMTS-driving.up", "cellular/TMobile-UMTS-driving.up", 636ms,
                  13s},
    RecordingInfo{"facetime-0.57mbps-poisson.up", "0.57mbps-poisson.down", 98ms, 14s},
    RecordingInfo{"facetime-ATT-LTE-driving.up", "cellular/ATT-LTE-driving.up", 70ms, 17s}};

class LikeRecordings : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(data_ / "recordings") || !fs::exists(data_ / "traces" / "cellular")) {
      GTEST_SKIP() << "no data: recordings of real programs in " << data_ << ": set CRESS_DATA";
    }
  }
  std::vector<Recording> load(std::span<const RecordingInfo> infos) const {
    std::vector<Recording> recordings;
    for (const RecordingInfo& info : infos) {
      recordings.push_back(
          {info,
           begun(sim::load_trace(data_ / "traces" / info.trace), info.trace_ahead, kWhole * 1s),
           load_course(data_ / "recordings" / (std::string{info.file} + ".csv"))});
    }
    return recordings;
  }
  const fs::path data_{CRESS_DATA};
};

/// Over the first halves: the parameters of a profile are chosen by this.
double cost_of(const std::vector<Recording>& recordings, const LikeOptions& options) {
  double cost = 0;
  for (const Recording& recording : recordings) {
    const Course here = model_course(recording, options, kHalf * 1s);
    cost += compare(recording.course, here, fitted_from(recording), kHalf).cost();
  }
  return cost;
}

Comparison print_row(const char* profile, const Recording& recording, const Course& here,
                     size_t from, size_t to) {
  const Comparison c = compare(recording.course, here, from, to);
  std::printf("| %s | %s | %zu-%zu | %.0f, %.0f | %.0f | %.0f, %.0f | %.0f, %.0f |\n", profile,
              recording.info.file, from, to, c.there.rate_kbps, c.here.rate_kbps, c.error_kbps,
              c.there.queue50_ms, c.here.queue50_ms, c.there.queue95_ms, c.here.queue95_ms);
  return c;
}

/// Prints both halves' rows; the second half's.
std::vector<Comparison> print_halves(const char* profile, const std::vector<Recording>& recordings,
                                     const LikeOptions& options) {
  std::vector<Comparison> unseen;
  for (const Recording& recording : recordings) {
    const Course here = model_course(recording, options, kWhole * 1s);
    print_row(profile, recording, here, fitted_from(recording), kHalf);
    unseen.push_back(print_row(profile, recording, here, kHalf, kWhole));
  }
  return unseen;
}

// ---- The fitter ----

/// One parameter of a profile, and its steps.
struct Knob {
  const char* name;
  std::function<LikeOptions(LikeOptions, int direction)> step;
};

Knob rate_knob(const char* name, DataRate LikeOptions::*field) {
  return {name, [field](LikeOptions options, int direction) {
            options.*field =
                options.*field + kbps(5) * direction * (options.*field > kbps(200) ? 4 : 1);
            return options;
          }};
}

Knob time_knob(const char* name, Duration LikeOptions::*field, Duration step) {
  return {name, [field, step](LikeOptions options, int direction) {
            options.*field += step * direction;
            return options;
          }};
}

Knob factor_knob(const char* name, double LikeOptions::*field, double step) {
  return {name, [field, step](LikeOptions options, int direction) {
            options.*field = std::round((options.*field + step * direction) / step) * step;
            return options;
          }};
}

bool is_possible(const LikeOptions& o) {
  return o.floor >= kbps(20) && o.floor <= o.start && o.start <= o.ceiling && o.raise_factor >= 1 &&
         o.lower_factor > 0 && o.lower_factor <= 1 && o.delay_tolerated > 0ms &&
         o.patience >= 200ms && o.hold >= 200ms;
}

struct Fit {
  LikeOptions options;
  double cost = 0;
};

using CostOf = std::function<double(const LikeOptions&)>;

/// Steps each parameter up and down for as long as that reduces the cost.
Fit descend(LikeOptions options, std::span<const Knob> knobs, const CostOf& cost_of_options) {
  Fit best{options, cost_of_options(options)};
  for (bool moved = true; moved;) {
    moved = false;
    for (const Knob& knob : knobs) {
      for (const int direction : {1, -1}) {
        for (LikeOptions next = knob.step(best.options, direction); is_possible(next);
             next = knob.step(best.options, direction)) {
          const double cost = cost_of_options(next);
          if (cost >= best.cost) {
            break;
          }
          best = {next, cost};
          moved = true;
        }
      }
    }
  }
  return best;
}

/// A random point near `options`.
LikeOptions drawn(Rng& rng, LikeOptions options, std::span<const Knob> knobs) {
  for (const Knob& knob : knobs) {
    const int direction = rng.chance(0.5) ? 1 : -1;
    for (auto steps = rng.below(10); steps > 0; --steps) {
      const LikeOptions next = knob.step(options, direction);
      options = is_possible(next) ? next : options;
    }
  }
  return options;
}

void print(const char* name, const Fit& fit) {
  const LikeOptions& o = fit.options;
  std::printf(
      "%s: cost %.3f with start %.0f, floor %.0f, ceiling %.0f kbit/s, raise %.3f, delay %.0f ms, "
      "patience %.0f ms, lower %.2f, hold %.0f ms\n",
      name, fit.cost, o.start.kilobits_per_second(), o.floor.kilobits_per_second(),
      o.ceiling.kilobits_per_second(), o.raise_factor, to_milliseconds(o.delay_tolerated),
      to_milliseconds(o.patience), o.lower_factor, to_milliseconds(o.hold));
}

const Knob kStart = rate_knob("start", &LikeOptions::start);
const Knob kCeiling = rate_knob("ceiling", &LikeOptions::ceiling);
const Knob kRaise = factor_knob("raise", &LikeOptions::raise_factor, 0.005);
const Knob kDelay = time_knob("delay", &LikeOptions::delay_tolerated, 10ms);
const Knob kPatience = time_knob("patience", &LikeOptions::patience, 200ms);
const Knob kLower = factor_knob("lower", &LikeOptions::lower_factor, 0.05);
const Knob kHold = time_knob("hold", &LikeOptions::hold, 200ms);

/// The recordings of these programs are of a link that they never filled: the other parameters
/// cannot be determined.
const std::vector<Knob> kCourse{kStart, kCeiling, kRaise};
const std::vector<Knob> kAll{kStart, kCeiling, kRaise, kDelay, kPatience, kLower, kHold};

struct Fitted {
  const char* name;
  std::span<const RecordingInfo> recordings;
  LikeOptions profile;
  std::span<const Knob> knobs;
};

std::array<Fitted, 3> all_fitted() {
  return {Fitted{"skype 2017", kSkype, LikeOptions::skype_2017(), kCourse},
          Fitted{"hangouts-like", kHangouts, LikeOptions::hangouts_2017(), kCourse},
          Fitted{"facetime-like", kFacetime, LikeOptions::facetime_2017(), kAll}};
}

TEST_F(LikeRecordings, NoStepFromAProfileFitsTheFirstHalvesBetter) {
  for (const Fitted& fitted : all_fitted()) {
    const std::vector<Recording> recordings = load(fitted.recordings);
    const Fit fit = descend(fitted.profile, fitted.knobs, [&](const LikeOptions& options) {
      return cost_of(recordings, options);
    });
    print(fitted.name, fit);
    EXPECT_EQ(fit.options, fitted.profile) << fitted.name;
  }
}

// The fitter: takes minutes. After a change of the model or the cost, run it and adopt its result.
TEST_F(LikeRecordings, DISABLED_TheFitterFindsNothingBetterFromManyStarts) {
  constexpr int kStarts = 100;
  for (const Fitted& fitted : all_fitted()) {
    const std::vector<Recording> recordings = load(fitted.recordings);
    const CostOf cost = [&](const LikeOptions& options) { return cost_of(recordings, options); };
    const double committed = cost(fitted.profile);
    Fit best{fitted.profile, committed};
    Rng rng{1};
    for (int i = 0; i < kStarts; ++i) {
      const Fit fit = descend(drawn(rng, fitted.profile, fitted.knobs), fitted.knobs, cost);
      best = fit.cost < best.cost ? fit : best;
    }
    print(fitted.name, best);
    EXPECT_GE(best.cost, committed) << fitted.name;
  }
}

/// The permitted error of a profile where it was not fitted: as measured, and a little more.
struct Tolerance {
  double rate;     ///< of the recorded mean
  double course;   ///< mean absolute error of a second, of the recorded mean
  double queue50;  ///< factor, either way
  double queue95;  ///< factor, either way
};

void expect_within(const Comparison& c, const Tolerance& tolerance, const char* what) {
  EXPECT_NEAR(c.here.rate_kbps / c.there.rate_kbps, 1, tolerance.rate) << what;
  EXPECT_LT(c.error_kbps / c.there.rate_kbps, tolerance.course) << what;
  EXPECT_LT(std::abs(std::log(c.here.queue50_ms / c.there.queue50_ms)), std::log(tolerance.queue50))
      << what;
  EXPECT_LT(std::abs(std::log(c.here.queue95_ms / c.there.queue95_ms)), std::log(tolerance.queue95))
      << what;
}

TEST_F(LikeRecordings, ProfilesAreAsFarOffInTheSecondHalvesAsTheMethodSays) {
  const auto skype = print_halves("skype 2017", load(kSkype), LikeOptions::skype_2017());
  expect_within(skype[0], {.rate = 0.1, .course = 0.2, .queue50 = 1.1, .queue95 = 1.15}, "Skype");
  const auto hangouts =
      print_halves("hangouts-like", load(kHangouts), LikeOptions::hangouts_2017());
  // Its bursts, which cause half of that queue, are not modelled.
  expect_within(hangouts[0], {.rate = 0.05, .course = 0.3, .queue50 = 1.3, .queue95 = 2},
                "Hangouts");
  const auto facetime =
      print_halves("facetime-like", load(kFacetime), LikeOptions::facetime_2017());
  const Tolerance steady{.rate = 0.05, .course = 0.3, .queue50 = 1.2, .queue95 = 1.45};
  const Tolerance moving{.rate = 0.35, .course = 0.55, .queue50 = 1.3, .queue95 = 1.6};
  expect_within(facetime[0], moving, "FaceTime over UMTS");
  expect_within(facetime[1], steady, "FaceTime over the steady link");
  expect_within(facetime[2], moving, "FaceTime over LTE");
}

TEST_F(LikeRecordings, PapersSkypeDiffersFromTheRecordedOne) {
  const std::vector<Recording> recordings = load(kSkype);
  const auto paper = print_halves("skype-like", recordings, {});
  const auto recorded = print_halves("skype 2017", recordings, LikeOptions::skype_2017());
  EXPECT_LT(4 * recorded[0].error_kbps, paper[0].error_kbps);
}

TEST_F(LikeRecordings, TheSameProfileTakesTheSameCourseTwice) {
  const Recording recording = load(kFacetime).front();
  const Course first = model_course(recording, LikeOptions::facetime_2017(), 120s);
  const Course second = model_course(recording, LikeOptions::facetime_2017(), 120s);
  EXPECT_EQ(first.offered_bytes, second.offered_bytes);
  EXPECT_EQ(first.queue_ms, second.queue_ms);
}

}  // namespace
}  // namespace cress::schemes
