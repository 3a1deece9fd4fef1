#include "app/desktop/call_health.hh"

#include <algorithm>

namespace cress::desktop {
namespace {

// Over how long it is counted which share of the pictures came too late.
constexpr Duration kLateWindow = 3s;
// Fewer pictures than these say nothing about the computer.
constexpr uint64_t kPicturesMin = 15;
// Louder than a room, quieter than somebody who talks into a microphone.
constexpr double kVoiceDbfs = -38;

}  // namespace

double CallHealth::late_pictures(const live::LiveSample& sample) {
  recent_.push_back(sample);
  while (sample.at - recent_.front().at > kLateWindow) {
    recent_.pop_front();
  }
  const live::LiveSample& before = recent_.front();
  if (sample.frames_late < before.frames_late || sample.frames_captured < before.frames_captured) {
    recent_ = {sample};  // another camera counts anew
    return 0;
  }
  const uint64_t late = sample.frames_late - before.frames_late;
  const uint64_t all = late + sample.frames_captured - before.frames_captured;
  return all < kPicturesMin ? 0 : static_cast<double>(late) / static_cast<double>(all);
}

void CallHealth::add(const live::LiveSample& sample, const CallCircumstances& circumstances) {
  ui::LinkHealth& health = health_;
  health.peer_name = circumstances.peer_name;
  health.uplink_forecast = sample.forecast;
  health.downlink_forecast = sample.peer_forecast;
  health.sent = sample.sent;
  health.received = sample.received;
  health.window = sample.window;
  health.one_way_delay = sample.rtt.value_or(Duration{}) / 2;
  // While no picture comes the last delay says nothing: that of the silence does.
  health.frame_delay = sample.frame_delay_p50.value_or(Duration{});
  health.loss_up = sample.loss_up;
  health.loss_down = sample.loss_down;
  health.outage = sample.unheard;
  const bool sends_pictures = !circumstances.camera_off && !circumstances.nobody_looks;
  health.picture_skipped = sends_pictures ? sample.picture_skipped : Duration{};
  health.muted = circumstances.muted;
  // Twice in a row, so that a cup put down is no voice.
  health.speaking = std::min(sample.microphone_dbfs, last_microphone_dbfs_) > kVoiceDbfs;
  last_microphone_dbfs_ = sample.microphone_dbfs;
  health.camera_lost = circumstances.camera_lost && !circumstances.camera_off;
  health.microphone_lost = circumstances.microphone_lost;
  health.speaker_lost = circumstances.speaker_lost;
  health.late_pictures = late_pictures(sample);

  // Nothing is known of a link at first, or of the other end's if it is an older program or a
  // relay; silence is told as such. How fast a link is on which nothing goes is no news.
  ui::LinkHealth told = health;
  const ui::LinkHealth unknown;
  if (told.uplink_forecast == DataRate{} || circumstances.nobody_looks) {
    told.uplink_forecast = unknown.uplink_forecast;
  }
  if (told.downlink_forecast == DataRate{}) {
    told.downlink_forecast = unknown.downlink_forecast;
  }
  words_.update(sample.at, told);
  history_.add({.at = sample.at,
                .forecast = sample.forecast,
                .sent = sample.sent,
                .window = sample.window,
                .one_way_delay = health.one_way_delay,
                .frame_delay = sample.frame_delay_p95.value_or(Duration{}),
                .loss = std::max(sample.loss_up, sample.loss_down)});
}

}  // namespace cress::desktop
