#include "eval/schemes/webrtc/gcc_pacer.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "transport/base/check.hh"

namespace cress::schemes {

GccPacer::GccPacer(const GccPacerOptions& options) : options_(options) {
  check(options.factor >= 1 && options.burst > Duration{} && options.drain > Duration{},
        "GccPacerOptions out of range");
}

DataRate GccPacer::rate() const {
  return std::max(target_ * options_.factor, DataRate::from(queued_, options_.drain));
}

void GccPacer::pay(TimePoint now) {
  const double covered = to_seconds(now - paid_) * static_cast<double>(rate().bits_per_second());
  debt_bits_ = std::max(0.0, debt_bits_ - covered);
  paid_ = now;
}

void GccPacer::set_target(TimePoint now, DataRate target) {
  check(target > DataRate{}, "GccPacer: a target of nothing");
  pay(now);
  target_ = target;
}

bool GccPacer::push(TimePoint now, GccPaced packet) {
  if (queued_packets() >= kQueueMax) {
    return false;
  }
  pay(now);
  queued_ += packet.wire_size;
  (packet.sent_again ? first_ : second_).push_back(std::move(packet));
  return true;
}

bool GccPacer::is_open() const {
  // Half a bit of slack: a timeout is a whole number of nanoseconds.
  return debt_bits_ <
         to_seconds(options_.burst) * static_cast<double>(rate().bits_per_second()) + 0.5;
}

std::optional<GccPaced> GccPacer::poll_packet(TimePoint now) {
  if (queued_packets() == 0) {
    return std::nullopt;
  }
  pay(now);
  return is_open() ? take_packet(now) : std::nullopt;
}

std::optional<GccPaced> GccPacer::take_packet(TimePoint now) {
  if (queued_packets() == 0) {
    return std::nullopt;
  }
  pay(now);
  auto& queue = first_.empty() ? second_ : first_;
  GccPaced packet = std::move(queue.front());
  queue.pop_front();
  queued_ -= packet.wire_size;
  debt_bits_ += static_cast<double>(packet.wire_size.bits());
  return packet;
}

void GccPacer::handle_sent(TimePoint now, DataSize size) {
  pay(now);
  debt_bits_ += static_cast<double>(size.bits());
}

TimePoint GccPacer::poll_timeout() const {
  if (queued_packets() == 0) {
    return kNever;
  }
  if (is_open()) {
    return paid_;
  }
  const auto bits_per_second = static_cast<double>(rate().bits_per_second());
  const double excess = debt_bits_ / bits_per_second - to_seconds(options_.burst);
  return paid_ + std::max(Duration{1}, from_seconds(excess));
}

}  // namespace cress::schemes
