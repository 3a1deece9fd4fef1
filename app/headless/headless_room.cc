#include "app/headless/headless_room.hh"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "app/headless/headless_inputs.hh"
#include "app/headless/recorder.hh"
#include "app/headless/stats.hh"
#include "app/room/live_room.hh"

namespace cress::headless {
namespace {

using room::kNobody;
using room::MemberNumber;

constexpr Duration kStatsInterval = 1s;
// If a member joins over and over, each time with a new number, the first ones are recorded.
constexpr size_t kRecordersMax = 64;

room::LiveRoomOptions room_options(const HeadlessOptions& options) {
  const secure::Link link = parsed_link(options.link);
  const std::vector<Address> addresses = addresses_of(link);
  room::LiveRoomOptions room;
  room.secret = link.secret;
  room.relay = addresses.front();
  room.other_relays.assign(addresses.begin() + 1, addresses.end());
  room.connect_max = options.wait.value_or(room.connect_max);
  room.devices = device_options(options);
  room.person = person_of(options);
  return room;
}

bool is_folder(const std::filesystem::path& path) {
  return !path.empty() && (!path.has_filename() || std::filesystem::is_directory(path));
}

/// The received video, as files: of the speaker, or of each member.
class RoomRecorder {
 public:
  explicit RoomRecorder(const HeadlessOptions& options)
      : options_(options), is_folder_(is_folder(options.video_out)) {
    if (is_folder_) {
      std::filesystem::create_directories(options_.video_out);
    } else if (!options_.video_out.empty()) {
      open(kNobody, options_.video_out);
    }
  }

  void set_speaker(MemberNumber speaker) { speaker_ = speaker; }
  void handle_left(MemberNumber number) {
    on_screen_ = on_screen_ == number ? kNobody : on_screen_;
  }
  void add_picture(Duration at, const room::RoomShown& shown) {
    until_ = std::max(until_, at);
    if (is_folder_) {
      if (!recorders_.contains(shown.member) && recorders_.size() < kRecordersMax) {
        open(shown.member, options_.video_out / fmt::format("member-{}.webm", shown.member));
      }
      if (const auto recorder = recorders_.find(shown.member); recorder != recorders_.end()) {
        recorder->second->add_picture(at, shown.frame.picture);
      }
      return;
    }
    // The last speaker stays on the screen until another member speaks, and has video.
    if (on_screen_ == kNobody || shown.member == speaker_) {
      on_screen_ = shown.member;
    }
    if (shown.member == on_screen_ && !recorders_.empty()) {
      recorders_.begin()->second->add_picture(at, shown.frame.picture);
    }
  }
  void add_sound(Duration at, const media::AudioFrame& samples) {
    if (!is_folder_ && !recorders_.empty() && has_sound()) {
      recorders_.begin()->second->add_sound(at, samples);
    }
  }
  void finish(std::ostream& err) {
    uint64_t left_out = 0;
    for (auto& [number, recorder] : recorders_) {
      recorder->finish(until_);
      left_out += recorder->left_out();
    }
    if (left_out > 0) {
      err << fmt::format(
          "{}: {} pictures or sounds were left out, the disk or processor was too slow\n",
          options_.video_out.string(), left_out);
    }
  }

 private:
  bool has_sound() const { return options_.video_out.extension() == ".webm"; }
  void open(MemberNumber number, const std::filesystem::path& path) {
    recorders_.emplace(number,
                       std::make_unique<Recorder>(
                           path, media::MovieOptions{.width = options_.size.width,
                                                     .height = options_.size.height,
                                                     .frame_rate = options_.rate,
                                                     .with_sound = !is_folder_ && has_sound()}));
  }

  const HeadlessOptions& options_;
  bool is_folder_;
  std::map<MemberNumber, std::unique_ptr<Recorder>> recorders_;
  MemberNumber speaker_ = kNobody;
  MemberNumber on_screen_ = kNobody;
  Duration until_{};
};

/// The room, its files and its end.
class HeadlessRoom {
 public:
  HeadlessRoom(const HeadlessOptions& options, std::ostream& out, std::ostream& err);
  int run();

