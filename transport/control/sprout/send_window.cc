#include "transport/control/sprout/send_window.hh"

#include <algorithm>
#include <utility>

namespace cress::control {

void SendWindow::handle_forecast(TimePoint now, ForecastCounts counts, uint64_t next_sequence,
                                 uint64_t received_or_lost) {
  counts_ = std::move(counts);
  received_ = now;
  tick_ = 0;
  queue_ =
      DataSize{static_cast<int64_t>(next_sequence - std::min(received_or_lost, next_sequence))};
}

int SendWindow::tick_at(TimePoint now) const {
  return static_cast<int>(
      std::min<int64_t>((now - received_) / options_.tick, std::max(last_tick(), 0)));
}

DataSize SendWindow::drained_to(DataSize queue, int from, int to) const {
  for (int tick = from; tick < to; ++tick) {
    const int64_t before =
        options_.drain_cumulative_counts || tick == 0 ? 0 : counts_[static_cast<size_t>(tick) - 1];
    const int64_t drained = counts_[static_cast<size_t>(tick)] - before;
    queue = std::max(DataSize{}, queue - drained * options_.packet_size);
  }
  return queue;
}

void SendWindow::on_sent(TimePoint now, DataSize size) {
  if (!counts_.empty()) {
    const int tick = tick_at(now);
    queue_ = drained_to(queue_, tick_, tick);
    tick_ = std::max(tick, tick_);
  }
  queue_ += size;
}

DataSize SendWindow::in_network(TimePoint now) const {
  return counts_.empty() ? queue_ : drained_to(queue_, tick_, tick_at(now));
}

DataSize SendWindow::window(TimePoint now) const {
  if (counts_.empty()) {
    return {};
  }
  const int tick = tick_at(now);
  const int target = std::min(tick + options_.delay_target_ticks, last_tick());
  const int64_t packets = static_cast<int64_t>(counts_[static_cast<size_t>(target)]) -
                          counts_[static_cast<size_t>(tick)];
  return std::max(DataSize{}, packets * options_.packet_size - in_network(now));
}

DataSize SendWindow::forecast_total() const {
  return counts_.empty() ? DataSize{} : counts_.back() * options_.packet_size;
}

TimePoint SendWindow::next_change(TimePoint now) const {
  if (counts_.empty()) {
    return kNever;
  }
  const int tick = tick_at(now);
  if (tick >= last_tick()) {
    return kNever;
  }
  return received_ + (tick + 1) * options_.tick;
}

}  // namespace cress::control
