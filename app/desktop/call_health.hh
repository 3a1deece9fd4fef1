#pragma once

#include <deque>
#include <string>

#include "app/live/live_call.hh"
#include "app/ui/model/history.hh"
#include "app/ui/model/link_health.hh"
#include "app/ui/model/plain_words.hh"
#include "transport/base/time.hh"

namespace cress::desktop {

/// The part of a call's state that is not in the samples.
struct CallCircumstances {
  std::string peer_name{};
  bool muted = false;  ///< and not audible now
  bool camera_off = false;
  bool camera_lost = false;
  bool microphone_lost = false;
  bool speaker_lost = false;
  bool nobody_looks =
      false;  ///< no other member requests our video: the link's capacity does not matter
};

/// Turns the samples of a call into the contents of its window: numbers, graphs, a sentence. One
/// per call. Threads: none inside; one owner; sample times never go back.
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
