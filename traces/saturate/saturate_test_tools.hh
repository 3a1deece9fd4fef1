#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/saturate/saturator.hh"
#include "transport/base/machine.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"
#include "transport/sim/world.hh"

namespace cress::traces {

/// For tests: entropy from a number.
inline std::array<std::byte, 32> entropy_of(uint8_t number) {
  std::array<std::byte, 32> entropy{};
  for (size_t i = 0; i < entropy.size(); ++i) {
    entropy[i] = static_cast<std::byte>(number + 7 * i);
  }
  return entropy;
}

inline Address test_address(uint8_t last, uint16_t port) {
  return {.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last}, .port = port};
}
inline const Address& connector_address() {
  static const Address kAddress = test_address(1, 1111);
  return kAddress;
}
inline const Address& listener_address() {
  static const Address kAddress = test_address(2, 2222);
  return kAddress;
}

/// For tests: the second path, a wire with constant delay; one for both directions.
struct FeedbackWire {
  struct Flying {
    TimePoint arrives{};
    std::vector<std::byte> bytes;
  };
  Duration delay = 20ms;
  bool cut = false;
  std::deque<Flying> to_connector;
  std::deque<Flying> to_listener;
};

/// For tests: a saturator as a host of the simulated world. Its link path is the world's; its
/// feedback path, if any, the wire.
class SaturatorHost final : public Machine {
 public:
  SaturatorHost(const SaturatorOptions& options, FeedbackWire* wire)
      : connects_(options.connects), wire_(wire), saturator_(kTimeZero, options) {}

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    saturator_.handle_datagram(now, SaturatePath::kLink, peer(), bytes);
    feed(now);
  }
  void handle_timeout(TimePoint now) override {
    auto* in = incoming();
    while (in != nullptr && !in->empty() && in->front().arrives <= now) {
      const auto bytes = std::move(in->front().bytes);
      in->pop_front();
      saturator_.handle_datagram(now, SaturatePath::kFeedback, peer(), bytes);
    }
    if (saturator_.poll_timeout() <= now) {
      saturator_.handle_timeout(now);
    }
    feed(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    feed(now);
    auto transmit = saturator_.poll_transmit(now, SaturatePath::kLink);
    if (transmit) {
      transmit->to = {};  // the only other host
    }
    return transmit;
  }
  TimePoint poll_timeout() const override {
    const auto* in = incoming();
    const TimePoint arrives = in == nullptr || in->empty() ? kNever : in->front().arrives;
    return std::min(arrives, saturator_.poll_timeout());
  }

  Saturator& saturator() { return saturator_; }

 private:
  std::deque<FeedbackWire::Flying>* incoming() const {
    return wire_ == nullptr ? nullptr : connects_ ? &wire_->to_connector : &wire_->to_listener;
  }
  const Address& peer() const { return connects_ ? listener_address() : connector_address(); }
  void feed(TimePoint now) {
    while (wire_ != nullptr) {
      auto transmit = saturator_.poll_transmit(now, SaturatePath::kFeedback);
      if (!transmit) {
        return;
      }
      if (!wire_->cut) {
        auto& out = connects_ ? wire_->to_listener : wire_->to_connector;
        out.push_back({now + wire_->delay, std::move(transmit->bytes)});
      }
    }
  }

  bool connects_;
  FeedbackWire* wire_;
  Saturator saturator_;
};

/// For tests: how well a measured direction reproduces the replayed trace.
struct Comparison {
  double capacity_error_median = 0;  ///< of whole seconds
  double capacity_error_worst = 0;
  double capacity_error_total = 0;
  size_t gaps = 0;             ///< of the trace, over 100 ms
  Duration gap_error_worst{};  ///< of their lengths
  size_t seconds = 0;
};

/// `offset`: the trace's time at the measurement's time 0.
inline Comparison compare(const sim::DeliveryTrace& replayed, const DirectionMeasurement& measured,
                          Duration offset) {
  Comparison result;
  const auto count = [&measured](Duration from, Duration to) {
    const auto& all = measured.trace.opportunities;
    const auto at = [&](Duration t) {
      return std::ranges::lower_bound(all, sim::DeliveryOpportunity{t});
    };
    return static_cast<double>(at(to) - at(from)) *
           static_cast<double>(sim::kOpportunitySize.bytes());
  };
  const TimePoint zero = kTimeZero + offset;
  std::vector<double> errors;
  for (Duration t{}; t + 1s <= measured.length; t += 1s) {
    const auto truth = static_cast<double>(replayed.capacity(zero + t, zero + t + 1s).bytes());
    const double found = count(t, t + 1s);
    errors.push_back(truth == 0 ? (found == 0 ? 0 : 1) : std::abs(found / truth - 1));
  }
  std::ranges::sort(errors);
  result.seconds = errors.size();
  if (!errors.empty()) {
    result.capacity_error_median = errors[errors.size() / 2];
    result.capacity_error_worst = errors.back();
  }
  const auto total = static_cast<double>(replayed.capacity(zero, zero + measured.length).bytes());
  result.capacity_error_total = total == 0 ? 0 : std::abs(count({}, measured.length) / total - 1);

  // Each gap of the trace inside the window, compared with the measured one around its middle.
  const auto& found = measured.trace.opportunities;
  const Duration period = replayed.period();
  std::vector<Duration> instants;
  for (Duration round{}; round <= offset + measured.length; round += period) {
    for (const sim::DeliveryOpportunity& opportunity : replayed.opportunities) {
      const Duration at = round + opportunity.at - offset;
      if (at >= Duration{} && at < measured.length) {
        instants.push_back(at);
      }
    }
  }
  for (size_t i = 1; i < instants.size(); ++i) {
    const Duration gap = instants[i] - instants[i - 1];
    if (gap <= 100ms) {
      continue;
    }
    ++result.gaps;
    const auto after =
        std::ranges::lower_bound(found, sim::DeliveryOpportunity{instants[i - 1] + gap / 2});
    const Duration measured_gap = after == found.end() || after == found.begin()
                                      ? Duration{}
                                      : after->at - std::prev(after)->at;
    const Duration error = measured_gap > gap ? measured_gap - gap : gap - measured_gap;
    result.gap_error_worst = std::max(result.gap_error_worst, error);
  }
  return result;
}

}  // namespace cress::traces
