#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "transport/control/control.hh"
#include "transport/control/sprout/model.hh"

namespace cress::tunnel {

/// Sprout's control with a forecast sent every tick while packets arrive, as the original's one-way
/// receiver does, because the receiving end sends nothing else. A shorter heartbeat would not work:
/// it is also the silence that a sender announces. Threads: none inside; one owner.
class FeedbackEachTick final : public control::Control {
 public:
  explicit FeedbackEachTick(std::unique_ptr<control::Control> inner) : inner_(std::move(inner)) {}

  void handle_arrival(TimePoint now, const control::ArrivedDatagram& datagram) override {
    inner_->handle_arrival(now, datagram);
    if (datagram.asks_for_feedback && due_ == kNever) {
      due_ = std::max(now, told_ + control::kTickLength);
    }
  }
  std::optional<control::Feedback> poll_feedback(TimePoint now) override {
    told_ = now;
    due_ = kNever;
    return inner_->poll_feedback(now);
  }
  TimePoint feedback_due() const override { return std::min(due_, inner_->feedback_due()); }

  void on_sent(TimePoint now, uint64_t sequence, DataSize payload) override {
    inner_->on_sent(now, sequence, payload);
  }
  void handle_feedback(TimePoint now, const control::Feedback& feedback, uint64_t next_sequence,
                       uint64_t received_or_lost) override {
    inner_->handle_feedback(now, feedback, next_sequence, received_or_lost);
  }
  DataSize window(TimePoint now) const override { return inner_->window(now); }
  DataSize outstanding(TimePoint now) const override { return inner_->outstanding(now); }
  DataSize message_overhead() const override { return inner_->message_overhead(); }
  DataSize forecast_total() const override { return inner_->forecast_total(); }
  std::optional<DataRate> forecast_rate() const override { return inner_->forecast_rate(); }
  Duration heartbeat_interval(TimePoint now, Duration usual) const override {
    return inner_->heartbeat_interval(now, usual);
  }
  Duration patience(TimePoint now) const override { return inner_->patience(now); }
  TimePoint next_change(TimePoint now) const override { return inner_->next_change(now); }

 private:
  std::unique_ptr<control::Control> inner_;
  TimePoint told_ = kTimeZero;
  TimePoint due_ = kNever;
};

}  // namespace cress::tunnel
