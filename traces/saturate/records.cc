#include "traces/saturate/records.hh"

#include <algorithm>

namespace cress::traces {
namespace {

// The most retransmitted at once: many times what a burst of losses takes, so that a log with a
// thousand gaps is complete within seconds once the load has left the path.
constexpr uint64_t kAgainMax = 64 * kUpdateRecordsMax;

}  // namespace

bool RecordSender::is_overdue(TimePoint now, uint64_t record) const {
  return now - sent_at_[static_cast<size_t>(record / kUpdateRecordsMax)] > patience_;
}

void RecordSender::note_sent(TimePoint now, const Piece& piece) {
  const auto last = static_cast<size_t>((piece.first + piece.count - 1) / kUpdateRecordsMax);
  if (last >= sent_at_.size()) {
    sent_at_.resize(last + 1);
  }
  for (auto i = static_cast<size_t>(piece.first / kUpdateRecordsMax); i <= last; ++i) {
    sent_at_[i] = now;
  }
}

bool RecordSender::wants(TimePoint now, uint64_t total) const {
  return again_ < again_end_ || next_ < total || (received_ < next_ && is_overdue(now, received_));
}

RecordSender::Piece RecordSender::take(TimePoint now, uint64_t total) {
  if (again_ >= again_end_ && received_ < next_ && is_overdue(now, received_)) {
    again_ = received_;
    again_end_ = received_;
    while (again_end_ < next_ && again_end_ - again_ < kAgainMax && is_overdue(now, again_end_)) {
      again_end_ = std::min(next_, again_end_ + kUpdateRecordsMax);
    }
  }
  Piece piece;
  if (again_ < again_end_) {
    piece = {again_,
             static_cast<size_t>(std::min<uint64_t>(kUpdateRecordsMax, again_end_ - again_))};
    again_ += piece.count;
  } else {
    piece = {next_, static_cast<size_t>(std::min<uint64_t>(kUpdateRecordsMax, total - next_))};
    next_ += piece.count;
  }
  if (piece.count > 0) {
    note_sent(now, piece);
  }
  return piece;
}

void RecordSender::on_received(uint64_t received) {
  if (received > received_ && received <= next_) {
    received_ = received;
    again_ = std::clamp(again_, std::min(received, again_end_), again_end_);
  }
}

void RecordCollector::append(uint64_t first, std::span<const SaturateRecord> records) {
  const uint64_t known = records_.size() - first;
  if (known < records.size()) {
    const auto fresh = records.subspan(static_cast<size_t>(known));
    records_.insert(records_.end(), fresh.begin(), fresh.end());
  }
}

void RecordCollector::add(uint64_t first, std::span<const SaturateRecord> records) {
  if (records.empty()) {
    return;
  }
  if (first > records_.size()) {
    if (early_.size() < kEarlyMax) {
      early_.try_emplace(first, records.begin(), records.end());
    }
    return;
  }
  append(first, records);
  while (!early_.empty() && early_.begin()->first <= records_.size()) {
    append(early_.begin()->first, early_.begin()->second);
    early_.erase(early_.begin());
  }
}

}  // namespace cress::traces
