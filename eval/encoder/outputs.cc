#include "eval/encoder/outputs.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "eval/encoder/bd_rate.hh"
#include "eval/metrics/picture_quality.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"

namespace cress::encoder_bench {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 1000) / 1000; }
Json json_of(std::optional<double> value) { return value ? Json(rounded(*value)) : Json(nullptr); }

/// One place for the names: results.json and results.csv are the same table.
Json json_of(size_t number, const CellOutput& cell) {
  const CellSpec& s = cell.spec;
  const CellResult& r = cell.result;
  const auto fit = [&](double FrameFit::*member) {
    return json_of(r.fit ? std::optional{(*r.fit).*member} : std::nullopt);
  };
  return {
      {"cell", number},
      {"video", s.video},
      {"encoder", s.encoder_label()},
      {"budget", s.budget},
      {"width", s.width},
      {"height", s.height},
      {"cpu_used", s.cpu_used},
      {"seed", s.seed},
      {"frames", r.frames},
      {"skipped", r.skipped},
      {"skipped_share", rounded(static_cast<double>(r.skipped) / static_cast<double>(r.frames))},
      {"over_share", fit(&FrameFit::over_share)},
      {"fit_p50", fit(&FrameFit::p50)},
      {"fit_p95", fit(&FrameFit::p95)},
      {"fit_p99", fit(&FrameFit::p99)},
      {"fit_max", fit(&FrameFit::max)},
      {"use_median", json_of(r.use_median)},
      {"use_total", json_of(r.use_total)},
      {"psnr_db", json_of(r.psnr_db)},
      {"ssim_db", json_of(r.ssim_db)},
      {"psnr_held_db", rounded(r.psnr_held_db)},
      {"ssim_held_db", rounded(r.ssim_held_db)},
      {"bitrate_kbps", rounded(r.bitrate_kbps)},
      {"budget_kbps", json_of(r.budget_kbps)},
      {"quantizer_mean", json_of(r.quantizer_mean)},
      {"attempts_mean", json_of(r.attempts_mean)},
      {"scaled_share", rounded(r.scaled_share)},
      {"bytes", r.bytes},
      {"key_frames", r.key_frames}};
}

Json list_of(const std::vector<CellOutput>& cells) {
  Json list = Json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    list.push_back(json_of(i, cells[i]));
  }
  return list;
}

/// A field of a CSV.
std::string json_field(const Json& value) {
  if (value.is_null()) {
    return "";
  }
  return value.is_string() ? csv_field(value.get<std::string>()) : value.dump();
}

std::string number_field(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : "";
}

std::string short_cell(std::optional<double> value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

/// Whether it is the same scene, so that curves may be compared.
bool same_scene(const CellSpec& a, const CellSpec& b) {
  return a.video == b.video && a.width == b.width && a.height == b.height &&
         a.cpu_used == b.cpu_used;
}

/// The curve that contains `of`.
std::vector<RatePoint> curve(const std::vector<CellOutput>& cells, const CellSpec& scene,
                             const std::string& encoder, double CellResult::*quality) {
  std::vector<RatePoint> points;
  for (const CellOutput& cell : cells) {
    if (cell.spec.encoder == encoder && same_scene(cell.spec, scene)) {
      points.push_back({cell.result.bitrate_kbps, cell.result.*quality});
    }
  }
  return points;
}

double quantile_ms(const std::vector<Duration>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return rounded(to_milliseconds(sorted[std::max<size_t>(rank, 1) - 1]));
}

std::string encode_cell(const CellOutput& cell) {
  std::vector<Duration> times = cell.encode_times;
  std::ranges::sort(times);
  return times.empty() ? "-" : fmt::format("{:.1f}", quantile_ms(times, 0.5));
}

}  // namespace

