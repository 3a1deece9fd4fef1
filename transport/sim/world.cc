#include "transport/sim/world.hh"

#include <algorithm>
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
  if (options.address != Address{}) {
    check(by_address_.emplace(options.address, hosts_.size()).second,
          "World: two hosts with one address");
  }
  hosts_.push_back({.machine = &machine, .options = options, .routes = {}});
  return hosts_.size() - 1;
}

void World::connect(HostId from, HostId to, Link& link) {
  hosts_.at(from).routes.emplace_back(to, &link);
  wires_.push_back({&link, to});
}

void World::move(HostId host, const Address& address) {
  by_address_.erase(hosts_.at(host).options.address);
  hosts_[host].options.address = address;
  check(by_address_.emplace(address, host).second, "World: two hosts with one address");
}

void World::replace(HostId host, Machine* machine) { hosts_.at(host).machine = machine; }

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
    const Wire wire = wires_[i];
    wire.link->handle_timeout(now_);
    while (const auto datagram = wire.link->poll_delivered(now_)) {
      deliver(wire.to, *datagram);
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
