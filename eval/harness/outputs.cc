#include "eval/harness/outputs.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "eval/metrics/picture_quality.hh"
#include "media/codec/webp.hh"
#include "media/frame/scale_picture.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"

namespace cress::harness {
namespace {

using Json = nlohmann::ordered_json;

/// A thousandth is finer than any measurement, and keeps files readable.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json json_of(std::optional<double> value) { return value ? Json(rounded(*value)) : Json(nullptr); }

Json json_of(metrics::Window window) { return {to_seconds(window.from), to_seconds(window.to)}; }

Json json_of(const FlowShare& flow) {
  Json object = {{"flow", flow.kind},
                 {"on_s", flow.on.from < flow.on.to ? json_of(flow.on) : Json(nullptr)},
                 {"rate_kbps", rounded(flow.rate_kbps)},
                 {"goodput_kbps", rounded(flow.goodput_kbps)},
                 {"share", json_of(flow.share)},
                 {"delay95_ms", json_of(flow.delay95_ms)}};
  if (flow.frames) {
    object.update({{"frames_captured", flow.frames->captured},
                   {"frames_displayed", flow.frames->displayed},
                   {"frozen_s", rounded(flow.frames->frozen_s)},
                   {"frame_delay_p95_ms", json_of(flow.frames->delay95_ms)}});
  }
  return object;
}

Json json_of(const Sharing& sharing) {
  Json flows = Json::array();
  for (const FlowShare& flow : sharing.flows) {
    flows.push_back(json_of(flow));
  }
  const bool met = sharing.together.has_value();
  return {{"together_s", met ? json_of(*sharing.together) : Json(nullptr)},
          {"fair_share_kbps", met ? Json(rounded(sharing.fair_share_kbps)) : Json(nullptr)},
          {"rate_kbps", met ? Json(rounded(sharing.rate_kbps)) : Json(nullptr)},
          {"share", json_of(sharing.share)},
          {"jain", json_of(sharing.jain)},
          {"flows", std::move(flows)}};
}

Json json_of(const DirectionResult& r) {
  Json object = {
      {"scheme", r.scheme},
      {"link", r.link},
      {"direction", r.direction},
      {"seed", r.seed},
      {"window_s", {to_seconds(r.window.from), to_seconds(r.window.to)}},
      {"capacity_kbps", rounded(r.capacity_kbps)},
      {"throughput_kbps", rounded(r.throughput_kbps)},
      {"goodput_kbps", rounded(r.goodput_kbps)},
      {"utilization", rounded(r.utilization)},
      {"delay95_ms", json_of(r.delay95_ms)},
      {"omniscient95_ms", json_of(r.omniscient95_ms)},
      {"self_inflicted_ms", json_of(r.self_inflicted_ms)},
      {"delay50_ms", json_of(r.delay50_ms)},
      {"packets_delivered", r.packets_delivered},
      {"packets_lost", r.packets_lost},
      {"packets_dropped", r.packets_dropped},
  };
  if (r.video) {
    const VideoResult& v = *r.video;
    object.update({{"bitrate_kbps", rounded(v.bitrate_kbps)},
                   {"frame_delay_p50_ms", json_of(v.frame_delay_p50_ms)},
                   {"frame_delay_p95_ms", json_of(v.frame_delay_p95_ms)},
                   {"frame_delay_p99_ms", json_of(v.frame_delay_p99_ms)},
                   {"ssim_db", json_of(v.ssim_db)},
                   {"psnr_db", json_of(v.psnr_db)},
                   {"frames_captured", v.frames_captured},
                   {"frames_displayed", v.frames_displayed},
                   {"freezes", v.freezes},
                   {"frozen_s", rounded(v.frozen_s)},
                   {"key_frames", v.key_frames},
                   {"freezes_w3c", v.freezes_w3c},
                   {"frozen_w3c_s", rounded(v.frozen_w3c_s)},
                   {"gaps_500ms", v.gaps_500ms},
                   {"harmonic_fps", rounded(v.harmonic_fps)},
                   {"live_ssim_db", rounded(v.live_ssim_db)}});
  }
  if (r.sound) {
    object.update({{"mouth_to_ear_p50_ms", json_of(r.sound->mouth_to_ear_p50_ms)},
                   {"mouth_to_ear_p95_ms", json_of(r.sound->mouth_to_ear_p95_ms)},
                   {"audio_concealed", json_of(r.sound->concealed)}});
  }
  if (r.sharing) {
    object["sharing"] = json_of(*r.sharing);
  }
  return object;
}

std::string cell(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : ""; }
std::string cell(std::optional<int64_t> value) { return value ? fmt::format("{}", *value) : ""; }

std::optional<double> seconds(std::optional<Duration> time) {
  return time ? std::optional{to_seconds(*time)} : std::nullopt;
}

std::string short_cell(std::optional<double> value, int decimals = 0) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

/// A line for each other flow, below the scheme's own.
std::string sharing_lines(const Sharing& sharing) {
  std::string text;
  for (const FlowShare& flow : sharing.flows) {
    text += fmt::format("  next to {:<12} {:>6.0f} kbit/s, share {}, delay95 {} ms\n", flow.kind,
                        flow.rate_kbps, short_cell(flow.share, 2), short_cell(flow.delay95_ms));
  }
  if (sharing.together) {
    text += fmt::format("  from {:g} to {:g} s: own share {}, Jain's index {}\n",
                        to_seconds(sharing.together->from), to_seconds(sharing.together->to),
                        short_cell(sharing.share, 2), short_cell(sharing.jain, 3));
  }
  return text;
}

/// As wide as a report shows it, and some kilobytes.
void save_picture(const media::Picture& picture, const std::filesystem::path& path) {
  constexpr int kWidthMax = 320;
  constexpr int kQuantizer = 24;
  const int width = std::min(picture.width, kWidthMax);
  const int height = std::max(2, picture.height * width / picture.width);
  const auto file = media::webp_file(media::scale_picture(picture, width, height), kQuantizer);
  save_text({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

/// From an earlier command.
void remove_pictures(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{folder, error}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("worst-") && name.ends_with(".webp")) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

}  // namespace

std::string results_json(const std::vector<DirectionResult>& results) {
  Json list = Json::array();
  for (const DirectionResult& result : results) {
    list.push_back(json_of(result));
  }
  return list.dump(2) + "\n";
}

std::string timeline_csv(const std::vector<TimelineRow>& rows) {
  std::string text =
      "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
      "forecast_kbps\n";
  for (const TimelineRow& row : rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.1f},{:.3f},{:.3f},{},{},{}\n", row.scheme,
                   csv_field(row.link), row.direction, to_seconds(row.time), row.capacity_kbps,
                   row.throughput_kbps, cell(row.delay_ms), cell(row.window_bytes),
                   cell(row.forecast_kbps));
  }
  return text;
}

std::string frames_csv(const std::vector<FrameRow>& rows) {
  std::string text =
      "scheme,link,direction,frame,capture_s,display_s,delay_ms,size_bytes,budget_bytes,quantizer,"
      "key,ssim_db,psnr_db\n";
  for (const FrameRow& row : rows) {
    const auto delay =
        row.shown ? std::optional{to_milliseconds(*row.shown - row.captured)} : std::nullopt;
    const bool coded = row.size_bytes > 0;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.3f},{},{},{},{},{},{},{},{}\n",
                   row.scheme, csv_field(row.link), row.direction, row.frame,
                   to_seconds(row.captured), cell(seconds(row.shown)), cell(delay),
                   cell(coded ? std::optional{row.size_bytes} : std::nullopt),
                   cell(row.budget_bytes),
                   cell(coded ? std::optional<int64_t>{row.quantizer} : std::nullopt),
                   row.key_frame ? 1 : 0, cell(row.ssim_db), cell(row.psnr_db));
  }
  return text;
}

