#include "eval/relay_load/relay_load.hh"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "eval/relay_load/caller.hh"
#include "eval/relay_load/figures.hh"
#include "eval/relay_load/loopback.hh"
#include "eval/relay_load/probe.hh"
#include "eval/relay_load/quantile.hh"
#include "eval/relay_load/relay_process.hh"
#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::relay_load {
namespace {

constexpr Duration kTick = 100ms;
// Rooms of the probe, in addition to those of the load.
constexpr int kProbeRooms = 4;
// The datagrams sent again through a TURN server: the last ones that members received.
constexpr Duration kTrafficMax = 10s;

secure::Secret access_of(int room) {
  std::vector<std::byte> secret(16, std::byte{0x5a});
  secret[0] = static_cast<std::byte>(room);
  secret[1] = static_cast<std::byte>(room >> 8);
  return secure::derive_room(secret).access;
}

class Load {
 public:
  Load(const RelayLoadOptions& options, std::function<void(double)> progress)
      : options_(options),
        progress_(std::move(progress)),
        rng_(options.seed),
        process_(doors(options), options.rooms * options.members + 64, options.goes_first) {
    ProbeOptions probe{.relay = process_.address(), .goes_first = options_.goes_first};
    for (int room = 0; room < kProbeRooms; ++room) {
      probe.rooms.push_back(access_of(options_.rooms + room));
    }
    probe_ = std::make_unique<ProbeProcess>(probe);
    if (options_.hostile) {
      hostile_ = std::make_unique<HostileProcess>(HostileOptions{.kind = *options_.hostile,
                                                                 .relay = process_.address(),
                                                                 .access = access_of(0),
                                                                 .seed = options_.seed});
    }
    admit_all();
  }

  RelayLoadResult run() {
    start_ = clock_.now();
    ticks_.arm(start_ + kTick);
    loop_.run();
    return result();
  }

 private:
  enum class Stage : uint8_t { kWarmingUp, kEmptying, kCounting, kEnding };

  static std::vector<relay::RoomDoor> doors(const RelayLoadOptions& options) {
    std::vector<relay::RoomDoor> doors;
    const int rooms = options.rooms + kProbeRooms;
    doors.reserve(narrow<size_t>(rooms));
    for (int room = 0; room < rooms; ++room) {
      doors.push_back({.name = "room" + std::to_string(room),
                       .access = access_of(room),
                       .members_max = static_cast<size_t>(options.members) + 4});
    }
    return doors;
  }

  void admit_all() {
    for (int room = 0; room < options_.rooms; ++room) {
      for (int member = 0; member < options_.members; ++member) {
        admit(room);
      }
    }
  }
  void admit(int room) {
    // So few from one network that its budget of handshakes delays none.
    constexpr uint64_t kNeighbours = 4;
    const bool speaks =
        std::ranges::none_of(callers_, [room](const auto& caller) { return caller->room == room; });
    callers_.push_back(std::make_unique<Caller>(
        clock_, loop_, room, loopback_of(static_cast<int>(joins_ / kNeighbours)),
        relay::LoadMemberOptions{.access = access_of(room),
                                 .relay = process_.address(),
                                 .member = {.speaks = speaks, .video_rate = options_.video},
                                 .seed = rng_.below(1U << 30U)}));
    if (options_.against_turn) {
      callers_.back()->machine.watch([this, leg = static_cast<uint32_t>(joins_)](
                                         TimePoint at, size_t size) { note(at, leg, size); });
    }
    ++joins_;
  }

  void tick() {
    const TimePoint now = clock_.now();
    std::erase_if(leaving_, [](const auto& caller) { return caller->machine.is_finished(); });
    take_stage(now);
    if (stage_ == Stage::kCounting) {
      resident_most_ = std::max(resident_most_, process_.resident_bytes());
      if (hostile_) {
        hostile_->set_active(turn_of(now) % 2 == 1);
      }
      churn(now);
    }
    progress_(std::min(1.0, to_seconds(now - start_) / to_seconds(options_.duration)));
    ticks_.arm(now + kTick);
  }

