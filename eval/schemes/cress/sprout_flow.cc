#include "eval/schemes/cress/sprout_flow.hh"

#include <algorithm>
#include <utility>

namespace cress::schemes {

HostSample sample_of(const session::Endpoint& endpoint, TimePoint now) {
  const auto forecast = endpoint.control().forecast_rate();
  if (!forecast) {
    return {};
  }
  return {.window = endpoint.control().window(now), .forecast = forecast};
}

SproutFlow::SproutFlow(TimePoint start, SproutFlowOptions options,
                       std::unique_ptr<control::Control> control)
    : options_(options),
      rng_(options.seed),
      endpoint_(start, options.endpoint, std::move(control)),
      start_(start),
      now_(start),
      next_look_(start) {
  endpoint_.open_flow(session::kBulkFlow,
                      {.priority = session::Priority::kBulk, .report_outcomes = false});
}

void SproutFlow::read(TimePoint now, std::span<const std::byte> bytes) {
  (void)endpoint_.handle_datagram(now, bytes);  // the endpoint counts bad ones itself
  while (const auto message = endpoint_.poll_message()) {
    delivered_ += DataSize{static_cast<int64_t>(message->bytes.size())};
  }
}

void SproutFlow::handle_datagram(TimePoint now, const Address& /*from*/,
                                 std::span<const std::byte> bytes) {
  if (now < start_) {
    return;  // nobody is there to read it
  }
  now_ = now;
  if (options_.host.wakeup_delay > Duration{}) {
    // Datagrams are read in the order of arrival, whatever the jitter.
    const TimePoint due = now + jittered(options_.host.wakeup_delay);
    unread_.push_back(
        {unread_.empty() ? due : std::max(due, unread_.back().due), {bytes.begin(), bytes.end()}});
    return;
  }
  read(now, bytes);
}

void SproutFlow::handle_timeout(TimePoint now) {
  now_ = now;
  if (!unread_.empty() && unread_.front().due <= now) {
    // One datagram per turn of the loop, as in the original.
    const Unread next = std::move(unread_.front());
    unread_.pop_front();
    read(now, next.bytes);
    return;
  }
  endpoint_.handle_timeout(now);
}

Duration SproutFlow::jittered(Duration interval) {
  const double jitter_s = to_seconds(options_.host.jitter);
  return jitter_s == 0 ? interval : interval + from_seconds(rng_.uniform(-jitter_s, jitter_s));
}

void SproutFlow::fill_window(TimePoint now) {
  const DataSize overhead = endpoint_.control().message_overhead();
  const DataSize least = options_.full_packets ? options_.packet_size : DataSize{1};
  DataSize rest = endpoint_.available_window(now);
  while (rest >= least + overhead) {
    const DataSize size = std::min(rest - overhead, options_.packet_size);
    endpoint_.send(now, session::kBulkFlow,
                   std::vector<std::byte>(static_cast<size_t>(size.bytes())));
    rest -= size + overhead;
  }
}

HostSample SproutFlow::sample(TimePoint now) const { return sample_of(endpoint_, now); }

std::optional<Transmit> SproutFlow::poll_transmit(TimePoint now) {
  if (now < start_) {
    return std::nullopt;
  }
  const bool instant = options_.host.loop_interval == Duration{};
  if (!unread_.empty() && unread_.front().due > now && now < next_look_) {
    return std::nullopt;  // the datagram that woke the simulator has not woken the program yet
  }
  if (options_.sends_data) {
    fill_window(now);
  }
  auto bytes = endpoint_.poll_transmit(now);
  if (!bytes) {
    next_look_ = instant ? kNever : now + jittered(options_.host.loop_interval);
    return std::nullopt;
  }
  return Transmit{.to = {}, .bytes = *std::move(bytes)};
}

TimePoint SproutFlow::poll_timeout() const {
  const TimePoint reads = unread_.empty() ? kNever : unread_.front().due;
  if (options_.host.loop_interval > Duration{}) {
    return std::min(next_look_, reads);
  }
  const TimePoint window_grows =
      options_.sends_data ? endpoint_.control().next_change(now_) : kNever;
  return std::min({endpoint_.poll_timeout(), window_grows, reads});
}

}  // namespace cress::schemes
