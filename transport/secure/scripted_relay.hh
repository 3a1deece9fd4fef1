#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "transport/secure/connection.hh"
#include "transport/secure/listener.hh"
#include "transport/secure/scripted_network.hh"

namespace cress::secure {

// For tests only: one Listener and its joiners in virtual time. While connected, each joiner sends
// something every 50 ms, and the listener answers each with a datagram.

inline Secret test_access(uint8_t room) { return derive_room(test_secret(room)).access; }

struct Joiner {
  std::unique_ptr<Connection> connection;
  Address address;
  bool is_running = true;
  uint64_t sequence = 0;
  TimePoint next_word = kTimeZero;
  std::vector<TimePoint> heard;  // each answer
  std::optional<TimePoint> connected_at;
  std::optional<CloseReason> closed;

  /// The longest time between two answers from `since` on.
  Duration longest_gap(TimePoint since, TimePoint until) const {
    Duration gap{};
    TimePoint last = since;
    for (const TimePoint at : heard) {
      if (at > since) {
        gap = std::max(gap, at - last);
        last = at;
      }
    }
    return std::max(gap, until - last);
  }
};

class ScriptedRelay {
 public:
  static constexpr Duration kDelay = 20ms;

  explicit ScriptedRelay(ListenerOptions options = {}) : address_(test_address(1, 4433)) {
    if (options.lookup == nullptr) {
      options.lookup = [this](std::string_view identity) -> std::optional<Secret> {
        const auto found = rooms.find(std::string{identity});
        return found == rooms.end() ? std::nullopt : std::optional{found->second};
      };
    }
    listener = std::make_unique<Listener>(kTimeZero, std::move(options));
  }

  void open_room(uint8_t room) {
    const Credential credential = room_credential(test_access(room));
    rooms[credential.identity] = credential.psk;
  }

  Joiner& join(const Address& address, uint8_t room) {
    return join(address, room_credential(test_access(room)));
  }
  Joiner& join(const Address& address, Credential credential) {
    joiners_.push_back(std::make_unique<Joiner>());
    Joiner& joiner = *joiners_.back();
    joiner.address = address;
    joiner.connection =
        std::make_unique<Connection>(now_, ConnectionOptions{.role = Role::kJoiner,
                                                             .credential = std::move(credential),
                                                             .listener = address_,
                                                             .rejoin_after = rejoin_after});
    by_address_[address] = &joiner;
    drain(joiner);
    return joiner;
  }
  void move(Joiner& joiner, const Address& to) {
    by_address_.erase(joiner.address);
    joiner.address = to;
    by_address_[to] = &joiner;
  }

  /// Its machine reports a network change.
  void notice(Joiner& joiner) {
    joiner.connection->handle_network_change(now_);
    drain(joiner);
  }

