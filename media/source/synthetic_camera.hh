#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "media/source/sprite.hh"
#include "media/source/video_source.hh"

namespace cress::media {

inline constexpr int kSyntheticCameraSideMax = 4096;

struct SyntheticCameraOptions {
  /// 16..kSyntheticCameraSideMax.
  int width = 640;
  int height = 360;
  FrameRate frame_rate{};
  /// Another seed gives another wall, other movements, other noise.
  uint64_t seed = 1;
};

/// A camera that needs no hardware: a person who talks, blinks and sways in front of a textured
/// wall that pans slowly, through a sensor with noise. It costs a video encoder about as much as a
/// real talking head. A picture depends only on the options and its index; any index may be
/// requested at any time, with the same result on any machine. Threads: none inside; one owner.
class SyntheticCamera final : public VideoSource {
 public:
  explicit SyntheticCamera(const SyntheticCameraOptions& options = {});

  int width() const override { return options_.width; }
  int height() const override { return options_.height; }
  FrameRate frame_rate() const override { return options_.frame_rate; }
  PicturePtr picture(uint64_t index) override;
  std::string description() const override;

 private:
  // The positions of all parts at one instant; lengths in luma pixels.
  struct Pose {
    double pan = 0;
    double torso_x = 0;
    double torso_y = 0;
    double head_x = 0;
    double head_y = 0;
    double gaze = 0;   // -1..1, sideways
    double blink = 0;  // 0 open .. 1 closed
    double mouth = 0;  // 0 closed .. 1 wide open
  };
  // The wall, wider than the picture by the pan's range, at four horizontal phases of a pixel: a
  // slow pan is then a copy of rows.
  struct Wall {
    int luma_width = 0;
    int chroma_width = 0;
    std::array<std::vector<uint8_t>, 4> y, u, v;
  };

  double moving(uint64_t channel, double seconds, double period) const;
  Pose pose_at(double seconds) const;
  Colour wall_colour(double x, double y) const;
  void paint_wall();
  void paint_head();
  void paint_torso();
  void make_noise();
  void copy_wall(Picture& picture, double pan) const;
  void draw_face(Picture& picture, const Pose& pose) const;
  void add_noise(Picture& picture, uint64_t index) const;

  SyntheticCameraOptions options_;
  double unit_;  // the picture's height: all lengths scale with it
  int pan_range_;
  Wall wall_;
  Sprite head_;
  Sprite torso_;
  int noise_width_ = 0;
  std::vector<int8_t> noise_;
};

}  // namespace cress::media
