#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/metrics/window.hh"
#include "media/frame/picture.hh"

namespace cress::harness {

/// In which way a moment was the worst of its run.
enum class MomentKind {
  kFreeze,   ///< the picture that stood longest
  kDelay,    ///< the one that was oldest when it appeared
  kQuality,  ///< the one least like its original
};
/// "freeze", "delay", "quality".
const char* name_of(MomentKind kind);

/// One picture on the viewer's screen.
struct ShownMoment {
  uint32_t frame = 0;
  TimePoint captured{};
  TimePoint shown{};
  TimePoint until{};  ///< when the next one came, or the run was over
  double ssim = 0;    ///< linear
  media::PicturePtr picture;
};

struct WorstMoment {
  MomentKind kind = MomentKind::kFreeze;
  ShownMoment moment;
};

/// The worst moments among what one viewer sees, picture by picture; keeps four pictures at most.
/// Of equals the first. Threads: none inside; one owner.
class WorstMoments {
 public:
  /// Only pictures that come on the screen within `window` count.
  explicit WorstMoments(metrics::Window window) : window_(window) {}

  /// The next picture; `until` is not known yet. `shown` never goes back.
  void note(ShownMoment moment);
  /// The last picture stands until the window's end. Empty when nothing was shown in the window.
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
