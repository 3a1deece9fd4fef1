#include "eval/swarm/scenario.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "eval/swarm/seat.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::swarm {
namespace {

constexpr size_t kOverheardMax = 256;
constexpr size_t kRecordedMax = 256;

Address address_of(uint32_t number) {
  Address address;
  address.ip = {0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
                0xff,
                0xff,
                10,
                0,
                static_cast<uint8_t>(number >> 8U),
                static_cast<uint8_t>(number)};
  address.port = 4000;
  return address;
}

std::vector<std::byte> secret() { return std::vector<std::byte>(16, std::byte{42}); }

std::shared_ptr<const sim::DeliveryTrace> constant_trace(DataRate rate) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  const Duration every = sim::kOpportunitySize / rate;
  for (Duration at = every; at <= 10s; at += every) {
    trace->opportunities.push_back({at});
  }
  return trace;
}

std::unique_ptr<sim::Link> make_link(const LinkPlan& plan, uint64_t seed) {
  return std::make_unique<sim::Link>(
      sim::LinkOptions{.trace = constant_trace(plan.rate),
                       .propagation = plan.propagation,
                       .jitter = plan.jitter,
                       .loss = plan.loss,
                       .burst_loss = plan.burst_loss,
                       .duplicate = plan.duplicate,
                       .seed = seed,
                       .queue = std::make_unique<sim::DropTailQueue>(plan.queue)});
}

const char* describe(NatKind kind) {
  static constexpr std::array<const char*, 5> kNames{
      "no NAT", "a full-cone NAT", "a restricted NAT", "a port-restricted NAT", "a symmetric NAT"};
  return kNames.at(static_cast<size_t>(kind));
}

}  // namespace

bool can_be_direct(NatKind one, NatKind other) {
  const auto hides = [](NatKind a, NatKind b) {
    return a == NatKind::kSymmetric && (b == NatKind::kSymmetric || b == NatKind::kPortRestricted);
  };
  return !hides(one, other) && !hides(other, one);
}

Scenario::Scenario(uint64_t seed) : seed_(seed), rng_(seed) {
  world_.set_watch([this](TimePoint /*now*/, const sim::Datagram& datagram) {
    overhear(datagram);
    return true;
  });
}

void Scenario::overhear(const sim::Datagram& datagram) {
  if (overheard_.size() < kOverheardMax) {
    overheard_.push_back(datagram);
  } else {
    overheard_[datagrams_ % kOverheardMax] = datagram;
  }
  if (datagrams_ % record_every_ == 0) {
    recorded_.push_back(datagram);
  }
  if (recorded_.size() == kRecordedMax) {
    // Half as many, half as often: from the beginning to now, evenly.
    for (size_t i = 1; i < kRecordedMax / 2; ++i) {
      recorded_[i] = std::move(recorded_[2 * i]);
    }
    recorded_.resize(kRecordedMax / 2);
    record_every_ *= 2;
  }
  ++datagrams_;
}

Scenario::~Scenario() = default;

Scenario& Scenario::link(const LinkPlan& both) {
  plan_ = both;
  note(fmt::format("links of {:.0f} kbit/s, {:.0f} ms", both.rate.kilobits_per_second(),
                   to_milliseconds(both.propagation)));
  return *this;
}

Scenario& Scenario::loss(double share) {
  plan_.loss = share;
  note(fmt::format("loss {:.3f}", share));
  return *this;
}

Scenario& Scenario::jitter(Duration most) {
  plan_.jitter = most;
  note(fmt::format("jitter {:.1f} ms", to_milliseconds(most)));
  return *this;
}

Scenario& Scenario::bursts(const sim::BurstLoss& bursts) {
  plan_.burst_loss = bursts;
  note(fmt::format("loss bursts: enter {:.3f}, leave {:.3f}", bursts.enter, bursts.leave));
  return *this;
}

std::string Scenario::name_of(size_t at) const {
  static constexpr std::array<const char*, 8> kNames{"Ada", "Bo",  "Cem", "Dee",
                                                     "Eva", "Fay", "Gus", "Hal"};
  return at < kNames.size() ? kNames[at] : fmt::format("Person {}", at + 1);
}

