#include "traces/trace_formats.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "transport/base/check.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"

namespace cress::traces {
namespace {

using std::chrono::milliseconds;

struct NamedFormat {
  TraceFormat format;
  std::string_view name;
};
constexpr std::array kFormats{NamedFormat{TraceFormat::kMahimahi, "mahimahi"},
                              NamedFormat{TraceFormat::kCsv, "csv"},
                              NamedFormat{TraceFormat::kSteps, "steps"}};

// A petabyte or a terabit per second: far beyond any link, and small enough to add up in doubles.
constexpr double kValueMax = 1e15;
constexpr DataSize kTableFileMax{1'000'000'000};
const double kOpportunityBytes = static_cast<double>(sim::kOpportunitySize.bytes());

struct Row {
  double time_s = 0;
  double value = 0;
  size_t line = 0;
};

std::optional<double> finite_number(std::string_view text) {
  const auto value = parse_number<double>(trimmed(text));
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// The rows of a two-column table, or the error: the part that both tables share.
Result<std::vector<Row>, TableError> parse_rows(std::string_view text, std::string_view columns,
                                                bool strictly_ascending) {
  std::vector<Row> rows;
  bool heading_allowed = true;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view row = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.empty()) {
      continue;
    }
    const size_t comma = row.find(',');
    const auto time_s = finite_number(row.substr(0, comma));
    const auto value =
        comma == std::string_view::npos ? std::nullopt : finite_number(row.substr(comma + 1));
    if (!time_s && !value && heading_allowed && comma != std::string_view::npos) {
      heading_allowed = false;
      continue;
    }
    heading_allowed = false;
    if (!time_s || !value) {
      return TableError{"not two numbers; each row is " + std::string{columns}, line};
    }
    if (*time_s < 0 || *time_s > to_seconds(sim::kTraceLengthMax)) {
      return TableError{"a time outside 0 to 604800 s; times are seconds from the start", line};
    }
    if (*value < 0 || *value > kValueMax) {
      return TableError{"a negative or absurd amount; each row is " + std::string{columns}, line};
    }
    if (!rows.empty() &&
        (*time_s < rows.back().time_s || (strictly_ascending && *time_s == rows.back().time_s))) {
      return TableError{"a time not after the row before; sort the rows by time", line};
    }
    if (rows.size() == sim::kTraceLinesMax) {
      return TableError{"more than 50 million rows; cut the table into shorter ones", line};
    }
    rows.push_back({*time_s, *value, line});
  }
  if (rows.empty()) {
    return TableError{"the table is empty; each row is " + std::string{columns}, 0};
  }
  return rows;
}

TableError too_much(size_t line) {
  return {"more than 50 million opportunities of 1500 bytes; check the unit or cut the table",
          line};
}

Duration nearest_ms(double time_s) { return milliseconds{std::llround(time_s * 1e3)}; }

Result<sim::DeliveryTrace, TableError> checked(sim::DeliveryTrace trace) {
  if (trace.opportunities.empty()) {
    return TableError{"less than one opportunity of 1500 bytes; nothing would ever leave the link",
                      0};
  }
  if (trace.period() <= Duration::zero()) {
    return TableError{
        "everything is delivered at time 0, so the trace cannot repeat; add a later row", 0};
  }
  return trace;
}

}  // namespace

std::string_view name_of(TraceFormat format) {
  const auto* found = std::ranges::find(kFormats, format, &NamedFormat::format);
  check(found != kFormats.end(), "name_of: not a trace format");
  return found->name;
}

std::optional<TraceFormat> format_named(std::string_view name) {
  const auto* found = std::ranges::find(kFormats, name, &NamedFormat::name);
  return found == kFormats.end() ? std::nullopt : std::optional{found->format};
}

TraceFormat format_of(const std::filesystem::path& path) {
  if (path.extension() == ".csv") {
    return TraceFormat::kCsv;
  }
  return path.extension() == ".steps" ? TraceFormat::kSteps : TraceFormat::kMahimahi;
}

Result<sim::DeliveryTrace, TableError> parse_csv(std::string_view text) {
  const auto rows = parse_rows(text, "time_s,bytes", false);
  if (!rows) {
    return rows.error();
  }
  sim::DeliveryTrace trace;
  double waiting_bytes = 0;
  for (const Row& row : *rows) {
    waiting_bytes += row.value;
    const double leaving = std::floor(waiting_bytes / kOpportunityBytes);
    if (static_cast<double>(trace.opportunities.size()) + leaving >
        static_cast<double>(sim::kTraceLinesMax)) {
      return too_much(row.line);
    }
    waiting_bytes -= leaving * kOpportunityBytes;
    trace.opportunities.insert(trace.opportunities.end(), static_cast<size_t>(leaving),
                               {nearest_ms(row.time_s)});
  }
  return checked(std::move(trace));
}

std::string format_csv(const sim::DeliveryTrace& trace) {
  std::string text = "time_s,bytes\n";
  const auto& all = trace.opportunities;
  for (size_t i = 0; i < all.size();) {
    const int64_t ms = floor_milliseconds(TimePoint{all[i].at});
    size_t next = i;
    while (next < all.size() && floor_milliseconds(TimePoint{all[next].at}) == ms) {
      ++next;
    }
    const auto bytes = static_cast<long long>(next - i) * sim::kOpportunitySize.bytes();
    std::array<char, 64> row{};
    const int length =
        std::snprintf(row.data(), row.size(), "%lld.%03lld,%lld\n",
                      static_cast<long long>(ms / 1000), static_cast<long long>(ms % 1000), bytes);
    text.append(row.data(), static_cast<size_t>(length));
    i = next;
  }
  return text;
}

Result<sim::DeliveryTrace, TableError> parse_steps(std::string_view text) {
  const auto rows = parse_rows(text, "time_s,kbps", true);
  if (!rows) {
    return rows.error();
  }
  const std::vector<Row>& steps = *rows;
  sim::DeliveryTrace trace;
  double waiting_bytes = 0;
  double end_s = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const double start_s = steps[i].time_s;
    if (i + 1 < steps.size()) {
      end_s = steps[i + 1].time_s;
    } else {
      end_s = start_s + (i > 0 ? start_s - steps[i - 1].time_s : 1.0);
    }
    end_s = std::min(end_s, to_seconds(sim::kTraceLengthMax));
    const double bytes_per_s = steps[i].value * 1e3 / 8;
    const double total = waiting_bytes + bytes_per_s * (end_s - start_s);
    const double leaving = std::floor(total / kOpportunityBytes + 1e-9);
    if (static_cast<double>(trace.opportunities.size()) + leaving >=
        static_cast<double>(sim::kTraceLinesMax)) {
      return too_much(steps[i].line);
    }
    for (int64_t n = 1; n <= static_cast<int64_t>(leaving); ++n) {
      const double at_s =
          start_s + (static_cast<double>(n) * kOpportunityBytes - waiting_bytes) / bytes_per_s;
      trace.opportunities.push_back({nearest_ms(std::min(at_s, end_s))});
    }
    waiting_bytes = std::max(0.0, total - leaving * kOpportunityBytes);
  }
  if (trace.opportunities.empty()) {
    return checked(std::move(trace));
  }
  if (trace.period() < nearest_ms(end_s)) {
    trace.opportunities.push_back({nearest_ms(end_s)});
  }
  return checked(std::move(trace));
}

