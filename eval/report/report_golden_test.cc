// Goal: the numbers and texts of a report stay as they were. Method: results, timelines, frames and
// moments from a seed, as a run of several schemes, links and seeds would leave them.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "eval/report/interval.hh"
#include "eval/report/page_parts.hh"
#include "eval/report/report.hh"
#include "eval/report/run_files.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::report {
namespace {

namespace fs = std::filesystem;

/// A number of six digits, or "-".
std::string six_digits(std::optional<double> value) {
  std::ostringstream text;
  text << std::setprecision(6);
  value = value && std::abs(*value) < 1e-12 ? 0 : value;  // the remainder of rounding
  value ? text << *value : text << "-";
  return text.str();
}

std::optional<double> maybe(Rng& rng, double share, double low, double high) {
  const double value = rng.uniform(low, high);
  return rng.chance(share) ? std::optional{value} : std::nullopt;
}

RunResult golden_result(Rng& rng, const std::string& scheme, const std::string& link, int seed,
                        const std::string& options, bool video) {
  RunResult result;
  result.key = {.scheme = scheme, .link = link, .direction = seed % 2 == 0 ? "reverse" : "forward"};
  result.seed = std::to_string(seed);
  result.window_from_s = 10;
  result.window_to_s = 60;
  result.numbers = {{"delay95_ms", rng.exponential(400)},
                    {"throughput_kbps", rng.uniform(100, 6000)},
                    {"utilization", rng.uniform(0.1, 1)}};
  if (video) {
    if (const auto delay = maybe(rng, 0.9, 50, 3000)) {
      result.numbers["frame_delay_p95_ms"] = *delay;
    }
    if (const auto quality = maybe(rng, 0.9, 5, 20)) {
      result.numbers["ssim_db"] = *quality;
    }
    result.numbers["frozen_s"] = rng.chance(0.3) ? 0 : rng.exponential(5);
  }
  if (!options.empty()) {
    result.others = {{"options", options}, {"packets_lost", "3"}};
  }
  return result;
}

std::vector<TimelinePoint> golden_timeline(Rng& rng, size_t count) {
  std::vector<TimelinePoint> points(count);
  for (size_t i = 0; i < count; ++i) {
    points[i] = {.time_s = 0.1 * static_cast<double>(i),
                 .capacity_kbps = maybe(rng, 0.95, 0, 5000),
                 .throughput_kbps = maybe(rng, 0.9, 0, 5000),
                 .delay_ms = maybe(rng, 0.8, 20, 2000),
                 .window_bytes = maybe(rng, 0.7, 0, 90'000),
                 .forecast_kbps = maybe(rng, 0.6, 0, 5000)};
  }
  return points;
}

std::vector<FramePoint> golden_frames(Rng& rng, size_t count) {
  std::vector<FramePoint> points(count);
  for (size_t i = 0; i < count; ++i) {
    FramePoint& point = points[i];
    point.frame = static_cast<double>(i);
    point.capture_s = static_cast<double>(i) / 30;
    point.budget_bytes = maybe(rng, 0.7, 0, 4000);
    if (rng.chance(0.85)) {
      point.size_bytes = rng.uniform(50, 4200);
      point.quantizer = std::floor(rng.uniform(0, 64));
      point.key_frame = rng.chance(0.05) ? 1 : 0;
    }
    if (rng.chance(0.8)) {
      point.delay_ms = rng.exponential(150) + 20;
      point.display_s = point.capture_s + *point.delay_ms / 1000;
      point.ssim_db = maybe(rng, 0.9, 4, 22);
      point.psnr_db = maybe(rng, 0.9, 20, 48);
    }
  }
  return points;
}

std::string lines_of(const std::vector<TimelinePoint>& points) {
  std::string text;
  for (const TimelinePoint& p : points) {
    text += six_digits(p.time_s) + " " + six_digits(p.capacity_kbps) + " " +
            six_digits(p.throughput_kbps) + " " + six_digits(p.delay_ms) + " " +
            six_digits(p.window_bytes) + " " + six_digits(p.forecast_kbps) + "\n";
  }
  return text;
}

std::string lines_of(const std::vector<FramePoint>& points) {
  std::string text;
  for (const FramePoint& p : points) {
    text += six_digits(p.frame) + " " + six_digits(p.capture_s) + " " + six_digits(p.display_s) +
            " " + six_digits(p.delay_ms) + " " + six_digits(p.size_bytes) + " " +
            six_digits(p.budget_bytes) + " " + six_digits(p.quantizer) + " " +
            six_digits(p.key_frame) + " " + six_digits(p.ssim_db) + " " + six_digits(p.psnr_db) +
            "\n";
  }
  return text;
}

std::string lines_of(const std::vector<AgePoint>& points) {
  std::string text;
  for (const AgePoint& p : points) {
    text += six_digits(p.time_s) + " " + six_digits(p.age_ms_max) + "\n";
  }
  return text;
}

/// Short ones literally, long ones as a digest.
std::string in_short(const std::string& name, const std::string& lines, size_t count) {
  return name + " " + std::to_string(count) + (count <= 9 ? "\n" + lines : " ") +
         golden_digest(lines) + "\n";
}

TEST(ReportGolden, SeriesAreThinnedAsRecorded) {
  Rng rng{23};
  std::string golden;
  for (const size_t count : {0U, 1U, 2U, 7U, 20U, 61U, 1500U, 1501U, 4700U}) {
    const auto timeline = golden_timeline(rng, count);
    const auto frames = golden_frames(rng, count);
    for (const size_t most : {size_t{1}, size_t{2}, size_t{7}, size_t{60}, kPointsMax}) {
      const auto thin = thinned(timeline, most);
      golden += in_short("timeline", lines_of(thin), thin.size());
      const auto few = thinned(frames, most);
      golden += in_short("frames", lines_of(few), few.size());
      const auto ages = picture_age(frames, most);
      golden += in_short("age", lines_of(ages), ages.size());
    }
    const FrameFit fit = frame_fit(frames);
    golden += "fit " + std::to_string(fit.frames) + " " + std::to_string(fit.skipped) + " " +
              std::to_string(fit.with_budget) + " " + six_digits(fit.over_share) + " " +
              six_digits(fit.ratio_p95) + "\n";
  }
  expect_golden("series", golden);
}

TEST(ReportGolden, IntervalsAreAsRecorded) {
  std::string golden;
  Rng rng{5};
  for (const double p : {0.001, 0.05, 0.3, 0.5, 0.8, 0.975, 0.9999}) {
    for (const double freedom : {0.5, 1.0, 2.0, 4.7, 30.0, 1000.0}) {
      golden += six_digits(student_t_quantile(p, freedom)) + " ";
    }
    golden += "\n";
  }
  std::vector<Sample> samples;
  for (size_t count = 1; count < 12; ++count) {
    std::vector<double> values(count);
    for (double& value : values) {
      value = rng.uniform(10, 30) * (count % 3 == 0 ? 1 : 5);
    }
    samples.push_back(sample_of(values));
    golden += std::to_string(samples.back().count) + " " + six_digits(samples.back().mean) + " " +
              six_digits(samples.back().variance) + "\n";
  }
  const auto told = [&golden](const Interval& interval) {
    golden += six_digits(interval.low) + ".." + six_digits(interval.high) + " middle " +
              six_digits(interval.middle()) + " half " + six_digits(interval.half()) + "\n";
  };
  for (size_t i = 1; i < samples.size(); ++i) {
    told(mean_interval(samples[i], 0.95));
    told(mean_interval(samples[i], 0.6));
    told(welch_interval(samples[i], samples[samples.size() - i], 0.95));
  }
  told(welch_interval({3, 5, 0}, {4, 7, 0}, 0.95));
  told(mean_interval({3, 5, 0}, 0.95));
  expect_golden("intervals", golden);
}

TEST(ReportGolden, HeadlinesAreInTheWordsRecorded) {
  Rng rng{31};
  std::string golden;
  for (int round = 0; round < 40; ++round) {
    std::vector<RunResult> results;
    const bool video = rng.chance(0.6);
    const int seeds = 1 + static_cast<int>(rng.below(3));
    for (const char* scheme : {"cubic", "cress", "skype-like", "sprout"}) {
      for (const char* link : {"3g", "lte"}) {
        for (int seed = 1; seed <= seeds; ++seed) {
          if (rng.chance(round < 10 ? 0.4 : 0.9)) {
            results.push_back(golden_result(rng, scheme, link, seed, "", video));
          }
        }
      }
    }
    if (results.empty()) {
      continue;
    }
    const Headline words = headline(results);
    golden += hero_scheme(results) + ": " + words.lead + "\n";
    for (const std::string& line : words.lines) {
      golden += round < 14 ? "  " + line + "\n" : golden_digest(line) + "\n";
    }
  }
  for (const double value : {0.0, 0.4, 0.5, 9.96, 99.4, 999.4, 999.5, 1000.0, 9994.0, 9996.0,
                             99'940.0, 99'960.0, 1e6, 2.5e7}) {
    golden += in_words_ms(value) + ", " + in_words_kbps(value) + "\n";
  }
  expect_golden("headlines", golden);
}

std::string webp_of(size_t bytes) { return "RIFF....WEBP" + std::string(bytes, 'x'); }

/// Writes a folder of results with video, timelines, frames and moments.
void write_folder(const fs::path& folder, uint64_t seed, bool sweep) {
  Rng rng{seed};
  std::ostringstream results;
  std::ostringstream timeline;
  std::ostringstream frames;
  timeline << "time_s,scheme,link,direction,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
              "forecast_kbps,ignored\n";
  frames << "scheme,link,direction,frame,capture_s,display_s,delay_ms,size_bytes,budget_bytes,"
            "quantizer,key,ssim_db,psnr_db\r\n";
  for (const std::string scheme : {"sprout", "cress", "a,\"b\"<"}) {
    for (const char* link : {"3g", "lte"}) {
      for (int run = 1; run <= (sweep ? 4 : 1); ++run) {
        const RunResult r = golden_result(rng, scheme, link, 1, "", true);
        std::string escaped = scheme == "a,\"b\"<" ? "a,\\\"b\\\"<" : scheme;
        results << (results.tellp() > 0 ? ",\n" : "") << R"({"scheme":")" << escaped
                << R"(","link":")" << link << R"(","direction":"forward","seed":)" << run
                << R"(,"window_s":[10,60],"packets":)" << rng.below(1000) << R"(,"nothing":null)";
        for (const auto& [name, value] : r.numbers) {
          results << ",\"" << name << "\":" << six_digits(value);
        }
        if (sweep) {
          results << R"(,"options":{"loss":)" << run % 2 << R"(,"queue":"codel","delay_ms":20})";
        }
        results << "}";
      }
      const std::string quoted = scheme == "a,\"b\"<" ? "\"a,\"\"b\"\"<\"" : scheme;
      for (const TimelinePoint& p : golden_timeline(rng, 120)) {
        const auto cell = [](std::optional<double> v) { return v ? six_digits(v) : ""; };
        timeline << six_digits(p.time_s) << ',' << quoted << ',' << link << ",forward,"
                 << cell(p.capacity_kbps) << ',' << cell(p.throughput_kbps) << ','
                 << cell(p.delay_ms) << ',' << cell(p.window_bytes) << ',' << cell(p.forecast_kbps)
                 << ",z\n";
      }
      for (const FramePoint& p : golden_frames(rng, 90)) {
        const auto cell = [](std::optional<double> v) { return v ? six_digits(v) : ""; };
        frames << quoted << ',' << link << ",forward," << p.frame << ',' << six_digits(p.capture_s)
               << ',' << cell(p.display_s) << ',' << cell(p.delay_ms) << ',' << cell(p.size_bytes)
               << ',' << cell(p.budget_bytes) << ',' << cell(p.quantizer) << ','
               << cell(p.key_frame) << ',' << cell(p.ssim_db) << ',' << cell(p.psnr_db) << "\r\n";
      }
    }
  }
  save_text("[" + results.str() + "]\n", folder / "results.json");
  if (sweep) {
    return;
  }
  save_text(timeline.str(), folder / "timeline.csv");
  save_text(frames.str(), folder / "frames.csv");
  std::string worst;
  for (const char* kind : {"freeze", "delay", "quality"}) {
    for (const char* scheme : {"sprout", "cress"}) {
      const uint64_t frame = rng.below(80);
      // Braces evaluate from left to right with every compiler.
      const std::array<double, 4> drawn{rng.uniform(0, 1), rng.uniform(1, 1.5), rng.uniform(1.5, 3),
                                        rng.uniform(3, 9)};
      worst += std::string{worst.empty() ? "[" : ","} + R"({"scheme":")" + scheme +
               R"(","link":"3g","direction":"forward","worst":")" + kind + R"(","frame":)" +
               std::to_string(frame) + R"(,"captured_s":)" + six_digits(drawn[0]) +
               R"(,"shown_s":)" + six_digits(drawn[1]) + R"(,"until_s":)" + six_digits(drawn[2]) +
               R"(,"ssim_db":)" + six_digits(drawn[3]) + R"(,"picture":")" + scheme + kind +
               ".webp\"}";
      save_text(webp_of(rng.below(40)), folder / (std::string{scheme} + kind + ".webp"));
    }
  }
  save_text(worst + "]", folder / "worst.json");
  fs::remove(folder / "sproutdelay.webp");
  save_text("RIFF....WEBQ++++", folder / "cressdelay.webp");
  save_text("RIFF....WEB", folder / "sproutquality.webp");
  save_text("x", folder / kFilmName);
  save_text("x", folder / "cress-forward.y4m");
  save_text("x", folder / "sprout-forward.webm");
}

