#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <optional>
#include <string>

#include "app/live/live_sample.hh"
#include "app/room/live_room.hh"
#include "transport/base/time.hh"

namespace cress::headless {

/// One line of JSON, without its end, for `--stats`: what a call was like in its last second. `t_s`
/// counts from the program's start. The keys are listed in docs/guide/cress-call.md.
std::string sample_line(const live::LiveSample& sample);
/// {"t_s":…,"event":"connected","words":"…"}
std::string event_line(const live::LiveEvent& event);
/// In a room: a sample of the leg to the relay, with what is seen and heard of each member.
std::string room_line(const room::LiveRoomSample& sample);
/// {"t_s":…,"event":"joined","member":3,"name":"…"}: present, joined, changed, left, speaker.
std::string room_event_line(TimePoint at, const room::RoomEvent& event, const std::string& name);

/// Head and lines of the table that `--frames` writes: a line for each picture that was shown. Its
/// capture is on the sender's clock, which nobody has set to ours. `member`: in a room; a call of
/// two has none.
inline constexpr const char* kFramesHead = "member,frame,capture_s,display_s,size_bytes";
std::string frame_line(const app::ShownFrame& frame, std::optional<room::MemberNumber> member = {});

/// Where the lines go: a file, standard output, nowhere. Throws std::runtime_error with what is
/// wrong. Threads: none inside; one owner.
class LineWriter {
 public:
  /// `out` is for a path "-", borrowed, and must outlive it.
  LineWriter(std::filesystem::path path, std::ostream& out);
  /// At once and whole, whatever happens next.
  void write(const std::string& line);
  void finish();

 private:
  std::filesystem::path path_;
  std::ostream& out_;
  std::ofstream file_;
};

}  // namespace cress::headless
