#include "transport/sim/link.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::sim {

Link::Link(LinkOptions options)
    : options_(std::move(options)),
      queue_(std::move(options_.queue)),
      rng_(options_.seed),
      impairments_(rng_.fork(1)) {
  check(options_.trace == nullptr ||
            (!options_.trace->opportunities.empty() && options_.trace->period() > Duration{}),
        "Link: needs a trace with a positive period");
  check(options_.loss >= 0 && options_.loss <= 1, "Link: loss is a probability");
  if (!queue_) {
    queue_ = std::make_unique<DropTailQueue>();
  }
}

void Link::set_conditions(const LinkConditions& conditions) {
  options_.jitter = conditions.jitter;
  options_.jittered = conditions.jittered;
  options_.loss = conditions.loss;
  options_.burst_loss = conditions.burst_loss;
  options_.duplicate = conditions.duplicate;
  options_.mtu = conditions.mtu;
}

bool Link::is_lost(const Datagram& datagram) {
  if (options_.loss > 0 && rng_.chance(options_.loss)) {
    return true;
  }
  const BurstLoss& bursts = options_.burst_loss;
  if (bursts.enter > 0) {
    is_in_burst_ = impairments_.chance(is_in_burst_ ? 1 - bursts.leave : bursts.enter);
    if (is_in_burst_ && impairments_.chance(bursts.loss)) {
      return true;
    }
  }
  return is_down_ || datagram.wire_size > options_.mtu;
}

void Link::push(TimePoint now, Datagram datagram) {
  if (is_lost(datagram)) {
    ++lost_;
    return;
  }
  if (!options_.trace) {
    leave_queue(now, {std::move(datagram), now});
    return;
  }
  if (!in_service_ && queue_->empty()) {
    skip_opportunities_before(now);
  }
  const QueueStats before = queue_->stats();
  if (options_.observer != nullptr) {
    options_.observer->handle_queued(now, datagram.wire_size);
  }
  queue_->push(now, {std::move(datagram), now});
  tell_drops(now, before);
}

std::optional<QueuedDatagram> Link::pop_queue(TimePoint now) {
  const QueueStats before = queue_->stats();
  auto next = queue_->pop(now);
  tell_drops(now, before);
  return next;
}

void Link::tell_drops(TimePoint now, const QueueStats& before) {
  const QueueStats& after = queue_->stats();
  if (options_.observer != nullptr && after.dropped != before.dropped) {
    options_.observer->handle_dropped(now, after.dropped - before.dropped,
                                      after.dropped_size - before.dropped_size);
  }
}

TimePoint Link::next_opportunity() const {
  return kTimeZero + period_start_ + options_.trace->opportunities[opportunity_].at;
}

void Link::skip_opportunities_before(TimePoint now) {
  const auto& all = options_.trace->opportunities;
  const Duration period = options_.trace->period();
  const Duration elapsed = now - kTimeZero;
  if (elapsed - period_start_ > period) {
    period_start_ += ((elapsed - period_start_) / period) * period;
    opportunity_ = 0;
    if (period_start_ == elapsed) {
      // The instant belongs to the end of the last period and to the start of this one.
      period_start_ -= period;
    }
  }
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(opportunity_);
  const auto next = std::lower_bound(from, all.end(), DeliveryOpportunity{elapsed - period_start_});
  opportunity_ = static_cast<size_t>(next - all.begin());
  if (next == all.end()) {
    period_start_ += period;
    opportunity_ = 0;
  }
}

void Link::serve(TimePoint now) {
  DataSize budget = kOpportunitySize;
  while (budget > DataSize{}) {
    if (!in_service_) {
      in_service_ = pop_queue(now);
      if (!in_service_) {
        return;
      }
      in_service_left_ = in_service_->datagram.wire_size;
    }
    const DataSize moved = std::min(budget, in_service_left_);
    budget -= moved;
    in_service_left_ -= moved;
    if (in_service_left_ == DataSize{}) {
      leave_queue(now, *std::move(in_service_));
      in_service_.reset();
    }
  }
}

Duration Link::propagation(TimePoint now) const {
  Duration sum = options_.propagation;
  for (const Detour& detour : options_.detours) {
    const Duration at = now - kTimeZero;
    sum += at >= detour.from && at < detour.until ? detour.by : Duration{};
  }
  return sum;
}

void Link::leave_queue(TimePoint now, QueuedDatagram queued) {
  Duration jitter{};
  if (options_.jitter > Duration{} &&
      (options_.jittered >= 1 || impairments_.chance(options_.jittered))) {
    jitter = from_seconds(impairments_.uniform(0, to_seconds(options_.jitter)));
  }
  const TimePoint arrives = now + propagation(now) + jitter;
  const PacketRecord record{queued.sent, now, arrives, queued.datagram.wire_size,
                            queued.datagram.to};
  if (options_.observer != nullptr) {
    options_.observer->handle_left(record);
  } else {
    records_.push_back(record);
  }
  if (options_.duplicate > 0 && impairments_.chance(options_.duplicate)) {
    propagate(arrives, queued.datagram);
  }
  propagate(arrives, std::move(queued.datagram));
}

void Link::propagate(TimePoint arrives, Datagram datagram) {
  const auto at = std::ranges::upper_bound(propagating_, arrives, {}, &InFlight::arrives);
  propagating_.insert(at, {std::move(datagram), arrives});
}

void Link::handle_timeout(TimePoint now) {
  while ((in_service_ || !queue_->empty()) && next_opportunity() <= now) {
    const TimePoint at = next_opportunity();
    if (++opportunity_ == options_.trace->opportunities.size()) {
      opportunity_ = 0;
      period_start_ += options_.trace->period();
    }
    serve(at);
  }
}

std::optional<Datagram> Link::poll_delivered(TimePoint now) {
  if (propagating_.empty() || propagating_.front().arrives > now) {
    return std::nullopt;
  }
  Datagram datagram = std::move(propagating_.front().datagram);
  propagating_.pop_front();
  return datagram;
}

TimePoint Link::poll_timeout() const {
  TimePoint next = kNever;
  if (in_service_ || !queue_->empty()) {
    next = next_opportunity();
  }
  if (!propagating_.empty()) {
    next = std::min(next, propagating_.front().arrives);
  }
  return next;
}

}  // namespace cress::sim
