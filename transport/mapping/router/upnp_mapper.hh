#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/mapping/router/upnp.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::mapping {

/// Keeps a port mapped by UPnP: searches for the router's service, for 0.3 s and, if nothing has
/// answered, for 2 s more; asks again when half of the mapping's time is over. What waits for the
/// network is done in a thread of its own, one at a time. The library's waits cannot be cut short,
/// so a thread that is no longer wanted is left to end by itself; it refers to nothing of ours.
/// Threads: the loop's.
class UpnpMapper {
 public:
  struct Parts {
    const runtime::MonotonicClock& clock;  ///< borrowed, as is the loop; both must outlive it
    runtime::EventLoop& loop;
  };
  /// `router`, `client`: as in UpnpRequest. `on_change`: mapped() is another.
  UpnpMapper(Parts parts, const Address& router, const Address& client,
             std::function<void()> on_change);
  /// Waits for a removal that was begun, kRemovalMax at most.
  ~UpnpMapper();
  UpnpMapper(const UpnpMapper&) = delete;
  UpnpMapper& operator=(const UpnpMapper&) = delete;

  /// Asks again, or searches again.
  void handle_network_change();
  /// Begins to remove the mapping, and makes none any more.
  void remove();

  std::optional<Address> mapped() const;

  static constexpr Duration kRemovalMax = 200ms;

 private:
  struct Errand;

  void begin(Duration search);
  void send(std::function<std::optional<UpnpMapping>(const Errand&)> work, bool is_watched);
  void finish();
  void forget_errand();

  Parts parts_;
  UpnpRequest request_;
  std::function<void()> on_change_;
  std::shared_ptr<Errand> errand_;    // under way
  std::shared_ptr<Errand> farewell_;  // the removal
  std::optional<UpnpMapping> mapping_;
  TimePoint expires_at_ = kNever;
  bool is_removed_ = false;
  runtime::EventLoop::Timer timer_;
};

}  // namespace cress::mapping