Scenario::Seat& Scenario::add(const std::string& name) {
  seats_.push_back(std::make_unique<Seat>());
  Seat& seat = *seats_.back();
  seat.name = name;
  seat.address = address_of(++addresses_);
  seat.plan = plan_;
  seat.clock_offset = from_seconds(rng_.uniform(0, 3600));
  return seat;
}

std::unique_ptr<Person> Scenario::make_person(const Seat& seat) {
  const TimePoint local = now() + seat.clock_offset;
  const uint64_t seed = seed_ * 1000 + 10 * seat.id + seat.starts;
  if (kind_ == Kind::kRoom) {
    room::SecureRoomOptions options;
    options.secret = secret();
    options.relay = address_of(0);
    return std::make_unique<Person>(local, seat.name, std::move(options), seed);
  }
  live::SecureCallOptions options;
  options.connection.secret = secret();
  // Kept over restarts; nobody else may take a silent end's place.
  options.connection.replacement = secure::Replacement::kRefuse;
  options.connection.identity_secret.assign(32, static_cast<std::byte>(seat.name.front()));
  const bool listens = &seat == seats_.front().get();
  options.connection.role = listens ? secure::Role::kListener : secure::Role::kJoiner;
  if (kind_ == Kind::kRelayedCall) {
    options.connection.relays = {address_of(0)};
  } else if (!listens) {
    in_link_ = seats_.front()->address;
    options.connection.listener = in_link_;
  }
  return std::make_unique<Person>(local, seat.name, std::move(options), seed);
}

/// Of a room: between the member and the relay. Of a call: Ada's links connect her with Bo.
void Scenario::wire_up(Seat& seat) {
  seat.up = make_link(seat.plan, seed_ * 100 + ++links_);
  seat.down = make_link(seat.plan, seed_ * 100 + ++links_);
  const sim::World::HostId other = kind_ == Kind::kRoom ? relay_id_ : seats_.back()->id;
  world_.connect(seat.id, other, *seat.up);
  world_.connect(other, seat.id, *seat.down);
}

Scenario& Scenario::call() {
  note("a call of two");
  kind_ = Kind::kCall;
  for (size_t at = 0; at < 2; ++at) {
    Seat& seat = add(name_of(at));
    seat.id = at;
    seat.person = make_person(seat);
    seat.id =
        world_.add(*seat.person, {.address = seat.address, .clock_offset = seat.clock_offset});
  }
  wire_up(*seats_.front());
  know_cameras();
  for (const auto& seat : seats_) {
    world_.drain(seat->id);
  }
  return *this;
}

/// Nothing if the person has no NAT.
sim::Nat* Scenario::make_nat(Seat& seat) {
  using Scope = sim::NatOptions::Scope;
  if (seat.nat_kind == NatKind::kNone) {
    return nullptr;
  }
  sim::NatOptions options{.outside = address_of(++addresses_)};
  options.outside.port = 40'000;
  options.mapping =
      seat.nat_kind == NatKind::kSymmetric ? Scope::kAddressAndPort : Scope::kEndpoint;
  options.filtering = seat.nat_kind == NatKind::kFullCone     ? Scope::kEndpoint
                      : seat.nat_kind == NatKind::kRestricted ? Scope::kAddress
                                                              : Scope::kAddressAndPort;
  seat.nats.push_back(std::make_unique<sim::Nat>(options));
  return seat.nats.back().get();
}

void Scenario::tell_addresses(Seat& seat) {
  seat.person->set_local_addresses(now() + seat.clock_offset, {seat.address});
}

void Scenario::wire_up_relayed() {
  for (const auto& seat : seats_) {
    const Seat& other = *seats_[seat == seats_.front() ? 1 : 0];
    for (auto* link : {&seat->up, &seat->down, &seat->past}) {
      *link = make_link(seat->plan, seed_ * 100 + ++links_);
    }
    world_.connect(seat->id, relay_id_, *seat->up);
    world_.connect(relay_id_, seat->id, *seat->down);
    world_.connect(seat->id, other.id, *seat->past);
  }
}

