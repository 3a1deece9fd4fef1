#include "eval/report/report.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/report/embedded.hh"
#include "eval/report/page_parts.hh"
#include "transport/base/check.hh"
#include "transport/base/text_file.hh"

namespace cress::report {

namespace {

using nlohmann::ordered_json;

/// Four digits are more than a screen resolves, and keep the page small.
ordered_json short_number(std::optional<double> value) {
  if (!value) {
    return nullptr;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.4g", *value);
  return std::strtod(text.data(), nullptr);
}

ordered_json thousandths(double value) { return std::round(value * 1000.0) / 1000.0; }

/// One array per member: {"t": [...], "rate": [...]}.
ordered_json timeline_json(const Timeline& timeline) {
  const std::vector<TimelinePoint> points = thinned(timeline.points);
  ordered_json series{{"scheme", timeline.key.scheme}};
  series["bins"] = timeline.points.size();
  for (const char* name : {"t", "capacity", "rate", "delay", "window", "forecast"}) {
    series[name] = ordered_json::array();
  }
  for (const TimelinePoint& point : points) {
    series["t"].push_back(thousandths(point.time_s));
    series["capacity"].push_back(short_number(point.capacity_kbps));
    series["rate"].push_back(short_number(point.throughput_kbps));
    series["delay"].push_back(short_number(point.delay_ms));
    series["window"].push_back(short_number(point.window_bytes));
    series["forecast"].push_back(short_number(point.forecast_kbps));
  }
  return series;
}

ordered_json frames_json(const FrameLog& log) {
  const std::vector<FramePoint> points = thinned(log.points);
  const FrameFit fit = frame_fit(log.points);
  ordered_json series{{"scheme", log.key.scheme}};
  series["fit"] = {{"frames", fit.frames},
                   {"skipped", fit.skipped},
                   {"with_budget", fit.with_budget},
                   {"over_share", fit.over_share},
                   {"ratio_p95", fit.ratio_p95}};
  for (const char* name : {"t", "size", "budget", "key", "ssim", "age_t", "age"}) {
    series[name] = ordered_json::array();
  }
  for (const FramePoint& point : points) {
    series["t"].push_back(thousandths(point.capture_s));
    series["size"].push_back(short_number(point.size_bytes));
    series["budget"].push_back(short_number(point.budget_bytes));
    series["key"].push_back(point.key_frame.value_or(0.0) != 0.0 ? 1 : 0);
    series["ssim"].push_back(short_number(point.ssim_db));
  }
  for (const AgePoint& point : picture_age(log.points)) {
    series["age_t"].push_back(thousandths(point.time_s));
    series["age"].push_back(short_number(point.age_ms_max));
  }
  return series;
}

/// A missing picture is not mentioned: only the text is in the table.
ordered_json worst_json(const WorstMoment& moment, const Run& run) {
  const auto series_of = [&](const auto& all) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& series) { return series.key == moment.key; });
    return found == all.end() ? nullptr : &*found;
  };
  const WorstWords words = worst_words(moment, series_of(run.timelines), series_of(run.frames));
  return {{"scheme", moment.key.scheme},
          {"title", words.title},
          {"text", words.text},
          {"image", data_url(moment)}};
}

ordered_json result_json(const RunResult& result) {
  ordered_json object{{"scheme", result.key.scheme},
                      {"link", result.key.link},
                      {"direction", result.key.direction},
                      {"seed", result.seed},
                      {"window_s", {result.window_from_s, result.window_to_s}}};
  object["numbers"] = ordered_json::object();
  for (const auto& [name, value] : result.numbers) {
    object["numbers"][name] = value;
  }
  object["others"] = ordered_json::array();
  for (const auto& [name, text] : result.others) {
    object["others"].push_back({name, text});
  }
  return object;
}

/// A sweep's several seeds: means, and half of each 95 % confidence interval.
ordered_json group_json(const SeedGroup& group, const std::string& options) {
  constexpr double kConfidence = 0.95;
  ordered_json object{{"scheme", group.key.scheme},
                      {"options", options},
                      {"seeds", group.results.size()},
                      {"numbers", ordered_json::object()},
                      {"half", ordered_json::object()}};
  std::set<std::string> names;
  for (const RunResult* result : group.results) {
    for (const auto& [name, value] : result->numbers) {
      names.insert(name);
    }
  }
  for (const std::string& name : names) {
    const std::vector<double> values = group.values(name);
    if (values.size() < group.results.size()) {
      continue;  // unknown in a seed in which nothing arrived: a mean of the others would be too
                 // good
    }
    const Sample sample = sample_of(values);
    object["numbers"][name] = thousandths(sample.mean);
    if (sample.count >= 2) {
      object["half"][name] = thousandths(mean_interval(sample, kConfidence).half());
    }
  }
  return object;
}

