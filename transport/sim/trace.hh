#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::sim {

/// What one line of a trace delivers. Mahimahi's emulator moves 1504 bytes (1500 and a TUN header
/// of 4) an opportunity; we count IP bytes, as the paper does.
inline constexpr DataSize kOpportunitySize{1500};

/// One line of a Mahimahi trace: an instant, counted from the trace's start, at which
/// kOpportunitySize bytes may leave the link.
struct DeliveryOpportunity {
  Duration at{};
  friend constexpr auto operator<=>(DeliveryOpportunity, DeliveryOpportunity) = default;
};

/// A recorded or generated link: one direction's delivery opportunities (Mahimahi, ATC '15, §4.1).
/// Shape: at least one opportunity, times ascending (equal ones allowed), the last one > 0. The
/// trace repeats: its period is the time of the last opportunity.
struct DeliveryTrace {
  std::vector<DeliveryOpportunity> opportunities;

  Duration period() const { return opportunities.back().at; }
  /// Bytes the link could carry in [from, to), the trace repeated as often as needed; 0 when `to`
  /// is not after `from`. Nothing is delivered before kTimeZero. Logarithmic in the trace's length.
  DataSize capacity(TimePoint from, TimePoint to) const;
  friend bool operator==(const DeliveryTrace&, const DeliveryTrace&) = default;
};

struct TraceError {
  enum class Kind {
    kEmpty,       ///< no line has a time
    kNotANumber,  ///< a line that is not a whole number of milliseconds
    kNegative,    ///< a time before the start
    kOutOfRange,  ///< a time beyond kTraceLengthMax
    kBackwards,   ///< a time earlier than the line before
    kTooMany,     ///< more than kTraceLinesMax lines
    kZeroPeriod,  ///< every opportunity at time 0: the trace could not repeat
  };
  Kind kind = Kind::kEmpty;
  size_t line = 0;  ///< counted from 1; 0 if no particular line is wrong
  friend bool operator==(const TraceError&, const TraceError&) = default;
};

/// One clear sentence: what is wrong and what to do.
std::string describe(const TraceError& error);

inline constexpr Duration kTraceLengthMax = 24h * 7;
inline constexpr size_t kTraceLinesMax = 50'000'000;

/// Reads Mahimahi's format: one decimal number of milliseconds a line; blank lines are skipped, a
/// trailing carriage return is allowed. Total: any bytes give a trace or one error.
Result<DeliveryTrace, TraceError> parse_trace(std::string_view text);
/// The inverse: parse_trace(format_trace(t)) == t for whole milliseconds; times are floored to
/// them.
std::string format_trace(const DeliveryTrace& trace);

/// Throws std::runtime_error "PATH:LINE: what; what to do" when the file cannot be read or parsed.
DeliveryTrace load_trace(const std::filesystem::path& path);
/// Throws std::runtime_error if the file cannot be written completely (a full disk, say); the
/// previous file at the path is then unchanged.
void save_trace(const DeliveryTrace& trace, const std::filesystem::path& path);

}  // namespace cress::sim
