#include <fmt/format.h>

#include <algorithm>

#include "eval/swarm/scenario.hh"
#include "eval/swarm/seat.hh"

namespace cress::swarm {
namespace {

// A picture that is older than this although the network is good has stopped. Links are drawn down
// to 600 kbit/s, with bursts of loss, and rooms hold seven: 2 s happen there.
constexpr Duration kFreshWithin = 4s;
// With a good network the longest queue takes this long at most.
constexpr Duration kQueueMax = 500ms;
constexpr size_t kQueuedMax = 4'000'000;  // bytes; an endpoint's own bound is far below

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + (name.empty() ? "somebody without a name" : name);
  }
  return text.empty() ? "nobody" : text;
}

}  // namespace

Scenario::Oldest Scenario::oldest_picture() const {
  Oldest oldest;
  for (const Seat* viewer : present()) {
    for (const Seat* other : present()) {
      if (viewer == other) {
        continue;
      }
      const auto sight = viewer->person->sights().find(is_room() ? other->name : "");
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

Duration Scenario::queue_delay() const {
  Duration longest{};
  for (const auto& seat : seats_) {
    for (const sim::Link* link : {seat->up.get(), seat->down.get(), seat->past.get()}) {
      if (link != nullptr) {
        longest = std::max(longest, link->queued() / seat->plan.rate);
      }
    }
  }
  return longest;
}

Scenario& Scenario::check_always() {
  for (const Seat* seat : present()) {
    check_person(*seat);
  }
  if (relay_ != nullptr) {
    check_relay();
  }
  return *this;
}

void Scenario::check_person(const Seat& seat) {
  for (const std::string& broken : seat.person->broken()) {
    fail(fmt::format("{}: {}", seat.name, broken));
  }
  if (const auto* endpoint = seat.person->endpoint()) {
    const auto queued = static_cast<size_t>(endpoint->queued().bytes());
    if (queued > kQueuedMax) {
      fail(fmt::format("{}: {} bytes are queued", seat.name, queued));
    }
    if (endpoint->stats().datagrams_duplicate > 0) {
      fail(fmt::format("{}: a datagram was accepted twice", seat.name));
    }
    if (endpoint->stats().datagrams_malformed > 0) {
      fail(fmt::format("{}: a datagram was accepted that nobody there sent", seat.name));
    }
  }
  if (seat.person->pictures_accounted() > seat.person->pictures_captured()) {
    fail(fmt::format("{}: more pictures came out of the encoder than went in", seat.name));
  }
}

uint64_t Scenario::accepted() const {
  uint64_t count = relay_ != nullptr ? relay_->listener_stats().records_opened : 0;
  for (const auto& seat : seats_) {
    const auto* endpoint = seat->person->endpoint();
    count += endpoint != nullptr ? endpoint->stats().datagrams_received : 0;
  }
  return count;
}

/// What a relay keeps is bounded for each member. Of calls it keeps one: the two have one link.
void Scenario::check_relay() {
  if (relay_->calls() > 1) {
    fail(fmt::format("the relay keeps {} calls", relay_->calls()));
  }
  const relay::RoomOptions bounds;
  for (const relay::MemberView& member : relay_->member_views("lab")) {
    if (member.cached > bounds.cache.bytes_max || member.waiting > 2 * bounds.leg_queue_max) {
      fail(fmt::format("the relay keeps {} bytes of a member's frames, {} wait for it",
                       member.cached.bytes(), member.waiting.bytes()));
    }
  }
}

bool Scenario::takes_best_path() const {
  const bool is_direct = can_be_direct(seats_[0]->nat_kind, seats_[1]->nat_kind);
  return std::ranges::all_of(
      seats_, [&](const auto& seat) { return seat->person->is_relayed() != is_direct; });
}

/// Of a relayed call: it takes the direct path where there is one, and the relay has nothing to do
/// then.
void Scenario::check_paths(uint64_t forwarded_before) {
  const bool is_direct = can_be_direct(seats_[0]->nat_kind, seats_[1]->nat_kind);
  if (!takes_best_path()) {
    fail(is_direct ? "datagrams go through the relay, although there is a direct path"
                   : "datagrams go where no path can be");
  }
  // Media are a hundred datagrams a second.
  constexpr uint64_t kStrayMax = 40;
  const uint64_t forwarded = relay_->call_stats().datagrams - forwarded_before;
  if (is_direct && forwarded > kStrayMax) {
    fail(fmt::format("the relay forwards {} datagrams of a direct call", forwarded));
  }
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
  note("the network is good");
  const uint64_t forwarded = relay_ != nullptr ? relay_->call_stats().datagrams : 0;
  Duration longest{};
  for (int i = 0; i < 8; ++i) {
    pass(500ms);
    longest = std::max(longest, queue_delay());
  }
  if (longest > kQueueMax) {
    fail(fmt::format("the network is good, but {:.2f} s of data wait in a link's queue",
                     to_seconds(longest)));
  }
  if (here.size() < 2) {
    return *this;
  }
  if (kind_ == Kind::kRelayedCall) {
    check_paths(forwarded);
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
    // The newest picture may still be with the encoder.
    if (unaccounted(person) > before[i].unaccounted + 1) {
      fail(fmt::format("{}: {} captured pictures are unaccounted for", here[i]->name,
                       unaccounted(person) - before[i].unaccounted));
    }
    if (kind_ == Kind::kRoom && person.others() != names_but(*here[i])) {
      fail(fmt::format("{} sees {}, but there are {}", here[i]->name, listed(person.others()),
                       listed(names_but(*here[i]))));
    }
  }
  return *this;
}

}  // namespace cress::swarm
