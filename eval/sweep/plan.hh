#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/result.hh"

/// Many runs: which are to be run, by which process, and which are finished.
namespace cress::sweep {

inline constexpr size_t kPlanBytesMax = size_t{256} * 1024;
inline constexpr size_t kPlanLineBytesMax = 4096;
inline constexpr size_t kPlanDotsOfALineMax = 64;  ///< a dotted key nests as deep as it has dots
inline constexpr size_t kPlanBracketDepthMax = 16;
inline constexpr size_t kPlanTablesMax = 1000;
inline constexpr size_t kPlanListMax = 10'000;
inline constexpr size_t kPlanRunsMax = 50'000;

/// The keys of a run in a plan, in the order of the runs: the last one changes fastest.
enum class Key {
  kLink,
  kDelay,
  kLoss,
  kQueue,
  kVideo,
  kAudio,
  kOneWay,
  kDuration,
  kSkip,
  kScheme,
  kSeed,
};
inline constexpr std::array<std::string_view, 11> kKeyNames{
    "link",    "delay",    "loss", "queue",  "video", "audio",
    "one_way", "duration", "skip", "scheme", "seed"};

/// One value of one key, in the syntax of the command line.
struct PlanValue {
  std::string text{};  ///< a time without a unit is in seconds; one_way: "true" or "false"
  std::string down{};  ///< a link of two traces instead of a name; `text` is then its name
  std::string up{};
  size_t line = 0;  ///< counted from 1
  friend bool operator==(const PlanValue&, const PlanValue&) = default;
};

/// A plan: one product of lists, or several. Shape: 1 to kPlanRunsMax runs, each with a scheme, a
/// link and a seed.
class Plan {
 public:
  size_t size() const { return runs_.size(); }
  /// Null if the plan leaves `key` to the program's default.
  const PlanValue* value(size_t run, Key key) const {
    const uint32_t at = runs_.at(run).at(static_cast<size_t>(key));
    return at == 0 ? nullptr : &values_.at(at - 1);
  }
  /// Adds a value; returns its number for `add_run`.
  uint32_t add_value(PlanValue value);
  void add_run(const std::array<uint32_t, kKeyNames.size()>& numbers) { runs_.push_back(numbers); }

 private:
  std::vector<PlanValue> values_;
  std::vector<std::array<uint32_t, kKeyNames.size()>> runs_;  // 1-based into values_; 0: not given
};

struct PlanError {
  size_t line = 0;   ///< counted from 1; 0 if no particular line is wrong
  std::string what;  ///< the error and what to do
  friend bool operator==(const PlanError&, const PlanError&) = default;
};

/// Reads a plan in TOML. Top-level keys apply to every `[[run]]` table, which may override them;
/// without such a table the top level is the one product. A list of values means one run for each.
/// Total: any bytes give a plan or one error. Threads: a pure function.
Result<Plan, PlanError> parse_plan(std::string_view text);

}  // namespace cress::sweep
