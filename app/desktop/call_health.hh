#pragma once

#include <deque>
#include <string>

#include "app/live/live_call.hh"
#include "app/ui/model/history.hh"
#include "app/ui/model/link_health.hh"
#include "app/ui/model/plain_words.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// What of a call's state the samples do not say.
struct CallCircumstances {
  std::string peer_name{};
  bool muted = false;  ///< and not heard for now
  bool camera_off = false;
  bool camera_lost = false;
  bool microphone_lost = false;
  bool speaker_lost = false;
  bool nobody_looks = false;  ///< at pictures of ours: what the link could carry does not matter
};

/// Turns the samples of a call into what its window shows: numbers, graphs, a sentence. One per
/// call. Threads: none inside; one owner; sample times never go back.
class CallHealth {
 public:
  /// A few times a second while connected.
  void add(const live::LiveSample& sample, const CallCircumstances& circumstances);

  const ui::LinkHealth& health() const { return health_; }
  const ui::History& history() const { return history_; }
  const ui::StatusLine& status() const { return words_.line(); }

 private:
  double late_pictures(const live::LiveSample& sample);

  std::deque<live::LiveSample> recent_;  // of kLateWindow
  double last_microphone_dbfs_ = media::kSilenceDbfs;
  ui::LinkHealth health_;
  ui::History history_;
  ui::PlainWords words_;
};

}  // namespace cress::desktop
