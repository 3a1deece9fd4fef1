#include "eval/report/run_files.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "eval/report/parse_json.hh"
#include "transport/base/text.hh"

namespace cress::report {

namespace {

using nlohmann::json;

/// The measures; whatever else an object holds is shown as it is.
constexpr std::string_view kNumberKeys[] = {  // docs/guide/cress-eval.md
    "capacity_kbps",
    "throughput_kbps",
    "goodput_kbps",
    "utilization",
    "delay95_ms",
    "omniscient95_ms",
    "self_inflicted_ms",
    "bitrate_kbps",
    "frame_delay_p50_ms",
    "frame_delay_p95_ms",
    "frame_delay_p99_ms",
    "ssim_db",
    "psnr_db",
    "frames_captured",
    "frames_displayed",
    "freezes",
    "frozen_s",
    "key_frames",
    "freezes_w3c",
    "frozen_w3c_s",
    "gaps_500ms",
    "harmonic_fps",
    "live_ssim_db",
    "frame_fit_p95",
    "frame_over_share",
    "mouth_to_ear_p95_ms",
    "audio_concealed"};

std::string as_text(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_window(const json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
}

/// A seed as the program writes it, also if another tool turned 1 into 1.0.
std::string seed_text(const json& value) {
  constexpr double kExactMax = 1e15;
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number >= 0 && number < kExactMax && number == std::floor(number)) {
      return std::to_string(static_cast<uint64_t>(number));
    }
  }
  return as_text(value);
}

/// Fills one member; the error's text if it does not fit, without naming the object.
std::string read_member(const std::string& name, const json& value, RunResult& out) {
  const auto text = [&](std::string& into) {
    if (!value.is_string()) {
      return "\"" + name + "\" must be a string";
    }
    into = value.get<std::string>();
    return std::string{};
  };
  if (name == "scheme") {
    return text(out.key.scheme);
  }
  if (name == "link") {
    return text(out.key.link);
  }
  if (name == "direction") {
    return text(out.key.direction);
  }
  if (name == "window_s") {
    if (!is_window(value)) {
      return "\"window_s\" must be [from, to] in seconds";
    }
    out.window_from_s = value[0].get<double>();
    out.window_to_s = value[1].get<double>();
    return {};
  }
  if (name == "seed") {
    out.seed = seed_text(value);
  } else if (std::ranges::find(kNumberKeys, name) == std::end(kNumberKeys)) {
    out.others.emplace_back(name, as_text(value));
  } else if (value.is_number()) {
    out.numbers.emplace(name, value.get<double>());
  } else if (!value.is_null()) {
    return "\"" + name + "\" must be a number or null";
  }
  return {};
}

/// One object; the error's text if it is broken.
std::string read_result(const json& object, RunResult& out) {
  if (!object.is_object()) {
    return "is not an object";
  }
  for (const std::string_view needed : {"scheme", "link", "direction", "window_s"}) {
    if (!object.contains(needed)) {
      return "has no \"" + std::string(needed) + "\"";
    }
  }
  for (const auto& [name, value] : object.items()) {
    std::string error = read_member(name, value, out);
    if (!error.empty()) {
      return error;
    }
  }
  return {};
}

/// Splits one line of CSV. False for a quote that does not end or too many fields.
bool split(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  size_t at = 0;
  while (true) {
    std::string& field = fields.emplace_back();
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) {
          return false;
        }
        if (line[at] == '"' && (at + 1 == line.size() || line[at + 1] != '"')) {
          break;
        }
        at += line[at] == '"' ? 1 : 0;  // "" inside quotes is one quote
        field.push_back(line[at]);
      }
      ++at;
    }
    const size_t comma = std::min(line.find(',', at), line.size());
    field.append(line.substr(at, comma - at));
    if (comma == line.size()) {
      return true;
    }
    at = comma + 1;
    if (fields.size() == kColumnsMax) {
      return false;
    }
  }
}

bool parse_cell(std::string_view text, std::optional<double>& out) {
  if (text.empty()) {
    out.reset();
    return true;
  }
  out = cress::parse_number<double>(text);
  return out && std::isfinite(*out);
}

/// Takes lines from a text, without their ends, and counts them.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}  // the caller's text

  /// The next line that is not blank; false at the end.
  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      line = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      if (!line.empty()) {
        return true;
      }
    }
    return false;
  }
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

