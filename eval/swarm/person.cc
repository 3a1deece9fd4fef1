#include "eval/swarm/person.hh"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "media/frame/scale_picture.hh"

namespace cress::swarm {
namespace {

// The coarsest encoding in the smallest size differs from its original by less, a frame decoded
// with a wrong reference by more.
constexpr double kMeanDifferenceMax = 24;

/// Mean absolute difference of luma; both of one size.
double difference(const media::Picture& one, const media::Picture& other) {
  const std::span luma{one.y(), one.luma_size()};
  int64_t sum = 0;
  for (size_t i = 0; i < luma.size(); ++i) {
    sum += std::abs(static_cast<int>(luma[i]) - static_cast<int>(other.y()[i]));
  }
  return static_cast<double>(sum) / static_cast<double>(luma.size());
}

live::SecureCallOptions with_media(live::SecureCallOptions options, const std::string& name) {
  options.call.video = app::VideoSenderOptions{
      .width = Person::kWidth, .height = Person::kHeight, .frame_rate = {15, 1}};
  options.call.paced_by_sound_card = true;
  options.person.name = name;
  return options;
}

room::SecureRoomOptions with_media(room::SecureRoomOptions options, const std::string& name) {
  options.member.video =
      room::room_video({.width = Person::kWidth, .height = Person::kHeight, .frame_rate = {15, 1}});
  options.member.paced_by_sound_card = true;
  options.member.person.name = name;
  return options;
}

}  // namespace

Film::Film(uint64_t seed)
    : camera_({.width = Person::kWidth,
               .height = Person::kHeight,
               .frame_rate = {15, 1},
               .seed = seed}),
      voice_({.seed = seed}) {}

media::PicturePtr Film::picture(uint64_t index) {
  auto [at, is_new] = kept_.try_emplace(index);
  if (is_new) {
    at->second = camera_.picture(index);
  }
  media::PicturePtr picture = at->second;
  if (kept_.size() > kKeptMax) {
    kept_.erase(kept_.begin());
  }
  return picture;
}

Person::Person(TimePoint start, std::string name, live::SecureCallOptions options, uint64_t seed,
               std::shared_ptr<Film> film)
    : name_(std::move(name)),
      seed_(seed),
      start_(start),
      film_(film ? std::move(film) : std::make_shared<Film>(seed)) {
  auto call = std::make_unique<live::SecureCall>(start, with_media(std::move(options), name_));
  call_ = call.get();
  machine_ = std::move(call);
}

Person::Person(TimePoint start, std::string name, room::SecureRoomOptions options, uint64_t seed,
               std::shared_ptr<Film> film)
    : name_(std::move(name)),
      seed_(seed),
      start_(start),
      film_(film ? std::move(film) : std::make_shared<Film>(seed)) {
  auto room = std::make_unique<room::SecureRoom>(start, with_media(std::move(options), name_));
  room_ = room.get();
  machine_ = std::move(room);
}

TimePoint Person::next_picture() const { return start_ + film_->frame_rate().time_of(captured_); }

TimePoint Person::next_sound() const {
  return start_ + static_cast<int64_t>(sounds_ + 1) * media::kAudioFrameLength;
}

void Person::handle_datagram(TimePoint now, const Address& from, std::span<const std::byte> bytes) {
  machine_->handle_datagram(now, from, bytes);
}

void Person::handle_timeout(TimePoint now) {
  if (machine_->poll_timeout() <= now) {
    machine_->handle_timeout(now);
  }
  while (!is_finished() && next_picture() <= now) {
    machine_->capture(now, film_->picture(captured_++));
    accounted_ += machine_->endpoint() == nullptr ? 1 : 0;  // no peer is connected: it is discarded
  }
  while (!is_finished() && next_sound() <= now) {
    machine_->capture_sound(now, film_->sound(sounds_++));
    handle_played(machine_->play(now));
  }
}

std::optional<Transmit> Person::poll_transmit(TimePoint now) {
  return machine_->poll_transmit(now);
}

TimePoint Person::poll_timeout() const {
  return is_finished() ? machine_->poll_timeout()
                       : std::min({machine_->poll_timeout(), next_picture(), next_sound()});
}

void Person::handle_played(const app::PlayedAudio& played) {
  speech_played_ +=
      played.kind == app::SoundKind::kNormal || played.kind == app::SoundKind::kFec ? 1 : 0;
}

bool Person::drained(TimePoint /*now*/) {
  while (machine_->poll_coded()) {
    ++accounted_;
  }
  if (call_ != nullptr) {
    while (call_->poll_event()) {
    }
    while (const auto frame = call_->poll_shown()) {
      handle_shown("", *frame);
    }
  } else {
    take_room();
  }
  return true;
}

void Person::take_room() {
  while (room_->poll_leg_event()) {
  }
  while (room_->poll_event()) {
  }
  if (room_->member() != nullptr) {
    for (const room::OtherMember& other : room_->member()->others()) {
      names_[other.number] = strangers_.contains(other.number) ? "a stranger" : other.person.name;
    }
  }
  while (const auto shown = room_->poll_shown()) {
    handle_shown(names_[shown->member], shown->frame);
  }
}

void Person::handle_shown(const std::string& from, const app::ShownFrame& frame) {
  Sight& sight = sights_[from];
  if (sight.frames > 0 && frame.shown < sight.shown) {
    broken_.insert("pictures are displayed in the order of time");
  }
  sight = {frame.captured, frame.shown, sight.frames + 1};
  const auto expected = cameras_.find(from);
  if (expected == cameras_.end() || !frame.picture || frame.captured < expected->second.start) {
    return;  // the last: of the program that ran before the other's restart
  }
  Film& film = *expected->second.film;
  const bool is_whole = frame.picture->width == kWidth && frame.picture->height == kHeight;
  const media::Picture shown =
      is_whole ? *frame.picture : media::scale_picture(*frame.picture, kWidth, kHeight);
  const int64_t index = (frame.captured - expected->second.start) / film.frame_rate().time_of(1);
  // Capture times on the wire are whole milliseconds.
  const bool was_seen =
      std::ranges::any_of(std::array{index, index - 1, index + 1}, [&](auto near) {
        return near >= 0 &&
               difference(shown, *film.picture(static_cast<uint64_t>(near))) <= kMeanDifferenceMax;
      });
  if (!was_seen) {
    broken_.insert("what is displayed is what the camera saw");
  }
}

std::set<std::string> Person::others() const {
  std::set<std::string> names;
  if (room_ != nullptr && room_->member() != nullptr) {
    for (const room::OtherMember& other : room_->member()->others()) {
      names.insert(other.person.name);
    }
  }
  return names;
}

}  // namespace cress::swarm
