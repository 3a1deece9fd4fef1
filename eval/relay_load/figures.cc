#include "eval/relay_load/figures.hh"

#include <algorithm>
#include <sstream>

#include "eval/relay_load/quantile.hh"
#include "eval/relay_load/relay_process.hh"
#include "relay/daemon/metrics.hh"

namespace cress::relay_load {

SoundDelay delay_of(std::vector<Duration>& sounds) {
  return {
      .p50 = quantile(sounds, 0.5), .p99 = quantile(sounds, 0.99), .p999 = quantile(sounds, 0.999)};
}

std::optional<Duration> wait_quantile(const std::string& before, const std::string& after,
                                      double share) {
  const auto grown = [&](const std::string& name) {
    return metric(after, name) - metric(before, name);
  };
  const double all = grown("cress_relay_wait_seconds_count");
  for (const Duration bound : relay::DurationHistogram::kBounds) {
    std::string le = std::to_string(to_seconds(bound));
    le.erase(le.find_last_not_of('0') + 1);
    if (all > 0 && grown("cress_relay_wait_seconds_bucket{le=\"" + le + "\"}") >= share * all) {
      return bound;
    }
  }
  return std::nullopt;
}

std::map<std::string, uint64_t> refusals(const std::string& before, const std::string& after) {
  std::map<std::string, uint64_t> grown;
  std::istringstream lines{after};
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find("\"} ");
    if (line.find("refused_total{reason=\"") == std::string::npos || end == std::string::npos) {
      continue;
    }
    const std::string name = line.substr(0, end + 2);
    const double more = metric(after, name) - metric(before, name);
    const size_t begin = line.find('"') + 1;
    if (more > 0) {
      grown[(name.find("member_") != std::string::npos ? "member_" : "") +
            line.substr(begin, end - begin)] = static_cast<uint64_t>(more);
    }
  }
  return grown;
}

Comparison compare_turns(std::vector<std::vector<Duration>>& turns, double share) {
  Comparison result;
  std::vector<double> growths;
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    std::vector<Duration>& all = turn % 2 == 0 ? result.calm : result.attacked;
    all.insert(all.end(), turns[turn].begin(), turns[turn].end());
    const auto before = turn % 2 == 1 ? quantile(turns[turn - 1], share) : std::nullopt;
    const auto during = quantile(turns[turn], share);
    if (before && during) {
      growths.push_back(to_seconds(*during) / to_seconds(*before));
    }
  }
  std::ranges::sort(growths);
  result.pairs = static_cast<int>(growths.size());
  if (!growths.empty()) {
    const size_t last = growths.size() - 1;
    result.growth = {.median = growths[growths.size() / 2],
                     .low = growths[last / 4],
                     .high = growths[last - last / 4]};
  }
  return result;
}

}  // namespace cress::relay_load