/// The page's data, without the program's version.
std::string data_of(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const size_t from = html.find(begin) + begin.size();
  std::string data = html.substr(from, html.find("</script>", from) - from);
  const std::string version = "\"version\":\"" CRESS_VERSION "\",";
  const size_t at = data.find(version);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? data : data.erase(at, version.size());
}

TEST(ReportGolden, ThePageOfAFolderHoldsWhatWasRecorded) {
  const fs::path folder = fs::path{testing::TempDir()} / "cress_report_golden";
  std::string golden;
  for (const uint64_t seed : {1U, 2U}) {
    for (const bool sweep : {false, true}) {
      fs::remove_all(folder);
      fs::create_directories(folder);
      write_folder(folder, seed, sweep);
      const report::Run run = load_run(folder);
      golden += "run of " + std::to_string(run.results.size()) + " results, " +
                std::to_string(run.timelines.size()) + " timelines, " +
                std::to_string(run.frames.size()) + " frame logs, film " +
                std::to_string(static_cast<int>(run.has_film)) + "\n";
      for (const std::string& movie : run.movies) {
        golden += movie + "\n";
      }
      for (const Timeline& timeline : run.timelines) {
        golden += timeline.key.scheme + " " + timeline.key.link + " " + timeline.key.direction +
                  " " + golden_digest(lines_of(timeline.points)) + "\n";
      }
      for (const FrameLog& log : run.frames) {
        golden += log.key.scheme + " " + golden_digest(lines_of(log.points)) + "\n";
      }
      for (const WorstMoment& moment : run.worst) {
        const auto words = worst_words(moment, run.timelines.data(), run.frames.data());
        golden += words.title + ": " + words.text + " " + golden_digest(data_url(moment)) + "\n";
      }
      const auto groups = seed_groups(run.results);
      const auto options = telling_options(groups);
      for (size_t i = 0; i < groups.size(); ++i) {
        golden += groups[i].key.scheme + " x " + std::to_string(groups[i].results.size()) + ": " +
                  options[i] + "\n";
      }
      const std::string data = data_of(report_html(run));
      golden += "page " + std::to_string(data.size()) + " " + golden_digest(data) + "\n" +
                data.substr(0, 600) + "\n";
      write_report(folder, folder / "report.html");
      EXPECT_EQ(load_text(folder / "report.html", DataSize{1 << 25}), report_html(run));
    }
  }
  fs::remove_all(folder);
  expect_golden("pages", golden);
}

