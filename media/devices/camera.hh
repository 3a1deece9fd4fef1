#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "media/devices/live_device.hh"
#include "media/frame/picture.hh"
#include "media/gst/gst_file_source.hh"
#include "media/source/video_source.hh"

namespace cress::media {

/// How pictures of another shape are fitted to the wanted size; the aspect ratio is always kept.
enum class PictureFit {
  kBorders,  ///< exactly the wanted size, with black borders
  kInside,   ///< as large as fits into the wanted size, never larger than the camera gives
};

struct LiveCameraOptions {
  /// Which camera:
  /// - the id of a Device, or "default": a real one;
  /// - "test": moving colour bars with a running clock;
  /// - "screen": the whole X screen;
  /// - "portal": the screen or window that the user picks in the desktop's dialog (Wayland);
  /// - "file:PATH": anything GStreamer decodes, at its own rate, in a loop;
  /// - "gst:DESCRIPTION": the output of any GStreamer pipeline ("gst:v4l2src device=/dev/video7 !
  ///   jpegdec").
  std::string id = "default";
  /// Rounded down to even; 2..kPictureSideMax.
  PictureSize size{640, 360};
  PictureFit fit = PictureFit::kBorders;
  /// A faster source is thinned out to this rate.
  FrameRate rate{};
  /// Without a picture for this long the camera counts as lost.
  Duration patience = 6s;
};

struct CapturedPicture {
  PicturePtr picture;
  /// When it was taken, on the call's clock.
  TimePoint captured{};
};

/// A camera in a call: pictures in I420 and BT.601 colours, only the newest is kept. It is opened
/// by a thread of its own: the constructor returns at once, and a retry does not delay the call.
/// Errors: the constructor throws std::runtime_error for an id that can never work (no such file, a
/// plug-in that is not installed); all later errors are DeviceEvents, after which `retry` may be
/// called, for example when a DeviceWatch reports the camera again. Threads: GStreamer's and one of
/// its own inside; one owner. Needs a GstRuntime.
class LiveCamera {
 public:
  LiveCamera(const LiveCameraOptions& options, DeviceClock clock);
  ~LiveCamera();

  /// Readable while a picture or an event waits.
  int ready_fd() const;
  /// The newest picture not yet returned.
  std::optional<CapturedPicture> poll_picture();
  std::optional<DeviceEvent> poll_event();
  /// Reopens it, whatever its state. Returns at once.
  void retry();

  /// Pictures replaced by newer ones before they were taken.
  uint64_t dropped() const;

 private:
  class Device;
  std::unique_ptr<Device> device_;
};

/// The largest even size of the source's shape that is neither larger than `wanted` nor than the
/// source; at least 2 × 2. `pixel_width / pixel_height`: the shape of one source pixel; all > 0.
PictureSize fitted_size(PictureSize source, int pixel_width, int pixel_height, PictureSize wanted);

/// Thins a stream of pictures out to a rate, by their times; keeps all pictures of a stream that is
/// not faster, even if its times jitter by up to a fifth of the interval either way.
class RateLimit {
 public:
  explicit RateLimit(FrameRate rate) : interval_(rate.time_of(1)) {}
  /// `at` may jump anywhere (a file that restarts).
  bool keeps(Duration at);

 private:
  Duration interval_;
  std::optional<Duration> due_;
};

}  // namespace cress::media
