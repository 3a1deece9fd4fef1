#include "app/headless/headless.hh"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "app/headless/headless_inputs.hh"
#include "app/headless/headless_room.hh"
#include "app/headless/recorder.hh"
#include "app/headless/stats.hh"
#include "app/live/listening_link.hh"
#include "app/live/live_call.hh"
#include "app/live/own_address.hh"
#include "transport/runtime/address_text.hh"
#include "transport/secure/link/link.hh"

namespace cress::headless {
namespace {

constexpr Duration kStatsInterval = 1s;

void set_listeners(const HeadlessOptions& options, live::LiveCallOptions& call) {
  const secure::Link link = parsed_link(options.link);
  const std::vector<Address> addresses = addresses_of(link);
  call.role = secure::Role::kJoiner;
  call.secret = link.secret;
  call.listener = addresses.front();
  call.other_listeners.assign(addresses.begin() + 1, addresses.end());
}

live::LiveCallOptions call_options(const HeadlessOptions& options) {
  live::LiveCallOptions call;
  call.connect_max = options.wait.value_or(call.connect_max);
  call.person = person_of(options);
  call.devices = device_options(options);
  return call;
}

/// The call, its files and its end.
class HeadlessCall {
 public:
  HeadlessCall(const HeadlessOptions& options, std::ostream& out, std::ostream& err);
  int run();

 private:
  void handle_event(const live::LiveEvent& event);
  void handle_shown(const app::ShownFrame& frame);
  void handle_played(const app::PlayedAudio& sound);
  void write_stats();
  std::string own_host() const;

