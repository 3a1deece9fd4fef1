#pragma once

#include "app/ui/kit/canvas.hh"
#include "app/ui/kit/geometry.hh"
#include "app/ui/kit/theme.hh"

namespace cress::ui {

enum class Icon {
  kLogo,
  kMicrophone,
  kMicrophoneOff,
  kCamera,
  kCameraOff,
  kSpeaker,
  kScreen,
  kScreenOff,
  kDevices,
  kPanel,
  kFullScreen,
  kLeaveFullScreen,
  kHangUp,
  kCopy,
  kCheck,
  kClose,
  kChevron,
  kSun,
  kMoon,
  kWarning,
  kPerson,
  kPin,
  kChat,
  kSave,
};
inline constexpr int kIcons = static_cast<int>(Icon::kSave) + 1;

/// A line icon, `size` points wide and high around `center`. `behind`: the colour below it, for the
/// gap along a stroke that crosses the icon out.
void draw_icon(Canvas& canvas, Icon icon, Point center, float size, Color color, Color behind);

}  // namespace cress::ui