TEST(ReportGolden, WordsOfTheWorstMomentsAreAsRecorded) {
  Rng rng{41};
  std::string golden;
  for (int round = 0; round < 60; ++round) {
    Timeline timeline;
    timeline.points = golden_timeline(rng, rng.below(80));
    FrameLog log;
    log.points = golden_frames(rng, rng.below(200));
    WorstMoment moment;
    moment.kind = std::array{"freeze", "delay", "quality"}[rng.below(3)];
    moment.frame = static_cast<double>(rng.below(200));
    moment.captured_s = rng.uniform(0, 5);
    moment.shown_s = moment.captured_s + rng.exponential(0.5);
    moment.until_s = moment.shown_s + rng.exponential(1);
    moment.ssim_db = rng.uniform(1, 20);
    const bool has_timeline = rng.chance(0.85);
    const bool has_log = rng.chance(0.85);
    const WorstWords words =
        worst_words(moment, has_timeline ? &timeline : nullptr, has_log ? &log : nullptr);
    golden += words.title + ": " + words.text + "\n";
  }
  expect_golden("worst", golden);
}

/// The result of parsing `text`, or its error.
template <class Parsed>
std::string outcome_of(const Parsed& parsed) {
  return parsed ? "fine\n"
                : "line " + std::to_string(parsed.error().line) + ": " + parsed.error().what + "\n";
}

