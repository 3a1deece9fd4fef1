#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

#include "app/headless/recorder.hh"
#include "media/frame/picture.hh"
#include "media/gst/gst_file_source.hh"
#include "media/source/audio_source.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"
#include "transport/room/member_number.hh"

namespace cress::headless {

struct RecordingOptions {
  /// See HeadlessOptions::video_out; empty: nothing is recorded.
  std::filesystem::path path{};
  media::PictureSize size{};
  media::FrameRate rate{};
  bool of_room = false;
};

/// Writes the displayed video to files: in a call the peer's, in a room the speaker's, or, if the
/// path is a folder, one file for each of the first kMembersMax members. Times count from the
/// beginning of the recording. Errors: as Recorder's. Threads: those of the recorders; one owner.
class Recording {
 public:
  /// Further members are not recorded. (A member who joins again has a new number.)
  static constexpr size_t kMembersMax = 64;

  explicit Recording(RecordingOptions options);

  void set_speaker(room::MemberNumber speaker) { speaker_ = speaker; }
  void handle_left(room::MemberNumber member);
  /// `member`: kNobody in a call of two.
  void add_picture(Duration at, room::MemberNumber member, const media::PicturePtr& picture);
  /// Recorded only in a single .webm: files in a folder have no audio.
  void add_sound(Duration at, const media::AudioFrame& samples);
  /// All files end with the last picture. Returns how many pictures and sounds were left out. Call
  /// once, last.
  uint64_t finish();

 private:
  bool has_sound() const;
  void open(room::MemberNumber member, const std::filesystem::path& path);

  RecordingOptions options_;
  bool is_folder_;
  std::map<room::MemberNumber, std::unique_ptr<Recorder>> recorders_;
  room::MemberNumber speaker_ = room::kNobody;
  room::MemberNumber on_screen_ = room::kNobody;
  Duration until_{};
};

}  // namespace cress::headless
