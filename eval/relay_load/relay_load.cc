#include "eval/relay_load/relay_load.hh"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "eval/relay_load/load_member.hh"
#include "eval/relay_load/relay_process.hh"
#include "relay/daemon/metrics.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::relay_load {
namespace {

constexpr Duration kTick = 100ms;

secure::Secret access_of(int room) {
  std::vector<std::byte> secret(16, std::byte{0x5a});
  secret[0] = static_cast<std::byte>(room);
  secret[1] = static_cast<std::byte>(room >> 8);
  return secure::derive_room(secret).access;
}

/// A member on a socket of its own.
struct Caller {
  Caller(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, int in,
         LoadMemberOptions options)
      : room(in),
        socket(clock, {.bind = loopback(), .receive_buffer = DataSize{1 << 20}}),
        machine(clock.now(), std::move(options)),
        driver({clock, loop, socket, machine}) {}
  static Address loopback() {
    return {.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
  }

  int room;
  runtime::UdpSocket socket;
  LoadMember machine;
  runtime::Driver driver;
};

/// Sends what a relay must refuse, as fast as its turns come.
class Hostile {
 public:
  Hostile(const runtime::MonotonicClock& clock, const Address& relay, uint64_t seed)
      : relay_(relay), rng_(seed), socket_(clock, {.bind = Caller::loopback()}) {}
  void shoot(int datagrams) {
    std::vector<Transmit> volley;
    for (int i = 0; i < datagrams; ++i) {
      std::vector<std::byte> bytes(20 + rng_.below(1180));
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(rng_.below(256));
      }
      bytes[0] = static_cast<std::byte>(0x10 + rng_.below(10));
      volley.push_back({relay_, std::move(bytes)});
    }
    sent_ += socket_.send_batch(volley).sent;
  }
  uint64_t sent() const { return sent_; }

 private:
  Address relay_;
  Rng rng_;
  runtime::UdpSocket socket_;
  uint64_t sent_ = 0;
};

std::optional<Duration> quantile(std::vector<Duration>& values, double share) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto at = static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

/// The upper end of the class in which the share's value lies, of what came between two readings.
std::optional<Duration> wait_quantile(const std::string& before, const std::string& after,
                                      double share) {
  const auto grown = [&](const std::string& name) {
    return metric(after, name) - metric(before, name);
  };
  const double all = grown("cress_relay_wait_seconds_count");
  for (const Duration bound : relay::DurationHistogram::kBounds) {
    std::string le = std::to_string(to_seconds(bound));
    le.erase(le.find_last_not_of('0') + 1);
    if (all > 0 && grown("cress_relay_wait_seconds_bucket{le=\"" + le + "\"}") >= share * all) {
      return bound;
    }
  }
  return std::nullopt;
}

class Load {
 public:
  Load(const RelayLoadOptions& options, std::function<void(double)> progress)
      : options_(options),
        progress_(std::move(progress)),
        rng_(options.seed),
        process_(doors(options), options.rooms * options.members + 64) {
    for (int room = 0; room < options_.rooms; ++room) {
      for (int member = 0; member < options_.members; ++member) {
        admit(room);
      }
    }
    if (options_.hostile) {
      hostile_ = std::make_unique<Hostile>(clock_, process_.address(), options_.seed);
    }
  }

  RelayLoadResult run() {
    start_ = clock_.now();
    ticks_.arm(start_ + kTick);
    loop_.run();
    return result();
  }

 private:
  static std::vector<relay::RoomDoor> doors(const RelayLoadOptions& options) {
    std::vector<relay::RoomDoor> doors;
    doors.reserve(static_cast<size_t>(options.rooms));
    for (int room = 0; room < options.rooms; ++room) {
      doors.push_back({.name = "room" + std::to_string(room),
                       .access = access_of(room),
                       .members_max = static_cast<size_t>(options.members) + 4});
    }
    return doors;
  }

  void admit(int room) {
    const bool speaks =
        std::ranges::none_of(callers_, [room](const auto& caller) { return caller->room == room; });
    callers_.push_back(std::make_unique<Caller>(
        clock_, loop_, room,
        LoadMemberOptions{.access = access_of(room),
                          .relay = process_.address(),
                          .member = {.speaks = speaks, .video_rate = options_.video},
                          .seed = rng_.below(1U << 30U)}));
    ++joins_;
  }

