#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/window.hh"
#include "media/frame/picture.hh"

namespace cress::harness {

/// In which respect a moment was the worst of its run.
enum class MomentKind {
  kFreeze,   ///< the picture displayed longest
  kDelay,    ///< the one that was oldest when it was displayed
  kQuality,  ///< the one least similar to its original
};
/// "freeze", "delay", "quality".
const char* name_of(MomentKind kind);

/// One picture on the viewer's screen.
struct ShownMoment {
  uint32_t frame = 0;
  TimePoint captured{};
  TimePoint shown{};
  TimePoint until{};  ///< when the next one was displayed, or the run ended
  double ssim = 0;    ///< linear
  media::PicturePtr picture;
};

struct WorstMoment {
  MomentKind kind = MomentKind::kFreeze;
  ShownMoment moment;
};

/// Finds the worst moments of one viewer's video, picture by picture; keeps at most four pictures.
/// Of equal ones the first. Threads: none inside; one owner.
class WorstMoments {
 public:
  /// Only pictures first displayed within `window` count.
  explicit WorstMoments(metrics::Window window) : window_(window) {}

  /// The next picture; `until` is not known yet. `shown` never goes back.
  void note(ShownMoment moment);
  /// The last picture stays until the window's end. Empty if nothing was displayed in the window.
  std::vector<WorstMoment> finish();

 private:
  void judge(TimePoint until);

  metrics::Window window_;
  std::optional<ShownMoment> on_screen_;
  std::optional<ShownMoment> longest_;
  std::optional<ShownMoment> oldest_;
  std::optional<ShownMoment> least_alike_;
};

}  // namespace cress::harness
