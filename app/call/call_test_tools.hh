#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/call/decode_work.hh"
#include "media/frame/picture.hh"
#include "transport/base/take_front.hh"
#include "transport/control/control.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

/// What the link allows, as set by a test.
struct SetLink {
  DataSize window{};
  DataSize outstanding{};
  DataSize message_overhead{};
  DataSize forecast_total{1'000'000};
  std::optional<DataRate> forecast_rate{};
  std::optional<DataRate> usual_rate{};
  double steadiness = 0;
  bool is_shared = false;
};

/// A control whose answers a test sets: in tests of a sender the window and the forecast are the
/// input. It subtracts nothing by itself and reports nothing. `link` is borrowed.
class SetControl final : public control::Control {
 public:
  explicit SetControl(const SetLink& link) : link_(link) {}

  void handle_arrival(TimePoint /*now*/, const control::ArrivedDatagram& /*datagram*/) override {}
  std::optional<control::Feedback> poll_feedback(TimePoint /*now*/) override {
    return std::nullopt;
  }
  TimePoint feedback_due() const override { return kNever; }
  void on_sent(TimePoint /*now*/, uint64_t /*sequence*/, DataSize /*payload*/) override {}
  void handle_feedback(TimePoint /*now*/, const control::Feedback& /*feedback*/,
                       uint64_t /*next_sequence*/, uint64_t /*received_or_lost*/) override {}
  DataSize window(TimePoint /*now*/) const override { return link_.window; }
  DataSize outstanding(TimePoint /*now*/) const override { return link_.outstanding; }
  DataSize message_overhead() const override { return link_.message_overhead; }
  DataSize forecast_total() const override { return link_.forecast_total; }
  std::optional<DataRate> forecast_rate() const override { return link_.forecast_rate; }
  std::optional<DataRate> usual_rate() const override { return link_.usual_rate; }
  double steadiness() const override { return link_.steadiness; }
  bool is_shared(TimePoint /*now*/) const override { return link_.is_shared; }
  Duration heartbeat_interval(TimePoint /*now*/, Duration usual) const override { return usual; }
  Duration patience(TimePoint /*now*/) const override { return Duration::max(); }
  TimePoint next_change(TimePoint /*now*/) const override { return kNever; }

 private:
  const SetLink& link_;
};

/// Stands for the thread that decodes what a machine hands out: each frame takes `each`, one after
/// another. After each call of the machine call take().
class SlowDecoder {
 public:
  explicit SlowDecoder(Duration each) : each_(each) {}

  template <class Source>
  void take(TimePoint now, Source& machine) {
    while (auto work = machine.poll_decode_work()) {
      free_at_ = std::max(free_at_, now) + each_;
      busy_with_.push_back({free_at_, std::move(work)});
    }
  }
  /// When the next frame is decoded.
  TimePoint poll_timeout() const { return busy_with_.empty() ? kNever : busy_with_.front().done; }
  template <class Source>
  void handle_timeout(TimePoint now, Source& machine) {
    while (poll_timeout() <= now) {
      const auto job = take_front(busy_with_);
      job->work->run();
      machine.handle_decoded(now, *job->work);
      take(now, machine);
    }
  }

 private:
  struct Job {
    TimePoint done{};
    std::shared_ptr<DecodeWork> work;
  };
  Duration each_;
  TimePoint free_at_ = kTimeZero;
  std::deque<Job> busy_with_;
};

/// A picture that is trivial to encode: its frames fit any budget.
inline media::PicturePtr grey_picture(int width = 64, int height = 48) {
  return std::make_shared<const media::Picture>(media::make_picture(width, height));
}

}  // namespace cress::app
