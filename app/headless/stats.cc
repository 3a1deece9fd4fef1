#include "app/headless/stats.hh"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "transport/base/text_file.hh"
#include "transport/mapping/port_mapper.hh"

namespace cress::headless {
namespace {

using nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 10.0) / 10.0; }

ordered_json milliseconds(const std::optional<Duration>& duration) {
  return duration ? ordered_json(rounded(to_milliseconds(*duration))) : ordered_json(nullptr);
}

double kbps(DataRate rate) { return rounded(rate.kilobits_per_second()); }

ordered_json sample_json(const live::LiveSample& sample) {
  return ordered_json{{"t_s", std::round(to_seconds(sample.at) * 1000.0) / 1000.0},
                      {"connected", sample.connected},
                      {"forecast_kbps", kbps(sample.forecast)},
                      {"peer_forecast_kbps", kbps(sample.peer_forecast)},
                      {"sent_kbps", kbps(sample.sent)},
                      {"received_kbps", kbps(sample.received)},
                      {"window_bytes", sample.window.bytes()},
                      {"rtt_ms", milliseconds(sample.rtt)},
                      {"loss_up", std::round(sample.loss_up * 1e4) / 1e4},
                      {"loss_down", std::round(sample.loss_down * 1e4) / 1e4},
                      {"unheard_ms", milliseconds(sample.unheard)},
                      {"frame_delay_p50_ms", milliseconds(sample.frame_delay_p50)},
                      {"frame_delay_p95_ms", milliseconds(sample.frame_delay_p95)},
                      {"sound_delay_ms", milliseconds(sample.sound_delay)},
                      {"frames_captured", sample.frames_captured},
                      {"frames_coded", sample.frames_coded},
                      {"frames_late", sample.frames_late},
                      {"frames_shown", sample.frames_shown},
                      {"key_frames", sample.key_frames},
                      {"sound_played", sample.sound_played},
                      {"sound_concealed", sample.sound_concealed}};
}

ordered_json member_json(const room::LiveRoomMember& view) {
  const room::OtherMember& member = view.member;
  return {{"number", member.number},
          {"name", member.person.name},
          {"muted", member.person.muted},
          {"camera_off", member.person.camera_off},
          {"shares_screen", member.person.shares_screen},
          {"live", member.is_live},
          {"key_code", member.key_code},
          {"distrusted", member.is_distrusted},
          {"level_dbov", rounded(member.level_dbov)},
          {"frame_delay_p50_ms", milliseconds(view.frame_delay_p50)},
          {"frame_delay_p95_ms", milliseconds(view.frame_delay_p95)},
          {"frames_shown", member.frames_shown},
          {"frames_unopened", member.frames_unopened},
          {"frames_undecodable", member.frames_undecodable},
          {"frames_over_budget", member.frames_over_budget},
          {"key_frames_asked", member.key_frames_asked},
          {"sound_played", member.sound_played},
          {"sound_concealed", member.sound_concealed}};
}

std::string text_of(const ordered_json& line) {
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

double seconds(TimePoint at) { return std::round(to_seconds(at) * 1000.0) / 1000.0; }

const char* describe(room::RoomEvent::Kind kind) {
  switch (kind) {
    case room::RoomEvent::Kind::kWelcome:
      return "welcome";
    case room::RoomEvent::Kind::kPresent:
      return "present";
    case room::RoomEvent::Kind::kJoined:
      return "joined";
    case room::RoomEvent::Kind::kChanged:
      return "changed";
    case room::RoomEvent::Kind::kKeyChanged:
      return "key_changed";
    case room::RoomEvent::Kind::kDistrusted:
      return "distrusted";
    case room::RoomEvent::Kind::kLeft:
      return "left";
    case room::RoomEvent::Kind::kSpeaker:
      return "speaker";
    case room::RoomEvent::Kind::kFarewell:
      return "farewell";
    case room::RoomEvent::Kind::kChat:
      return "chat";
  }
  return "unknown";
}

}  // namespace

std::string sample_line(const live::LiveSample& sample) {
  ordered_json line = sample_json(sample);
  line["code"] = sample.code;
  line["path"] = !sample.connected ? "" : sample.is_relayed ? "relay" : "direct";
  line["port_mapping"] = sample.mapped_by ? mapping::name_of(*sample.mapped_by) : "";
  return text_of(line);
}

std::string event_line(const live::LiveEvent& event) {
  return text_of(
      {{"t_s", seconds(event.at)}, {"event", live::describe(event.kind)}, {"words", event.words}});
}

std::string room_line(const room::LiveRoomSample& sample) {
  ordered_json line = sample_json(sample.session);
  line["room"] = sample.room;
  line["number"] = sample.number;
  line["key_code"] = sample.key_code;
  line["speaker"] = sample.speaker;
  line["video_rate_max_kbps"] =
      sample.video_rate_max ? ordered_json(kbps(*sample.video_rate_max)) : ordered_json(nullptr);
  line["members"] = ordered_json::array();
  for (const room::LiveRoomMember& member : sample.others) {
    line["members"].push_back(member_json(member));
  }
  return text_of(line);
}

std::string room_event_line(TimePoint at, const room::RoomEvent& event, const std::string& name) {
  return text_of({{"t_s", seconds(at)},
                  {"event", describe(event.kind)},
                  {"member", event.member},
                  {"name", name}});
}

std::string frame_line(const app::ShownFrame& frame, std::optional<room::MemberNumber> member) {
  return fmt::format("{},{},{:.6f},{:.6f},{}", member ? std::to_string(*member) : "",
                     frame.frame_id, to_seconds(frame.captured), to_seconds(frame.shown),
                     frame.size.bytes());
}

LineWriter::LineWriter(std::filesystem::path path, std::ostream& out)
    : path_(std::move(path)), out_(out) {
  if (!path_.empty() && path_ != "-") {
    file_.open(path_);
    if (!file_) {
      throw std::runtime_error(path_.string() + ": cannot be written");
    }
  }
}

void LineWriter::write(const std::string& line) {
  if (path_ == "-") {
    print_now(out_, line + "\n");
  } else if (file_.is_open()) {
    file_ << line << std::endl;
  }
}

void LineWriter::finish() {
  if (file_.is_open() && !file_.flush()) {
    throw std::runtime_error(path_.string() + ": could not be written to its end");
  }
}

}  // namespace cress::headless
