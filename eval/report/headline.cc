#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "eval/report/page_parts.hh"

namespace cress::report {

namespace {

/// Competitors with a sentence each; the others are in the table.
constexpr size_t kRivalsMax = 4;
/// Two delays closer than this are reported as equal.
constexpr double kSameWithin = 1.05;
/// Two pictures closer than this are reported as equally good.
constexpr double kSameWithinDb = 0.1;

std::string printed(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string name_in_words(const std::string& scheme) {
  return scheme == "cress" ? "Cress" : scheme;
}

using Place = std::tuple<std::string, std::string, std::string>;  // link, direction, seed

Place place_of(const RunResult& result) {
  return {result.key.link, result.key.direction, result.seed};
}

/// A measure of one scheme by place.
std::map<Place, double> by_place(std::span<const RunResult> results, const std::string& scheme,
                                 std::string_view measure) {
  std::map<Place, double> values;
  for (const RunResult& result : results) {
    if (const auto value = result.number(measure); value && result.key.scheme == scheme) {
      values[place_of(result)] = *value;
    }
  }
  return values;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Pair {
  double hero = 0.0;
  double rival = 0.0;
  size_t places = 0;
};

/// Medians over the places where both have the measure; nullopt if there are none.
std::optional<Pair> compare(std::span<const RunResult> results, const std::string& hero,
                            const std::string& rival, std::string_view measure) {
  const auto hero_values = by_place(results, hero, measure);
  const auto rival_values = by_place(results, rival, measure);
  std::vector<double> hers;
  std::vector<double> theirs;
  for (const auto& [place, value] : hero_values) {
    if (const auto found = rival_values.find(place); found != rival_values.end()) {
      hers.push_back(value);
      theirs.push_back(found->second);
    }
  }
  if (hers.empty()) {
    return std::nullopt;
  }
  return Pair{.hero = median(hers), .rival = median(theirs), .places = hers.size()};
}

std::string times(double ratio) {
  return printed(ratio < 9.95 ? "%.1f times" : "%.0f times", ratio);
}

/// "16 times as old", "1.3 times fresher", "about the same".
std::string ratio_in_words(double hero, double rival) {
  if (hero <= 0.0 || rival <= 0.0) {
    return {};
  }
  if (rival > hero * kSameWithin) {
    return times(rival / hero) + " as old";
  }
  if (hero > rival * kSameWithin) {
    return times(hero / rival) + " fresher";
  }
  return "about the same";
}

std::string median_note(size_t places) {
  return places > 1 ? " (median of " + std::to_string(places) + " runs)" : "";
}

/// "1.2 dB more SSIM", "as much SSIM", "0.4 dB less SSIM": the hero relative to the other.
std::string quality_in_words(const Pair& ssim) {
  const double gain = ssim.hero - ssim.rival;
  if (std::abs(gain) < kSameWithinDb) {
    return "as much SSIM (" + printed("%.1f dB)", ssim.hero);
  }
  return printed("%.1f dB", std::abs(gain)) + (gain > 0 ? " more SSIM" : " less SSIM");
}

/// "Cress's picture is 16 times fresher than old-style's (143 ms old or less for 95 % of the time,
/// against 2.31 s) with 1.2 dB more SSIM."
std::string lead_of(const std::string& hero, const std::string& rival, const Pair& delay,
                    const std::optional<Pair>& ssim, bool video) {
  const std::string thing = video ? "picture is " : "newest data is ";
  std::string comparison = "about as old as ";
  if (delay.rival > delay.hero * kSameWithin && delay.hero > 0.0) {
    comparison = times(delay.rival / delay.hero) + " fresher than ";
  } else if (delay.hero > delay.rival * kSameWithin && delay.rival > 0.0) {
    comparison = times(delay.hero / delay.rival) + " as old as ";
  }
  return name_in_words(hero) + "'s " + thing + comparison + name_in_words(rival) + "'s (" +
         in_words_ms(delay.hero) + " old or less for 95 % of the time, against " +
         in_words_ms(delay.rival) + ")" + (ssim ? ", with " + quality_in_words(*ssim) : "") +
         median_note(delay.places) + ".";
}

struct Rival {
  std::string scheme;
  Pair delay;
};

/// A scheme that knows the link is no competitor: it is mentioned last.
bool is_yardstick(std::string_view scheme) { return scheme == "omniscient"; }

/// All other schemes that can be compared, the one with the least delay first.
std::vector<Rival> rivals_of(std::span<const RunResult> results, const std::string& hero,
                             std::string_view measure) {
  std::vector<Rival> rivals;
  for (const RunResult& result : results) {
    const std::string& scheme = result.key.scheme;
    const bool known =
        scheme == hero || std::any_of(rivals.begin(), rivals.end(),
                                      [&](const Rival& r) { return r.scheme == scheme; });
    if (known) {
      continue;
    }
    if (const auto delay = compare(results, hero, scheme, measure)) {
      rivals.push_back({scheme, *delay});
    }
  }
  std::stable_sort(rivals.begin(), rivals.end(), [](const Rival& a, const Rival& b) {
    if (is_yardstick(a.scheme) != is_yardstick(b.scheme)) {
      return is_yardstick(b.scheme);
    }
    return a.delay.rival * b.delay.hero < b.delay.rival * a.delay.hero;
  });
  return rivals;
}

std::string percent(double share) { return printed("%.0f %%", share * 100.0); }

/// "Cress carried 1.8 Mbit/s, 64 % of what the link offered; sprout 1.2 Mbit/s, 40 %."
std::string rate_line(std::span<const RunResult> results, const std::string& hero,
                      const std::string& rival) {
  const auto rate = compare(results, hero, rival, "throughput_kbps");
  const auto share = compare(results, hero, rival, "utilization");
  if (!rate || !share) {
    return {};
  }
  return name_in_words(hero) + " carried " + in_words_kbps(rate->hero) + ", " +
         percent(share->hero) + " of what the link offered; " + name_in_words(rival) + " " +
         in_words_kbps(rate->rival) + ", " + percent(share->rival) + ".";
}

/// "The picture: 15.2 dB of SSIM against 14.0 dB; it stood still for 0.4 s against 12.0 s."
std::string picture_line(std::span<const RunResult> results, const std::string& hero,
                         const std::string& rival) {
  const auto ssim = compare(results, hero, rival, "ssim_db");
  const auto frozen = compare(results, hero, rival, "frozen_s");
  std::string line;
  if (ssim) {
    line = "The picture itself: " + printed("%.1f", ssim->hero) + " dB of SSIM with " +
           name_in_words(hero) + ", " + printed("%.1f dB", ssim->rival) + " with " +
           name_in_words(rival) + ".";
  }
  if (frozen) {
    line += std::string(line.empty() ? "" : " ") + "It stood still for " +
            printed("%.1f s", frozen->hero) + " and " + printed("%.1f s", frozen->rival) + ".";
  }
  return line;
}

std::string rival_line(const Rival& rival) {
  const std::string ratio = ratio_in_words(rival.delay.hero, rival.delay.rival);
  return name_in_words(rival.scheme) + ": " + in_words_ms(rival.delay.rival) +
         (ratio.empty() ? "" : ", " + ratio) + median_note(rival.delay.places) + ".";
}

Headline alone(std::span<const RunResult> results, const std::string& hero, bool video) {
  std::vector<double> delays;
  std::vector<double> shares;
  for (const RunResult& result : results) {
    const auto delay = result.number(video ? "frame_delay_p95_ms" : "delay95_ms");
    const auto share = result.number("utilization");
    if (result.key.scheme == hero && delay) {
      delays.push_back(*delay);
    }
    if (result.key.scheme == hero && share) {
      shares.push_back(*share);
    }
  }
  Headline words;
  words.lead = delays.empty()
                   ? name_in_words(hero) + ": nothing arrived in the scored time."
                   : "With " + name_in_words(hero) +
                         (video ? " the picture on screen" : " the newest data to arrive") +
                         " was at most " + in_words_ms(median(delays)) +
                         " old for 95 % of the time" + median_note(delays.size()) + ".";
  if (!shares.empty()) {
    words.lines.push_back("It used " + percent(median(shares)) + " of what the link offered" +
                          median_note(shares.size()) + ".");
  }
  return words;
}

}  // namespace

std::string in_words_ms(double milliseconds) {
  if (milliseconds < 999.5) {
    return printed("%.0f ms", milliseconds);
  }
  const double seconds = milliseconds / 1000.0;
  return printed(seconds < 9.995 ? "%.2f s" : seconds < 99.95 ? "%.1f s" : "%.0f s", seconds);
}

std::string in_words_kbps(double kilobits_per_second) {
  if (kilobits_per_second < 999.5) {
    return printed("%.0f kbit/s", kilobits_per_second);
  }
  const double megabits = kilobits_per_second / 1000.0;
  return printed(megabits < 9.995 ? "%.2f Mbit/s" : "%.1f Mbit/s", megabits);
}

std::string hero_scheme(std::span<const RunResult> results) {
  for (const RunResult& result : results) {
    if (result.key.scheme == "cress") {
      return result.key.scheme;
    }
  }
  return results.front().key.scheme;
}

Headline headline(std::span<const RunResult> results) {
  const std::string hero = hero_scheme(results);
  const bool video = std::any_of(results.begin(), results.end(), [&](const RunResult& result) {
    return result.key.scheme == hero && result.has_video();
  });
  const std::vector<Rival> rivals =
      rivals_of(results, hero, video ? "frame_delay_p95_ms" : "delay95_ms");
  if (rivals.empty()) {
    return alone(results, hero, video);
  }
  const Rival& closest = rivals.front();
  const auto ssim = video ? compare(results, hero, closest.scheme, "ssim_db") : std::nullopt;
  Headline words;
  words.lead = lead_of(hero, closest.scheme, closest.delay, ssim, video);
  for (const std::string& line :
       {rate_line(results, hero, closest.scheme), picture_line(results, hero, closest.scheme)}) {
    if (!line.empty()) {
      words.lines.push_back(line);
    }
  }
  for (size_t i = 1; i < std::min(rivals.size(), kRivalsMax); ++i) {
    words.lines.push_back(rival_line(rivals[i]));
  }
  return words;
}

}  // namespace cress::report