std::string format_steps(const sim::DeliveryTrace& trace, Duration interval) {
  check(interval >= 1ms && interval % 1ms == Duration::zero(), "an interval of whole milliseconds");
  const auto& all = trace.opportunities;
  std::string text = "time_s,kbps\n";
  size_t next = 0;
  for (Duration start{}; next < all.size(); start += interval) {
    const size_t first = next;
    // The last opportunity is at the trace's very end: it belongs to the interval that ends there.
    while (next < all.size() &&
           (all[next].at < start + interval ||
            (all[next].at == trace.period() && all[next].at == start + interval))) {
      ++next;
    }
    const double kbps = static_cast<double>(next - first) *
                        static_cast<double>(sim::kOpportunitySize.bits()) /
                        to_milliseconds(interval);
    std::array<char, 64> row{};
    const int length =
        std::snprintf(row.data(), row.size(), "%.3f,%.3f\n", to_seconds(start), kbps);
    text.append(row.data(), static_cast<size_t>(length));
  }
  return text;
}

sim::DeliveryTrace load_trace_as(const std::filesystem::path& path, TraceFormat format) {
  if (format == TraceFormat::kMahimahi) {
    return sim::load_trace(path);
  }
  const std::string text = load_text(path, kTableFileMax);
  auto trace = format == TraceFormat::kCsv ? parse_csv(text) : parse_steps(text);
  if (!trace) {
    const TableError& error = trace.error();
    const std::string line = error.line == 0 ? "" : ":" + std::to_string(error.line);
    throw std::runtime_error(path.string() + line + ": " + error.what);
  }
  return std::move(trace).value();
}

void save_trace_as(const sim::DeliveryTrace& trace, const std::filesystem::path& path,
                   TraceFormat format, Duration interval) {
  switch (format) {
    case TraceFormat::kMahimahi:
      return sim::save_trace(trace, path);
    case TraceFormat::kCsv:
      return save_text(format_csv(trace), path);
    case TraceFormat::kSteps:
      return save_text(format_steps(trace, interval), path);
  }
}

}  // namespace cress::traces
