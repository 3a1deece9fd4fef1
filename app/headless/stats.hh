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

/// One line of JSON, without its newline, for `--stats`: the call's state over its last second.
/// `t_s` counts from the program's start. The keys are listed in docs/guide/cress-call.md.
std::string sample_line(const live::LiveSample& sample);
/// {"t_s":…,"event":"connected","words":"…"}
std::string event_line(const live::LiveEvent& event);
/// In a room: a sample of the leg to the relay, with the video and audio received from each member.
std::string room_line(const room::LiveRoomSample& sample);
/// {"t_s":…,"event":"joined","member":3,"name":"…"}. All events: docs/guide/cress-call.md, "Rooms".
std::string room_event_line(TimePoint at, const room::RoomEvent& event, const std::string& name);

/// Header and lines of the table that `--frames` writes: one line per displayed frame. Its capture
/// time is on the sender's clock, which is not synchronized with ours. `member`: in a room; empty
/// in a call of two.
inline constexpr const char* kFramesHead = "member,frame,capture_s,display_s,size_bytes";
std::string frame_line(const app::ShownFrame& frame, std::optional<room::MemberNumber> member = {});

/// Writes the lines to a file, to standard output, or nowhere. Throws std::runtime_error with the
/// reason. Threads: none inside; one owner.
class LineWriter {
 public:
  /// `out` is used for a path "-"; it is borrowed and must outlive this object.
  LineWriter(std::filesystem::path path, std::ostream& out);
  /// Written at once and completely, whatever happens next.
  void write(const std::string& line);
  void finish();

 private:
  std::filesystem::path path_;
  std::ostream& out_;
  std::ofstream file_;
};

}  // namespace cress::headless