std::vector<BdRate> bd_rates(const std::vector<CellOutput>& cells, const std::string& anchor) {
  std::vector<BdRate> rates;
  for (const CellOutput& cell : cells) {
    const CellSpec& spec = cell.spec;
    const bool known = std::ranges::any_of(rates, [&](const BdRate& rate) {
      return rate.encoder == spec.encoder && rate.video == spec.video && rate.width == spec.width &&
             rate.height == spec.height && rate.cpu_used == spec.cpu_used;
    });
    if (known || spec.encoder == anchor) {
      continue;
    }
    const auto percent = [&](double CellResult::*quality) {
      return bd_rate_percent(curve(cells, spec, anchor, quality),
                             curve(cells, spec, spec.encoder, quality));
    };
    rates.push_back({.video = spec.video,
                     .width = spec.width,
                     .height = spec.height,
                     .cpu_used = spec.cpu_used,
                     .encoder = spec.encoder,
                     .anchor = anchor,
                     .psnr_percent = percent(&CellResult::psnr_held_db),
                     .ssim_percent = percent(&CellResult::ssim_held_db)});
  }
  return rates;
}

std::string results_json(const std::vector<CellOutput>& cells) {
  // File names may contain bytes that are not UTF-8: they become U+FFFD.
  return list_of(cells).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string results_csv(const std::vector<CellOutput>& cells) {
  std::string text;
  for (const Json& row : list_of(cells)) {
    if (text.empty()) {
      for (const auto& [name, value] : row.items()) {
        text += fmt::format("{}{}", text.empty() ? "" : ",", name);
      }
      text += "\n";
    }
    std::string line;
    for (const auto& [name, value] : row.items()) {
      line += fmt::format("{}{}", name == "cell" ? "" : ",", json_field(value));
    }
    text += line + "\n";
  }
  return text;
}

std::string frames_csv(const std::vector<CellOutput>& cells) {
  std::string text =
      "cell,encoder,frame,time_s,scored,budget_bytes,size_bytes,key,quantizer,attempts,width,"
      "height,psnr_db,ssim_db,psnr_held_db,ssim_held_db\n";
  for (size_t i = 0; i < cells.size(); ++i) {
    const CellOutput& cell = cells[i];
    for (const FrameRow& row : cell.frames) {
      const auto coded = [&](int value) { return row.coded() ? std::to_string(value) : ""; };
      const auto ssim_db = row.ssim ? std::optional{metrics::ssim_to_db(*row.ssim)} : std::nullopt;
      fmt::format_to(
          std::back_inserter(text), "{},{},{},{:.3f},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f}\n",
          i, cell.spec.encoder_label(), row.frame, to_seconds(cell.frame_rate.time_of(row.frame)),
          row.frame >= cell.spec.skip ? 1 : 0,
          row.budget_bytes ? std::to_string(*row.budget_bytes) : "",
          row.coded() ? std::to_string(row.size_bytes) : "", row.key_frame ? 1 : 0,
          coded(row.quantizer), row.attempts, coded(row.width), coded(row.height),
          number_field(row.psnr_db), number_field(ssim_db), row.psnr_held_db,
          metrics::ssim_to_db(row.ssim_held));
    }
  }
  return text;
}

std::string bd_json(const std::vector<BdRate>& rates) {
  Json list = Json::array();
  for (const BdRate& r : rates) {
    list.push_back({{"video", r.video},
                    {"width", r.width},
                    {"height", r.height},
                    {"cpu_used", r.cpu_used},
                    {"encoder", r.encoder},
                    {"anchor", r.anchor},
                    {"bd_rate_psnr_percent", json_of(r.psnr_percent)},
                    {"bd_rate_ssim_percent", json_of(r.ssim_percent)}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string timing_json(const std::vector<CellOutput>& cells) {
  Json list = Json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    const CellOutput& cell = cells[i];
    std::vector<Duration> times = cell.encode_times;
    std::ranges::sort(times);
    const auto at = [&](double share) {
      return times.empty() ? Json(nullptr) : Json(quantile_ms(times, share));
    };
    list.push_back({{"cell", i},
                    {"encoder", cell.spec.encoder_label()},
                    {"budget", cell.spec.budget},
                    {"width", cell.spec.width},
                    {"height", cell.spec.height},
                    {"cpu_used", cell.spec.cpu_used},
                    {"pictures", times.size()},
                    {"encode_p50_ms", at(0.5)},
                    {"encode_p95_ms", at(0.95)},
                    {"encode_p99_ms", at(0.99)},
                    {"encode_max_ms", at(1)}});
  }
  return list.dump(2) + "\n";
}

std::string results_table(const std::vector<CellOutput>& cells) {
  size_t encoder = 7;
  size_t budget = 6;
  for (const CellOutput& cell : cells) {
    encoder = std::max(encoder, cell.spec.encoder_label().size());
    budget = std::max(budget, std::min<size_t>(cell.spec.budget.size(), 32));
  }
  const auto heading = [&](auto... names) {
    return fmt::format(
        "{:<{}}  {:<{}}  {:>9} {:>4} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5} {:>6} {:>6} {:>6} {:>7} "
        "{:>5} {:>6}\n",
        names...);
  };
  std::string text =
      heading("encoder", encoder, "budget", budget, "size", "cpu", "over", "p50", "p95", "p99",
              "max", "use", "skip", "PSNR", "SSIM", "kbit/s", "tries", "encode") +
      heading("", encoder, "", budget, "", "", "%", "x", "x", "x", "x", "", "%", "dB held",
              "dB held", "", "", "ms p50");
  for (const CellOutput& cell : cells) {
    const CellResult& r = cell.result;
    const auto fit = [&](double FrameFit::*member, double scale, int decimals) {
      return short_cell(r.fit ? std::optional{scale * ((*r.fit).*member)} : std::nullopt, decimals);
    };
    text += heading(
        cell.spec.encoder_label(), encoder, cell.spec.budget.substr(0, 32), budget,
        fmt::format("{}x{}", cell.spec.width, cell.spec.height), cell.spec.cpu_used,
        fit(&FrameFit::over_share, 100, 1), fit(&FrameFit::p50, 1, 2), fit(&FrameFit::p95, 1, 2),
        fit(&FrameFit::p99, 1, 2), fit(&FrameFit::max, 1, 2), short_cell(r.use_total, 2),
        fmt::format("{:.1f}", 100 * static_cast<double>(r.skipped) / static_cast<double>(r.frames)),
        fmt::format("{:.2f}", r.psnr_held_db), fmt::format("{:.2f}", r.ssim_held_db),
        fmt::format("{:.0f}", r.bitrate_kbps), short_cell(r.attempts_mean, 2), encode_cell(cell));
  }
  return text;
}

std::string bd_table(const std::vector<BdRate>& rates) {
  std::string text;
  for (const BdRate& r : rates) {
    const auto percent = [](std::optional<double> value) {
      return value ? fmt::format("{:+.1f} %", *value) : std::string{"no common quality"};
    };
    text += fmt::format("{} needs against {}, {} {}x{} cpu {}: {} by PSNR, {} by SSIM (BD-rate)\n",
                        r.encoder, r.anchor, r.video, r.width, r.height, r.cpu_used,
                        percent(r.psnr_percent), percent(r.ssim_percent));
  }
  return text;
}

std::string file_name(size_t number, const CellSpec& spec) {
  std::string name = fmt::format("{:02}-{}-{}", number, spec.encoder_label(),
                                 std::filesystem::path{spec.budget}.filename().string());
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    c = plain ? c : '-';
  }
  return fmt::format("{}-{}x{}-cpu{}", name.substr(0, 80), spec.width, spec.height, -spec.cpu_used);
}

OutputFolder::OutputFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw std::runtime_error(folder_.string() + ": the output folder cannot be made: " +
                             error.message() + "; choose another with --out");
  }
  save_text(results_json({}), folder_ / "results.json");
  for (const char* name :
       {"results.csv", "frames.csv", "timing.json", "bd_rate.json", "report.html"}) {
    std::filesystem::remove(folder_ / name, error);
  }
}

void OutputFolder::add(CellOutput cell) {
  cells_.push_back(std::move(cell));
  save_text(results_json(cells_), folder_ / "results.json");
  save_text(results_csv(cells_), folder_ / "results.csv");
  save_text(frames_csv(cells_), folder_ / "frames.csv");
  save_text(timing_json(cells_), folder_ / "timing.json");
}

}  // namespace cress::encoder_bench
