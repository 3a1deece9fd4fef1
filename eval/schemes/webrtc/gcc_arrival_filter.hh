#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "transport/base/time.hh"

namespace cress::schemes {

/// A packet's times at its two ends, each by its own clock: only differences are used.
struct GccPacketTimes {
  TimePoint sent{};
  TimePoint arrived{};
};

/// The difference between two consecutive groups of packets: d(i) of draft-ietf-rmcat-gcc-02, §5.1,
/// in parts.
struct GccGroupVariation {
  Duration sent_gap{};     ///< T(i) - T(i-1): between the last packets' departures; > 0
  Duration arrival_gap{};  ///< t(i) - t(i-1): between their arrivals; >= 0
  TimePoint arrived{};     ///< t(i)
  Duration variation() const { return arrival_gap - sent_gap; }
  friend bool operator==(const GccGroupVariation&, const GccGroupVariation&) = default;
};

/// The draft's pre-filtering (§5.2): packets sent within kBurstTime of the group's first one form a
/// group; so do those that arrived in a burst, as after an outage. Accepts any times; a packet sent
/// before its group is left out. Threads: none inside; one owner.
class GccPacketGroups {
 public:
  static constexpr Duration kBurstTime = 5ms;
  /// Differs from the draft §5.2, which has no bound: a steady burst would never end. Value from
  /// libwebrtc.
  static constexpr Duration kBurstMax = 100ms;

  /// In order of sending. Returns the variation of the group that `packet` ends, if there was one
  /// before it.
  std::optional<GccGroupVariation> handle_packet(const GccPacketTimes& packet);

 private:
  struct Group {
    GccPacketTimes first;
    GccPacketTimes last;
  };
  bool belongs(const GccPacketTimes& packet) const;

  std::optional<Group> current_;
  std::optional<Group> previous_;
};

/// The draft's §5.3 and §5.6. Shape: all > 0, chi < 1.
struct GccArrivalFilterOptions {
  double state_noise = 1e-3;    ///< q, ms²
  double initial_error = 0.1;   ///< e(0), ms²
  double chi = 0.01;            ///< the draft: between 0.001 and 0.1
  double initial_noise = 50.0;  ///< var_v_hat(0), ms²: not in the draft; value from libwebrtc
};

/// The draft's arrival-time filter (§5.3): a scalar Kalman filter of the one-way delay gradient
/// m(i), whose measurement noise follows the residuals; residuals are clamped to three standard
/// deviations. Threads: none inside; one owner.
class GccArrivalFilter {
 public:
  explicit GccArrivalFilter(const GccArrivalFilterOptions& options = {});

  void handle_variation(const GccGroupVariation& variation);

  /// m(i), milliseconds per group.
  double gradient_ms() const { return gradient_ms_; }
  /// var_v_hat(i), ms², at least 1.
  double noise_variance() const { return noise_; }
  /// Groups seen.
  int64_t groups() const { return groups_; }

 private:
  Duration least_sent_gap(Duration newest);

  GccArrivalFilterOptions options_;
  double gradient_ms_ = 0;
  double error_;
  double noise_;
  int64_t groups_ = 0;
  std::deque<Duration> sent_gaps_;  // of the newest kGapsMax groups
};

}  // namespace cress::schemes
