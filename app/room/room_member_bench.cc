// The processor time of one member of a room of four: its camera of 640 x 360 at 30 frames a second
// and its voice encoded and sealed, three others' opened and decoded, and all that shows whose they
// are. The manual time of an iteration is what the first member takes for a second of the room.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/room/room_member.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "relay/forward/room_host_test_tools.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/sim/world.hh"

namespace cress::room {
namespace {

constexpr int kWidth = 640;
constexpr int kHeight = 360;
constexpr size_t kPictures = 60;  // drawn before, and displayed again and again

Duration processor_time() {
  // Of this thread alone: whatever else the machine does is not the member's.
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec};
}

/// A member with everything that its program does, and how long that took.
class TimedMember final : public Machine {
 public:
  TimedMember(TimePoint now, uint64_t seed) : voice_({.seed = seed}), next_(now) {
    media::SyntheticCamera camera{{.width = kWidth, .height = kHeight, .seed = seed}};
    for (size_t i = 0; i < kPictures; ++i) {
      pictures_.push_back(camera.picture(i));
    }
    RoomMemberOptions options;
    options.video = room_video({.width = kWidth, .height = kHeight});
    options.media.bytes()[0] = std::byte{1};
    options.paced_by_sound_card = true;
    member_ = std::make_unique<RoomMember>(
        now, std::move(options), std::make_unique<control::CressControl>(control::call_control()));
  }

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    timed([&] { (void)member_->handle_datagram(now, bytes); });
  }
  void handle_timeout(TimePoint now) override {
    timed([&] {
      if (member_->poll_timeout() <= now) {
        member_->handle_timeout(now);
      }
    });
    for (; next_ <= now; next_ += 10ms) {
      const uint64_t tick = ticks_++;
      if (tick % 2 == 0) {
        const media::AudioFrame sound = voice_.frame(tick / 2);
        timed([&] {
          member_->capture_sound(now, sound);
          (void)member_->play(now);
        });
      }
      if (tick % 10 % 3 == 0 && tick % 10 < 9) {  // 30 pictures a second
        timed([&] { member_->capture(now, pictures_[captured_++ % kPictures]); });
      }
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    std::optional<std::vector<std::byte>> bytes;
    timed([&] { bytes = member_->poll_transmit(now); });
    return bytes ? std::optional{Transmit{relay::room_address(0), *std::move(bytes)}}
                 : std::nullopt;
  }
  TimePoint poll_timeout() const override { return std::min(member_->poll_timeout(), next_); }
  bool drained(TimePoint /*now*/) override {
    timed([&] {
      while (member_->poll_shown() || member_->poll_event() || member_->poll_coded()) {
      }
    });
    return true;
  }

  Duration taken() const { return taken_; }
  uint64_t shown() const {
    uint64_t frames = 0;
    for (const OtherMember& other : member_->others()) {
      frames += other.frames_shown;
    }
    return frames;
  }

 private:
  template <class Work>
  void timed(Work work) {
    const Duration before = processor_time();
    work();
    taken_ += processor_time() - before;
  }

  std::vector<media::PicturePtr> pictures_;
  media::SyntheticVoice voice_;
  std::unique_ptr<RoomMember> member_;
  TimePoint next_;
  uint64_t ticks_ = 0;
  uint64_t captured_ = 0;
  Duration taken_{};
};

std::unique_ptr<sim::Link> link_to(uint64_t seed) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  const Duration every = sim::kOpportunitySize / DataRate::kilobits_per_second(12'000);
  for (Duration at = every; at <= 12s; at += every) {
    trace->opportunities.push_back({at});
  }
  return std::make_unique<sim::Link>(
      sim::LinkOptions{.trace = trace, .propagation = 20ms, .seed = seed, .queue = nullptr});
}

void member_of_four(benchmark::State& state) {
  constexpr size_t kMembers = 4;
  relay::RoomHost host{relay::RoomOptions{}};
  sim::World world;
  world.add(host, {.address = relay::room_address(0)});
  std::vector<std::unique_ptr<TimedMember>> members;
  std::vector<std::unique_ptr<sim::Link>> links;
  for (size_t i = 1; i <= kMembers; ++i) {
    members.push_back(std::make_unique<TimedMember>(world.now(), i));
    (void)host.join(world.now(), relay::room_address(i));
    const auto id = world.add(*members.back(), {.address = relay::room_address(i)});
    for (const auto& [from, to] : {std::pair{id, size_t{0}}, std::pair{size_t{0}, id}}) {
      links.push_back(link_to(links.size()));
      world.connect(from, to, *links.back());
    }
  }
  world.drain(0);
  world.run_for(5s);
  const uint64_t shown = members.front()->shown();
  for ([[maybe_unused]] auto _ : state) {
    const Duration before = members.front()->taken();
    world.run_for(1s);
    state.SetIterationTime(to_seconds(members.front()->taken() - before));
  }
  state.counters["frames/s"] = static_cast<double>(members.front()->shown() - shown) /
                               static_cast<double>(state.iterations());
}
BENCHMARK(member_of_four)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cress::room