  void take_stage(TimePoint now) {
    switch (stage_) {
      case Stage::kWarmingUp:
        if (now - start_ >= options_.skip && options_.empties) {
          dismiss_all();
          stage_ = Stage::kEmptying;
        } else if (now - start_ >= options_.skip) {
          begin_counting(now);
        }
        return;
      case Stage::kEmptying:
        if (is_empty(now)) {
          begin_counting(now);
          admit_all();
        }
        return;
      case Stage::kCounting:
        // However late a busy machine started.
        if (now - *counting_since_ >= options_.duration - options_.skip) {
          end_counting(now);
          stage_ = Stage::kEnding;
        }
        return;
      case Stage::kEnding:
        if (!options_.empties || is_empty(now)) {
          resident_end_ = process_.resident_bytes();
          loop_.stop();
        }
        return;
    }
  }
  // All have left, and the relay has had some time to forget them.
  bool is_empty(TimePoint now) {
    constexpr Duration kForgetting = 5s;
    if (!leaving_.empty()) {
      empty_since_ = now;
    }
    return now - empty_since_ >= kForgetting;
  }

  void begin_counting(TimePoint now) {
    stage_ = Stage::kCounting;
    counting_since_ = now;
    cpu_before_ = process_.cpu();
    metrics_before_ = process_.metrics();
    resident_begin_ = process_.resident_bytes();
  }
  void end_counting(TimePoint now) {
    ended_ = now;
    metrics_after_ = process_.metrics();
    cpu_after_ = process_.cpu();
    for (const auto& caller : callers_) {
      collect(*caller);
      const bool is_in = caller->machine.member() != nullptr && !caller->machine.closed();
      ++(is_in ? members_ : not_let_in_);
    }
    collect_frames();
    if (options_.empties) {
      dismiss_all();
    }
  }

  void note(TimePoint at, uint32_t leg, size_t size) {
    if (stage_ == Stage::kCounting && at - *counting_since_ < kTrafficMax) {
      // Members use the kernel's receive time: across several sockets slightly out of order.
      const Duration since = at - *counting_since_;
      traffic_.push_back({.at = traffic_.empty() ? since : std::max(since, traffic_.back().at),
                          .leg = leg,
                          .size = static_cast<uint32_t>(size)});
    }
  }

  // Every second interval, from the second on, is under attack.
  size_t turn_of(TimePoint at) const {
    return static_cast<size_t>((at - *counting_since_) / options_.turn);
  }

  void churn(TimePoint now) {
    if (options_.churn_per_minute == 0 || callers_.empty()) {
      return;
    }
    const auto due =
        static_cast<uint64_t>(to_seconds(now - *counting_since_) / 60 * options_.churn_per_minute);
    for (; churned_ < due; ++churned_) {
      auto& gone = callers_[rng_.below(static_cast<uint32_t>(callers_.size()))];
      const int room = gone->room;
      dismiss(gone);
      std::erase(callers_, nullptr);
      admit(room);
    }
  }
  void dismiss(std::unique_ptr<Caller>& caller) {
    caller->driver.wake([&caller](TimePoint at) { caller->machine.hang_up(at); });
    leaving_.push_back(std::move(caller));
  }
  void dismiss_all() {
    std::ranges::for_each(callers_, [this](auto& caller) { dismiss(caller); });
    callers_.clear();
    empty_since_ = clock_.now();
  }

  // The members whose frames a member received recently.
  void collect(const Caller& caller) {
    constexpr Duration kLately = 2s;
    const relay::ModelMember* member = caller.machine.member();
    if (member == nullptr) {
      return;
    }
    std::set<room::MemberNumber> seen;
    for (const relay::SeenFrame& frame : member->shown()) {
      if (frame.captured >= *ended_ - kLately) {
        seen.insert(frame.from);
      }
    }
    streams_ += static_cast<double>(seen.size());
  }

  // The probing process has the same clock.
  void collect_sounds() {
    for (const ProbedSound& sound : probe_->sounds()) {
      if (sound.captured < *counting_since_ || sound.captured >= *ended_) {
        continue;
      }
      sounds_.push_back(sound.delay);
      add(turns_, sound.captured, sound.delay);
    }
  }

  /// The delays of honest members' frames at each other.
  void collect_frames() {
    std::map<int, std::set<room::MemberNumber>> honest;
    for (const auto& caller : callers_) {
      if (const relay::ModelMember* member = caller->machine.member()) {
        honest[caller->room].insert(member->number());
      }
    }
    for (const auto& caller : callers_) {
      const relay::ModelMember* member = caller->machine.member();
      for (const relay::SeenFrame& frame :
           member != nullptr ? std::span{member->shown()} : std::span<const relay::SeenFrame>{}) {
        if (frame.captured >= *counting_since_ && frame.captured < *ended_ &&
            honest[caller->room].contains(frame.from)) {
          add(frame_turns_, frame.captured, frame.shown - frame.captured);
        }
      }
    }
  }

