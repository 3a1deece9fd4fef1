#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "app/live/live_call.hh"
#include "app/live/live_test_tools.hh"
#include "traces/emulate/path_emulator.hh"
#include "transport/base/machine.hh"
#include "transport/runtime/driver.hh"

namespace cress::live {

// For tests that measure: a call gets the same resources as in real use (one thread per end, an
// otherwise idle network).

/// The `q`-quantile (0..1) of some delays; Duration::max() if empty.
inline Duration quantile(std::vector<Duration> delays, double q) {
  if (delays.empty()) {
    return Duration::max();
  }
  std::ranges::sort(delays);
  return delays[static_cast<size_t>(q * static_cast<double>(delays.size() - 1))];
}

/// One end of a call in a thread of its own.
class MeasuredEnd {
 public:
  struct Delay {
    TimePoint captured{};
    TimePoint there{};
  };

  explicit MeasuredEnd(LiveCallOptions options) {
    LiveOutputs outputs;
    outputs.event = [this](const LiveEvent& event) {
      const std::scoped_lock lock{mutex_};
      events_.push_back(event);
    };
    outputs.shown = [this](const app::ShownFrame& frame) {
      const std::scoped_lock lock{mutex_};
      shown_.push_back({frame.captured, frame.shown});
    };
    outputs.played = [this](const app::PlayedAudio& sound) {
      const std::scoped_lock lock{mutex_};
      if (sound.kind == app::SoundKind::kNormal) {
        heard_.push_back({sound.captured, sound.played});
      }
      note_onset(sound);
    };
    thread_.run([&] {
      call_ = std::make_unique<LiveCall>(thread_.clock(), thread_.loop(), std::move(options),
                                         std::move(outputs));
    });
  }
  ~MeasuredEnd() {
    thread_.run([this] { call_.reset(); });
  }
  MeasuredEnd(const MeasuredEnd&) = delete;
  MeasuredEnd& operator=(const MeasuredEnd&) = delete;

  /// Delays of the frames displayed, or the audio played, in that time.
  std::vector<Duration> picture_delays(TimePoint from, TimePoint to = kNever) const {
    return delays(shown_, from, to);
  }
  std::vector<Duration> sound_delays(TimePoint from, TimePoint to = kNever) const {
    return delays(heard_, from, to);
  }
  /// The points where silence was followed by audio: capture and playing time of that exact sample.
  std::vector<Delay> onsets(TimePoint from) const {
    const std::scoped_lock lock{mutex_};
    std::vector<Delay> out;
    std::ranges::copy_if(onsets_, std::back_inserter(out),
                         [from](const Delay& onset) { return onset.there >= from; });
    return out;
  }
  size_t shown() const {
    const std::scoped_lock lock{mutex_};
    return shown_.size();
  }
  size_t count(LiveEvent::Kind kind) const {
    const std::scoped_lock lock{mutex_};
    return static_cast<size_t>(std::ranges::count(events_, kind, &LiveEvent::kind));
  }
  secure::ConnectionStats connection_stats() {
    secure::ConnectionStats stats;
    thread_.run([&] { stats = call_->connection_stats(); });
    return stats;
  }
  Address address() const { return call_->local_address(); }
  /// The end's own thread, in total: network, security, encoding; without its devices' threads.
  Duration processor_time() {
    timespec time{};
    thread_.run([&] { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); });
    return std::chrono::seconds{time.tv_sec} + Duration{time.tv_nsec};
  }

 private:
  std::vector<Duration> delays(const std::vector<Delay>& all, TimePoint from, TimePoint to) const {
    const std::scoped_lock lock{mutex_};
    std::vector<Duration> out;
    for (const Delay& each : all) {
      if (each.there >= from && each.there < to) {
        out.push_back(each.there - each.captured);
      }
    }
    return out;
  }

  void note_onset(const app::PlayedAudio& sound) {
    constexpr int kLoud = 1000;
    constexpr int64_t kQuietMin = media::kAudioSampleRate / 10;
    for (size_t i = 0; i < sound.samples.size(); ++i) {
      if (std::abs(int{sound.samples[i]}) < kLoud) {
        ++quiet_samples_;
        continue;
      }
      if (quiet_samples_ >= kQuietMin) {
        const Duration into =
            from_seconds(static_cast<double>(i) / static_cast<double>(media::kAudioSampleRate));
        onsets_.push_back({sound.captured + into, sound.played + into});
      }
      quiet_samples_ = 0;
    }
  }

  mutable std::mutex mutex_;  // of the next five
  std::vector<LiveEvent> events_;
  std::vector<Delay> shown_;
  std::vector<Delay> heard_;
  std::vector<Delay> onsets_;
  int64_t quiet_samples_ = 0;
  runtime::LoopThread thread_;
  std::unique_ptr<LiveCall> call_;
};

/// A path that can be recorded: keeps the newest kKept datagrams that went to the server.
class OverheardPath final : public Machine {
 public:
  static constexpr size_t kKept = 256;

  OverheardPath(TimePoint start, traces::PathEmulator::Options options)
      : server_(options.server), path_(start, std::move(options)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    if (from != server_) {
      if (kept_.size() == kKept) {
        kept_.pop_front();
      }
      kept_.emplace_back(bytes.begin(), bytes.end());
    }
    path_.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { path_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override { return path_.poll_transmit(now); }
  TimePoint poll_timeout() const override { return path_.poll_timeout(); }
  const std::deque<std::vector<std::byte>>& kept() const { return kept_; }

 private:
  Address server_;
  traces::PathEmulator path_;
  std::deque<std::vector<std::byte>> kept_;
};

/// An emulated path on a thread of its own.
class EmulatedPath {
 public:
  /// `trace`: of both directions, repeated; `propagation`: in each direction.
  EmulatedPath(Address server, const std::shared_ptr<const sim::DeliveryTrace>& trace,
               Duration propagation) {
    thread_.run([&] {
      traces::PathEmulator::Options options{.server = server, .forward = {}, .reverse = {}};
      for (sim::LinkOptions* link : {&options.forward, &options.reverse}) {
        link->trace = trace;
        link->propagation = propagation;
      }
      emulator_.emplace(thread_.clock().now(), std::move(options));
      driver_.emplace(runtime::Driver::Parts{thread_.clock(), thread_.loop(), socket_, *emulator_});
    });
  }
  ~EmulatedPath() {
    thread_.run([this] { driver_.reset(); });
  }
  EmulatedPath(const EmulatedPath&) = delete;
  EmulatedPath& operator=(const EmulatedPath&) = delete;

  Address address() const { return socket_.local_address(); }
  /// The newest datagrams that went to the server.
  std::vector<std::vector<std::byte>> overheard() {
    std::vector<std::vector<std::byte>> kept;
    thread_.run([&] { kept.assign(emulator_->kept().begin(), emulator_->kept().end()); });
    return kept;
  }

 private:
  runtime::LoopThread thread_;
  runtime::UdpSocket socket_{thread_.clock(), {.bind = *runtime::parse_address("127.0.0.1:0")}};
  std::optional<OverheardPath> emulator_;
  std::optional<runtime::Driver> driver_;
};

}  // namespace cress::live
