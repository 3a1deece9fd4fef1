#include "transport/sim/trace.hh"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "transport/base/check.hh"
#include "transport/base/text_file.hh"

namespace cress::sim {
namespace {

using Kind = TraceError::Kind;

// The longest line that format_trace writes is 9 digits and a newline (604800000 ms); twice that
// leaves room for carriage returns and blank lines.
constexpr DataSize kTraceFileMax{static_cast<int64_t>(kTraceLinesMax) * 20};

constexpr int64_t kLengthMsMax =
    std::chrono::duration_cast<std::chrono::milliseconds>(kTraceLengthMax).count();

/// A line's time in milliseconds, or what is wrong with it. `line` has no line break.
Result<int64_t, Kind> parse_line(std::string_view line) {
  int64_t ms = 0;
  const char* const end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, ms);
  if (error == std::errc::invalid_argument || stop != end) {
    return Kind::kNotANumber;
  }
  if (line.front() == '-') {
    return Kind::kNegative;
  }
  if (error == std::errc::result_out_of_range || ms > kLengthMsMax) {
    return Kind::kOutOfRange;
  }
  return ms;
}

/// Removes the next line, without its break, from the front of `rest`.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

/// The offending line in a form fit for a terminal: printable, short, in quotes.
std::string quote(std::string_view line) {
  constexpr size_t kShownMax = 32;
  std::string shown = "\"";
  for (const char c : line.substr(0, kShownMax)) {
    shown += (c >= ' ' && c <= '~') ? c : '?';
  }
  return shown + (line.size() > kShownMax ? "...\"" : "\"");
}

std::string_view what_is_wrong(Kind kind) {
  switch (kind) {
    case Kind::kEmpty:
      return "the trace is empty";
    case Kind::kNotANumber:
      return "not a number of milliseconds";
    case Kind::kNegative:
      return "a time before the trace's start";
    case Kind::kOutOfRange:
      return "a time beyond seven days";
    case Kind::kBackwards:
      return "a time earlier than the line before";
    case Kind::kTooMany:
      return "more than 50 million lines";
    case Kind::kZeroPeriod:
      return "every time is 0, so the trace cannot repeat";
  }
  return "unknown error";
}

std::string_view what_to_do(Kind kind) {
  switch (kind) {
    case Kind::kEmpty:
      return "write one time in milliseconds a line";
    case Kind::kNotANumber:
      return "each line of a trace is one whole number of milliseconds";
    case Kind::kNegative:
      return "times count from 0 at the start";
    case Kind::kOutOfRange:
      return "times are milliseconds; cut the trace into shorter ones";
    case Kind::kBackwards:
      return "sort the lines by time";
    case Kind::kTooMany:
      return "cut the trace into shorter ones";
    case Kind::kZeroPeriod:
      return "the last time must be at least 1";
  }
  return "";
}

std::string sentence(const TraceError& error, std::string_view shown) {
  std::string text{what_is_wrong(error.kind)};
  if (!shown.empty()) {
    text.append(" (").append(shown).append(")");
  }
  return text.append("; ").append(what_to_do(error.kind));
}

/// Opportunities at times in [0, `until`) of the repeated trace.
__int128 count_before(const DeliveryTrace& trace, Duration until) {
  if (until <= Duration::zero()) {
    return 0;
  }
  const auto before = [&](Duration t) {
    const auto& all = trace.opportunities;
    return static_cast<__int128>(std::lower_bound(all.begin(), all.end(), DeliveryOpportunity{t}) -
                                 all.begin());
  };
  const int64_t rounds = until / trace.period();
  const Duration rest = until % trace.period();
  if (rounds == 0) {
    return before(rest);
  }
  // The period before the current one ends at this one's start: its last line counts only if
  // `until` is past that instant.
  return static_cast<__int128>(rounds - 1) * static_cast<__int128>(trace.opportunities.size()) +
         before(rest + trace.period()) + before(rest);
}

}  // namespace

DataSize DeliveryTrace::capacity(TimePoint from, TimePoint to) const {
  check(!opportunities.empty() && period() > Duration::zero(), "capacity of an invalid trace");
  if (to <= from) {
    return DataSize{};
  }
  const __int128 count =
      count_before(*this, to.time_since_epoch()) - count_before(*this, from.time_since_epoch());
  constexpr __int128 kCountMax = std::numeric_limits<int64_t>::max() / kOpportunitySize.bytes();
  return kOpportunitySize * static_cast<int64_t>(std::min(count, kCountMax));
}

std::string describe(const TraceError& error) {
  const std::string where =
      error.line == 0 ? std::string{} : "line " + std::to_string(error.line) + ": ";
  return where + sentence(error, "");
}

Result<DeliveryTrace, TraceError> parse_trace(std::string_view text) {
  DeliveryTrace trace;
  // A line of a long trace has five digits or more; a short trace can afford the spare capacity.
  trace.opportunities.reserve(std::min(kTraceLinesMax, text.size() / 6 + 1));
  int64_t last_ms = 0;
  for (size_t line = 1; !text.empty(); ++line) {
    const std::string_view digits = take_line(text);
    if (digits.empty()) {
      continue;
    }
    if (trace.opportunities.size() == kTraceLinesMax) {
      return TraceError{Kind::kTooMany, line};
    }
    const Result<int64_t, Kind> ms = parse_line(digits);
    if (!ms) {
      return TraceError{ms.error(), line};
    }
    if (*ms < last_ms) {
      return TraceError{Kind::kBackwards, line};
    }
    last_ms = *ms;
    trace.opportunities.push_back({std::chrono::milliseconds{last_ms}});
  }
  if (trace.opportunities.empty()) {
    return TraceError{Kind::kEmpty, 0};
  }
  if (last_ms == 0) {
    return TraceError{Kind::kZeroPeriod, 0};
  }
  return trace;
}

std::string format_trace(const DeliveryTrace& trace) {
  std::string text;
  text.reserve(trace.opportunities.size() * 7);
  std::array<char, 24> line{};
  for (const DeliveryOpportunity& opportunity : trace.opportunities) {
    const int64_t ms = floor_milliseconds(TimePoint{opportunity.at});
    const auto [end, error] = std::to_chars(line.data(), line.data() + line.size() - 1, ms);
    check(error == std::errc{}, "format_trace: a number needs more than 23 digits");
    *end = '\n';
    text.append(line.data(), static_cast<size_t>(end + 1 - line.data()));
  }
  return text;
}

DeliveryTrace load_trace(const std::filesystem::path& path) {
  const std::string text = load_text(path, kTraceFileMax);
  Result<DeliveryTrace, TraceError> trace = parse_trace(text);
  if (trace) {
    return std::move(trace).value();
  }
  const TraceError error = trace.error();
  if (error.line == 0) {
    throw std::runtime_error(path.string() + ": " + sentence(error, ""));
  }
  std::string_view rest = text;
  for (size_t line = 1; line < error.line; ++line) {
    take_line(rest);
  }
  throw std::runtime_error(path.string() + ":" + std::to_string(error.line) + ": " +
                           sentence(error, quote(take_line(rest))));
}

void save_trace(const DeliveryTrace& trace, const std::filesystem::path& path) {
  save_text(format_trace(trace), path);
}

}  // namespace cress::sim
