#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "eval/report/page_parts.hh"

namespace cress::report {
namespace {

struct Stretch {
  double from_s = 0;
  double to_s = 0;
  bool contains(double time_s) const { return from_s <= time_s && time_s <= to_s; }
};

/// The text about a moment covers the time in which it developed.
Stretch stretch_of(const WorstMoment& moment) {
  if (moment.kind == "freeze") {
    return {moment.shown_s, moment.until_s};
  }
  if (moment.kind == "delay") {
    return {moment.captured_s, moment.shown_s};
  }
  constexpr double kBefore = 1;  // the span that determines a budget
  return {moment.captured_s - kBefore, moment.captured_s};
}

std::string tenths(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", seconds);
  return text.data();
}

std::string link_words(const Stretch& stretch, const Timeline& timeline) {
  constexpr double kBin = 0.1;
  double then = 0;
  double all = 0;
  int64_t bins_then = 0;
  int64_t bins_all = 0;
  double latest_ms = 0;
  for (const TimelinePoint& point : timeline.points) {
    if (!point.capacity_kbps) {
      continue;
    }
    all += *point.capacity_kbps;
    ++bins_all;
    if (stretch.contains(point.time_s) || stretch.contains(point.time_s + kBin)) {
      then += *point.capacity_kbps;
      ++bins_then;
      latest_ms = std::max(latest_ms, point.delay_ms.value_or(0));
    }
  }
  if (bins_then == 0) {
    return {};
  }
  then /= static_cast<double>(bins_then);
  all /= static_cast<double>(bins_all);
  std::string words = "The link could carry " + in_words_kbps(then) + " then, " +
                      in_words_kbps(all) + " on average.";
  constexpr double kLateMs = 300;
  if (latest_ms > kLateMs) {
    words += " Packets were up to " + in_words_ms(latest_ms) + " late.";
  }
  return words;
}

std::string skipped_words(const Stretch& stretch, const FrameLog& frames) {
  int64_t captured = 0;
  int64_t skipped = 0;
  for (const FramePoint& point : frames.points) {
    if (stretch.contains(point.capture_s)) {
      ++captured;
      skipped += point.size_bytes.value_or(0) > 0 ? 0 : 1;
    }
  }
  if (skipped == 0) {
    return {};
  }
  return " The sender skipped " + std::to_string(skipped) + " of the " + std::to_string(captured) +
         " pictures captured meanwhile.";
}

std::string coded_words(const WorstMoment& moment, const FrameLog& frames) {
  const auto coded = std::find_if(
      frames.points.begin(), frames.points.end(),
      [&](const FramePoint& point) { return point.frame == moment.frame && point.size_bytes; });
  if (coded == frames.points.end()) {
    return {};
  }
  std::string words =
      " It was coded in " + std::to_string(std::llround(*coded->size_bytes)) + " bytes";
  if (coded->budget_bytes) {
    words += " of " + std::to_string(std::llround(*coded->budget_bytes)) + " allowed";
  }
  if (coded->quantizer) {
    words += ", quantizer " + std::to_string(std::llround(*coded->quantizer)) + " of 63";
  }
  return words + ".";
}

std::string title_of(const WorstMoment& moment) {
  if (moment.kind == "freeze") {
    return "Stood still for " + in_words_ms(1000 * (moment.until_s - moment.shown_s));
  }
  if (moment.kind == "delay") {
    return in_words_ms(1000 * (moment.shown_s - moment.captured_s)) + " old when it appeared";
  }
  return "Least like its original: " + tenths(moment.ssim_db) + " dB";
}

}  // namespace

WorstWords worst_words(const WorstMoment& moment, const Timeline* timeline,
                       const FrameLog* frames) {
  const Stretch stretch = stretch_of(moment);
  WorstWords words{.title = title_of(moment), .text = "At " + tenths(moment.shown_s) + " s. "};
  words.text += timeline != nullptr ? link_words(stretch, *timeline) : "";
  if (frames != nullptr) {
    words.text +=
        moment.kind == "quality" ? coded_words(moment, *frames) : skipped_words(stretch, *frames);
  }
  return words;
}

std::string data_url(const WorstMoment& moment) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string url = "data:image/webp;base64,";
  for (size_t i = 0; i < moment.image.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, moment.image.size() - i);
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8U | (j < count ? static_cast<uint8_t>(moment.image[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      url.push_back(j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=');
    }
  }
  return url;
}

}  // namespace cress::report