  void run_for(Duration length) {
    const TimePoint end = now_ + length;
    drain();
    for (TimePoint next = next_time(); next <= end; next = next_time()) {
      check(next > now_ || ++steps_without_time_ < 100'000, "something spins");
      steps_without_time_ = next > now_ ? 0 : steps_without_time_;
      now_ = std::max(now_, next);
      step();
    }
    now_ = end;
  }

  void say(PeerId peer) {
    listener->send(now_, peer, plain_datagram(sequences_[peer], 20));
    sequences_[peer] += 70;
  }

  /// A stranger's datagram, delivered at once.
  void inject(const Address& from, std::span<const std::byte> bytes) {
    listener->handle_datagram(now_, from, bytes);
    drain();
  }

  TimePoint now() const { return now_; }
  const Address& address() const { return address_; }

  std::unique_ptr<Listener> listener;
  std::map<std::string, Secret> rooms;
  std::vector<std::pair<TimePoint, PeerEvent>> events;
  std::map<Address, std::pair<uint64_t, uint64_t>> sent_to;  // by the listener: datagrams, bytes
  /// Called with every datagram as it is sent; returning false drops it.
  std::function<bool(const Flight&)> watch;
  Duration rejoin_after = 1h;  // a joiner that joins again is another peer
  bool works = false;          // computing handshakes, if the listener hands them out

  template <class T>
  size_t count() const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(), [](const auto& e) {
      return std::holds_alternative<T>(e.second.event);
    }));
  }
  template <class T>
  std::optional<TimePoint> last() const {
    for (size_t i = events.size(); i-- > 0;) {
      if (std::holds_alternative<T>(events[i].second.event)) {
        return events[i].first;
      }
    }
    return std::nullopt;
  }

 private:
  TimePoint next_time() const {
    TimePoint next =
        std::min(flights_.empty() ? kNever : flights_.begin()->first, listener->poll_timeout());
    for (const auto& joiner : joiners_) {
      if (joiner->is_running) {
        next = std::min(next, joiner->connection->poll_timeout());
        if (joiner->connection->is_connected()) {
          next = std::min(next, joiner->next_word);
        }
      }
    }
    return next;
  }

  void step() {
    while (!flights_.empty() && flights_.begin()->first <= now_) {
      const Flight flight = std::move(flights_.begin()->second);
      flights_.erase(flights_.begin());
      if (flight.to == address_) {
        listener->handle_datagram(now_, flight.from, flight.bytes);
        drain();
      } else if (const auto at = by_address_.find(flight.to);
                 at != by_address_.end() && at->second->is_running) {
        at->second->connection->handle_datagram(now_, flight.from, flight.bytes);
        drain(*at->second);
      }
    }
    if (listener->poll_timeout() <= now_) {
      listener->handle_timeout(now_);
      drain();
    }
    for (const auto& joiner : joiners_) {
      if (!joiner->is_running) {
        continue;
      }
      if (joiner->connection->poll_timeout() <= now_) {
        joiner->connection->handle_timeout(now_);
        drain(*joiner);
      }
      if (joiner->connection->is_connected() && joiner->next_word <= now_) {
        joiner->connection->send(now_, plain_datagram(joiner->sequence, 20));
        joiner->sequence += 70;
        joiner->next_word = now_ + 50ms;
        drain(*joiner);
      }
    }
  }

  void drain() {
    while (works) {
      auto work = listener->poll_work();
      if (!work) {
        break;
      }
      work->run();
      listener->handle_work(now_, *std::move(work));
    }
    while (auto datagram = listener->poll_datagram()) {
      say(datagram->peer);
    }
    while (auto event = listener->poll_event()) {
      events.emplace_back(now_, *std::move(event));
    }
    while (auto transmit = listener->poll_transmit(now_)) {
      auto& [datagrams, bytes] = sent_to[transmit->to];
      ++datagrams;
      bytes += transmit->bytes.size();
      launch({now_, address_, transmit->to, std::move(transmit->bytes)});
    }
  }

  void drain(Joiner& joiner) {
    while (auto transmit = joiner.connection->poll_transmit(now_)) {
      launch({now_, joiner.address, transmit->to, std::move(transmit->bytes)});
    }
    while (auto datagram = joiner.connection->poll_datagram()) {
      joiner.heard.push_back(now_);
    }
    while (auto event = joiner.connection->poll_event()) {
      if (std::holds_alternative<Connected>(*event)) {
        joiner.connected_at = now_;
        joiner.sequence = 0;
        joiner.next_word = now_;
      } else if (const auto* closed = std::get_if<Closed>(&*event)) {
        joiner.closed = closed->reason;
      }
    }
  }

  void launch(Flight flight) {
    if (!watch || watch(flight)) {
      flights_.emplace(now_ + kDelay, std::move(flight));
    }
  }

  Address address_;
  std::map<PeerId, uint64_t> sequences_;
  TimePoint now_ = kTimeZero;
  int steps_without_time_ = 0;
  std::vector<std::unique_ptr<Joiner>> joiners_;
  std::map<Address, Joiner*> by_address_;
  std::multimap<TimePoint, Flight> flights_;
};

}  // namespace cress::secure