Scenario& Scenario::relayed_call(NatKind ada, NatKind bo) {
  note(fmt::format("a call of two through a relay; behind {} and {}", describe(ada), describe(bo)));
  kind_ = Kind::kRelayedCall;
  relay_ = make_relay();
  relay_id_ = world_.add(*relay_, {.address = address_of(0)});
  for (const NatKind kind : {ada, bo}) {
    Seat& seat = add(name_of(seats_.size()));
    seat.nat_kind = kind;
    seat.id = seats_.size();
    seat.person = make_person(seat);
    seat.id = world_.add(
        *seat.person,
        {.address = seat.address, .nat = make_nat(seat), .clock_offset = seat.clock_offset});
    tell_addresses(seat);
  }
  wire_up_relayed();
  know_cameras();
  for (const auto& seat : seats_) {
    world_.drain(seat->id);
  }
  return *this;
}

std::unique_ptr<relay::RelayMachine> Scenario::make_relay() const {
  relay::RelayMachineOptions options;
  options.calls.calls_max = kind_ == Kind::kRelayedCall ? 1 : 0;
  auto relay = std::make_unique<relay::RelayMachine>(now(), options);
  relay->open({.name = "lab", .access = secure::derive_room(secret()).access});
  return relay;
}

Scenario& Scenario::room(size_t members) {
  note(fmt::format("a room of {}", members));
  kind_ = Kind::kRoom;
  relay_ = make_relay();
  relay_id_ = world_.add(*relay_, {.address = address_of(0)});
  for (size_t i = 0; i < members; ++i) {
    join();
  }
  return *this;
}

Scenario& Scenario::join() {
  Seat& seat = add(name_of(seats_.size()));
  note(fmt::format("{} joins", seat.name));
  seat.id = seats_.size();
  seat.person = make_person(seat);
  seat.id = world_.add(*seat.person, {.address = seat.address, .clock_offset = seat.clock_offset});
  wire_up(seat);
  know_cameras();
  world_.drain(seat.id);
  return *this;
}

Scenario& Scenario::leave(size_t person) {
  Seat& seat = *seats_.at(person);
  note(fmt::format("{} leaves", seat.name));
  seat.person->hang_up(now() + seat.clock_offset);
  seat.is_here = false;
  world_.drain(seat.id);
  return *this;
}

Scenario& Scenario::restart(size_t person) {
  Seat& seat = *seats_.at(person);
  note(fmt::format("{}'s program is killed and started again", seat.name));
  ++seat.starts;
  seat.former.push_back(std::exchange(seat.person, nullptr));
  seat.person = make_person(seat);
  world_.replace(seat.id, seat.person.get());
  if (kind_ == Kind::kCall && person == 0) {
    place(seat, in_link_);
  }
  if (kind_ == Kind::kRelayedCall) {
    tell_addresses(seat);
  }
  know_cameras();
  world_.drain(seat.id);
  return *this;
}

Scenario& Scenario::restart_relay() {
  note("the relay is killed and started again");
  auto next = make_relay();
  world_.replace(relay_id_, next.get());
  relay_ = std::move(next);
  return *this;
}

void Scenario::know_cameras() {
  for (const auto& viewer : seats_) {
    for (const auto& other : seats_) {
      if (viewer != other && viewer->person && other->person) {
        viewer->person->expect_camera(is_room() ? other->name : "", *other->person);
      }
    }
  }
}

Scenario& Scenario::run(Duration length) {
  note(fmt::format("{:.1f} s pass", to_seconds(length)));
  pass(length);
  return *this;
}

void Scenario::pass(Duration length) {
  const TimePoint end = now() + length;
  while (now() < end) {
    world_.run_until(std::min(end, now() + 500ms));
    check_always();
  }
}

void Scenario::set_down(Seat& seat, bool is_down) {
  const Seat& wired = kind_ == Kind::kCall ? *seats_.front() : seat;
  wired.up->set_down(is_down);
  wired.down->set_down(is_down);
  for (const auto& one : seats_) {
    if (one->past) {
      one->past->set_down(is_down);
    }
  }
}

