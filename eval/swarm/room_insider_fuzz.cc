// Three members and a relay, and a fourth member that has the room's link and a session like the
// others, and sends whatever the input says, sealed as it should be: cards, secrets, proofs,
// frames, room messages, control records, datagrams. The third honest member joins in the middle of
// that, leaves, and joins again. Whatever comes: no check fails, what a relay keeps is bounded, no
// honest member is missing from a list, distrusted or displayed with somebody else's picture,
// epochs follow departures alone; and when the insider has stopped and the proofs are due, all
// honest members see and hear each other, and learn what the others change about themselves.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/room/room_member.hh"
#include "eval/swarm/insider_world_test_tools.hh"
#include "eval/swarm/person.hh"
#include "eval/swarm/room_insider_test_tools.hh"
#include "relay/daemon/relay_machine.hh"
#include "transport/secure/handshake/credential.hh"

namespace {

using namespace cress;
using namespace cress::swarm;

constexpr size_t kHonest = 3;
/// Many for each world, because its beginning and its end take four simulated seconds.
constexpr size_t kActsMax = 160;
constexpr uint32_t kJoinsMax = 4;
constexpr size_t kJoinsAgainIn = 60;
/// Acts from one join of the third member to its next: much can be done to a newcomer alone.
constexpr size_t kJoinsEvery = 32;
/// Hosts before are the relay and the insider.
constexpr size_t kFirstPerson = 2;
/// What an honest member keeps to be sent.
constexpr int64_t kQueuedMax = 4'000'000;

void require(bool condition, const std::string& what) {
  if (!condition) {
    std::fprintf(stderr, "insider: %s\n", what.c_str());
    std::abort();
  }
}

class InsiderRoom {
 public:
  InsiderRoom() {
    world_.connect_all(*link_);
    relay_.open({.name = "lab", .access = secrets_.access});
    (void)world_.add(relay_, {.address = insider_address(0)});
    (void)world_.add(*insider_, {.address = insider_address(1)});
    join();
    join();
    run(700ms);
    require(insider_->number() != room::kNobody, "the insider could not join");
  }

  TimePoint now() const { return world_.now(); }

  void join() {
    const size_t at = people_.size();
    people_.push_back(person(at));
    const auto id =
        world_.add(*people_.back(), {.address = insider_address(static_cast<uint8_t>(10 + at))});
    world_.drain(id);
  }

  /// The newest of the honest members leaves, and comes back as another program of the same name.
  void leave_and_join() {
    people_.back()->hang_up(now());
    world_.drain(kFirstPerson + people_.size() - 1);
    run(100ms);
    ++honest_departures_;
    gone_.push_back(std::move(people_.back()));
    people_.back() = person(people_.size() - 1);
    world_.replace(kFirstPerson + people_.size() - 1, people_.back().get());
    world_.drain(kFirstPerson + people_.size() - 1);
  }

  void act(FuzzInput& input) {
    if (joins_ < kJoinsMax && input.one_in(kJoinsAgainIn)) {
      join_again(input);
    }
    if (insider_->is_in()) {
      insider_->act(now(), input);
    }
    world_.drain(1);
  }

  void run(Duration length) {
    world_.run_for(length);
    for (const auto& person : people_) {
      person->add_stranger(insider_->number());
    }
    check_always();
  }

  void check_always() const {
    const relay::RoomOptions bounds;
    for (const relay::MemberView& member : relay_.member_views("lab")) {
      require(member.cached <= bounds.cache.bytes_max && member.waiting <= 2 * bounds.leg_queue_max,
              "the relay keeps too much");
    }
    for (const auto& person : people_) {
      require(person->broken().empty(),
              person->name() +
                  ": not so: " + (person->broken().empty() ? "" : *person->broken().begin()));
      if (person->member() != nullptr) {
        check_member(*person);
      }
    }
  }

  /// After everything is over.
  void check_settled() {
    run(2500ms);
    std::map<std::pair<size_t, size_t>, room::OtherMember> before;
    for_each_pair([&](size_t one, size_t other) { before[{one, other}] = view(one, other); });
    for (size_t at = 0; at < people_.size(); ++at) {
      people_[at]->say_muted(now());
      world_.drain(kFirstPerson + at);
    }
    run(1700ms);  // a voice pauses for up to 1.4 s
    for_each_pair([&](size_t one, size_t other) {
      const room::OtherMember& was = before.at({one, other});
      const room::OtherMember is = view(one, other);
      const std::string pair = people_[one]->name() + " and " + people_[other]->name();
      require(is.is_live, pair + ": the second is unidentified to the first");
      require(is.person.muted, pair + ": a later card of the second does not reach the first");
      require(is.frames_shown > was.frames_shown, pair + ": the first does not see the second");
      require(is.sound_played - is.sound_concealed > was.sound_played - was.sound_concealed + 5,
              pair + ": the first does not hear the second");
    });
  }

