#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "app/room/room_test_tools.hh"
#include "media/codec/versions.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::room {
namespace {

/// Lines about the members of a room: one per member and period, one per event.
class MembersHistory {
 public:
  explicit MembersHistory(SimulatedRoom& room) : room_(room) {}

  void add(Seat& seat) { seats_.push_back({&seat}); }
  void say(const std::string& words) { text_ << "- " << words << '\n'; }
  void run_until(TimePoint end) {
    while (room_.now() < end) {
      room_.run_until(std::min(end, room_.now() + 500ms));
      text_ << to_milliseconds(room_.now() - kTimeZero) << " ms\n";
      for (Watched& seat : seats_) {
        write(seat);
      }
    }
  }
  std::string text() const { return text_.str(); }

 private:
  struct Watched {
    Seat* seat = nullptr;
    size_t events = 0;
    size_t shown = 0;
    size_t played = 0;
    size_t coded = 0;
  };

  void write(Watched& watched) {
    const Seat& seat = *watched.seat;
    for (; watched.events < seat.events.size(); ++watched.events) {
      const RoomEvent& event = seat.events[watched.events];
      text_ << "  " << seat.number << " event " << static_cast<int>(event.kind) << " member "
            << event.member;
      if (event.kind == RoomEvent::Kind::kLeft) {
        text_ << " reason " << static_cast<int>(event.left);
      } else if (event.kind == RoomEvent::Kind::kFarewell) {
        text_ << " reason " << static_cast<int>(event.farewell.reason) << ", again in "
              << event.farewell.again_in / 1ms << " ms";
      }
      text_ << '\n';
    }
    if (seat.is_gone) {
      return;
    }
    // Which frames were displayed; the sum of their delays and the loudness of the mixed audio with
    // a tolerance: libopus takes the processor's fast square roots, which differ between makers.
    std::string frames;
    Duration delays{};
    for (size_t i = watched.shown; i < seat.shown.size(); ++i) {
      const RoomShown& shown = seat.shown[i];
      frames += std::to_string(shown.member) + ' ' + std::to_string(shown.frame.frame_id) + '\n';
      delays += shown.frame.shown - shown.frame.captured;
    }
    double energy = 0;
    for (size_t i = watched.played; i < seat.played.size(); ++i) {
      for (const int16_t sample : seat.played[i].samples) {
        energy += static_cast<double>(sample) * sample;
      }
    }
    const RoomMemberStats& stats = seat.member->stats();
    text_ << "  " << seat.number << ": number " << seat.member->number() << " speaker "
          << seat.member->speaker() << " rate "
          << (seat.member->video_rate_max()
                  ? seat.member->video_rate_max()->bits_per_second() / 1000
                  : -1)
          << " coded " << seat.coded.size() - watched.coded << " displayed "
          << seat.shown.size() - watched.shown << " played " << seat.played.size() - watched.played
          << " refused " << stats.control_malformed << '/' << stats.from_unknown << '/'
          << stats.cards_refused << '/' << stats.others_refused << " loss "
          << static_cast<int>(seat.member->loss() * 1000) << ' ' << golden_digest(frames) << " ~"
          << delays / 1ms << " ~" << std::lround(std::sqrt(energy) / 1000);
    for (const OtherMember& other : seat.member->others()) {
      text_ << "; " << other.number << ' ' << other.person.name << (other.is_live ? "" : " (late)")
            << ' ' << other.frames_shown << '/' << other.key_frames_asked << '/'
            << other.frames_unopened << '/' << other.frames_undecodable << ' '
            << other.sounds_unopened << " ~" << other.sound_played << " ~" << other.sound_concealed
            << ' ';
    }
    text_ << '\n';
    watched = {watched.seat, watched.events, seat.shown.size(), seat.played.size(),
               seat.coded.size()};
  }

  SimulatedRoom& room_;
  std::ostringstream text_;
  std::vector<Watched> seats_;
};

// Four members, one on a slow and lossy leg, one that joins late and one that falls silent and
// comes back under its name. Keys are random, but no size or time depends on them.
TEST(RoomMemberGolden, MembersReceiveMediaAsRecorded) {
  const std::string versions = media::codec_versions();
  if (!golden_begins("members", versions)) {
    GTEST_SKIP() << "recorded with other codecs than " << versions;
  }
  relay::RoomOptions options;
  options.lost_after = 4s;
  SimulatedRoom room{options};
  MembersHistory history{room};
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben",
                         .up = DataRate::kilobits_per_second(600),
                         .down = DataRate::kilobits_per_second(200),
                         .loss = 0.04,
                         .seed = 2});
  history.add(ada);
  history.add(ben);
  history.run_until(kTimeZero + 1s);
  history.say("two more join; Ada looks at Ben alone");
  Seat& cleo = room.join({.name = "Cleo", .loss = 0.02, .seed = 3});
  Seat& dan = room.join({.name = "Dan", .seed = 4, .propagation = 50ms});
  history.add(cleo);
  history.add(dan);
  ada.member->set_view(room.now(), ben.number, 1, 720);
  history.run_until(kTimeZero + 2s);
  history.say("Ben has another name and no camera; Dan vanishes, and comes back");
  ben.member->set_person(room.now(), {.name = "Benjamin", .camera_off = true});
  room.crash(dan);
  history.add(room.join({.name = "Dan", .seed = 5}));
  history.run_until(kTimeZero + 5s);
  history.say("Cleo leaves; Ada looks at all in small");
  room.leave(cleo);
  ada.member->set_view(room.now(), kNobody, 100, 90);
  history.run_until(kTimeZero + 7s);
  history.say("the room closes");
  room.room().close(room.now(), {.reason = room::FarewellReason::kDraining, .again_in = 1500ms});
  history.run_until(kTimeZero + 8s);
  expect_golden("members", versions + '\n' + history.text());
}

}  // namespace
}  // namespace cress::room
