#include "transport/control/delivery_history.hh"

#include <algorithm>

namespace cress::control {

DeliveryHistory::Arrival DeliveryHistory::handle_arrival(TimePoint now, uint64_t sequence,
                                                         DataSize payload, uint64_t throwaway) {
  Arrival arrival = Arrival::kLate;
  if (sequence >= decided_before_) {
    arrival = Arrival::kDuplicate;
    if (hold({sequence, payload})) {
      arrival = Arrival::kNew;
      pending_payload_ += payload;
    }
    if (pending_.size() > kPendingMax) {
      decide_before(now, pending_.front().sequence + 1);
    }
  }
  if (throwaway <= sequence) {
    decide_before(now, sequence - throwaway);
  }
  return arrival;
}

/// False: it has already arrived.
bool DeliveryHistory::hold(const Pending& arrived) {
  if (pending_.empty() || pending_.back().sequence < arrived.sequence) {
    pending_.push_back(arrived);  // as nearly all
    return true;
  }
  const auto at = std::ranges::lower_bound(pending_, arrived.sequence, {}, &Pending::sequence);
  if (at->sequence == arrived.sequence) {
    return false;
  }
  pending_.insert(at, arrived);
  return true;
}

void DeliveryHistory::decide_before(TimePoint now, uint64_t sequence) {
  if (sequence <= decided_before_) {
    return;
  }
  decided_before_ = sequence;
  while (!pending_.empty() && pending_.front().sequence < sequence) {
    const auto [at, payload] = pending_.front();
    if (at > expected_) {
      note_lost({expected_, at});
    }
    expected_ = std::max(expected_, sequence_after(at, payload));
    pending_payload_ -= payload;
    pending_.pop_front();
  }
  if (expected_ < sequence) {
    note_lost({expected_, sequence});
    expected_ = sequence;
  }
  if (decisions_.size() == kDecisionsMax) {
    decisions_.pop_front();
  }
  decisions_.push_back({now, sequence});
}

void DeliveryHistory::note_lost(SequenceRange range) {
  if (!lost_.empty() && lost_.back().to == range.from) {
    lost_.back().to = range.to;
    return;
  }
  if (lost_.size() == kLostRangesMax) {
    lost_complete_from_ = std::max(lost_complete_from_, lost_.front().to);
    lost_.pop_front();
  }
  lost_.push_back(range);
}

void DeliveryHistory::forget_decided_before(TimePoint horizon) {
  while (!decisions_.empty() && decisions_.front().at < horizon) {
    lost_complete_from_ = std::max(lost_complete_from_, decisions_.front().before);
    decisions_.pop_front();
  }
  while (!lost_.empty() && lost_.front().to <= lost_complete_from_) {
    lost_.pop_front();
  }
}

}  // namespace cress::control