  HeadlessOptions options_;
  std::ostream& out_;
  std::ostream& err_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::unique_ptr<live::ListeningLink> link_;  // of a listener
  std::unique_ptr<Recorder> recorder_;
  LineWriter stats_;
  LineWriter frames_;
  std::optional<TimePoint> connected_at_;
  bool asked_to_end_ = false;
  std::optional<std::string> end_words_;
  TimePoint recorded_until_ = kTimeZero;
  std::unique_ptr<live::LiveCall> call_;
  runtime::EventLoop::Timer stats_timer_{loop_, [this] { write_stats(); }};
};

HeadlessCall::HeadlessCall(const HeadlessOptions& options, std::ostream& out, std::ostream& err)
    : options_(options),
      out_(out),
      err_(err),
      stats_(options.stats, out),
      frames_(options.frames, out) {
  frames_.write(kFramesHead);
  live::LiveCallOptions call = call_options(options_);
  if (options_.link.empty()) {
    const std::string& where = options_.listen;
    link_ = std::make_unique<live::ListeningLink>(
        where.empty() ? Address{} : runtime::resolve(where).front(), options_.link_file);
    call.secret = link_->secret();
    call.bind = link_->bind();
  } else {
    set_listeners(options_, call);
  }
  if (!options_.video_out.empty()) {
    recorder_ = std::make_unique<Recorder>(
        options_.video_out,
        media::MovieOptions{.width = options_.size.width,
                            .height = options_.size.height,
                            .frame_rate = options_.rate,
                            .with_sound = options_.video_out.extension() == ".webm"});
  }
  live::LiveOutputs outputs;
  outputs.event = [this](const live::LiveEvent& event) { handle_event(event); };
  outputs.shown = [this](const app::ShownFrame& frame) { handle_shown(frame); };
  outputs.played = [this](const app::PlayedAudio& sound) { handle_played(sound); };
  call_ = std::make_unique<live::LiveCall>(clock_, loop_, call, outputs);
  if (link_) {
    out_ << secure::format_link(link_->opened(own_host(), call_->local_address().port))
         << std::endl;  // at once: another program waits for it
  }
}

std::string HeadlessCall::own_host() const {
  const Address bound = call_->local_address();
  if (bound.ip == Address{}.ip) {
    return live::own_address();
  }
  const std::string text = runtime::format_address(bound);
  const std::string host = text.substr(0, text.rfind(':'));
  return host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

void HeadlessCall::handle_event(const live::LiveEvent& event) {
  stats_.write(event_line(event));
  if (event.kind == live::LiveEvent::Kind::kConnected && !connected_at_) {
    connected_at_ = event.at;
  }
  if (event.kind == live::LiveEvent::Kind::kEnded) {
    end_words_ = event.words;
    loop_.stop();
  } else if (options_.progress || event.kind == live::LiveEvent::Kind::kDeviceLost) {
    err_ << event.words << "\n";
  }
}

void HeadlessCall::handle_shown(const app::ShownFrame& frame) {
  frames_.write(frame_line(frame));
  recorded_until_ = std::max(recorded_until_, frame.shown);
  if (recorder_ && connected_at_) {
    recorder_->add_picture(std::max(frame.shown - *connected_at_, Duration{}), frame.picture);
  }
}

void HeadlessCall::handle_played(const app::PlayedAudio& sound) {
  if (recorder_ && connected_at_ && options_.video_out.extension() == ".webm") {
    recorder_->add_sound(std::max(sound.played - *connected_at_, Duration{}), sound.samples);
  }
}

void HeadlessCall::write_stats() {
  const TimePoint now = clock_.now();
  const live::LiveSample sample = call_->sample();
  stats_.write(sample_line(sample));
  if (options_.progress && sample.connected) {
    err_ << fmt::format(
        "{:4.0f} s  up {:5.0f} of {:5.0f} kbit/s  down {:5.0f} kbit/s  picture {:4.0f} ms\n",
        to_seconds(now - connected_at_.value_or(now)), sample.sent.kilobits_per_second(),
        sample.forecast.kilobits_per_second(), sample.received.kilobits_per_second(),
        to_milliseconds(sample.frame_delay_p95.value_or(Duration{})));
  }
  const bool is_over =
      connected_at_ && options_.duration && now >= *connected_at_ + *options_.duration;
  const bool is_alone =
      !connected_at_ && options_.link.empty() && options_.wait && now >= kTimeZero + *options_.wait;
  if (!asked_to_end_ && (is_over || is_alone)) {
    asked_to_end_ = true;
    call_->hang_up();
  }
  TimePoint next = now + kStatsInterval;
  if (connected_at_ && options_.duration && now < *connected_at_ + *options_.duration) {
    next = std::min(next, *connected_at_ + *options_.duration);
  }
  stats_timer_.arm(next);
}

int HeadlessCall::run() {
  loop_.on_signals([this](int) {
    asked_to_end_ = true;
    call_->hang_up();
  });
  stats_timer_.arm(clock_.now() + kStatsInterval);
  loop_.run();
  const bool peer_left = end_words_ == secure::describe(secure::CloseReason::kPeerHungUp);
  const bool was_had = connected_at_ && (asked_to_end_ || peer_left);
  stats_.write(sample_line(call_->sample()));
  call_->finish();
  if (recorder_) {
    recorder_->finish(
        std::max(recorded_until_ - connected_at_.value_or(recorded_until_), Duration{}));
    if (recorder_->left_out() > 0) {
      err_ << fmt::format(
          "{}: {} pictures or sounds were left out, the disk or processor was too slow\n",
          options_.video_out.string(), recorder_->left_out());
    }
  }
  stats_.finish();
  frames_.finish();
  if (!was_had) {
    err_ << "cress-call: " << (connected_at_ ? "" : "no call: ") << end_words_.value_or("") << "\n";
  }
  return was_had ? 0 : 1;
}

}  // namespace

int run_headless(const HeadlessOptions& options, std::ostream& out, std::ostream& err) {
  if (!options.link.empty() && !parsed_link(options.link).room.empty()) {
    return run_headless_room(options, out, err);
  }
  HeadlessCall call{options, out, err};
  return call.run();
}

}  // namespace cress::headless
