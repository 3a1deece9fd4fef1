#include "app/headless/recording.hh"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cress::headless {
namespace {

bool is_folder(const std::filesystem::path& path) {
  return !path.empty() && (!path.has_filename() || std::filesystem::is_directory(path));
}

}  // namespace

Recording::Recording(RecordingOptions options)
    : options_(std::move(options)), is_folder_(options_.of_room && is_folder(options_.path)) {
  if (is_folder_) {
    std::filesystem::create_directories(options_.path);
  } else if (!options_.path.empty()) {
    open(room::kNobody, options_.path);
  }
}

void Recording::handle_left(room::MemberNumber member) {
  on_screen_ = on_screen_ == member ? room::kNobody : on_screen_;
}

void Recording::add_picture(Duration at, room::MemberNumber member,
                            const media::PicturePtr& picture) {
  until_ = std::max(until_, at);
  if (is_folder_) {
    if (!recorders_.contains(member) && recorders_.size() < kMembersMax) {
      open(member, options_.path / fmt::format("member-{}.webm", member));
    }
    if (const auto recorder = recorders_.find(member); recorder != recorders_.end()) {
      recorder->second->add_picture(at, picture);
    }
    return;
  }
  // The last speaker stays on the screen until another member speaks, and has video.
  if (on_screen_ == room::kNobody || member == speaker_) {
    on_screen_ = member;
  }
  if (member == on_screen_ && !recorders_.empty()) {
    recorders_.begin()->second->add_picture(at, picture);
  }
}

void Recording::add_sound(Duration at, const media::AudioFrame& samples) {
  if (!is_folder_ && has_sound()) {
    recorders_.begin()->second->add_sound(at, samples);
  }
}

uint64_t Recording::finish() {
  uint64_t left_out = 0;
  for (auto& [member, recorder] : recorders_) {
    recorder->finish(until_);
    left_out += recorder->left_out();
  }
  return left_out;
}

bool Recording::has_sound() const { return options_.path.extension() == ".webm"; }

void Recording::open(room::MemberNumber member, const std::filesystem::path& path) {
  recorders_.emplace(member,
                     std::make_unique<Recorder>(
                         path, media::MovieOptions{.width = options_.size.width,
                                                   .height = options_.size.height,
                                                   .frame_rate = options_.rate,
                                                   .with_sound = !is_folder_ && has_sound()}));
}

}  // namespace cress::headless
