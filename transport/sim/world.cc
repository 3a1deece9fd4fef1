#include "transport/sim/world.hh"

#include <algorithm>
#include <set>
#include <utility>

#include "transport/base/check.hh"

namespace cress::sim {
namespace {

// A machine that asks for a time-out at `now` again and again would hang the run: that is a bug in
// it.
constexpr int kStepsAtOneInstantMax = 100'000;
// Likewise one with endless outputs.
constexpr int kRoundsOfOneDrainMax = 10'000;

}  // namespace

World::World(const Pair& pair) {
  const HostId left = add(pair.left, {});
  const HostId right = add(pair.right, {});
  connect(left, right, pair.forward);
  connect(right, left, pair.reverse);
}

World::HostId World::add(Machine& machine, const HostOptions& options) {
  hosts_.push_back({.machine = &machine, .options = options, .routes = {}});
  take_address(hosts_.size() - 1);
  return hosts_.size() - 1;
}

void World::take_address(HostId host) {
  const Address& address = hosts_[host].options.address;
  check(address == Address{} || by_address_.emplace(address, host).second,
        "World: two hosts with one address");
}

void World::free_address(HostId host) {
  const auto found = by_address_.find(hosts_[host].options.address);
  if (found != by_address_.end() && found->second == host) {
    by_address_.erase(found);
  }
}

void World::connect(HostId from, HostId to, Link& link) {
  hosts_.at(from).routes.emplace_back(to, &link);
  const auto wire = std::ranges::find(wires_, &link, &Wire::link);
  if (wire == wires_.end()) {
    wires_.push_back({&link, {to}});
  } else if (std::ranges::find(wire->to, to) == wire->to.end()) {
    wire->to.push_back(to);
  }
}

void World::connect_all(Link& link) {
  everywhere_ = &link;
  wires_.push_back({&link, {}});
}

void World::move(HostId host, const Address& address) {
  free_address(host);
  hosts_.at(host).options.address = address;
  if (hosts_[host].machine != nullptr) {
    take_address(host);
  }
}

void World::move(HostId host, const Address& address, Nat* nat) {
  hosts_.at(host).options.nat = nat;
  move(host, address);
}

void World::replace(HostId host, Machine* machine) {
  free_address(host);
  hosts_.at(host).machine = machine;
  if (machine != nullptr) {
    take_address(host);
  }
}

void World::remove(HostId host) {
  replace(host, nullptr);
  std::set<const Link*> own;
  for (const auto& [other, link] : hosts_[host].routes) {
    own.insert(link);
  }
  std::set<const Link*> others;
  for (HostId from = 0; from < hosts_.size(); ++from) {
    for (const auto& [to, link] : hosts_[from].routes) {
      if (from != host) {
        (to == host ? own : others).insert(link);
      }
    }
  }
  std::erase_if(wires_, [&](const Wire& wire) {
    return own.contains(wire.link) && !others.contains(wire.link);
  });
  for (Wire& wire : wires_) {
    std::erase(wire.to, host);  // of a link that others share
  }
  hosts_[host].routes.clear();
  for (Host& other : hosts_) {
    std::erase_if(other.routes, [host](const auto& route) { return route.first == host; });
  }
}

TimePoint World::Host::poll_timeout() const {
  const TimePoint due = machine == nullptr ? kNever : machine->poll_timeout();
  return due == kNever ? kNever : due - options.clock_offset;
}

TimePoint World::next_event() const {
  TimePoint next = kNever;
  for (const Host& host : hosts_) {
    next = std::min(next, host.poll_timeout());
  }
  for (const Wire& wire : wires_) {
    next = std::min(next, wire.link->poll_timeout());
  }
  return next;
}

void World::drain(HostId host) {
  if (hosts_.at(host).machine == nullptr) {
    return;
  }
  collect(host);
  for (int round = 0; hosts_[host].machine->drained(hosts_[host].local(now_)) && collect(host);
       ++round) {
    check(round < kRoundsOfOneDrainMax, "World: a machine's outputs never end");
  }
}

/// Returns whether the machine had anything to send.
bool World::collect(HostId from) {
  bool any = false;
  while (auto transmit = hosts_[from].machine->poll_transmit(hosts_[from].local(now_))) {
    any = true;
    send(from, *std::move(transmit));
  }
  return any;
}

void World::send(HostId from, Transmit transmit) {
  const Host& host = hosts_[from];
  const Address destination = transmit.to;
  Datagram datagram = datagram_of(std::move(transmit), host.options.address);
  if (host.options.nat != nullptr) {
    const auto outside = host.options.nat->translate_out(now_, datagram.from, destination);
    if (!outside) {
      return;
    }
    datagram.from = *outside;
  }
  if (watch_ && !watch_(now_, datagram)) {
    return;
  }
  if (destination == Address{}) {
    if (!host.routes.empty()) {
      host.routes.front().second->push(now_, std::move(datagram));
    }
    return;
  }
  const auto to = host_of(destination);
  const auto route = std::ranges::find_if(
      host.routes, [&to](const auto& one) { return to.has_value() && one.first == *to; });
  if (route != host.routes.end()) {
    route->second->push(now_, std::move(datagram));
  } else if (everywhere_ != nullptr) {
    everywhere_->push(now_, std::move(datagram));
  }
}

/// The host that a datagram for `address` goes to: its own, or one behind a NAT with a mapping.
std::optional<World::HostId> World::host_of(const Address& address) const {
  const auto found = by_address_.find(address);
  if (found != by_address_.end() && hosts_[found->second].options.nat == nullptr) {
    return found->second;
  }
  for (const Host& host : hosts_) {
    if (host.options.nat != nullptr && host.options.nat->owns(address)) {
      const auto inside = host.options.nat->inside_of(now_, address);
      const auto behind = inside ? by_address_.find(*inside) : by_address_.end();
      return behind != by_address_.end() ? std::optional{behind->second} : std::nullopt;
    }
  }
  return std::nullopt;
}

/// Of the hosts at the end of a wire, the one that a datagram is for; none where it has moved away.
std::optional<World::HostId> World::receiver_of(const Wire& wire, const Datagram& datagram) const {
  if (wire.to.empty()) {
    return host_of(datagram.to);
  }
  if (wire.to.size() == 1 || datagram.to == Address{}) {
    return wire.to.front();
  }
  const auto host = host_of(datagram.to);
  return host && std::ranges::find(wire.to, *host) != wire.to.end() ? host : std::nullopt;
}

void World::deliver(HostId to, const Datagram& datagram) {
  Host& host = hosts_[to];
  if (host.machine == nullptr) {
    return;
  }
  if (datagram.to != Address{}) {
    std::optional<Address> destination = datagram.to;
    if (host.options.nat != nullptr) {
      destination = host.options.nat->translate_in(now_, datagram.from, datagram.to);
    }
    if (destination != host.options.address) {
      return;  // filtered, or the host has moved meanwhile
    }
  }
  host.machine->handle_ecn(datagram.ecn);
  host.machine->handle_datagram(host.local(now_), datagram.from, datagram.bytes);
  drain(to);
}

void World::inject(const Address& from, const Address& to, std::span<const std::byte> bytes) {
  const auto host = host_of(to);
  if (host) {
    deliver(*host,
            {.bytes = {bytes.begin(), bytes.end()}, .wire_size = {}, .from = from, .to = to});
  }
}

void World::step() {
  for (size_t i = 0; i < wires_.size(); ++i) {
    Link& link = *wires_[i].link;
    link.handle_timeout(now_);
    while (const auto datagram = link.poll_delivered(now_)) {
      if (const auto to = receiver_of(wires_[i], *datagram)) {
        deliver(*to, *datagram);
      }
    }
  }
  for (HostId host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].poll_timeout() <= now_) {
      hosts_[host].machine->handle_timeout(hosts_[host].local(now_));
      drain(host);
    }
  }
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
