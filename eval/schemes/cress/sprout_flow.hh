#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "eval/schemes/host/scheme_host.hh"
#include "transport/base/rng.hh"
#include "transport/session/endpoint.hh"

namespace cress::schemes {

/// The window, and the forecast as a rate over its horizon.
HostSample sample_of(const session::Endpoint& endpoint, TimePoint now);

/// A model of the host program's delays. An ideal host acts the moment something changes.
struct SproutHostModel {
  /// The main loop checks its window after reading a datagram and this long after the last check.
  /// 0: at once.
  Duration loop_interval{};
  /// From a datagram's arrival at the host to the program's reaction.
  Duration wakeup_delay{};
  /// Each of the two is varied randomly by up to this much earlier or later (less than either).
  Duration jitter{};

  /// The original program on the machine where it was measured: select() for at most 10 ms (as in
  /// the original program) and a small wake-up delay; emulator stages that round each datagram up
  /// to their next whole millisecond. An ideal host is too fast, most of all under loss
  /// (docs/results/flows.md).
  static SproutHostModel original() {
    return {.loop_interval = 10'200us, .wakeup_delay = 1ms, .jitter = 200us};
  }
};

struct SproutFlowOptions {
  session::EndpointOptions endpoint;
  /// Whether this end sends data; the other only answers with forecasts (the one-way build).
  bool sends_data = true;
  /// Application bytes of a full packet.
  DataSize packet_size{1400};
  /// Whether the rest of the window waits until it holds a full packet.
  bool full_packets = false;
  SproutHostModel host;
  uint64_t seed = 1;  ///< of the host's jitter
};

/// One end of a saturating flow over a Sprout session: keeps the window full.
class SproutFlow final : public SchemeHost {
 public:
  SproutFlow(TimePoint start, SproutFlowOptions options, std::unique_ptr<control::Control> control);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  const session::Endpoint& endpoint() const { return endpoint_; }

 private:
  struct Unread {
    TimePoint due{};
    std::vector<std::byte> bytes;
  };

  void read(TimePoint now, std::span<const std::byte> bytes);
  Duration jittered(Duration interval);
  void fill_window(TimePoint now);

  SproutFlowOptions options_;
  Rng rng_;
  session::Endpoint endpoint_;
  const TimePoint start_;  // what comes before is lost
  TimePoint now_;
  TimePoint next_look_;
  std::deque<Unread> unread_;
  DataSize delivered_;
};

}  // namespace cress::schemes
