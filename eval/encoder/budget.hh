#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "media/source/video_source.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/trace.hh"

/// The headless encoder benchmark: any clip, any budget, any encoder, no transport.
namespace cress::encoder_bench {

/// Bytes that each picture may cost, one entry per picture. 0: no window, the picture is skipped.
/// Empty: no budgets.
using FrameBudgets = std::vector<DataSize>;

/// The look-ahead on a recorded link: the window's 100 ms (DeliveryForecast).
inline constexpr Duration kBudgetLookAhead = 100ms;
/// The standard deviation of the random walk's log rate after one second: a factor of e or 1/e.
inline constexpr double kWalkSigma = 1.0;
inline constexpr Duration kStepLength = 5s;
inline constexpr size_t kBudgetRowsMax = 10'000'000;
inline constexpr int64_t kBudgetKbpsMax = 1'000'000;

struct BudgetContext {
  uint64_t frames = 300;
  media::FrameRate frame_rate{};
  uint64_t seed = 1;
  /// The folder of recorded links, for link:NAME.
  std::filesystem::path data;
};

/// Budgets from a command-line text, rates in kbit/s, each frame's share by its duration:
///   none                       no budget
///   constant:600
///   step:300,1500,5s           each rate for that long (default: kStepLength), cyclically
///   walk:150,2500[,SIGMA]      a random walk of the logarithm from the seed, reflected at both
///                              ends; it begins at their geometric mean
///   trace:FILE                 a Mahimahi trace, see trace_budgets
///   link:NAME or link:NAME.up  an embedded or recorded link, down by default
///   csv:FILE                   bytes of each frame, see parse_budget_csv
///   window:FORM                any of these, see is_window_budget
/// Traces and tables repeat. Throws std::invalid_argument naming `text`, or std::runtime_error
/// naming the file.
FrameBudgets make_budgets(const std::string& text, const BudgetContext& context);

/// With the prefix `window:`, bytes that a picture did not use are available to the next, as in a
/// real window: up to what the current budget provides in kBudgetLookAhead.
bool is_window_budget(std::string_view text);

/// Each picture gets its share of the next kBudgetLookAhead: the bytes that the link delivers in it
/// × the time to the next picture / kBudgetLookAhead. So budgets follow the link as a perfect
/// window would, and their sum is what the link delivers.
FrameBudgets trace_budgets(const sim::DeliveryTrace& trace, const BudgetContext& context);

struct BudgetTableError {
  std::string what;
  size_t line = 0;  ///< counted from 1; 0 if no particular line is wrong
  friend bool operator==(const BudgetTableError&, const BudgetTableError&) = default;
};

/// One row per picture: whole bytes, 0..2^30. A first row that is not a number is a heading; the
/// column budget_bytes is read, otherwise the first; an empty cell is 0. (A run's frames.csv,
/// reduced to one scheme and direction, has this format.) Total: any text gives at least one budget
/// or one error.
Result<FrameBudgets, BudgetTableError> parse_budget_csv(std::string_view text);

}  // namespace cress::encoder_bench