  void tick() {
    const TimePoint now = clock_.now();
    if (!counting_since_ && now - start_ >= options_.skip) {
      begin_counting(now);
    }
    if (hostile_) {
      hostile_->shoot(2000);
    }
    churn(now);
    std::erase_if(leaving_, [](const auto& caller) { return caller->machine.is_finished(); });
    progress_(std::min(1.0, to_seconds(now - start_) / to_seconds(options_.duration)));
    if (now - start_ >= options_.duration) {
      ended_ = now;
      loop_.stop();
      return;
    }
    ticks_.arm(now + kTick);
  }

  void begin_counting(TimePoint now) {
    counting_since_ = now;
    cpu_before_ = process_.cpu();
    metrics_before_ = process_.metrics();
  }

  void churn(TimePoint now) {
    if (options_.churn_per_minute == 0 || callers_.empty()) {
      return;
    }
    const auto due =
        static_cast<uint64_t>(to_seconds(now - start_) / 60 * options_.churn_per_minute);
    for (; churned_ < due; ++churned_) {
      auto& gone = callers_[rng_.below(static_cast<uint32_t>(callers_.size()))];
      gone->driver.wake([&gone](TimePoint at) { gone->machine.hang_up(at); });
      collect(*gone);
      const int room = gone->room;
      leaving_.push_back(std::move(gone));
      std::erase(callers_, nullptr);
      admit(room);
    }
  }

  // What a member has seen and heard since counting began.
  void collect(const Caller& caller) {
    const relay::TestMember* member = caller.machine.member();
    if (member == nullptr || !counting_since_) {
      return;
    }
    for (const relay::HeardSound& sound : member->heard()) {
      // Clocks are one: who speaks and who hears are in this process.
      if (sound.captured >= *counting_since_) {
        sounds_.push_back(sound.heard - sound.captured);
      }
    }
    std::set<relay::MemberNumber> seen;
    for (const relay::SeenFrame& frame : member->shown()) {
      if (frame.captured >= *counting_since_) {
        seen.insert(frame.from);
      }
    }
    streams_ += static_cast<double>(seen.size());
  }

  RelayLoadResult result() {
    RelayLoadResult result;
    const std::string metrics = process_.metrics();
    const double seconds = to_seconds(*ended_ - *counting_since_);
    for (const auto& caller : callers_) {
      collect(*caller);
      const bool is_in = caller->machine.member() != nullptr && !caller->machine.closed();
      ++(is_in ? result.members : result.not_let_in);
    }
    const auto rate = [&](const char* name) {
      return (metric(metrics, name) - metric(metrics_before_, name)) / seconds;
    };
    result.joins = joins_;
    result.streams = streams_;
    result.datagrams_in_per_s = rate("cress_relay_datagrams_received_total");
    result.datagrams_out_per_s = rate("cress_relay_datagrams_sent_total");
    result.stream_kbps =
        streams_ > 0 ? rate("cress_relay_bytes_sent_total") * 8 / 1000 / streams_ : 0;
    result.relay_cpu = to_seconds(process_.cpu() - cpu_before_) / seconds;
    result.streams_per_core = streams_ / result.relay_cpu;
    result.datagrams_out_per_core_s = result.datagrams_out_per_s / result.relay_cpu;
    result.sound_p50 = quantile(sounds_, 0.5);
    result.sound_p99 = quantile(sounds_, 0.99);
    result.sound_p999 = quantile(sounds_, 0.999);
    result.wait_p50 = wait_quantile(metrics_before_, metrics, 0.5);
    result.wait_p99 = wait_quantile(metrics_before_, metrics, 0.99);
    result.resident_begin =
        static_cast<uint64_t>(metric(metrics_before_, "cress_relay_resident_bytes"));
    result.resident_end = static_cast<uint64_t>(metric(metrics, "cress_relay_resident_bytes"));
    result.hostile_sent = hostile_ ? hostile_->sent() : 0;
    return result;
  }

  RelayLoadOptions options_;
  std::function<void(double)> progress_;
  Rng rng_;
  RelayProcess process_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::vector<std::unique_ptr<Caller>> callers_;
  std::vector<std::unique_ptr<Caller>> leaving_;
  std::unique_ptr<Hostile> hostile_;
  TimePoint start_{};
  std::optional<TimePoint> counting_since_;
  std::optional<TimePoint> ended_;
  Duration cpu_before_{};
  std::string metrics_before_;
  uint64_t joins_ = 0;
  uint64_t churned_ = 0;
  double streams_ = 0;
  std::vector<Duration> sounds_;
  runtime::EventLoop::Timer ticks_{loop_, [this] { tick(); }};
};

}  // namespace

RelayLoadResult run_relay_load(const RelayLoadOptions& options,
                               const std::function<void(double)>& progress) {
  return Load{options, progress}.run();
}

}  // namespace cress::relay_load
