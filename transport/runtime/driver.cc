#include "transport/runtime/driver.hh"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "transport/base/check.hh"

namespace cress::runtime {
namespace {

// As in the World: a machine that asks for a time-out at one instant again and again is a bug.
constexpr int kTimeoutsAtOneInstantMax = 100'000;
// Likewise one with endless outputs.
constexpr int kTransmitsOfOneDrainMax = 1'000'000;
constexpr int kRoundsOfOneDrainMax = 100'000;
// After a longer call of the machine the time is read, and the socket, before it sends.
constexpr Duration kStaleAfter = 500us;
// Batches of datagrams (up to kBatchMax each) received before timers and other files get a turn.
constexpr int kBatchesOfOneStepMax = 16;

}  // namespace

/// Marks the time in which the machine is being called: no other call may begin.
class Driver::Stepping {
 public:
  explicit Stepping(Driver& driver) : driver_(driver) {
    check(!driver_.stepping_, "Driver: stepped from inside a call of its machine");
    driver_.stepping_ = true;
  }
  ~Stepping() { driver_.stepping_ = false; }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;

 private:
  Driver& driver_;
};

Driver::Driver(Parts parts, Options options)
    : parts_(parts),
      options_(options),
      timer_(parts.loop, [this] { step(); }),
      start_(parts.clock.now()),
      now_(start_),
      stepped_at_(start_),
      ended_at_(start_),
      span_since_(start_) {
  check(options_.gather_busy >= options_.gather || options_.gather_busy == Duration{},
        "Driver: options out of range");
  parts_.loop.on_readable(parts_.socket.handle(), [this] { step(); });
  timer_.arm(kTimeZero);
}

Driver::~Driver() { parts_.loop.forget(parts_.socket.handle()); }

void Driver::wake(const std::function<void(TimePoint now)>& change) {
  const Stepping stepping{*this};
  receive_pending();
  run_due();
  if (change) {
    change(now_);
    // Encoding a frame takes time: datagrams that arrived meanwhile keep their own times, and what
    // is sent after it is sent now, and stamped so.
    receive_pending();
  }
  drain();
  flush();
  timer_.arm(parts_.machine.poll_timeout());
}

/// A short sleep costs less than returning from the loop for each datagram; and the more there is
/// to do, the less it costs to do it together.
void Driver::gather() {
  if (options_.gather > Duration{}) {
    const Duration more = std::max(options_.gather_busy - options_.gather, Duration{});
    const Duration whole =
        options_.gather + from_seconds(to_seconds(more) * 2 * std::min(busy_share_, 0.5));
    const TimePoint woken_at = parts_.clock.now();
    const Duration left = whole - (woken_at - stepped_at_);
    if (left > Duration{}) {
      std::this_thread::sleep_for(left);
    }
    const TimePoint begun_at = left > Duration{} ? parts_.clock.now() : woken_at;
    idle_ += begun_at - ended_at_;
    stepped_at_ = begun_at;
  }
}

/// Call at the end of a step that gathered.
void Driver::note_busy() {
  constexpr Duration kSpan = 20ms;
  ended_at_ = parts_.clock.now();
  if (ended_at_ - span_since_ >= kSpan) {
    busy_share_ = 1 - to_seconds(idle_) / to_seconds(ended_at_ - span_since_);
    span_since_ = ended_at_;
    idle_ = {};
  }
}

void Driver::step() {
  const Stepping stepping{*this};
  // If there is something to do at each step, returning to the loop between them has no use.
  constexpr int kSteps = 4;
  constexpr double kBusy = 0.3;
  for (int left = kSteps; step_once() && busy_share_ > kBusy && !blocked_ && left > 1; --left) {
  }
  timer_.arm(parts_.machine.poll_timeout());
}

/// Returns whether there was something to do, if steps gather.
bool Driver::step_once() {
  gather();
  const uint64_t done = stats_.datagrams_received + stats_.datagrams_sent;
  const bool all_received = receive_pending();
  if (!begun_) {
    begun_ = true;
    drain();  // a new machine may have something to send before any event
  }
  // With more to receive the machine's time is not yet the present: the loop returns at once.
  if (all_received) {
    run_due();
  } else if (is_undrained_) {
    drain();
  }
  flush();
  if (options_.gather == Duration{}) {
    return false;
  }
  note_busy();
  return stats_.datagrams_received + stats_.datagrams_sent > done;
}

void Driver::advance(TimePoint to) { now_ = std::max(now_, to); }

/// Returns whether everything waiting was taken. The machine's time is then the present, or to be
/// exact the time at which the socket was found empty: a report that the machine makes now says
/// what has arrived by then.
bool Driver::receive_pending() {
  for (int i = 0; i < kBatchesOfOneStepMax; ++i) {
    if (is_undrained_ && options_.gather > Duration{}) {
      drain();  // with much to do each of consecutive batches is answered
    }
    const TimePoint asked = parts_.clock.now();
    const ReceiveBatch batch = parts_.socket.receive_batch();
    handle_batch(batch);
    take_path_errors();
    if (batch.datagrams.empty() || (options_.gather > Duration{} && !batch.more)) {
      advance(asked);
      return true;
    }
  }
  return false;
}

void Driver::handle_batch(const ReceiveBatch& batch) {
  for (size_t i = 0; i < batch.datagrams.size(); ++i) {
    const ReceivedDatagram& datagram = batch.datagrams[i];
    if (datagram.truncated) {
      ++stats_.datagrams_truncated;
      continue;
    }
    advance(datagram.arrival);
    ++stats_.datagrams_received;
    is_undrained_ = true;
    parts_.machine.handle_ecn(datagram.ecn);
    parts_.machine.handle_datagram(now_, datagram.from, datagram.bytes);
  }
}

void Driver::run_due() {
  if (is_undrained_) {
    drain();
  }
  for (TimePoint due = parts_.machine.poll_timeout(); due <= now_;
       due = parts_.machine.poll_timeout()) {
    handle_timeout(due);
  }
}

void Driver::handle_timeout(TimePoint due) {
  timeouts_of_due_ = due > last_due_ ? 0 : timeouts_of_due_ + 1;
  last_due_ = due;
  check(timeouts_of_due_ < kTimeoutsAtOneInstantMax,
        "Driver: a machine keeps asking for the same instant");
  ++stats_.timeouts;
  stats_.timeout_lateness_max = std::max(stats_.timeout_lateness_max, now_ - std::max(due, start_));
  parts_.machine.handle_timeout(now_);
  drain();
}

void Driver::drain() {
  is_undrained_ = false;
  collect();
  for (int round = 0; parts_.machine.drained(now_); ++round) {
    check(round < kRoundsOfOneDrainMax, "Driver: a machine's outputs never end");
    // Other outputs take time: a frame is displayed. What arrived meanwhile belongs into what is
    // sent at the present time: a report says what has arrived by then.
    if (options_.gather == Duration{} && parts_.clock.now() - now_ > kStaleAfter) {
      receive_pending();
    }
    const bool is_sent = collect();
    if (!is_sent && !std::exchange(is_undrained_, false)) {
      return;
    }
  }
}

/// Takes what the machine wants to send; returns whether there was anything.
bool Driver::collect() {
  int count = 0;
  while (auto transmit = parts_.machine.poll_transmit(now_)) {
    check(++count < kTransmitsOfOneDrainMax, "Driver: a machine's datagrams never end");
    if (waiting_.size() == kWaitingMax) {
      ++stats_.send_overflow;
      continue;
    }
    waiting_.push_back(*std::move(transmit));
    if (waiting_.size() >= kBatchMax) {
      flush();
    }
  }
  if (options_.gather == Duration{}) {
    flush();  // what is stamped leaves before the machine does other work
  }
  return count > 0;
}

void Driver::flush() {
  if (waiting_.empty() || blocked_) {
    return;
  }
  // Grouped by peer, each peer's in order: this is the least work for the kernel.
  std::ranges::stable_sort(waiting_, {}, &Transmit::to);
  const SendReport report = parts_.socket.send_batch(waiting_);
  stats_.datagrams_sent += report.sent;
  stats_.send_too_large += report.too_large;
  stats_.send_unroutable += report.unroutable;
  stats_.send_no_buffer += report.no_buffer;
  const auto taken = waiting_.begin() + static_cast<ptrdiff_t>(report.taken);
  std::for_each(waiting_.begin(), taken, [this](Transmit& transmit) {
    parts_.machine.take_back(std::move(transmit.bytes));
  });
  waiting_.erase(waiting_.begin(), taken);
  if (report.blocked) {
    blocked_ = true;
    parts_.loop.when_writable(parts_.socket.handle(), [this] {
      blocked_ = false;
      flush();
    });
  }
}

void Driver::take_path_errors() {
  while (const auto error = parts_.socket.poll_path_error()) {
    ++stats_.path_errors;
    parts_.machine.handle_path_error(now_, *error);
    drain();
  }
}

}  // namespace cress::runtime