std::string worst_json(const std::vector<MomentRow>& rows) {
  Json list = Json::array();
  for (const MomentRow& row : rows) {
    const ShownMoment& moment = row.worst.moment;
    list.push_back({{"scheme", row.scheme},
                    {"link", row.link},
                    {"direction", row.direction},
                    {"worst", name_of(row.worst.kind)},
                    {"frame", moment.frame},
                    {"captured_s", rounded(to_seconds(moment.captured))},
                    {"shown_s", rounded(to_seconds(moment.shown))},
                    {"until_s", rounded(to_seconds(moment.until))},
                    {"ssim_db", rounded(metrics::ssim_to_db(moment.ssim))},
                    {"picture", picture_name(row)}});
  }
  return list.dump(2) + "\n";
}

std::string picture_name(const MomentRow& row) {
  return fmt::format("worst-{}-{}-{}.webp", row.scheme, row.direction, name_of(row.worst.kind));
}

std::string results_table(const std::vector<DirectionResult>& results) {
  const bool any_video = std::ranges::any_of(results, [](const auto& r) { return !!r.video; });
  const bool any_sound = std::ranges::any_of(results, [](const auto& r) { return !!r.sound; });
  std::string text = fmt::format("{:<15} {:<24} {:<8} {:>8} {:>8} {:>5} {:>8} {:>8}", "scheme",
                                 "link", "way", "capacity", "through", "util", "delay95", "self");
  text += any_video ? fmt::format(" {:>8} {:>8} {:>7} {:>6} {:>7} {:>7}", "frame50", "frame95",
                                  "SSIM", "shown", "freezes", "frozen")
                    : "";
  text += any_sound ? fmt::format(" {:>7} {:>9}", "ear95", "concealed") : "";
  text += fmt::format("\n{:<15} {:<24} {:<8} {:>8} {:>8} {:>5} {:>8} {:>8}", "", "", "", "kbit/s",
                      "kbit/s", "", "ms", "ms");
  text += any_video ? fmt::format(" {:>8} {:>8} {:>7} {:>6} {:>7} {:>7}", "ms", "ms", "dB",
                                  "frames", "", "s")
                    : "";
  text += any_sound ? fmt::format(" {:>7} {:>9}", "ms", "%") : "";
  text += "\n";
  for (const DirectionResult& r : results) {
    text += fmt::format("{:<15} {:<24} {:<8} {:>8.0f} {:>8.0f} {:>5.2f} {:>8} {:>8}", r.scheme,
                        r.link, r.direction, r.capacity_kbps, r.throughput_kbps, r.utilization,
                        short_cell(r.delay95_ms), short_cell(r.self_inflicted_ms));
    if (r.video) {
      const VideoResult& v = *r.video;
      text += fmt::format(" {:>8} {:>8} {:>7} {:>6} {:>7} {:>7.1f}",
                          short_cell(v.frame_delay_p50_ms), short_cell(v.frame_delay_p95_ms),
                          short_cell(v.ssim_db, 2), v.frames_displayed, v.freezes, v.frozen_s);
    }
    if (r.sound) {
      const auto concealed =
          r.sound->concealed ? std::optional{*r.sound->concealed * 100} : std::nullopt;
      text += fmt::format(" {:>7} {:>9}", short_cell(r.sound->mouth_to_ear_p95_ms),
                          short_cell(concealed, 1));
    }
    text += "\n";
    if (r.sharing) {
      text += sharing_lines(*r.sharing);
    }
  }
  return text;
}

OutputFolder::OutputFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw std::runtime_error(folder_.string() + ": the output folder cannot be made: " +
                             error.message() + "; choose another with --out");
  }
  save_text(results_json({}), folder_ / "results.json");
  for (const char* name : {"timeline.csv", "frames.csv", "worst.json", "run.json"}) {
    std::filesystem::remove(folder_ / name, error);  // of an earlier command: they would not match
  }
  remove_pictures(folder_);
}

void OutputFolder::add(RunOutput output) {
  const auto append = [](auto& all, auto& more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  append(all_.results, output.results);
  append(all_.timeline, output.timeline);
  append(all_.frames, output.frames);
  save_text(results_json(all_.results), folder_ / "results.json");
  save_text(timeline_csv(all_.timeline), folder_ / "timeline.csv");
  if (!all_.frames.empty()) {
    save_text(frames_csv(all_.frames), folder_ / "frames.csv");
  }
  for (MomentRow& row : output.moments) {
    save_picture(*row.worst.moment.picture, folder_ / picture_name(row));
    row.worst.moment.picture.reset();
  }
  append(all_.moments, output.moments);
  if (!all_.moments.empty()) {
    save_text(worst_json(all_.moments), folder_ / "worst.json");
  }
}

}  // namespace cress::harness
