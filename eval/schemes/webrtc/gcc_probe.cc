#include "eval/schemes/webrtc/gcc_probe.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

// libwebrtc's: enough of a cluster, and the share reported if the link was slower than the burst.
constexpr double kEnough = 0.8;
constexpr double kSlowerThan = 0.9;
constexpr double kTellOfSlower = 0.95;
// Arrivals this much faster than departures are an artefact of the path.
constexpr double kFasterMax = 2;

}  // namespace

GccProber::GccProber(DataRate start, const GccProberOptions& options) : options_(options) {
  check(options.packets_min > 1 && options.duration_min > Duration{},
        "GccProberOptions out of range");
  for (const double factor : options.factors) {
    check(factor > 1, "GccProberOptions: a probe below the start rate");
    clusters_.push_back({.rate = start * factor});
  }
}

bool GccProber::is_complete(const Cluster& cluster) const {
  return cluster.packets_sent >= options_.packets_min &&
         cluster.sent >= cluster.rate * options_.duration_min;
}

void GccProber::handle_first_packet(TimePoint now) {
  if (!std::exchange(begun_, true) && !clusters_.empty()) {
    clusters_.front().started = now;
  }
}

TimePoint GccProber::poll_timeout() const {
  if (!begun_ || current_ >= clusters_.size()) {
    return kNever;
  }
  const Cluster& cluster = clusters_[current_];
  return cluster.started + cluster.sent / cluster.rate;
}

int GccProber::handle_sent(TimePoint now, DataSize size) {
  check(current_ < clusters_.size(), "GccProber: nothing to send");
  const auto index = static_cast<int>(current_);
  Cluster& cluster = clusters_[current_];
  ++cluster.packets_sent;
  cluster.sent += size;
  if (is_complete(cluster) && ++current_ < clusters_.size()) {
    clusters_[current_].started = now;
  }
  return index;
}

std::optional<DataRate> GccProber::measured(const Cluster& cluster) const {
  const Duration sending = cluster.last_sent - cluster.first_sent;
  const Duration arriving = cluster.last_arrival - cluster.first_arrival;
  if (sending <= Duration{} || arriving <= Duration{} || sending > 1s || arriving > 1s) {
    return std::nullopt;
  }
  const DataRate sent = DataRate::from(cluster.arrived - cluster.last_sent_size, sending);
  const DataRate arrived = DataRate::from(cluster.arrived - cluster.first_arrived_size, arriving);
  if (arrived > sent * kFasterMax) {
    return std::nullopt;
  }
  return arrived < sent * kSlowerThan ? arrived * kTellOfSlower : std::min(sent, arrived);
}

std::optional<DataRate> GccProber::handle_result(int cluster_index, const GccPacketResult& result) {
  check(cluster_index >= 0 && std::cmp_less(cluster_index, clusters_.size()),
        "GccProber: no such cluster");
  Cluster& cluster = clusters_[static_cast<size_t>(cluster_index)];
  if (!result.arrived || cluster.reported) {
    return std::nullopt;
  }
  if (cluster.packets_arrived == 0) {
    cluster.first_sent = cluster.last_sent = result.sent;
    cluster.first_arrival = cluster.last_arrival = *result.arrived;
    cluster.last_sent_size = cluster.first_arrived_size = result.size;
  } else if (result.sent >= cluster.last_sent) {
    cluster.last_sent = result.sent;
    cluster.last_sent_size = result.size;
  }
  cluster.last_arrival = std::max(cluster.last_arrival, *result.arrived);
  ++cluster.packets_arrived;
  cluster.arrived += result.size;
  const DataSize least = cluster.rate * options_.duration_min;
  if (static_cast<double>(cluster.packets_arrived) <
          kEnough * static_cast<double>(options_.packets_min) ||
      static_cast<double>(cluster.arrived.bytes()) < kEnough * static_cast<double>(least.bytes())) {
    return std::nullopt;
  }
  const auto rate = measured(cluster);
  cluster.reported = rate.has_value();
  return rate;
}

}  // namespace cress::schemes
