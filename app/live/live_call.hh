#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/live/live_end.hh"
#include "app/live/secure_call.hh"
#include "transport/base/address.hh"

namespace cress::live {

struct LiveCallOptions {
  secure::Role role = secure::Role::kListener;
  std::vector<std::byte> secret{};
  /// Own address; all zero: any. A listener's port is in its link.
  Address bind{};
  /// Where the listener is; for a joiner.
  Address listener{};
  /// Other possible addresses: see secure::ConnectionOptions.
  std::vector<Address> other_listeners{};
  /// Addresses of a relay at which the two ends meet, instead of `listener`; empty: none.
  std::vector<Address> relays{};
  /// Of a call through a relay: the router on the way there is asked for a port (LiveEndOptions).
  bool asks_router = true;
  /// How long a joiner tries, and a listener to reach its relay.
  Duration connect_max = 30s;
  LiveDevicesOptions devices{};
  app::PersonState person{};
  app::Preference prefer = app::kUsualPreference;
};

/// The destinations of a call's outputs.
struct LiveOutputs : LiveEndOutputs {
  /// `shown`: the time when it is passed here, decoded.
  std::function<void(const app::ShownFrame&)> shown{};
  /// A line of text chat of the other person's, as it may be displayed.
  std::function<void(const std::string&)> chat{};
};

/// One call of two, live.
class LiveCall final : public LiveEnd {
 public:
  /// See LiveEnd.
  LiveCall(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
           const LiveCallOptions& options, const LiveOutputs& outputs);

  /// The state that the other end reports of its person; nullopt while no peer is connected.
  std::optional<app::PersonState> peer() const;

 private:
  void take_events(TimePoint now) override;
  void take_shown() override;

  SecureCall& call_;  // the machine
  std::function<void(const app::ShownFrame&)> shown_;
  std::function<void(const std::string&)> chat_;
};

}  // namespace cress::live