/// The destination of a column's number, and whether a row may leave it empty.
template <class Point>
struct Column {
  std::string_view name;
  void (*set)(Point&, double);
  bool needed = false;
};

/// Finds the columns in the header; an error's text if one is missing.
template <class Point>
std::string find_columns(const std::vector<std::string>& header,
                         std::span<const Column<Point>> columns, std::array<size_t, 3>& key_fields,
                         std::vector<size_t>& number_fields) {
  std::string missing;
  const auto field_of = [&](std::string_view name) {
    const auto field = std::find(header.begin(), header.end(), name);
    if (field == header.end() && missing.empty()) {
      missing = "no column \"" + std::string(name) + "\"";
    }
    return static_cast<size_t>(field - header.begin());
  };
  key_fields = {field_of("scheme"), field_of("link"), field_of("direction")};
  for (const Column<Point>& column : columns) {
    number_fields.push_back(field_of(column.name));
  }
  return missing;
}

/// The series of a key: the last one is used most often, so it is searched first.
template <class Series>
class SeriesTable {
 public:
  /// nullptr beyond kSeriesMax.
  Series* find(std::string_view scheme, std::string_view link, std::string_view direction) {
    const auto is = [&](const SeriesKey& key) {
      return key.scheme == scheme && key.link == link && key.direction == direction;
    };
    if (last_ < all_.size() && is(all_[last_].key)) {
      return &all_[last_];
    }
    SeriesKey key{std::string(scheme), std::string(link), std::string(direction)};
    const auto [place, fresh] = index_.try_emplace(key, all_.size());
    last_ = place->second;
    if (fresh) {
      if (all_.size() == kSeriesMax) {
        return nullptr;
      }
      all_.push_back({std::move(key), {}});
    }
    return &all_[last_];
  }
  std::vector<Series> take() { return std::move(all_); }

 private:
  std::vector<Series> all_;
  std::map<SeriesKey, size_t> index_;
  size_t last_ = 0;
};

/// A list of at least `least` objects called `what`, each read by `read`.
template <class Item>
Result<std::vector<Item>, ParseError> parse_list(std::string_view text, size_t least,
                                                 const std::string& what,
                                                 std::string (*read)(const json&, Item&)) {
  Result<json, ParseError> parsed = parse_json<json>(text);
  if (!parsed) {
    return parsed.error();
  }
  const json root = std::move(parsed).value();
  if (!root.is_array() || root.size() < least || root.size() > kResultsMax) {
    return ParseError{0, "must be a list of " + std::to_string(least) + " to " +
                             std::to_string(kResultsMax) + " " + what + "s"};
  }
  std::vector<Item> items(root.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string error = read(root[i], items[i]);
    if (!error.empty()) {
      std::string place = what;
      place.append(" ").append(std::to_string(i + 1)).append(" ").append(error);
      return ParseError{0, std::move(place)};
    }
  }
  return items;
}

/// A file's name as a run writes it; anything that could be a path is rejected.
bool is_picture_name(std::string_view name) {
  return name.ends_with(".webp") && name.size() <= 200 &&
         name.find_first_of("/\\") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

/// One object of worst.json; the error's text if it is broken.
std::string read_worst(const json& object, WorstMoment& out) {
  const auto read = [&](const char* name, auto& into) {
    using Value = std::remove_reference_t<decltype(into)>;
    const bool fits =
        object.is_object() && object.contains(name) &&
        (std::is_same_v<Value, double> ? object[name].is_number() : object[name].is_string());
    if (fits) {
      into = object[name].get<Value>();
    }
    return fits;
  };
  const bool whole = read("scheme", out.key.scheme) && read("link", out.key.link) &&
                     read("direction", out.key.direction) && read("worst", out.kind) &&
                     read("frame", out.frame) && read("captured_s", out.captured_s) &&
                     read("shown_s", out.shown_s) && read("until_s", out.until_s) &&
                     read("ssim_db", out.ssim_db) && read("picture", out.picture);
  if (!whole) {
    return "lacks a member or has one of another kind";
  }
  return is_picture_name(out.picture) ? "" : "names no picture of a run";
}

/// One row's numbers; an error's text if one is not a number or is missing.
template <class Point>
std::string read_row(const std::vector<std::string>& fields, std::span<const Column<Point>> columns,
                     const std::vector<size_t>& number_fields, Point& point) {
  std::optional<double> value;
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string& text = fields[number_fields[i]];
    if (!parse_cell(text, value)) {
      return std::string(columns[i].name) + " is not a number: \"" + text.substr(0, 40) + "\"";
    }
    if (value) {
      columns[i].set(point, *value);
    } else if (columns[i].needed) {
      return std::string(columns[i].name) + " is empty";
    }
  }
  return {};
}

