#include "app/headless/headless.hh"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "app/headless/headless_inputs.hh"
#include "app/headless/recording.hh"
#include "app/headless/stats.hh"
#include "app/live/kept_identity.hh"
#include "app/live/listening_link.hh"
#include "app/live/live_call.hh"
#include "app/room/live_room.hh"
#include "transport/base/text_file.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/own_address.hh"
#include "transport/secure/link/link.hh"

namespace cress::headless {
namespace {

using room::MemberNumber;

constexpr Duration kStatsInterval = 1s;

HeadlessOptions without_link(HeadlessOptions options) {
  std::string{}.swap(options.link);  // with its memory, which an assignment would keep
  return options;
}

/// A call or a room, its files and its end.
class HeadlessEnd {
 public:
  virtual ~HeadlessEnd() = default;
  int run();

 protected:
  struct Kind {
    bool is_room = false;
    const char* not_had = "no call: ";
  };
  HeadlessEnd(const HeadlessOptions& options, const Kind& kind, std::ostream& out,
              std::ostream& err)
      : options_(without_link(options)),
        is_listener_(options.link.empty()),
        kind_(kind),
        out_(out),
        err_(err),
        stats_(options.stats, out),
        frames_(options.frames, out) {
    frames_.write(kFramesHead);
  }
  /// Before live_ is made: the files of what is seen, and where its outputs go.
  void set_outputs(live::LiveEndOutputs& outputs);
  void handle_shown(const app::ShownFrame& frame, std::optional<MemberNumber> member);
  virtual std::string stats_line() const = 0;
  /// For a person at a terminal; empty: nothing.
  virtual std::string progress_line(double connected_s) const = 0;

  const HeadlessOptions options_;  // without a link
  const bool is_listener_;
  const Kind kind_;
  std::ostream& out_;
  std::ostream& err_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  LineWriter stats_;
  LineWriter frames_;
  std::optional<Recording> recording_;
  std::unique_ptr<live::LiveEnd> live_;

 private:
  void handle_event(const live::LiveEvent& event);
  void end();
  void write_stats();

