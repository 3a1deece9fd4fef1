#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/window.hh"
#include "transport/base/time.hh"

namespace cress::harness {

/// On-off traffic (eval/schemes/web_flow.hh), in place of a scheme's name.
inline constexpr const char* kWebTraffic = "web";

/// Other traffic in the same queue: `count` flows of one kind.
struct CrossFlow {
  std::string kind;  ///< kWebTraffic, or a scheme: a call where it can carry one, else a flow
  size_t count = 1;
  Duration start{};
  std::optional<Duration> length{};  ///< nullopt: to the run's end
  bool up = false;                   ///< through the reverse direction's queue
  friend bool operator==(const CrossFlow&, const CrossFlow&) = default;
};

/// What one flow got of a shared queue.
struct FlowShare {
  std::string kind;
  metrics::Window on{};  ///< the part of the scored window in which the flow ran
  double rate_kbps = 0;  ///< IP bytes that left the queue
  double goodput_kbps = 0;
  std::optional<double> share;       ///< of its fair share while all ran; nullopt for web traffic
  std::optional<double> delay95_ms;  ///< nullopt for web traffic
  struct Frames {
    int64_t captured = 0;
    int64_t displayed = 0;
    double frozen_s = 0;
    std::optional<double> delay95_ms;
  };
  std::optional<Frames> frames;  ///< of a call
};

/// How a queue was shared while the scheme and all flows but web traffic ran.
struct Sharing {
  std::optional<metrics::Window> together;  ///< nullopt: never; then only `flows` is known
  double fair_share_kbps = 0;
  double rate_kbps = 0;         ///< of the scheme under test
  std::optional<double> share;  ///< rate / fair share
  std::optional<double> jain;
  std::vector<FlowShare> flows;
};

/// Jain's index of fairness: 1 for equal rates, 1/n when one of n has everything. 0 if all rates
/// are 0 (Jain, Chiu, Hawe, DEC-TR-301, 1984).
double jain_index(const std::vector<double>& rates);

}  // namespace cress::harness