template <class Series, class Point>
Result<std::vector<Series>, ParseError> parse_series(std::string_view csv,
                                                     std::span<const Column<Point>> columns,
                                                     double Point::*sorted_by) {
  Lines lines(csv);
  std::vector<std::string> fields;
  std::string_view line;
  if (!lines.next(line) || !split(line, fields)) {
    return ParseError{lines.number(), "a header line is missing"};
  }
  const size_t width = fields.size();
  std::array<size_t, 3> key_fields{};
  std::vector<size_t> number_fields;
  std::string error = find_columns(fields, columns, key_fields, number_fields);
  if (!error.empty()) {
    return ParseError{lines.number(), std::move(error)};
  }
  SeriesTable<Series> table;
  size_t rows = 0;
  while (lines.next(line)) {
    if (!split(line, fields) || fields.size() != width) {
      return ParseError{lines.number(),
                        "the header has " + std::to_string(width) + " fields, this line has not"};
    }
    Point point;
    error = read_row(fields, columns, number_fields, point);
    if (!error.empty()) {
      return ParseError{lines.number(), std::move(error)};
    }
    Series* const series =
        table.find(fields[key_fields[0]], fields[key_fields[1]], fields[key_fields[2]]);
    if (series == nullptr || ++rows > kRowsMax) {
      return ParseError{lines.number(), "too many rows or series"};
    }
    series->points.push_back(point);
  }
  std::vector<Series> all = table.take();
  for (Series& series : all) {
    std::ranges::stable_sort(series.points, {}, sorted_by);
  }
  return all;
}

}  // namespace

std::optional<double> RunResult::number(std::string_view name) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<RunResult>, ParseError> parse_results(std::string_view text) {
  return parse_list<RunResult>(text, 1, "result", read_result);
}

Result<std::vector<WorstMoment>, ParseError> parse_worst(std::string_view text) {
  return parse_list<WorstMoment>(text, 0, "moment", read_worst);
}

Result<std::vector<Timeline>, ParseError> parse_timeline(std::string_view csv) {
  using P = TimelinePoint;
  static constexpr std::array<Column<P>, 6> kColumns{{
      {"time_s", [](P& p, double v) { p.time_s = v; }, true},
      {"capacity_kbps", [](P& p, double v) { p.capacity_kbps = v; }},
      {"throughput_kbps", [](P& p, double v) { p.throughput_kbps = v; }},
      {"delay_ms", [](P& p, double v) { p.delay_ms = v; }},
      {"window_bytes", [](P& p, double v) { p.window_bytes = v; }},
      {"forecast_kbps", [](P& p, double v) { p.forecast_kbps = v; }},
  }};
  return parse_series<Timeline, P>(csv, kColumns, &P::time_s);
}

Result<std::vector<FrameLog>, ParseError> parse_frames(std::string_view csv) {
  using P = FramePoint;
  static constexpr std::array<Column<P>, 10> kColumns{{
      {"frame", [](P& p, double v) { p.frame = v; }, true},
      {"capture_s", [](P& p, double v) { p.capture_s = v; }, true},
      {"display_s", [](P& p, double v) { p.display_s = v; }},
      {"delay_ms", [](P& p, double v) { p.delay_ms = v; }},
      {"size_bytes", [](P& p, double v) { p.size_bytes = v; }},
      {"budget_bytes", [](P& p, double v) { p.budget_bytes = v; }},
      {"quantizer", [](P& p, double v) { p.quantizer = v; }},
      {"key", [](P& p, double v) { p.key_frame = v; }},
      {"ssim_db", [](P& p, double v) { p.ssim_db = v; }},
      {"psnr_db", [](P& p, double v) { p.psnr_db = v; }},
  }};
  return parse_series<FrameLog, P>(csv, kColumns, &P::capture_s);
}

}  // namespace cress::report
