#pragma once

#include <cstdint>
#include <deque>

#include "transport/base/time.hh"

namespace cress::schemes {

/// Width and height of a picture at one of the scaler's steps.
struct GccPictureSize {
  int width = 0;
  int height = 0;
  friend bool operator==(GccPictureSize, GccPictureSize) = default;
};

/// libwebrtc's thresholds for VP8, in the quantizer index of the bit stream (0..127).
struct GccQualityScalerOptions {
  double low = 29;
  double high = 95;
  /// This percentage of pictures dropped by the encoder counts as a high quantizer.
  double dropped_percent = 60;
  Duration period = 2s;        ///< between checks
  Duration later_period = 5s;  ///< between checks once the size was reduced
  int64_t frames_min = 60;     ///< needed before a decision
  size_t frames_max = 150;     ///< over which means are taken
  /// No step below this many pixels: 320 × 180.
  int64_t pixels_min = int64_t{320} * 180;
};

/// Resolution by the encoder's quantizer, like libwebrtc's quality scaler: if it is too coarse for
/// too long, the picture gets smaller by a step (3/4, 1/2, 3/8, 1/4); if it is fine for long, the
/// picture grows again. Threads: none inside; one owner.
class GccQualityScaler {
 public:
  GccQualityScaler(TimePoint start, GccPictureSize full,
                   const GccQualityScalerOptions& options = {});

  /// One picture handed to the encoder; `quantizer`: libvpx's scale of 0..63.
  void handle_coded(TimePoint now, int quantizer);
  void handle_dropped(TimePoint now);
  /// The size at which to encode the next picture: even sides unless it is the full size.
  GccPictureSize size() const;

 private:
  struct Seen {
    int index = 0;  // quantizer index 0..127
    bool dropped = false;
  };
  void add(TimePoint now, Seen seen);
  void look(TimePoint now);
  void go_to(int step);
  GccPictureSize size_at(int step) const;

  GccPictureSize full_;
  GccQualityScalerOptions options_;
  int step_ = 0;
  bool went_down_ = false;
  TimePoint next_look_;
  std::deque<Seen> seen_;
};

/// The bit stream's quantizer index (RFC 6386, §9.6; 0..127) of libvpx's 0..63. Exact from 18 up;
/// below, where there is no threshold, up to 5 too high.
int gcc_quantizer_index(int quantizer);

}  // namespace cress::schemes
