#include "app/desktop/call_health.hh"

#include <algorithm>

namespace cress::desktop {
namespace {

// The period over which the share of late frames is counted.
constexpr Duration kLateWindow = 3s;
// Fewer frames give no information about the computer.
constexpr uint64_t kPicturesMin = 15;
// Louder than a room, quieter than a person who talks into a microphone.
constexpr double kVoiceDbfs = -38;

}  // namespace

double CallHealth::late_pictures(const live::LiveSample& sample) {
  recent_.push_back(sample);
  while (sample.at - recent_.front().at > kLateWindow) {
    recent_.pop_front();
  }
  const live::LiveSample& before = recent_.front();
  if (sample.frames_late < before.frames_late || sample.frames_captured < before.frames_captured) {
    recent_ = {sample};  // after a change of the camera counting restarts
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
  // While no frame arrives the last delay is meaningless: the silence's length counts.
  health.frame_delay = sample.frame_delay_p50.value_or(Duration{});
  health.loss_up = sample.loss_up;
  health.loss_down = sample.loss_down;
  health.outage = sample.unheard;
  const bool sends_pictures = !circumstances.camera_off && !circumstances.nobody_looks;
  health.picture_skipped = sends_pictures ? sample.picture_skipped : Duration{};
  health.muted = circumstances.muted;
  // Twice in a row, so that a short noise is not taken for a voice.
  health.speaking = std::min(sample.microphone_dbfs, last_microphone_dbfs_) > kVoiceDbfs;
  last_microphone_dbfs_ = sample.microphone_dbfs;
  health.camera_lost = circumstances.camera_lost && !circumstances.camera_off;
  health.microphone_lost = circumstances.microphone_lost;
  health.speaker_lost = circumstances.speaker_lost;
  health.late_pictures = late_pictures(sample);

  // Nothing is known of a link at first, or of the other end's if it is an older program or a
  // relay; an outage is reported as such. The speed of a link without traffic is not reported.
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
