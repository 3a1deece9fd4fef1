#include "eval/cellsim/link_score.hh"

#include <algorithm>

#include "eval/metrics/rates.hh"

namespace cress::cellsim {
namespace {

std::optional<double> in_milliseconds(std::optional<Duration> delay) {
  return delay ? std::optional{to_milliseconds(*delay)} : std::nullopt;
}

}  // namespace

void OpportunityWalk::take() {
  if (++index_ == trace_->opportunities.size()) {
    index_ = 0;
    period_start_ += trace_->period();
  }
}

void DelayClock::handle_arrival(TimePoint sent, TimePoint arrived) {
  advance(arrived);
  newest_sent_ = std::max(newest_sent_, sent);
  has_arrivals_ = true;
}

void DelayClock::advance(TimePoint now) {
  if (now <= counted_to_) {
    return;
  }
  const TimePoint begin = std::max(counted_to_, from_);
  if (begin < now) {
    histogram_.add_rise(begin - newest_sent_, now - newest_sent_);
  }
  counted_to_ = now;
}

std::optional<Duration> DelayClock::quantile(double q) const {
  return has_arrivals_ ? histogram_.quantile(q) : std::nullopt;
}

LinkScore::LinkScore(std::shared_ptr<const sim::DeliveryTrace> trace, Duration propagation,
                     Duration skip)
    : trace_(std::move(trace)),
      propagation_(propagation),
      from_(kTimeZero + skip),
      opportunities_(trace_),
      // The packets that count as having left, seen where they arrive: the window moves with the
      // propagation.
      delay_(from_ + propagation),
      omniscient_(from_ + propagation) {}

void LinkScore::handle_left(const sim::PacketRecord& record) {
  ++delivered_;
  if (record.left >= from_) {
    carried_ += record.size;
  }
  delay_.handle_arrival(record.sent, record.arrived);
}

void LinkScore::advance(TimePoint now) {
  while (opportunities_.next() < now) {
    const TimePoint at = opportunities_.next();
    omniscient_.handle_arrival(at, at + propagation_);
    opportunities_.take();
  }
}

Score LinkScore::finish(TimePoint end) {
  Score score;
  score.packets_delivered = delivered_;
  score.packets_dropped = dropped_;
  if (end <= from_) {
    return score;
  }
  advance(end);
  delay_.advance(end + propagation_);
  omniscient_.advance(end + propagation_);
  const metrics::Window window{from_, end};
  const DataRate capacity = metrics::capacity(*trace_, window);
  const DataRate throughput = DataRate::from(carried_, window.length());
  score.capacity_kbps = capacity.kilobits_per_second();
  score.throughput_kbps = throughput.kilobits_per_second();
  score.utilization = metrics::utilization(throughput, capacity);
  score.delay95_ms = in_milliseconds(delay_.quantile(0.95));
  score.omniscient95_ms = in_milliseconds(omniscient_.quantile(0.95));
  if (score.delay95_ms && score.omniscient95_ms) {
    score.self_inflicted_ms = *score.delay95_ms - *score.omniscient95_ms;
  }
  return score;
}

}  // namespace cress::cellsim
