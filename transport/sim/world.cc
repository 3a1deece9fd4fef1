#include "transport/sim/world.hh"

#include <algorithm>
#include <utility>

#include "transport/base/check.hh"

namespace cress::sim {
namespace {

// A machine that asks for a time-out at `now` again and again would hang the run: that is a bug in
// it.
constexpr int kStepsAtOneInstantMax = 100'000;

}  // namespace

TimePoint World::next_event() const {
  return std::min({parts_.left.poll_timeout(), parts_.right.poll_timeout(),
                   parts_.forward.poll_timeout(), parts_.reverse.poll_timeout()});
}

void World::drain(Host& host, Link& out) {
  while (auto datagram = host.poll_transmit(now_)) {
    out.push(now_, *std::move(datagram));
  }
}

void World::step() {
  const auto deliver = [this](Link& link, Host& to, Link& back) {
    link.handle_timeout(now_);
    while (const auto datagram = link.poll_delivered(now_)) {
      to.handle_datagram(now_, *datagram);
      drain(to, back);
    }
  };
  const auto wake = [this](Host& host, Link& out) {
    if (host.poll_timeout() <= now_) {
      host.handle_timeout(now_);
      drain(host, out);
    }
  };
  deliver(parts_.forward, parts_.right, parts_.reverse);
  deliver(parts_.reverse, parts_.left, parts_.forward);
  wake(parts_.left, parts_.forward);
  wake(parts_.right, parts_.reverse);
}

void World::run_until(TimePoint end, const std::function<void(TimePoint)>& on_progress) {
  check(end >= now_, "World: time does not go back");
  constexpr Duration kProgressEvery = 1s;
  TimePoint progress_due = now_ + kProgressEvery;
  int steps_at_now = 0;
  for (TimePoint next = next_event(); next <= end; next = next_event()) {
    steps_at_now = next > now_ ? 0 : steps_at_now + 1;
    check(steps_at_now < kStepsAtOneInstantMax,
          "World: a machine keeps asking for the same instant");
    now_ = std::max(now_, next);
    step();
    if (on_progress && now_ >= progress_due) {
      on_progress(now_);
      progress_due = now_ + kProgressEvery;
    }
  }
  now_ = end;
}

}  // namespace cress::sim
