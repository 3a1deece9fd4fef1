#include "traces/saturate/run.hh"

#include <sys/random.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "traces/saturate/saturate_end.hh"
#include "traces/saturate/summary.hh"
#include "transport/base/text.hh"
#include "transport/base/text_file.hh"
#include "transport/runtime/address_text.hh"

namespace cress::traces {
namespace {

constexpr Duration kProgressEvery = 500ms;

std::array<std::byte, 32> kernel_entropy() {
  std::array<std::byte, 32> entropy{};
  if (getrandom(entropy.data(), entropy.size(), 0) != static_cast<ssize_t>(entropy.size())) {
    throw std::runtime_error("the kernel gives no random numbers");
  }
  return entropy;
}

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// Before measuring anything that could then not be saved.
void require_folder(const std::string& prefix) {
  const std::filesystem::path folder = std::filesystem::path{prefix}.parent_path();
  if (!prefix.empty() && !folder.empty() && !std::filesystem::is_directory(folder)) {
    throw std::runtime_error(prefix + ": " + folder.string() +
                             " is no folder; make it first, or choose another --out");
  }
}

/// One command: from sockets to files.
class Run {
 public:
  Run(const SaturateRunOptions& options, const SaturateStreams& streams)
      : options_(options), streams_(streams) {}

  void measure();
  void keep();

 private:
  SaturatorOptions saturator_options();
  void announce() const;
  void on_signal();
  void show_progress();
  std::string progress_line() const;
  void wipe();
  [[noreturn]] void explain_nothing() const;
  void write(const std::string& path, const std::string& text);
  bool connects() const { return options_.connect.has_value(); }

