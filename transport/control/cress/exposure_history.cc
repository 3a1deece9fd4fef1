#include "transport/control/cress/exposure_history.hh"

#include <algorithm>
#include <cmath>

namespace cress::control {
namespace {

// Arrivals this close used one opportunity: hosts and clocks blur an instant.
constexpr Duration kSameInstant = 300us;

double packets(DataSize size) {
  return static_cast<double>(size.bytes()) / static_cast<double>(kOpportunitySize.bytes());
}

ExposureHistory::Sent* find(Fifo<ExposureHistory::Sent>& among, uint64_t sequence) {
  const auto at = std::ranges::lower_bound(among, sequence, {}, &ExposureHistory::Sent::sequence);
  return at != among.end() && at->sequence == sequence ? &*at : nullptr;
}

}  // namespace

void ExposureHistory::on_sent(TimePoint now, uint64_t sequence, DataSize payload) {
  if (outstanding_.size() == kOutstandingMax) {
    drop_oldest();
  }
  outstanding_.push_back({sequence, now, payload + overhead_});
  outstanding_size_ += outstanding_.back().size;
}

void ExposureHistory::drop_oldest() {
  if (!outstanding_.front().arrived) {
    ++lost_;
    outstanding_size_ -= outstanding_.front().size;
    overtaken_.push_back(outstanding_.front());
    if (overtaken_.size() > kOvertakenMax) {
      overtaken_.pop_front();
    }
  }
  outstanding_.pop_front();
}

void ExposureHistory::begin_path(TimePoint now, Duration least_delay) {
  least_delay_ = RecentLeast<Duration>{kLeastDelaySpan};
  least_delay_.add(now, least_delay);
  least_wait_ = RecentLeast<Duration>{kLeastWaitSpan};
  longer_path_ = {};
}

// Fills arrived_ with the datagrams not reported before, in the order of arrival.
void ExposureHistory::note_arrivals(TimePoint now, TimePoint made_at,
                                    std::span<const ArrivalStamp> arrivals) {
  arrived_.clear();
  for (const ArrivalStamp& stamp : arrivals) {
    const bool is_open = !outstanding_.empty() && stamp.sequence >= outstanding_.front().sequence;
    const Sent* sent = find(is_open ? outstanding_ : overtaken_, stamp.sequence);
    if (sent != nullptr && !sent->arrived && stamp.at <= made_at) {
      arrived_.push_back({*sent, stamp.at, stamp.marked});
    }
  }
  std::ranges::stable_sort(arrived_, {}, &Arrived::at);
  for (const auto& [sent, at, marked] : arrived_) {
    least_delay_.add(now, at - sent.at);
    const Duration wait = at - sent.at - *least_delay_.least();
    if (const auto longer =
            longer_path_.handle_arrival(now, at, wait, sent.size, reordering_.spread())) {
      begin_path(now, *least_delay_.least() + *longer);
    }
    least_wait_.add(now, std::max(Duration{}, at - sent.at - *least_delay_.least()));
    reordering_.handle_arrival(now, sent.sequence, sent.at, at, *least_delay_.least());
    last_arrival_ = std::max(last_arrival_, at);
    newest_arrived_sent_ = std::max(newest_arrived_sent_, sent.at);
  }
}

// Removes a datagram that arrived, and those that its arrival shows to be lost.
void ExposureHistory::take_arrived(const Sent& sent) {
  if (Sent* open = find(outstanding_, sent.sequence)) {
    open->arrived = true;
    outstanding_size_ -= open->size;
  } else if (Sent* given_up = find(overtaken_, sent.sequence)) {
    given_up->arrived = true;
  }
  while (!outstanding_.empty() &&
         (outstanding_.front().arrived ||
          (outstanding_.front().sequence < sent.sequence &&
           sent.at - outstanding_.front().at >= reordering_.sent_before_max()))) {
    drop_oldest();
  }
}

bool ExposureHistory::was_burst_of_losses(TimePoint last, TimePoint end) const {
  if (outstanding_.empty() || last >= std::min(reported_until_, end)) {
    return false;
  }
  const Sent& oldest = outstanding_.front();
  const Sent& first = arrived_.front().sent;
  return oldest.sequence < first.sequence && first.at - oldest.at >= reordering_.sent_before_max();
}

bool ExposureHistory::handle_report(TimePoint now, TimePoint made_at,
                                    std::span<const ArrivalStamp> arrivals, bool in_doubt,
                                    const std::function<void(const Exposure&)>& pass_on) {
  if (has_report_ && made_at <= reported_until_) {
    return false;
  }
  lost_ = 0;
  const TimePoint last = last_arrival_;
  note_arrivals(now, made_at, arrivals);
  if (!has_report_) {
    has_report_ = true;
    reported_until_ = arrived_.empty() ? made_at : std::min(made_at, arrived_.front().at);
  }
  if (!base_delay()) {
    reported_until_ = made_at;
    return true;
  }
  // Delay within the reordering spread is jitter, not queueing. Jitter does not delay every
  // datagram, though: the least recent wait was spent in a queue and is subtracted.
  const Duration in_queue = least_wait_.least().value_or(Duration{});
  const Duration jitter = std::max(Duration{}, reordering_.spread() - in_queue);
  const auto reaches_link = [&](const Sent& sent) { return sent.at + *base_delay() + jitter; };
  TimePoint done = reported_until_;  // reported up to here
  const auto pass = [&](TimePoint until, bool busy, double delivered) {
    if (until > done || delivered > 0) {
      pass_on({std::max(Duration{}, until - done), busy, delivered});
    }
    done = std::max(done, until);
  };
  if (in_doubt && !arrived_.empty()) {
    const Arrived& first = arrived_.front();
    const TimePoint end = std::min(reaches_link(first.sent), first.at);
    if (was_burst_of_losses(last, end)) {
      pass_on({.elapsed = end - last, .replaces_silence = true});
      done = end;
    }
  }
  double burst = 0;  // delivered at this instant, not yet reported
  for (size_t i = 0; i < arrived_.size(); ++i) {
    const auto& [sent, at, marked] = arrived_[i];
    if (burst == 0) {
      pass(std::min(reaches_link(sent), at), false, 0);
    }
    burst += packets(sent.size);
    take_arrived(sent);
    if (i + 1 < arrived_.size() && arrived_[i + 1].at - at <= kSameInstant) {
      continue;
    }
    // Nothing else had reached the link before that instant: the opportunity may have been larger
    // than the data left for it.
    const Sent* next = i + 1 < arrived_.size() ? &arrived_[i + 1].sent
                       : !outstanding_.empty() ? &outstanding_.front()
                                               : nullptr;
    const bool drained = next == nullptr || reaches_link(*next) >= at - kSameInstant;
    pass(at, true, drained ? std::ceil(burst - 1e-9) : burst);
    burst = 0;
  }
  if (!outstanding_.empty()) {
    pass(std::min(reaches_link(outstanding_.front()), made_at), false, 0);
    pass(made_at, true, 0);
  }
  pass(made_at, false, 0);
  reported_until_ = made_at;
  return true;
}

}  // namespace cress::control