Scenario& Scenario::blackout_past_relay(Duration length) {
  note("nothing passes but through the relay");
  for (const bool is_down : {true, false}) {
    for (const auto& seat : seats_) {
      seat->past->set_down(is_down);
    }
    if (is_down) {
      run(length);
    }
  }
  return *this;
}

Scenario& Scenario::blackout(size_t person, Duration length) {
  note(fmt::format("a blackout for {}", seats_.at(person)->name));
  set_down(*seats_.at(person), true);
  run(length);
  set_down(*seats_.at(person), false);
  return *this;
}

Scenario& Scenario::blackout(Duration length) {
  note("a blackout for everybody");
  for (const auto& seat : seats_) {
    set_down(*seat, true);
  }
  run(length);
  for (const auto& seat : seats_) {
    set_down(*seat, false);
  }
  return *this;
}

void Scenario::place(Seat& seat, const Address& address) {
  seat.address = address;
  world_.move(seat.id, address, make_nat(seat));
}

Scenario& Scenario::move(size_t person) {
  Seat& seat = *seats_.at(person);
  note(fmt::format("{} moves to another network", seat.name));
  place(seat, address_of(++addresses_));
  if (kind_ == Kind::kRelayedCall) {
    tell_addresses(seat);
  }
  seat.person->handle_network_change(now() + seat.clock_offset);
  world_.drain(seat.id);
  return *this;
}

Scenario& Scenario::strangers(size_t datagrams) {
  note(fmt::format("{} datagrams of strangers", datagrams));
  for (size_t i = 0; i < datagrams && !overheard_.empty(); ++i) {
    const auto& source = rng_.chance(0.5) ? recorded_ : overheard_;
    sim::Datagram datagram = source[rng_.below(source.size())];
    const bool is_replay = rng_.chance(0.3);
    for (uint64_t flips = is_replay ? 0 : 1 + rng_.below(8); flips > 0 && !datagram.bytes.empty();
         --flips) {
      datagram.bytes[rng_.below(datagram.bytes.size())] ^=
          static_cast<std::byte>(1U << rng_.below(8));
    }
    const Address from = rng_.chance(0.5) ? datagram.from : address_of(60'000);
    world_.inject(from, datagram.to, datagram.bytes);
    const uint64_t before = accepted();
    world_.inject(from, datagram.to, datagram.bytes);
    if (accepted() != before) {
      fail("a datagram is accepted once more when a stranger repeats it");
    }
  }
  return *this;
}

Scenario& Scenario::expect(const std::string& what, const std::function<bool(Scenario&)>& holds) {
  if (!holds(*this)) {
    fail(what);
  }
  return *this;
}

std::vector<Scenario::Seat*> Scenario::present() const {
  std::vector<Seat*> found;
  for (const auto& seat : seats_) {
    if (seat->is_here) {
      found.push_back(seat.get());
    }
  }
  return found;
}

/// Those who are there, one apart.
std::set<std::string> Scenario::names_but(const Seat& seat) const {
  std::set<std::string> names;
  for (const Seat* other : present()) {
    if (other != &seat) {
      names.insert(other->name);
    }
  }
  return names;
}

size_t Scenario::people() const { return seats_.size(); }
bool Scenario::is_present(size_t person) const { return seats_.at(person)->is_here; }
const Person& Scenario::person(size_t at) const { return *seats_.at(at)->person; }

void Scenario::note(const std::string& step) {
  steps_.push_back(fmt::format("{:7.1f} s  {}", to_seconds(now() - kTimeZero), step));
}

void Scenario::fail(const std::string& what) {
  const std::string line =
      fmt::format("{} (at {:.1f} s, after \"{}\")", what, to_seconds(now() - kTimeZero),
                  steps_.empty() ? "the start" : steps_.back().substr(11));
  if (std::ranges::none_of(failures_,
                           [&what](const std::string& known) { return known.starts_with(what); })) {
    failures_.push_back(line);
  }
}

std::string Scenario::report() const {
  std::string text;
  for (const std::string& failure : failures_) {
    text += fmt::format("seed {}: {}\n", seed_, failure);
  }
  return text;
}

}  // namespace cress::swarm