  const SaturateRunOptions& options_;
  const SaturateStreams& streams_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::string token_;
  std::unique_ptr<SaturateEnd> end_;
  std::unique_ptr<runtime::EventLoop::Timer> progress_;
  bool interrupted_ = false;
  bool drawn_ = false;
  std::string first_failure_;
};

SaturatorOptions Run::saturator_options() {
  const auto entropy = kernel_entropy();
  const auto token = kernel_entropy();
  token_ = options_.token.empty() ? hex(std::span{token}.first(12)) : options_.token;
  SaturatorOptions options{.connects = connects(),
                           .token = key_of_token(token_),
                           .entropy = entropy,
                           .up = options_.up,
                           .down = options_.down,
                           .duration = options_.duration,
                           .packet_size = options_.packet_size};
  if (options_.connect) {
    options.peer = runtime::resolve(*options_.connect).front();
    if (options_.feedback) {
      options.feedback_peer = runtime::resolve(*options_.feedback).front();
    }
  }
  return options;
}

void Run::announce() const {
  if (connects()) {
    return;
  }
  const auto port = [](const Address& address) { return std::to_string(address.port); };
  streams_.messages << "listening on " << runtime::format_address(end_->link_address());
  const auto feedback = end_->feedback_address();
  if (feedback) {
    streams_.messages << ", for feedback on " << runtime::format_address(*feedback);
  }
  streams_.messages << "; at the other end:\n  cress-trace saturate --connect HOST:"
                    << port(end_->link_address());
  if (feedback) {
    streams_.messages << " --feedback HOST:" << port(*feedback);
  }
  streams_.messages << " --token " << token_ << " --out PREFIX\n" << std::flush;
}

void Run::on_signal() {
  if (interrupted_) {
    loop_.stop();
    return;
  }
  interrupted_ = true;
  end_->finish();
}

void Run::measure() {
  const SaturatorOptions options = saturator_options();
  const bool second =
      connects() ? options_.feedback.has_value() : options_.feedback_listen.has_value();
  end_ = std::make_unique<SaturateEnd>(
      SaturateEnd::Parts{.clock = clock_,
                         .loop = loop_,
                         .bind = connects() ? options_.bind : *options_.listen,
                         .feedback_bind = !second      ? std::nullopt
                                          : connects() ? std::optional{options_.feedback_bind}
                                                       : options_.feedback_listen},
      options, [this] { loop_.stop(); });
  announce();
  loop_.on_signals([this](int) { on_signal(); });
  progress_ = std::make_unique<runtime::EventLoop::Timer>(loop_, [this] { show_progress(); });
  if (streams_.progress) {
    progress_->arm(clock_.now() + kProgressEvery);
  }
  loop_.run();
  wipe();
}

std::string Run::progress_line() const {
  const Saturator& saturator = end_->saturator();
  const auto pace = [](const char* name, const Saturator::Pace& p) {
    return p.wanted ? std::string{", "} + name +
                          formatted(" %.2f Mbit/s", p.rate.kilobits_per_second() / 1e3) +
                          formatted(" at %.0f ms", to_milliseconds(p.delay))
                    : std::string{};
  };
  const std::string paces = pace("up", saturator.up()) + pace("down", saturator.down());
  switch (saturator.state()) {
    case Saturator::State::kWaiting:
      return connects() ? "waiting for an answer" : "waiting for the other end";
    case Saturator::State::kWarmingUp:
      return "filling the queues" + paces;
    case Saturator::State::kMeasuring:
      return formatted("measuring, %.0f", to_seconds(saturator.measured(clock_.now()))) +
             (connects() ? formatted(" of %.0f s", to_seconds(options_.duration)) : " s") + paces;
    case Saturator::State::kCollecting:
      return "collecting what arrived";
    case Saturator::State::kDone:
    case Saturator::State::kFailed:
      break;
  }
  return "done";
}

void Run::show_progress() {
  streams_.messages << "\r\033[K" << progress_line() << std::flush;
  drawn_ = true;
  progress_->arm(clock_.now() + kProgressEvery);
}

void Run::wipe() {
  if (drawn_) {
    streams_.messages << "\r\033[K" << std::flush;
  }
}

void Run::explain_nothing() const {
  const Saturator& saturator = end_->saturator();
  if (saturator.state() != Saturator::State::kFailed) {
    throw std::runtime_error(interrupted_ ? "stopped before anything was measured"
                                          : "nothing arrived, so there is no trace");
  }
  const bool link = saturator.silent_path() == SaturatePath::kLink;
  throw std::runtime_error(
      "nobody answered at " + (link ? *options_.connect : *options_.feedback) +
      (link ? "; is `cress-trace saturate --listen` running there, with this --token, and does "
              "every firewall on the way let its UDP port through?"
            : "; the other end needs --feedback-listen, and its UDP port must be let through"));
}

void Run::write(const std::string& path, const std::string& text) {
  try {
    save_text(text, path);
  } catch (const std::exception& error) {
    // The other files may still fit, or be on another disk.
    first_failure_ = first_failure_.empty() ? error.what() : first_failure_;
  }
}

void Run::keep() {
  const Saturator& saturator = end_->saturator();
  const SaturateMeasurement measurement = saturator.measurement();
  SaturateSummary summary{
      .peer = saturator.peer() ? runtime::format_address(*saturator.peer()) : "",
      .separate_feedback = saturator.has_feedback_path(),
      .round_trip = measurement.round_trip,
      .packet_size = connects() ? measurement.up.packet_size : measurement.down.packet_size,
      .dropped_by_receiver = end_->dropped_by_kernel(),
      .unsent = end_->unsent(),
      .directions = measure_directions(measurement)};
  bool any = false;
  for (SaturateSummary::Direction& direction : summary.directions) {
    any = any || direction.measured.arrived > 0;
    if (!options_.out.empty() && direction.measured.has_trace()) {
      direction.file = options_.out + "." + direction.name;
      write(direction.file, sim::format_trace(direction.measured.trace));
    }
  }
  if (!any) {
    explain_nothing();
  }
  const std::string json = format_json(summary);
  if (!options_.out.empty()) {
    // One direction after the other must not write over each other.
    const std::string one =
        summary.directions.size() == 1 ? "." + summary.directions.front().name : "";
    write(options_.out + one + ".json", json);
  }
  if (options_.json) {
    streams_.out << json;
  } else {
    print_summary(summary, streams_.out);
  }
  if (summary.directions.size() == 2 && !summary.separate_feedback) {
    streams_.messages << "note: feedback of both directions waited in their queues; a second path "
                         "(--feedback), or --one-way, keeps a link better filled\n";
  }
  if (summary.dropped_by_receiver > 0) {
    streams_.messages << "note: this machine itself lost " << summary.dropped_by_receiver
                      << " datagrams; raise net.core.rmem_max\n";
  }
  if (!first_failure_.empty()) {
    throw std::runtime_error(first_failure_);
  }
}

}  // namespace

void run_saturate(const SaturateRunOptions& options, const SaturateStreams& streams) {
  require_folder(options.out);
  Run run{options, streams};
  run.measure();
  run.keep();
}

}  // namespace cress::traces
