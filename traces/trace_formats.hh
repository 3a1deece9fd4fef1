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

/// File formats for a link's capacity over time.
enum class TraceFormat {
  kMahimahi,  ///< one time in milliseconds per line, each delivering 1500 bytes (sim/trace.hh)
  kCsv,       ///< `time_s,bytes`: the bytes delivered at an instant
  kSteps,     ///< `time_s,kbps`: a rate that holds until the next row's time
};

/// "mahimahi", "csv", "steps".
std::string_view name_of(TraceFormat format);
std::optional<TraceFormat> format_named(std::string_view name);
/// By its extension: .csv and .steps; any other is Mahimahi.
TraceFormat format_of(const std::filesystem::path& path);

// NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): it cannot follow Result's std::variant
struct TableError {
  std::string what;  ///< "not two numbers; each row is time_s,bytes"
  size_t line = 0;   ///< counted from 1; 0 if no particular line is wrong
};

/// Rows `time_s,bytes`, times from 0 to seven days, ascending. An opportunity is added whenever
/// 1500 bytes have accumulated, at the nearest millisecond; a remainder at the end is dropped. A
/// first row that is not numeric is a heading. Total: any text gives a trace or one error.
Result<sim::DeliveryTrace, TableError> parse_csv(std::string_view text);
/// One row per millisecond with deliveries. parse_csv(format_csv(t)) == t for whole milliseconds.
std::string format_csv(const sim::DeliveryTrace& trace);

/// Rows `time_s,kbps`, times strictly ascending; nothing is delivered before the first one; the
/// last holds as long as the one before it (one second if it is the only one). Opportunities are
/// evenly spaced, one per 1500 bytes; the last one, which may have fewer, ends the trace.
Result<sim::DeliveryTrace, TableError> parse_steps(std::string_view text);
/// The mean rate of each interval (whole milliseconds, > 0); the last interval is extended to full
/// length.
std::string format_steps(const sim::DeliveryTrace& trace, Duration interval);

/// Throws std::runtime_error "PATH:LINE: what; what to do".
sim::DeliveryTrace load_trace_as(const std::filesystem::path& path, TraceFormat format);
/// Writes the whole file or nothing, as save_text. `interval` is for kSteps only.
void save_trace_as(const sim::DeliveryTrace& trace, const std::filesystem::path& path,
                   TraceFormat format, Duration interval);

}  // namespace cress::traces