 private:
  room::LiveRoomOutputs outputs();
  void handle_event(const live::LiveEvent& event);
  void handle_room_event(const room::RoomEvent& event);
  std::string name_of(MemberNumber number) const;
  void write_stats();
  void end();

  HeadlessOptions options_;
  std::ostream& err_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  LineWriter stats_;
  LineWriter frames_;
  RoomRecorder recorder_;
  std::optional<TimePoint> connected_at_;
  bool asked_to_end_ = false;
  std::optional<std::string> end_words_;
  std::unique_ptr<room::LiveRoom> room_;
  runtime::EventLoop::Timer stats_timer_{loop_, [this] { write_stats(); }};
};

HeadlessRoom::HeadlessRoom(const HeadlessOptions& options, std::ostream& out, std::ostream& err)
    : options_(options),
      err_(err),
      stats_(options.stats, out),
      frames_(options.frames, out),
      recorder_(options_) {
  frames_.write(kFramesHead);
  room_ = std::make_unique<room::LiveRoom>(clock_, loop_, room_options(options_), outputs());
}

room::LiveRoomOutputs HeadlessRoom::outputs() {
  room::LiveRoomOutputs outputs;
  outputs.event = [this](const live::LiveEvent& event) { handle_event(event); };
  outputs.room = [this](const room::RoomEvent& event) { handle_room_event(event); };
  outputs.shown = [this](const room::RoomShown& shown) {
    frames_.write(frame_line(shown.frame, shown.member));
    if (connected_at_) {
      recorder_.add_picture(std::max(shown.frame.shown - *connected_at_, Duration{}), shown);
    }
  };
  outputs.played = [this](const app::PlayedAudio& sound) {
    if (connected_at_) {
      recorder_.add_sound(std::max(sound.played - *connected_at_, Duration{}), sound.samples);
    }
  };
  return outputs;
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
  stats_.write(room_event_line(clock_.now(), event, name_of(event.member)));
  if (event.kind == room::RoomEvent::Kind::kSpeaker) {
    recorder_.set_speaker(event.member);
  } else if (event.kind == room::RoomEvent::Kind::kLeft) {
    recorder_.handle_left(event.member);
  }
}

void HeadlessRoom::handle_event(const live::LiveEvent& event) {
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

void HeadlessRoom::end() {
  if (!std::exchange(asked_to_end_, true)) {
    room_->hang_up();
  }
}

void HeadlessRoom::write_stats() {
  const TimePoint now = clock_.now();
  const room::LiveRoomSample sample = room_->room_sample();
  stats_.write(room_line(sample));
  if (options_.progress && sample.session.connected) {
    err_ << fmt::format("{:4.0f} s  {} others  up {:5.0f} of {:5.0f} kbit/s  down {:5.0f} kbit/s\n",
                        to_seconds(now - connected_at_.value_or(now)), sample.others.size(),
                        sample.session.sent.kilobits_per_second(),
                        sample.session.forecast.kilobits_per_second(),
                        sample.session.received.kilobits_per_second());
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

int HeadlessRoom::run() {
  loop_.on_signals([this](int) { end(); });
  stats_timer_.arm(clock_.now() + kStatsInterval);
  loop_.run();
  stats_.write(room_line(room_->room_sample()));
  room_->finish();
  recorder_.finish(err_);
  stats_.finish();
  frames_.finish();
  const bool was_had = connected_at_ && asked_to_end_;
  if (!was_had) {
    err_ << "cress-call: " << (connected_at_ ? "" : "not in the room: ") << end_words_.value_or("")
         << "\n";
  }
  return was_had ? 0 : 1;
}

}  // namespace

int run_headless_room(const HeadlessOptions& options, std::ostream& out, std::ostream& err) {
  HeadlessRoom room{options, out, err};
  return room.run();
}

}  // namespace cress::headless
