#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/secure/rendezvous/rendezvous_message.hh"

namespace cress::secure {

struct RendezvousOptions {
  Role role = Role::kListener;
  /// The secret of the link.
  std::vector<std::byte> secret{};
  /// The relay's possible addresses, the most likely first; at least one.
  std::vector<Address> relays{};
};

/// Keeps one end of a call registered at a relay, which forwards datagrams between the two ends.
/// The first of the relay's addresses to answer is used. An unanswered request is repeated after
/// 100 ms, then after twice as long each time, up to 1 s. A registered end registers again every
/// 10 s, which also keeps NATs open (RFC 4787 §4.3 asks for 2 minutes; many close after 30 s), and
/// at once when its own address has changed. Answers are not authenticated: an observer of the
/// requests can forge them, with no more effect than dropping datagrams. Without I/O: after each
/// handle_*, poll_transmit until empty; sleep until poll_timeout. Threads: none inside; one owner.
/// `now` never goes back.
class RendezvousClient {
 public:
  RendezvousClient(TimePoint now, const RendezvousOptions& options);

  /// False: of another kind, or no answer to this client.
  bool handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// Our own address may be another: registers again, with all of the relay's addresses.
  void handle_network_change(TimePoint now);
  /// Nothing is received from the other end: registers again, at most twice a second.
  void handle_silence(TimePoint now);
  /// The relay does not know this end any more: registers again, half a second after the last
  /// request at the earliest.
  void handle_forgotten(TimePoint now);

  std::optional<Transmit> poll_transmit();
  TimePoint poll_timeout() const { return ask_at_; }

  /// The relay's address in use; nullopt while it has not answered.
  const std::optional<Address>& relay() const { return relay_; }
  /// This end's address as the relay sees it; nullopt before the first answer.
  const std::optional<Address>& seen() const { return seen_; }
  /// The other end is registered too.
  bool is_together() const { return status_ == RendezvousStatus::kTogether; }
  /// Why the relay does not forward for us; nullopt: it does, or has not answered. kBusy only when
  /// the relay still answers so after kBusyMax: the other program may be our own previous run,
  /// which crashed.
  std::optional<RendezvousStatus> refusal() const;

  static constexpr Duration kRefresh = 10s;
  static constexpr Duration kBusyMax = 3s;

 private:
  void ask(TimePoint now);
  void handle_status(TimePoint now, const Address& from, const StatusAnswer& answer);

  SigningKey key_;
  std::vector<Address> relays_;
  Registration registration_;
  std::optional<Address> relay_;
  std::optional<Address> seen_;
  std::optional<RendezvousStatus> status_;
  std::optional<TimePoint> busy_since_;
  bool is_busy_for_long_ = false;
  TimePoint asked_at_;
  TimePoint ask_at_;
  Duration interval_;
  bool is_signed_ = false;
  std::deque<Transmit> out_;  // at most one per address: drained after each call
};

}  // namespace cress::secure
