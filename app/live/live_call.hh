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
  /// What happens to an end with the link that would take the silent other end's place.
  secure::Replacement replacement = secure::Replacement::kRefuse;
  /// See secure::ConnectionOptions and kept_identity(); empty: only as long as this call lives.
  std::vector<std::byte> identity_secret{};
  /// How long a joiner tries, and a listener to reach its relay.
  Duration connect_max = 30s;
  LiveDevicesOptions devices{};
  app::PersonState person{};
  app::Preference prefer = app::kUsualPreference;
};

/// The relay for LiveEndOptions::map_towards: the first of IPv4, because the way to it is sure to
/// be that of IPv4, else the first; nullopt: the router is not asked.
std::optional<Address> map_towards(const LiveCallOptions& options);

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
  /// While the other end is silent: the code of a newcomer's session, which has the link and waits
  /// for admit() or refuse(). Empty: nobody waits. Each change is an event.
  const std::string& newcomer() const { return newcomer_; }
  /// Admits the newcomer with this code; no effect if none or another one waits.
  void admit(const std::string& code);
  void refuse();

 private:
  void take_events(TimePoint now) override;
  void take_shown() override;

  SecureCall& call_;  // the machine
  std::function<void(const app::ShownFrame&)> shown_;
  std::function<void(const std::string&)> chat_;
  std::string newcomer_;
};

}  // namespace cress::live