  void add(std::vector<std::vector<Duration>>& turns, TimePoint at, Duration delay) const {
    turns.resize(std::max(turns.size(), turn_of(at) + 1));
    turns[turn_of(at)].push_back(delay);
  }

  HostileResult hostile_result() {
    HostileResult result{.datagrams_sent = hostile_->datagrams_sent(),
                         .joins_begun = hostile_->joins_begun(),
                         .refused = refusals(metrics_before_, metrics_after_)};
    Comparison sounds = compare_turns(turns_, 0.99);
    result.calm = delay_of(sounds.calm);
    result.attacked = delay_of(sounds.attacked);
    result.p99_growth = sounds.growth;
    result.pairs = sounds.pairs;
    constexpr double kFrameShare = 0.95;
    Comparison frames = compare_turns(frame_turns_, kFrameShare);
    result.frames_calm = quantile(frames.calm, kFrameShare);
    result.frames_attacked = quantile(frames.attacked, kFrameShare);
    result.frames_growth = frames.growth;
    return result;
  }

  RelayLoadResult result() {
    const double seconds = to_seconds(*ended_ - *counting_since_);
    const auto rate = [&](const char* name) {
      return (metric(metrics_after_, name) - metric(metrics_before_, name)) / seconds;
    };
    RelayLoadResult result{.members = members_, .not_let_in = not_let_in_, .joins = joins_};
    result.streams = streams_;
    result.datagrams_in_per_s = rate("cress_relay_datagrams_received_total");
    result.datagrams_out_per_s = rate("cress_relay_datagrams_sent_total");
    result.stream_kbps =
        streams_ > 0 ? rate("cress_relay_bytes_sent_total") * 8 / 1000 / streams_ : 0;
    result.relay_cpu = to_seconds(cpu_after_ - cpu_before_) / seconds;
    result.streams_per_core = streams_ / result.relay_cpu;
    result.datagrams_out_per_core_s = result.datagrams_out_per_s / result.relay_cpu;
    collect_sounds();
    result.sound = delay_of(sounds_);
    result.wait_p50 = wait_quantile(metrics_before_, metrics_after_, 0.5);
    result.wait_p99 = wait_quantile(metrics_before_, metrics_after_, 0.99);
    result.resident_begin = resident_begin_;
    result.resident_most = resident_most_;
    result.resident_end = resident_end_;
    if (hostile_) {
      result.hostile = hostile_result();
    }
    if (options_.against_turn) {
      result.turn = run_turn(traffic_);
    }
    return result;
  }

  RelayLoadOptions options_;
  std::function<void(double)> progress_;
  Rng rng_;
  RelayProcess process_;
  std::unique_ptr<ProbeProcess> probe_;
  std::unique_ptr<HostileProcess> hostile_;  // before everything that it must not inherit
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<std::unique_ptr<Caller>> leaving_;
  Stage stage_ = Stage::kWarmingUp;
  TimePoint start_{};
  TimePoint empty_since_{};
  std::optional<TimePoint> counting_since_;
  std::optional<TimePoint> ended_;
  Duration cpu_before_{};
  Duration cpu_after_{};
  std::string metrics_before_;
  std::string metrics_after_;
  uint64_t resident_begin_ = 0;
  uint64_t resident_most_ = 0;
  uint64_t resident_end_ = 0;
  int members_ = 0;
  int not_let_in_ = 0;
  uint64_t joins_ = 0;
  uint64_t churned_ = 0;
  double streams_ = 0;
  std::vector<Duration> sounds_;
  std::vector<std::vector<Duration>> turns_;
  std::vector<std::vector<Duration>> frame_turns_;
  std::vector<RelayedDatagram> traffic_;
  runtime::EventLoop::Timer ticks_{loop_, [this] { tick(); }};
};

}  // namespace

RelayLoadResult run_relay_load(const RelayLoadOptions& options,
                               const std::function<void(double)>& progress) {
  return Load{options, progress}.run();
}

}  // namespace cress::relay_load
