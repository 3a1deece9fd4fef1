#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <string>

#include "relay/forward/room.hh"
#include "relay/forward/room_world_test_tools.hh"
#include "relay/members/hostile_datagram.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::relay {
namespace {

// A room's behaviour in varied conditions, as golden files: its rules interact, and no expectation
// of a single rule would show when the data that reaches a leg changes.

constexpr Duration kPeriod = 500ms;

LegLinks links_of(int64_t down_kbps, int64_t up_kbps, double loss = 0) {
  return {.down = constant_trace(DataRate::kilobits_per_second(down_kbps)),
          .up = constant_trace(DataRate::kilobits_per_second(up_kbps)),
          .loss = loss};
}

// The first rate, from `from` to `to` the second.
std::shared_ptr<const sim::DeliveryTrace> dip_trace(int64_t kbps, int64_t low_kbps, Duration from,
                                                    Duration to) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at{}; at < 20s;) {
    const bool is_low = at >= from && at < to;
    at += sim::kOpportunitySize / DataRate::kilobits_per_second(is_low ? low_kbps : kbps);
    trace->opportunities.push_back({at});
  }
  return trace;
}

/// Lines about a world: one for the room per period, and occasionally one for each leg.
class RoomHistory {
 public:
  explicit RoomHistory(SimulatedRoom& world) : world_(world) {
    text_ << "ms: datagrams in/unknown/over limit/malformed out/bytes; messages malformed, control "
             "over limit; fragments in/refused out/repeated; frames left out/missed; sounds "
             "in/out/left out; key frames asked, reports; speaker; digest of all datagrams\n"
             "  leg: forecast kbit/s, loss per mille, bytes that wait, bytes cached, senders "
             "shown, rate told; level of each other by number\n";
  }

  void run_until(TimePoint end) {
    while (world_.now() < end) {
      world_.run_until(std::min(end, world_.now() + kPeriod));
      write_room();
      if (++periods_ % 3 == 0) {
        write_legs();
      }
    }
  }
  void say(const std::string& words) { text_ << "- " << words << '\n'; }
  std::string finish() {
    for (const Departure& gone : world_.departures()) {
      text_ << "gone " << gone.number << ' ' << static_cast<int>(gone.reason) << ' '
            << (gone.farewell ? static_cast<int>(*gone.farewell) : 0) << '\n';
    }
    const RoomStats& now = world_.room().stats();
    text_ << "joins " << now.joins << " leaves " << now.leaves << " refused " << now.refused_joins
          << '\n';
    return text_.str();
  }

 private:
  void write_room() {
    const RoomStats now = world_.room().stats();
    const auto more = [&](uint64_t RoomStats::*count) { return now.*count - before_.*count; };
    text_ << to_milliseconds(world_.now() - kTimeZero) << ": " << more(&RoomStats::datagrams_in)
          << '/' << more(&RoomStats::datagrams_unknown) << '/'
          << more(&RoomStats::datagrams_over_limit) << '/' << more(&RoomStats::datagrams_malformed)
          << ' ' << more(&RoomStats::datagrams_out) << '/' << more(&RoomStats::bytes_out) << "; "
          << more(&RoomStats::messages_malformed) << ", " << more(&RoomStats::control_over_limit)
          << "; " << more(&RoomStats::fragments_in) << '/' << more(&RoomStats::fragments_refused)
          << ' ' << more(&RoomStats::fragments_out) << '/' << more(&RoomStats::fragments_repeated)
          << "; " << more(&RoomStats::frames_left_out) << '/' << more(&RoomStats::frames_missed)
          << "; " << more(&RoomStats::sounds_in) << '/' << more(&RoomStats::sounds_out) << '/'
          << more(&RoomStats::sounds_left_out) << "; " << more(&RoomStats::key_frame_requests)
          << ", " << more(&RoomStats::frame_reports) << "; "
          << world_.room().speaker().value_or(room::kNobody) << "; " << std::hex << world_.digest()
          << std::dec << '\n';
    before_ = now;
  }
  void write_legs() {
    const auto views = world_.room().member_views();
    for (const MemberView& view : views) {
      const DataRate forecast = view.forecast.value_or(DataRate{});
      text_ << "  " << view.number << (view.is_leaving ? " leaves" : "") << ": "
            << std::llround(forecast.kilobits_per_second()) << ' '
            << static_cast<int>(view.loss * 1000) << ' ' << view.waiting.bytes() << ' '
            << view.cached.bytes() << ' ' << view.senders_shown << ' '
            << std::llround(view.video_rate.kilobits_per_second()) << "; ";
      for (const MemberView& other : views) {
        text_ << static_cast<int>(world_.room().level(view.number, other.number));
      }
      text_ << '\n';
    }
  }