  std::optional<TimePoint> connected_at_;
  bool asked_to_end_ = false;
  std::optional<std::string> end_words_;
  runtime::EventLoop::Timer stats_timer_{loop_, [this] { write_stats(); }};
};

void HeadlessEnd::set_outputs(live::LiveEndOutputs& outputs) {
  recording_.emplace(RecordingOptions{.path = options_.video_out,
                                      .size = options_.size,
                                      .rate = options_.rate,
                                      .of_room = kind_.is_room});
  outputs.event = [this](const live::LiveEvent& event) { handle_event(event); };
  outputs.played = [this](const app::PlayedAudio& sound) {
    if (connected_at_) {
      recording_->add_sound(std::max(sound.played - *connected_at_, Duration{}), sound.samples);
    }
  };
}

void HeadlessEnd::handle_shown(const app::ShownFrame& frame, std::optional<MemberNumber> member) {
  frames_.write(frame_line(frame, member));
  if (connected_at_) {
    recording_->add_picture(std::max(frame.shown - *connected_at_, Duration{}),
                            member.value_or(room::kNobody), frame.picture);
  }
}

void HeadlessEnd::handle_event(const live::LiveEvent& event) {
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

void HeadlessEnd::end() {
  if (!std::exchange(asked_to_end_, true)) {
    live_->hang_up();
  }
}

void HeadlessEnd::write_stats() {
  const TimePoint now = clock_.now();
  stats_.write(stats_line());
  if (options_.progress) {
    err_ << progress_line(to_seconds(now - connected_at_.value_or(now)));
  }
  if (!connected_at_ && is_listener_ && options_.wait && now >= kTimeZero + *options_.wait) {
    end();
  }
  TimePoint next = now + kStatsInterval;
  if (connected_at_ && options_.duration) {
    const TimePoint over = *connected_at_ + *options_.duration;
    if (now >= over) {
      end();
    } else {
      next = std::min(next, over);
    }
  }
  stats_timer_.arm(next);
}

int HeadlessEnd::run() {
  loop_.on_signals([this](int) { end(); });
  stats_timer_.arm(clock_.now() + kStatsInterval);
  loop_.run();
  stats_.write(stats_line());
  live_->finish();
  if (const uint64_t left_out = recording_->finish(); left_out > 0) {
    err_ << fmt::format(
        "{}: {} pictures or sounds were left out, the disk or processor was too slow\n",
        options_.video_out.string(), left_out);
  }
  stats_.finish();
  frames_.finish();
  const bool peer_left =
      !kind_.is_room && end_words_ == secure::describe(secure::CloseReason::kPeerHungUp);
  const bool was_had = connected_at_ && (asked_to_end_ || peer_left);
  if (!was_had) {
    err_ << "cress-call: " << (connected_at_ ? "" : kind_.not_had) << end_words_.value_or("")
         << "\n";
  }
  return was_had ? 0 : 1;
}

class HeadlessCall final : public HeadlessEnd {
 public:
  HeadlessCall(const HeadlessOptions& options, std::ostream& out, std::ostream& err);

 private:
  std::string stats_line() const override { return sample_line(live_->sample()); }
  std::string progress_line(double connected_s) const override;
};

HeadlessCall::HeadlessCall(const HeadlessOptions& options, std::ostream& out, std::ostream& err)
    : HeadlessEnd(options, {}, out, err) {
  live::LiveCallOptions call;
  call.connect_max = options.wait.value_or(call.connect_max);
  call.person = person_of(options);
  call.prefer = options.prefer;
  call.asks_router = options.asks_router;
  call.replacement =
      options.replaced_by_anyone ? secure::Replacement::kAdmit : secure::Replacement::kRefuse;
  if (!options.identity_file.empty()) {
    call.identity_secret = live::kept_identity(options.identity_file);
  }
  call.devices = device_options(options);
  std::optional<live::ListeningLink> own_link;
  if (options.link.empty()) {
    const std::string& where = options.listen;
    own_link.emplace(where.empty() ? Address{} : runtime::resolve(where).front(), options.link_file,
                     options.relay);
    call.secret = own_link->secret();
    call.bind = own_link->bind();
    if (const std::string relay = own_link->relay(); !relay.empty()) {
      call.relays = runtime::resolve(relay);
    }
  } else {
    const secure::Link link = parsed_link(options.link);
    const std::vector<Address> addresses = runtime::resolve(secure::host_and_port(link));
    call.role = secure::Role::kJoiner;
    call.secret = link.secret;
    if (link.is_relayed) {
      call.relays = addresses;
    } else {
      call.listener = addresses.front();
      call.other_listeners.assign(addresses.begin() + 1, addresses.end());
    }
  }
  live::LiveOutputs outputs;
  set_outputs(outputs);
  outputs.shown = [this](const app::ShownFrame& frame) { handle_shown(frame, {}); };
  live_ = std::make_unique<live::LiveCall>(clock_, loop_, call, outputs);
  if (own_link) {
    const std::string host = runtime::own_host(own_link->bind());
    print_now(out_,
              secure::format_link(own_link->opened(host, live_->local_address().port)) + "\n");
    if (const std::string warning = own_link->warning(); !warning.empty()) {
      err_ << warning << "\n";
    }
  }
}

std::string HeadlessCall::progress_line(double connected_s) const {
  const live::LiveSample sample = live_->sample();
  if (!sample.connected) {
    return "";
  }
  return fmt::format(
      "{:4.0f} s  up {:5.0f} of {:5.0f} kbit/s  down {:5.0f} kbit/s  picture {:4.0f} ms\n",
      connected_s, sample.sent.kilobits_per_second(), sample.forecast.kilobits_per_second(),
      sample.received.kilobits_per_second(),
      to_milliseconds(sample.frame_delay_p95.value_or(Duration{})));
}

class HeadlessRoom final : public HeadlessEnd {
 public:
  HeadlessRoom(const HeadlessOptions& options, std::ostream& out, std::ostream& err);

 private:
  std::string stats_line() const override { return room_line(room_->room_sample()); }
  std::string progress_line(double connected_s) const override;
  void handle_room_event(const room::RoomEvent& event);
  std::string name_of(MemberNumber number) const;

  room::LiveRoom* room_ = nullptr;  // live_
};

HeadlessRoom::HeadlessRoom(const HeadlessOptions& options, std::ostream& out, std::ostream& err)
    : HeadlessEnd(options, {.is_room = true, .not_had = "not in the room: "}, out, err) {
  room::LiveRoomOutputs outputs;
  set_outputs(outputs);
  outputs.room = [this](const room::RoomEvent& event) { handle_room_event(event); };
  outputs.shown = [this](const room::RoomShown& shown) { handle_shown(shown.frame, shown.member); };
  const secure::Link link = parsed_link(options.link);
  const std::vector<Address> addresses = runtime::resolve(secure::host_and_port(link));
  room::LiveRoomOptions room;
  room.secret = link.secret;
  room.relay = addresses.front();
  room.other_relays.assign(addresses.begin() + 1, addresses.end());
  room.connect_max = options.wait.value_or(room.connect_max);
  room.devices = device_options(options);
  room.person = person_of(options);
  room.prefer = options.prefer;
  auto live = std::make_unique<room::LiveRoom>(clock_, loop_, room, outputs);
  room_ = live.get();
  live_ = std::move(live);
}

std::string HeadlessRoom::name_of(MemberNumber number) const {
  if (room_ == nullptr) {
    return "";
  }
  for (const room::LiveRoomMember& other : room_->room_sample().others) {
    if (other.member.number == number) {
      return other.member.person.name;
    }
  }
  return "";
}

void HeadlessRoom::handle_room_event(const room::RoomEvent& event) {
  if (event.kind == room::RoomEvent::Kind::kChat) {
    return;  // what people write is stored by nobody, not even that they did
  }
  stats_.write(room_event_line(clock_.now(), event, name_of(event.member)));
  if (event.kind == room::RoomEvent::Kind::kSpeaker) {
    recording_->set_speaker(event.member);
  } else if (event.kind == room::RoomEvent::Kind::kLeft) {
    recording_->handle_left(event.member);
  }
}

std::string HeadlessRoom::progress_line(double connected_s) const {
  const room::LiveRoomSample sample = room_->room_sample();
  if (!sample.session.connected) {
    return "";
  }
  return fmt::format("{:4.0f} s  {} others  up {:5.0f} of {:5.0f} kbit/s  down {:5.0f} kbit/s\n",
                     connected_s, sample.others.size(), sample.session.sent.kilobits_per_second(),
                     sample.session.forecast.kilobits_per_second(),
                     sample.session.received.kilobits_per_second());
}

}  // namespace

int run_headless(HeadlessOptions options, std::ostream& out, std::ostream& err) {
  require_decodable_inputs(options);
  std::unique_ptr<HeadlessEnd> end;
  if (!options.link.empty() && !parsed_link(options.link).room.empty()) {
    end = std::make_unique<HeadlessRoom>(options, out, err);
  } else {
    end = std::make_unique<HeadlessCall>(options, out, err);
  }
  options = without_link(std::move(options));
  return end->run();
}

}  // namespace cress::headless
