#include "traces/saturate/saturate_end.hh"

#include <utility>

namespace cress::traces {

void SaturatorWay::handle_path_error(TimePoint now, const PathError& error) {
  if (error.kind == PathError::Kind::kTooLarge) {
    saturator_.handle_too_large(now, path_, error.path_mtu);
  }
}

SaturateEnd::SaturateEnd(const Parts& parts, const SaturatorOptions& options,
                         std::function<void()> on_end)
    : loop_(parts.loop),
      on_end_(std::move(on_end)),
      saturator_(parts.clock.now(), options),
      link_socket_(parts.clock, {.bind = parts.bind}),
      link_(saturator_, SaturatePath::kLink, [this] { look_around(); }),
      alive_(std::make_shared<bool>(true)) {
  if (parts.feedback_bind) {
    feedback_socket_.emplace(parts.clock, runtime::UdpSocketOptions{.bind = *parts.feedback_bind});
    feedback_.emplace(saturator_, SaturatePath::kFeedback, [this] { look_around(); });
    feedback_driver_ = std::make_unique<runtime::Driver>(
        runtime::Driver::Parts{parts.clock, loop_, *feedback_socket_, *feedback_});
  }
  link_driver_ = std::make_unique<runtime::Driver>(
      runtime::Driver::Parts{parts.clock, loop_, link_socket_, link_});
}

SaturateEnd::~SaturateEnd() { *alive_ = false; }

/// A datagram on one path may give the other one something to send. A driver must not be woken from
/// inside its machine, so it is done a moment later.
void SaturateEnd::look_around() {
  const auto wake = [this](runtime::Driver* driver, SaturatePath path, bool& woken) {
    if (driver == nullptr || woken || !saturator_.wants_transmit(path)) {
      return;
    }
    woken = loop_.post([driver, &woken, alive = alive_] {
      if (*alive) {
        woken = false;
        driver->wake();
      }
    });
  };
  wake(link_driver_.get(), SaturatePath::kLink, link_woken_);
  wake(feedback_driver_.get(), SaturatePath::kFeedback, feedback_woken_);
  const Saturator::State state = saturator_.state();
  if (!ended_ && (state == Saturator::State::kDone || state == Saturator::State::kFailed)) {
    ended_ = loop_.post([this, alive = alive_] {
      if (*alive) {
        on_end_();
      }
    });
  }
}

void SaturateEnd::finish() {
  link_driver_->wake([this](TimePoint now) { saturator_.finish(now); });
}

std::optional<Address> SaturateEnd::feedback_address() const {
  return feedback_socket_ ? std::optional{feedback_socket_->local_address()} : std::nullopt;
}

uint64_t SaturateEnd::unsent() const {
  const runtime::DriverStats& stats = link_driver_->stats();
  return stats.send_too_large + stats.send_unroutable + stats.send_no_buffer + stats.send_overflow;
}

}  // namespace cress::traces