 private:
  /// Drawn once: they are the same for each input.
  static std::vector<std::shared_ptr<Film>>& films() {
    static std::vector<std::shared_ptr<Film>> films{
        std::make_shared<Film>(0), std::make_shared<Film>(1), std::make_shared<Film>(2)};
    return films;
  }
  static std::vector<std::byte> secret() { return std::vector<std::byte>(16, std::byte{42}); }

  /// Joins now, as the one at this place; sees the others, and they see it.
  std::unique_ptr<Person> person(size_t at) {
    static constexpr std::array<const char*, kHonest> kNames{"Ada", "Bo", "Cem"};
    room::SecureRoomOptions options;
    options.secret = secret();
    options.relay = insider_address(0);
    auto made =
        std::make_unique<Person>(now(), kNames.at(at), std::move(options), at, films().at(at));
    for (const auto& one : people_) {
      if (one && one->name() != made->name()) {
        one->expect_camera(made->name(), *made);
        made->expect_camera(one->name(), *one);
      }
    }
    return made;
  }

  void check_member(const Person& person) const {
    const room::RoomMember& member = *person.member();
    // Each departure begins one epoch at most.
    require(member.epoch() <= joins_ + honest_departures_,
            person.name() + ": the epoch has jumped");
    require(member.endpoint().queued() <= DataSize{kQueuedMax}, person.name() + ": a long queue");
    for (const room::OtherMember& other : member.others()) {
      require(!is_honest(other.number) || !other.is_distrusted,
              person.name() + ": an honest member is distrusted");
    }
    require(!member.farewell(), person.name() + " was sent away");
  }

  /// With a new session from the same address, before or after the old presence ends.
  void join_again(FuzzInput& input) {
    ++joins_;
    const std::optional<room::Replacing> presence =
        input.one_in(2) ? std::optional{insider_->presence()} : std::nullopt;
    former_.push_back(std::move(insider_));
    insider_ = std::make_unique<RoomInsider>(now(), secrets_, insider_address(0), presence);
    world_.replace(1, insider_.get());
  }

  bool is_honest(room::MemberNumber number) const {
    return std::ranges::any_of(people_, [&](const auto& person) {
      return person->member() != nullptr && person->member()->number() == number;
    });
  }

  template <class Do>
  void for_each_pair(Do act) const {
    for (size_t one = 0; one < people_.size(); ++one) {
      for (size_t other = 0; other < people_.size(); ++other) {
        if (one != other) {
          act(one, other);
        }
      }
    }
  }

  room::OtherMember view(size_t of, size_t at) const {
    const room::RoomMember* member = people_[of]->member();
    const room::RoomMember* sought = people_[at]->member();
    require(member != nullptr && sought != nullptr && member->number() != room::kNobody,
            "an honest member is out of the room");
    const auto others = member->others();
    const auto found = std::ranges::find(others, sought->number(), &room::OtherMember::number);
    require(found != others.end(), people_[of]->name() + " does not list " + people_[at]->name());
    // Everybody that the relay forwards to is listed, the insider as often as it is in.
    require(others.size() + 1 >= relay_.members(),
            people_[of]->name() + " does not list every member of the room");
    return *found;
  }

  secure::RoomSecrets secrets_ = secure::derive_room(secret());
  sim::World world_;
  std::unique_ptr<sim::Link> link_ = wide_link();
  relay::RelayMachine relay_{kTimeZero, {}};
  std::unique_ptr<RoomInsider> insider_ =
      std::make_unique<RoomInsider>(kTimeZero, secrets_, insider_address(0));
  std::vector<std::unique_ptr<RoomInsider>> former_;  // at most kJoinsMax
  uint32_t joins_ = 1;
  std::vector<std::unique_ptr<Person>> people_;
  std::vector<std::unique_ptr<Person>> gone_;  // at most kActsMax / kJoinsEvery
  uint32_t honest_departures_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzInput input{std::as_bytes(std::span{data, size})};
  InsiderRoom room;
  const size_t third_joins_before = input.below(kJoinsEvery);
  for (size_t i = 0; i < kActsMax; ++i) {
    if (i == third_joins_before) {
      room.join();
    } else if (i % kJoinsEvery == third_joins_before) {
      room.leave_and_join();
    }
    room.act(input);
    if (!input.one_in(3)) {
      room.run(std::chrono::milliseconds{input.below(64)});
    }
  }
  room.check_settled();
  return 0;
}
