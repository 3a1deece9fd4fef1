#include "app/live/session_meter.hh"

#include <algorithm>
#include <utility>

namespace cress::live {

void SessionMeter::handle_connected(TimePoint now) {
  heard_at_ = now;
  frame_delay_ = {};
  sound_delay_ = {};
  least_rtt_.reset();
}

void SessionMeter::handle_drained(TimePoint now, const secure::ConnectionStats& stats) {
  // Fewer than before: another connection, from which nothing has been received yet.
  if (stats.records_opened > std::exchange(opened_, stats.records_opened)) {
    heard_at_ = now;
  }
}

void SessionMeter::handle_endpoint(const session::Endpoint& endpoint) {
  if (const auto rtt = endpoint.stats().smoothed_rtt) {
    least_rtt_ = std::min(least_rtt_.value_or(*rtt), *rtt);
  }
}

void SessionMeter::tick(TimePoint now, const secure::ConnectionStats& stats) {
  sent_.add(now, stats.bytes_sent);
  received_.add(now, stats.bytes_received);
}

void SessionMeter::handle_coded(TimePoint now, const app::CodedVideo& coded) {
  ++counts_.frames_captured;
  counts_.frames_coded += coded.size > DataSize{} ? 1 : 0;
  counts_.key_frames += coded.key_frame ? 1 : 0;
  if (coded.size > DataSize{}) {
    skipped_since_.reset();
  } else if (!skipped_since_) {
    skipped_since_ = now;
  }
}

void SessionMeter::handle_shown(TimePoint now, TimePoint captured) {
  ++counts_.frames_shown;
  frame_delay_.add(now, captured);
}

void SessionMeter::handle_played(const app::PlayedAudio& played) {
  const bool is_speech =
      played.kind == app::SoundKind::kNormal || played.kind == app::SoundKind::kFec;
  const bool is_concealed = played.kind == app::SoundKind::kConcealed;
  counts_.sound_played += is_speech || is_concealed ? 1 : 0;
  counts_.sound_concealed += is_concealed ? 1 : 0;
  if (is_speech) {
    sound_delay_.add(played.played, played.captured);
  }
}

LiveSample SessionMeter::sample(TimePoint now) const {
  LiveSample sample = counts_;
  sample.at = now;
  sample.sent = sent_.rate();
  sample.received = received_.rate();
  sample.unheard = now - heard_at_;
  sample.picture_skipped = skipped_since_ ? now - *skipped_since_ : Duration{};
  sample.frame_delay_p50 = frame_delay_.quantile(now, 0.5, least_delay());
  sample.frame_delay_p95 = frame_delay_.quantile(now, 0.95, least_delay());
  sample.sound_delay = sound_delay_.quantile(now, 0.5, least_delay());
  return sample;
}

void note_endpoint(TimePoint now, const session::Endpoint& endpoint, double loss,
                   LiveSample& sample) {
  sample.connected = true;
  sample.forecast = endpoint.control().forecast_rate().value_or(DataRate{});
  sample.window = endpoint.control().window(now);
  sample.rtt = endpoint.stats().smoothed_rtt;
  sample.loss_up = loss;
}

}  // namespace cress::live
