#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/direction_monitor.hh"
#include "eval/cellsim/real_time.hh"
#include "eval/cellsim/signal_file.hh"
#include "traces/emulate/path_emulator.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"

namespace cress::cellsim {
namespace {

constexpr Duration kTick = 1s;

/// Steps the emulator as its driver requests, and records how late packets were.
class TimedEmulator final : public Machine {
 public:
  TimedEmulator(const runtime::MonotonicClock& clock, traces::PathEmulator::Options options)
      : clock_(clock), emulator_(clock.now(), std::move(options)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    emulator_.handle_datagram(now, from, bytes);
  }
  void handle_timeout(TimePoint now) override { emulator_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    const TimePoint due = emulator_.poll_timeout();
    auto transmit = emulator_.poll_transmit(now);
    if (transmit) {
      lateness_.add(clock_.now() - std::min(due, now));
    }
    return transmit;
  }
  TimePoint poll_timeout() const override { return emulator_.poll_timeout(); }

  TimePoint link_time(TimePoint now) const { return kTimeZero + (now - emulator_.start()); }
  const traces::PathEmulator& emulator() const { return emulator_; }
  const Histogram& lateness() const { return lateness_; }

 private:
  const runtime::MonotonicClock& clock_;
  traces::PathEmulator emulator_;
  Histogram lateness_{{.bin = 10us, .value_max = 10s}};
};

class Proxy {
 public:
  Proxy(const ProxyOptions& options, std::ostream& notes)
      : options_(options),
        notes_(notes),
        // Room for the largest datagram; the links' own queues decide what is dropped.
        socket_(clock_, {.bind = options.listen, .datagram_max = DataSize{65'535}}),
        up_(options.path, DirectionMonitor::Way::kUp, clock_.read_both().wall),
        down_(options.path, DirectionMonitor::Way::kDown, clock_.read_both().wall),
        emulator_(clock_, {.server = options.server,
                           .forward = up_.link_options(),
                           .reverse = down_.link_options()}),
        driver_({clock_, loop_, socket_, emulator_}) {}

  CellsimReport run() {
    if (!options_.quiet) {
      notes_ << fmt::format("cellsim: {}, {:g} ms each way, queue {}; listening on {}, on to {}\n",
                            options_.path.name, to_milliseconds(options_.path.delay),
                            options_.path.queue, runtime::format_address(socket_.local_address()),
                            runtime::format_address(options_.server))
             << std::flush;
    }
    loop_.on_readable(signals_.handle(), [this] {
      while (signals_.poll_signal()) {
        loop_.stop();
      }
    });
    if (options_.duration > Duration{}) {
      end_.arm(clock_.now() + options_.duration);
    }
    tick_.arm(clock_.now() + kTick);
    loop_.run();
    return report();
  }

 private:
  void tick() {
    driver_.wake();
    for (DirectionMonitor* monitor : {&up_, &down_}) {
      try {
        monitor->advance(emulator_.link_time(clock_.now()));
      } catch (const std::runtime_error& error) {
        logs_complete_ = false;
        notes_ << "cellsim: " << error.what() << "\n" << std::flush;
      }
    }
    tick_.arm(clock_.now() + kTick);
  }

  CellsimReport report() {
    tick();
    const TimePoint end = emulator_.link_time(clock_.now());
    CellsimReport report;
    report.length = end - kTimeZero;
    report.real_time = real_time_.is_first();
    report.logs_complete = logs_complete_;
    report.directions = {up_.finish(end), down_.finish(end)};
    report.directions[0].packets_lost = emulator_.emulator().forward().lost();
    report.directions[1].packets_lost = emulator_.emulator().reverse().lost();
    // One socket serves both directions: a missed datagram may have been of either.
    report.directions[0].packets_missed = socket_.dropped_by_kernel();
    report.late_p50 = emulator_.lateness().quantile(0.50);
    report.late_p99 = emulator_.lateness().quantile(0.99);
    report.late_max = emulator_.lateness().value_max();
    return report;
  }

  const ProxyOptions& options_;
  std::ostream& notes_;
  SignalFile signals_;
  const runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket socket_;
  DirectionMonitor up_;
  DirectionMonitor down_;
  TimedEmulator emulator_;
  runtime::Driver driver_;
  runtime::EventLoop::Timer tick_{loop_, [this] { tick(); }};
  runtime::EventLoop::Timer end_{loop_, [this] { loop_.stop(); }};
  bool logs_complete_ = true;
  RealTime real_time_;
};

}  // namespace

CellsimReport run_proxy(const ProxyOptions& options, std::ostream& notes) {
  if (!options.path.log_folder.empty()) {
    std::filesystem::create_directories(options.path.log_folder);
  }
  return Proxy{options, notes}.run();
}

}  // namespace cress::cellsim
