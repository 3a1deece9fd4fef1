#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

/// The ways in which people keep a link's capacity over time.
enum class TraceFormat {
  kMahimahi,  ///< one time in milliseconds a line, each delivering 1500 bytes (sim/trace.hh)
  kCsv,       ///< `time_s,bytes`: what was delivered at which instant
  kSteps,     ///< `time_s,kbps`: a rate that holds until the next row's time
};

/// "mahimahi", "csv", "steps".
std::string_view name_of(TraceFormat format);
std::optional<TraceFormat> format_named(std::string_view name);
/// By its extension: .csv and .steps; anything else is Mahimahi.
TraceFormat format_of(const std::filesystem::path& path);

// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): it cannot follow Result's std::variant
struct TableError {
  std::string what;  ///< "not two numbers; each row is time_s,bytes"
  size_t line = 0;   ///< counted from 1; 0 where no line is to blame
};

/// Rows `time_s,bytes`, times from 0 to seven days, ascending. An opportunity leaves whenever 1500
/// bytes have come together, at the nearest millisecond; what is left at the end is dropped. A
/// first row that is not numbers is taken for a heading. Total: any text gives a trace or one
/// error.
Result<sim::DeliveryTrace, TableError> parse_csv(std::string_view text);
/// One row for each millisecond that delivers. parse_csv(format_csv(t)) == t for whole
/// milliseconds.
std::string format_csv(const sim::DeliveryTrace& trace);

/// Rows `time_s,kbps`, times strictly ascending; nothing is delivered before the first one; the
/// last holds as long as the one before it (one second if it is alone). Opportunities leave evenly
/// as 1500 bytes come together; the last, which may be short of them, closes the trace at its end.
Result<sim::DeliveryTrace, TableError> parse_steps(std::string_view text);
/// The mean rate of each interval (whole milliseconds, > 0), the last one filled up.
std::string format_steps(const sim::DeliveryTrace& trace, Duration interval);

/// Throws std::runtime_error "PATH:LINE: what; what to do".
sim::DeliveryTrace load_trace_as(const std::filesystem::path& path, TraceFormat format);
/// Whole or not at all, as save_text. `interval` is for kSteps only.
void save_trace_as(const sim::DeliveryTrace& trace, const std::filesystem::path& path,
                   TraceFormat format, Duration interval);

}  // namespace cress::traces
