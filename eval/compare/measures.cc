#include "eval/compare/measures.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <system_error>

#include "transport/base/text.hh"

namespace cress::compare {
namespace {

// The variation of one run when only its start moves by milliseconds (docs/results/flows.md,
// "Twenty seeds"), or an imperceptible difference.
constexpr Tolerance kRate{20, 0.03};
constexpr Tolerance kDelay{10, 0.05};
constexpr std::array<Measure, 19> kMeasures{{
    {"throughput_kbps", "kbit/s", Better::kHigher, kRate, 0},
    {"goodput_kbps", "kbit/s", Better::kHigher, kRate, 0},
    {"utilization", "", Better::kHigher, {0.02, 0}, 3},
    {"delay95_ms", "ms", Better::kLower, kDelay, 1},
    {"self_inflicted_ms", "ms", Better::kLower, kDelay, 1},
    {"bitrate_kbps", "kbit/s", Better::kHigher, kRate, 0},
    {"frame_delay_p50_ms", "ms", Better::kLower, kDelay, 1},
    {"frame_delay_p95_ms", "ms", Better::kLower, kDelay, 1},
    {"frame_delay_p99_ms", "ms", Better::kLower, {20, 0.1}, 1},
    {"ssim_db", "dB", Better::kHigher, {0.2, 0}, 2},
    {"psnr_db", "dB", Better::kHigher, {0.3, 0}, 2},
    {"frames_displayed", "frames", Better::kHigher, {5, 0.02}, 0},
    {"freezes", "", Better::kLower, {2, 0.1}, 1},
    {"frozen_s", "s", Better::kLower, {0.5, 0.1}, 2},
    {"frozen_w3c_s", "s", Better::kLower, {0.5, 0.1}, 2},
    {"harmonic_fps", "frames/s", Better::kHigher, {0.5, 0.05}, 2},
    {"live_ssim_db", "dB", Better::kHigher, {0.2, 0}, 2},
    {"mouth_to_ear_p95_ms", "ms", Better::kLower, kDelay, 1},
    {"audio_concealed", "", Better::kLower, {0.005, 0.1}, 4},
}};

[[noreturn]] void refuse(std::string_view rule) {
  throw std::invalid_argument(
      fmt::format("--noise {}: not seeds, default, none, or MEASURE=NUMBER, MEASURE=SHARE%, "
                  "SHARE%, as in delay95_ms=10,ssim_db=2%",
                  rule));
}

Tolerance parse_tolerance(std::string_view text, std::string_view rule) {
  const bool percent = text.ends_with('%');
  text.remove_suffix(percent ? 1 : 0);
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= 0) || !std::isfinite(*value)) {
    refuse(rule);
  }
  return percent ? Tolerance{0, *value / 100} : Tolerance{*value, 0};
}

NoiseRule parse_rule(std::string_view rule) {
  const size_t equals = rule.find('=');
  if (equals == std::string_view::npos) {
    if (!rule.ends_with('%')) {
      refuse(rule);  // the measure is missing
    }
    return {"", parse_tolerance(rule, rule)};
  }
  const std::string_view name = rule.substr(0, equals);
  if (std::ranges::find(kMeasures, name, &Measure::key) == kMeasures.end()) {
    std::string words = fmt::format("--noise {}: no measure of that name; there are", rule);
    for (const Measure& measure : kMeasures) {
      words += fmt::format(" {}", measure.key);
    }
    throw std::invalid_argument(words);
  }
  return {std::string{name}, parse_tolerance(rule.substr(equals + 1), rule)};
}

}  // namespace

double Tolerance::of(double value) const { return std::max(absolute, relative * std::abs(value)); }

std::span<const Measure> measures() { return kMeasures; }

std::optional<Tolerance> Noise::rule_of(std::string_view measure) const {
  std::optional<Tolerance> found;
  for (const NoiseRule& rule : rules) {
    if (rule.measure.empty() || rule.measure == measure) {
      found = rule.tolerance;
    }
  }
  return found;
}

Noise parse_noise(std::string_view text) {
  Noise noise;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view rule = text.substr(0, comma);
    if (rule == "default") {
      noise.use_seeds = false;
    } else if (rule == "none") {
      noise.rules.push_back({"", {}});
    } else if (rule != "seeds") {
      noise.rules.push_back(parse_rule(rule));
    }
    if (comma == text.size()) {
      return noise;
    }
    text.remove_prefix(comma + 1);
  }
}

}  // namespace cress::compare