/// True if something was run more than once, with other seeds or options.
bool has_repeats(std::span<const SeedGroup> groups, size_t results) {
  std::set<SeriesKey> keys;
  for (const SeedGroup& group : groups) {
    keys.insert(group.key);
  }
  return keys.size() < results;
}

/// All data about one link and direction, in the order in which the files name them.
ordered_json sections_json(const Run& run) {
  std::vector<std::pair<std::string, std::string>> places;
  std::map<std::pair<std::string, std::string>, ordered_json> sections;
  const auto section = [&](const SeriesKey& key) -> ordered_json& {
    const auto [entry, fresh] = sections.try_emplace(std::pair(key.link, key.direction));
    if (fresh) {
      places.push_back(entry->first);
      entry->second = {{"link", key.link},
                       {"direction", key.direction},
                       {"results", ordered_json::array()},
                       {"timelines", ordered_json::array()},
                       {"frames", ordered_json::array()},
                       {"worst", ordered_json::array()}};
    }
    return entry->second;
  };
  for (const RunResult& result : run.results) {
    section(result.key)["results"].push_back(result_json(result));
  }
  const std::vector<SeedGroup> groups = seed_groups(run.results);
  const std::vector<std::string> options = telling_options(groups);
  for (size_t i = 0; i < groups.size() && has_repeats(groups, run.results.size()); ++i) {
    section(groups[i].key)["groups"].push_back(group_json(groups[i], options[i]));
  }
  for (const Timeline& timeline : run.timelines) {
    section(timeline.key)["timelines"].push_back(timeline_json(timeline));
  }
  for (const FrameLog& log : run.frames) {
    section(log.key)["frames"].push_back(frames_json(log));
  }
  for (const WorstMoment& moment : run.worst) {
    if (!moment.image.empty()) {
      section(moment.key)["worst"].push_back(worst_json(moment, run));
    }
  }
  ordered_json list = ordered_json::array();
  for (const auto& place : places) {
    list.push_back(std::move(sections[place]));
  }
  return list;
}

/// The hero first, then in the order of results: a scheme's position determines its colour.
std::vector<std::string> scheme_order(const Run& run) {
  std::vector<std::string> order{hero_scheme(run.results)};
  const auto add = [&](const SeriesKey& key) {
    if (std::find(order.begin(), order.end(), key.scheme) == order.end()) {
      order.push_back(key.scheme);
    }
  };
  std::for_each(run.results.begin(), run.results.end(),
                [&](const RunResult& result) { add(result.key); });
  std::for_each(run.timelines.begin(), run.timelines.end(),
                [&](const Timeline& timeline) { add(timeline.key); });
  std::for_each(run.frames.begin(), run.frames.end(), [&](const FrameLog& log) { add(log.key); });
  return order;
}

/// JSON for a <script type="application/json">: no `<` in it, so that nothing can end the element.
std::string page_json(const Run& run) {
  const Headline words = headline(run.results);
  const ordered_json data{{"version", CRESS_VERSION},
                          {"lead", words.lead},
                          {"lines", words.lines},
                          {"schemes", scheme_order(run)},
                          {"film", run.has_film ? ordered_json(kFilmName) : ordered_json()},
                          {"movies", run.movies},
                          {"sections", sections_json(run)}};
  // Bytes that are not UTF-8 become U+FFFD.
  const std::string text = data.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe.push_back(c);
    }
  }
  return safe;
}

/// The template with each {{name}} replaced, in one pass: inserted text is not processed again.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (true) {
    const size_t open = page.find("{{");
    out.append(page.substr(0, open));
    if (open == std::string_view::npos) {
      return out;
    }
    const size_t close = page.find("}}", open);
    const auto value = values.find(page.substr(open + 2, close - open - 2));
    check(close != std::string_view::npos && value != values.end(), "page.html: unknown {{name}}");
    out.append(value->second);
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string report_html(const Run& run) {
  check(!run.results.empty(), "report_html: a run without results");
  return filled(embedded(cress_report_page_html, cress_report_page_html_end),
                {{"style", std::string(embedded(cress_report_page_css, cress_report_page_css_end))},
                 {"chart", std::string(embedded(cress_report_chart_js, cress_report_chart_js_end))},
                 {"script", std::string(embedded(cress_report_page_js, cress_report_page_js_end))},
                 {"data", page_json(run)}});
}

void write_report(const std::filesystem::path& run_dir, const std::filesystem::path& html_file) {
  save_text(report_html(load_run(run_dir)), html_file);
}

}  // namespace cress::report