TEST(ReportGolden, BrokenFilesAreRefusedInTheWordsRecorded) {
  std::string golden;
  const std::string good = R"("scheme":"s","link":"l","direction":"d","window_s":[1,2])";
  for (const std::string& text :
       {std::string{"[]"}, std::string{"{}"}, std::string{"[1]"}, "[{" + good + "}]",
        "[{" + good + ",\"seed\":\"x\"}]", "[{" + good + ",\"window_s\":[1]}]",
        "[{" + good + ",\"window_s\":[1,\"2\"]}]", "[{" + good + ",\"delay95_ms\":\"x\"}]",
        "[{" + good + ",\"delay95_ms\":null}]", "[{" + good + ",\"delay95_ms\":1e999}]",
        std::string{"[{\"scheme\":1}]"}, std::string{"[\n{\n\"a\":,\n}]"}, "[{" + good + "}",
        std::string(18, '[') + std::string(18, ']'), std::string(15, '[') + std::string(15, ']'),
        std::string{"[{\"scheme\":\"s\"}]"}, std::string{""}}) {
    golden += outcome_of(parse_results(text)) + outcome_of(parse_worst(text));
  }
  const std::string columns =
      "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
      "forecast_kbps,frame,capture_s,display_s,size_bytes,budget_bytes,quantizer,key,ssim_db,"
      "psnr_db";
  const std::string rest = ",2,3,4,5,6,7,8,9,10,11,12,1,14,15";
  for (const std::string& text : {std::string{},
                                  columns,
                                  columns + "\n",
                                  columns + "\na,b,c,1" + rest + "\n",
                                  columns + "\r\n\r\n\"a\",\"b\",c,1" + rest,
                                  columns + "\na,b,c,1\n",
                                  columns + "\na,b,c," + rest,
                                  columns + "\na,b,c,x" + rest,
                                  columns + "\n\na,b,c,nan" + rest,
                                  columns + "\na,b,c,1e999" + rest,
                                  columns + "\na,b,c,1" + rest + ",7\n",
                                  columns + ",time_s\na,b,c,1" + rest + ",5\n",
                                  columns + ",more\na,b,c,1" + rest + ",q\n",
                                  columns + "\n\"a,b,c,1" + rest,
                                  columns + "\n\"a\"x,b,c,1" + rest,
                                  columns + "\n\"a\"\"x\",b,c,1" + rest,
                                  columns + "\na,b,c, 1" + rest,
                                  columns + "\na,b,c,1,,,,,,9,10,,,,,,,\n",
                                  columns + "\na,b,c,1,,,,,,9,,,,,,,,\n",
                                  columns + "\na,b,c,1" + rest + "\na,b,c,2\n",
                                  "time_s" + columns.substr(6) + "\n"}) {
    golden += outcome_of(parse_timeline(text)) + outcome_of(parse_frames(text));
  }
  const std::string many(300, ',');
  golden += outcome_of(parse_timeline(many + "\n"));
  expect_golden("refusals", golden);
}

}  // namespace
}  // namespace cress::report