  SimulatedRoom& world_;
  std::ostringstream text_;
  RoomStats before_;
  int periods_ = 0;
};

RoomOptions small_pictures() {
  RoomOptions options;
  options.name = "kitchen";
  options.members_max = 10;
  options.video_rate_max = DataRate::kilobits_per_second(500);
  options.thumbnail_rate = DataRate::kilobits_per_second(200);
  options.farewell_time = 400ms;
  return options;
}

// Members that join late, leave, are sent away; speakers; views; slow, lossy and changing links.
TEST(RoomGolden, TenMembersOnLinksOfTheirOwn) {
  SimulatedRoom world{small_pictures()};
  RoomHistory history{world};
  const size_t host = world.join(links_of(5000, 3000), {.speaks = true, .parity = 1});
  const size_t second = world.join(links_of(3000, 1000), {.speaks = true});
  const size_t slow = world.join(links_of(150, 300));
  const size_t narrow = world.join(links_of(320, 200, 0.02));
  world.join(links_of(2000, 1000, 0.06), {.parity = 2});
  const size_t viewer = world.join(links_of(2000, 500), {.has_camera = false});
  const size_t eager = world.join(links_of(1500, 4000),
                                  {.video_rate = DataRate::kilobits_per_second(1300), .layers = 1});
  world.join({.down = dip_trace(2500, 220, 4s, 7s), .up = dip_trace(1500, 250, 6s, 8s), .loss = 0});
  history.run_until(kTimeZero + 2s);
  history.say("a ninth and a tenth join, an eleventh is refused; one looks at two, large");
  const size_t ninth = world.join(links_of(900, 900, 0.01), {.speaks = true});
  world.join(links_of(500, 400));
  const size_t refused = world.join(links_of(1000, 1000));
  world.member(viewer).put(
      room::View{.revision = 1, .pinned = world.number(narrow), .pictures = 2, .height = 720});
  world.member(host).set_speaks(false);
  history.run_until(kTimeZero + 4s);
  history.say("a key frame is wanted; everybody speaks");
  world.forget(refused);
  world.member(second).put(room::KeyFrameWanted{world.number(host)});
  for (size_t i = 0; i < 10; ++i) {
    world.member(i).set_speaks(true);
  }
  history.run_until(kTimeZero + 5s);
  history.say("they fall silent but one; a camera is turned off; small views");
  for (size_t i = 0; i < 10; ++i) {
    world.member(i).set_speaks(i == ninth);
  }
  world.member(second).set_camera(false);
  world.member(viewer).put(
      room::View{.revision = 2, .pinned = room::kNobody, .pictures = 16, .height = 180});
  world.member(slow).put(
      room::View{.revision = 1, .pinned = room::kNobody, .pictures = 3, .height = 0});
  history.run_until(kTimeZero + 8s);
  history.say("one leaves, one is sent away");
  world.leave(ninth);
  world.room().kick(world.now(), world.number(eager));
  world.drain_room();
  history.run_until(kTimeZero + 12s);
  history.say("the room is closed");
  world.room().close(world.now(), {.reason = room::FarewellReason::kDraining, .again_in = 2s});
  world.drain_room();
  history.run_until(kTimeZero + 13s);
  expect_golden("room", history.finish());
}

// Two that request each other and one that sends everything it must not.
TEST(RoomGolden, AFourthThatFloodsAndLies) {
  RoomOptions options = small_pictures();
  options.cache.bytes_max = DataSize{150'000};
  options.cache.frame_max = DataSize{40'000};
  options.leg_queue_max = DataSize{30'000};
  SimulatedRoom world{options};
  RoomHistory history{world};
  world.join(links_of(3000, 2000), {.speaks = true});
  world.join(links_of(300, 1000), {.parity = 1});
  world.join(links_of(1500, 1000, 0.1), {.parity = 1});
  const size_t hostile = world.join(links_of(2000, 20'000), {.has_camera = false});
  history.run_until(kTimeZero + 1s);
  Rng rng{7};
  uint32_t frame_id = 1000;
  uint64_t sequence = 1U << 20U;
  for (int i = 0; i < 4; ++i) {
    // Increasing amounts, up to twice the limit.
    for (const TimePoint end = world.now() + kPeriod; world.now() < end;) {
      for (int k = 0; k <= i; ++k) {
        world.push_up(hostile, hostile_datagram(rng, frame_id, sequence));
      }
      world.run_until(std::min(end, world.now() + 2ms));
    }
    history.run_until(world.now() + kPeriod);
  }
  history.run_until(kTimeZero + 6s);
  expect_golden("hostile_room", history.finish());
}

}  // namespace
}  // namespace cress::relay
