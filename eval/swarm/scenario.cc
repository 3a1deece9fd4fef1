#include "eval/swarm/scenario.hh"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/secure/handshake/credential.hh"

namespace cress::swarm {
namespace {

// A picture older than this although the network is good has stopped. Links are drawn down to 600
// kbit/s, with bursts of loss, and rooms hold seven: 2 s can occur there.
constexpr Duration kFreshWithin = 4s;
constexpr size_t kOverheardMax = 256;
constexpr size_t kQueuedMax = 4'000'000;  // bytes; an endpoint's own bound is far below

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

}  // namespace

struct Scenario::Seat {
  std::string name;
  Address address;
  LinkPlan plan;
  Duration clock_offset{};
  std::unique_ptr<Person> person;
  std::vector<std::unique_ptr<Person>>
      former;  // kept: the world may hold references until the next step
  std::unique_ptr<sim::Link> up;
  std::unique_ptr<sim::Link> down;
  sim::World::HostId id = 0;
  bool is_here = true;
  uint64_t starts = 0;
};

Scenario::Scenario(uint64_t seed) : seed_(seed), rng_(seed) {
  world_.set_watch([this](TimePoint /*now*/, const sim::Datagram& datagram) {
    if (overheard_.size() == kOverheardMax) {
      overheard_.erase(overheard_.begin());
    }
    overheard_.push_back(datagram);
    return true;
  });
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
    return std::make_unique<Person>(
        local, seat.name, room::SecureRoomOptions{.secret = secret(), .relay = address_of(0)},
        seed);
  }
  live::SecureCallOptions options;
  options.connection.secret = secret();
  const bool listens = &seat == seats_.front().get();
  options.connection.role = listens ? secure::Role::kListener : secure::Role::kJoiner;
  options.connection.listener = listens ? Address{} : seats_.front()->address;
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

std::unique_ptr<relay::RelayMachine> Scenario::make_relay() const {
  auto relay = std::make_unique<relay::RelayMachine>(now(), relay::RelayMachineOptions{});
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
        viewer->person->expect_camera(kind_ == Kind::kCall ? "" : other->name, *other->person);
      }
    }
  }
}

Scenario& Scenario::run(Duration length) {
  note(fmt::format("{:.1f} s pass", to_seconds(length)));
  const TimePoint end = now() + length;
  while (now() < end) {
    world_.run_until(std::min(end, now() + 500ms));
    check_always();
  }
  return *this;
}

void Scenario::set_down(Seat& seat, bool is_down) {
  const Seat& wired = kind_ == Kind::kCall ? *seats_.front() : seat;
  wired.up->set_down(is_down);
  wired.down->set_down(is_down);
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

Scenario& Scenario::move(size_t person) {
  Seat& seat = *seats_.at(person);
  note(fmt::format("{} moves to another network", seat.name));
  seat.address = address_of(++addresses_);
  world_.move(seat.id, seat.address);
  seat.person->handle_network_change(now() + seat.clock_offset);
  world_.drain(seat.id);
  return *this;
}

Scenario& Scenario::strangers(size_t datagrams) {
  note(fmt::format("{} datagrams of strangers", datagrams));
  for (size_t i = 0; i < datagrams && !overheard_.empty(); ++i) {
    sim::Datagram datagram = overheard_[rng_.below(overheard_.size())];
    const bool is_replay = rng_.chance(0.3);
    for (uint64_t flips = is_replay ? 0 : 1 + rng_.below(8); flips > 0 && !datagram.bytes.empty();
         --flips) {
      datagram.bytes[rng_.below(datagram.bytes.size())] ^=
          static_cast<std::byte>(1U << rng_.below(8));
    }
    world_.inject(rng_.chance(0.5) ? datagram.from : address_of(60'000), datagram.to,
                  datagram.bytes);
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

Scenario::Oldest Scenario::oldest_picture() const {
  Oldest oldest;
  for (const Seat* viewer : present()) {
    for (const Seat* other : present()) {
      if (viewer == other) {
        continue;
      }
      const auto sight = viewer->person->sights().find(kind_ == Kind::kCall ? "" : other->name);
      const Duration age = sight == viewer->person->sights().end()
                               ? Duration::max()
                               : now() + other->clock_offset - sight->second.captured;
      if (age > oldest.age) {
        oldest = {age, viewer, other};
      }
    }
  }
  return oldest;
}

Scenario& Scenario::check_always() {
  for (const Seat* seat : present()) {
    for (const std::string& broken : seat->person->broken()) {
      fail(fmt::format("{}: {}", seat->name, broken));
    }
    if (const auto* endpoint = seat->person->endpoint()) {
      const auto queued = static_cast<size_t>(endpoint->queued().bytes());
      if (queued > kQueuedMax) {
        fail(fmt::format("{}: {} bytes are queued", seat->name, queued));
      }
    }
    if (seat->person->pictures_accounted() > seat->person->pictures_captured()) {
      fail(fmt::format("{}: more pictures came out of the encoder than went in", seat->name));
    }
  }
  return *this;
}

Scenario& Scenario::check_settled() {
  const std::vector<Seat*> here = present();
  struct Before {
    uint64_t speech = 0;
    uint64_t unaccounted = 0;
  };
  const auto unaccounted = [](const Person& person) {
    return person.pictures_captured() - person.pictures_accounted();
  };
  std::vector<Before> before;
  before.reserve(here.size());
  for (const Seat* seat : here) {
    before.push_back({seat->person->speech_played(), unaccounted(*seat->person)});
  }
  run(4s);
  if (here.size() < 2) {
    return *this;
  }
  if (const Oldest oldest = oldest_picture(); oldest.age > kFreshWithin) {
    fail(fmt::format("the network is good, but {} sees {} as of {:.1f} s ago", oldest.viewer->name,
                     oldest.other->name, to_seconds(oldest.age)));
  }
  for (size_t i = 0; i < here.size(); ++i) {
    const Person& person = *here[i]->person;
    if (person.speech_played() < before[i].speech + 20) {
      fail(fmt::format("{} hears nobody", here[i]->name));
    }
    // The newest picture may still be in the encoder.
    if (unaccounted(person) > before[i].unaccounted + 1) {
      fail(fmt::format("{}: {} captured pictures are unaccounted for", here[i]->name,
                       unaccounted(person) - before[i].unaccounted));
    }
    if (kind_ == Kind::kRoom && person.others() != names_but(*here[i])) {
      fail(fmt::format("{} does not see exactly those who are there", here[i]->name));
    }
  }
  return *this;
}

/// Those present, except one.
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
