#include "transport/secure/path/mtu_search.hh"

#include <algorithm>

namespace cress::secure {
namespace {

// UDP payloads to try; the IP packet is 28 bytes (IPv4) or 48 bytes (IPv6) larger. 1280 and 1400
// suit tunnels, VPNs and mobile networks, 1452 fills Ethernet with IPv6, 1472 Ethernet with IPv4.
constexpr std::array<DataSize, 4> kSteps{DataSize{1280}, DataSize{1400}, DataSize{1452},
                                         DataSize{1472}};

}  // namespace

MtuSearch::MtuSearch(TimePoint now, MtuSearchOptions options)
    : options_(options), probe_at_(now + options.start_after), watch_at_(now) {}

std::optional<DataSize> MtuSearch::next_size() const {
  for (const DataSize step : kSteps) {
    if (step > size_ && step <= options_.largest) {
      return step;
    }
  }
  return std::nullopt;
}

void MtuSearch::fall_back(TimePoint now) {
  size_ = kDatagramBase;
  probes_sent_ = 0;
  probe_at_ = now + options_.raise_after;
}

void MtuSearch::handle_path_change(TimePoint now, DataSize largest) {
  options_.largest = largest;
  fall_back(now);
  probe_at_ = now + options_.start_after;
  watch_.reset();
}

void MtuSearch::handle_acknowledgement(TimePoint now, DataSize size) {
  // Only requested sizes count: a peer cannot make us use more.
  const auto next = next_size();
  if (!next || size != *next || probes_sent_ == 0) {
    return;
  }
  size_ = size;
  probes_sent_ = 0;
  probe_at_ = now;
}

void MtuSearch::handle_pong(TimePoint now, uint32_t id, uint32_t large_received) {
  if (!watch_ || watch_->id != id) {
    return;
  }
  if (size_ > kDatagramBase && watch_->large_sent >= large_sent_known_ + kBlackHoleMin &&
      large_received == large_received_known_) {
    fall_back(now);
  }
  large_sent_known_ = watch_->large_sent;
  large_received_known_ = large_received;
  watch_.reset();
  watch_at_ = now + options_.watch_interval;
}

void MtuSearch::handle_too_big(TimePoint now, DataSize size) {
  if (size <= size_ && size > kDatagramBase) {
    fall_back(now);
  } else if (const auto next = next_size(); next && size == *next) {
    probes_sent_ = 0;
    probe_at_ = now + options_.raise_after;
  }
}

std::optional<DataSize> MtuSearch::poll_probe(TimePoint now) {
  const auto next = next_size();
  if (!next || now < probe_at_) {
    return std::nullopt;
  }
  if (probes_sent_ == options_.probes_max) {
    probes_sent_ = 0;
    probe_at_ = now + options_.raise_after;
    return std::nullopt;
  }
  ++probes_sent_;
  probe_at_ = now + options_.probe_interval;
  return next;
}

bool MtuSearch::wants_watch() const {
  return size_ > kDatagramBase && large_sent_ >= large_sent_known_ + kBlackHoleMin;
}

bool MtuSearch::poll_watch(TimePoint now, uint32_t id) {
  if (!wants_watch() || now < watch_at_) {
    return false;
  }
  watch_ = Watch{id, large_sent_};
  // Unless it is answered: a ping may be lost, or a round trip take longer than the interval.
  watch_at_ = now + 3 * options_.watch_interval;
  return true;
}

TimePoint MtuSearch::poll_timeout() const {
  const TimePoint probe = next_size() ? probe_at_ : kNever;
  return wants_watch() ? std::min(probe, watch_at_) : probe;
}

}  // namespace cress::secure
