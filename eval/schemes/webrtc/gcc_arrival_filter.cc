#include "eval/schemes/webrtc/gcc_arrival_filter.hh"

#include <algorithm>
#include <cmath>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// K of the draft's f_max, which it leaves open: two seconds of groups at 30 per second, as in
// libwebrtc.
constexpr size_t kGapsMax = 60;
// Groups cannot be nearer than a burst; with less, f_max would stop the noise from adapting.
constexpr Duration kGapMin = 1ms;
// Residuals beyond this many standard deviations are clamped (§5.3).
constexpr double kOutlier = 3;
constexpr double kNoiseMin = 1;

}  // namespace

bool GccPacketGroups::belongs(const GccPacketTimes& packet) const {
  if (packet.sent - current_->first.sent <= kBurstTime) {
    return true;
  }
  const Duration arrival_gap = packet.arrived - current_->last.arrived;
  const Duration sent_gap = packet.sent - current_->last.sent;
  return arrival_gap < kBurstTime && arrival_gap < sent_gap &&
         packet.arrived - current_->first.arrived < kBurstMax;
}

std::optional<GccGroupVariation> GccPacketGroups::handle_packet(const GccPacketTimes& packet) {
  if (!current_) {
    current_ = Group{packet, packet};
    return std::nullopt;
  }
  if (packet.sent < current_->first.sent) {
    return std::nullopt;
  }
  if (belongs(packet)) {
    current_->last.sent = std::max(current_->last.sent, packet.sent);
    current_->last.arrived = std::max(current_->last.arrived, packet.arrived);
    return std::nullopt;
  }
  std::optional<GccGroupVariation> variation;
  if (previous_) {
    variation = GccGroupVariation{.sent_gap = current_->last.sent - previous_->last.sent,
                                  .arrival_gap = current_->last.arrived - previous_->last.arrived,
                                  .arrived = current_->last.arrived};
    if (variation->arrival_gap < Duration{} || variation->sent_gap <= Duration{}) {
      variation.reset();  // reordered in transit: gives no information about the queue
    }
  }
  previous_ = current_;
  current_ = Group{packet, packet};
  return variation;
}

GccArrivalFilter::GccArrivalFilter(const GccArrivalFilterOptions& options)
    : options_(options), error_(options.initial_error), noise_(options.initial_noise) {
  check(options.state_noise > 0 && options.initial_error > 0 && options.initial_noise > 0 &&
            options.chi > 0 && options.chi < 1,
        "GccArrivalFilterOptions out of range");
}

Duration GccArrivalFilter::least_sent_gap(Duration newest) {
  sent_gaps_.push_back(newest);
  if (sent_gaps_.size() > kGapsMax) {
    sent_gaps_.pop_front();
  }
  return std::max(kGapMin, *std::ranges::min_element(sent_gaps_));
}

void GccArrivalFilter::handle_variation(const GccGroupVariation& variation) {
  ++groups_;
  // alpha = (1 - chi)^(30 / (1000 f_max)), and f_max, in 1/ms, is one over the least gap.
  const double alpha =
      std::pow(1 - options_.chi, 30 * to_milliseconds(least_sent_gap(variation.sent_gap)) / 1000.0);
  const double limit = kOutlier * std::sqrt(noise_);
  const double residual =
      std::clamp(to_milliseconds(variation.variation()) - gradient_ms_, -limit, limit);
  noise_ = std::max(alpha * noise_ + (1 - alpha) * residual * residual, kNoiseMin);
  const double predicted_error = error_ + options_.state_noise;
  const double gain = predicted_error / (noise_ + predicted_error);
  gradient_ms_ += residual * gain;
  error_ = (1 - gain) * predicted_error;
}

}  // namespace cress::schemes
