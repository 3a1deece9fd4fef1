#include "media/source/synthetic_camera.hh"

#include <algorithm>
#include <cmath>
#include <memory>

#include "media/source/value_noise.hh"
#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

// Streams of random numbers, by purpose.
enum Channel : uint64_t {
  kWallChannel,
  kHairChannel,
  kSkinChannel,
  kShirtChannel,
  kNoiseChannel,
  kNoiseOffsetChannel,
  kPanChannel,
  kSwayChannel,
  kNodChannel,
  kJitterChannel,
  kBreathChannel,
  kTalkChannel,
  kMouthChannel,
  kGazeChannel,
  kBlinkChannel,
};

constexpr Colour kSkin{168, 110, 152};
constexpr Colour kHair{48, 124, 133};
constexpr Colour kShirt{86, 148, 116};
constexpr Colour kLips{122, 113, 163};
constexpr Colour kMouthInside{42, 124, 142};
constexpr Colour kTeeth{205, 126, 130};
constexpr Colour kEyeWhite{205, 128, 128};
constexpr Colour kIris{78, 134, 122};
constexpr Colour kPupil{22, 128, 128};
constexpr Colour kBrow{66, 122, 136};

// Sizes as shares of the picture's height.
constexpr double kHeadRadiusX = 0.160;
constexpr double kHeadRadiusY = 0.225;
constexpr double kHeadCentreY = 0.43;
constexpr double kSpriteHalfWidth = 0.25;
constexpr double kSpriteAbove = 0.33;
constexpr double kSpriteBelow = 0.40;
constexpr double kTorsoHalfWidth = 0.62;
constexpr double kTorsoTop = 0.66;
constexpr double kEyeOffsetX = 0.062;
constexpr double kEyeOffsetY = -0.030;
constexpr double kMouthOffsetY = 0.118;

// Standard deviation of the sensor's noise: an indoor webcam after its own processing.
constexpr double kNoiseLuma = 1.8;
constexpr int kNoiseMargin = 128;  // as many different offsets in each direction

int even(double length) { return std::max(2, static_cast<int>(std::floor(length / 2 + 0.5)) * 2); }

int to_sixteenths(double pixels) { return static_cast<int>(std::floor(pixels * kSubpixels + 0.5)); }

uint8_t to_byte(double value) {
  return static_cast<uint8_t>(std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
}

// Rows of `width` + 1 values, moved left by `shift` (0..1) of a column.
std::vector<uint8_t> shifted(const std::vector<double>& rows, int width, double shift) {
  const auto stride = static_cast<size_t>(width) + 1;
  std::vector<uint8_t> bytes;
  bytes.reserve(rows.size());
  for (size_t row = 0; row < rows.size(); row += stride) {
    for (size_t column = row; column + 1 < row + stride; ++column) {
      bytes.push_back(to_byte(rows[column] * (1.0 - shift) + rows[column + 1] * shift));
    }
  }
  return bytes;
}

Colour shaded(const Colour& colour, double light) { return {colour.y + light, colour.u, colour.v}; }

void add_noise_row(uint8_t* to, const int8_t* noise, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(std::clamp(to[i] + noise[i], 0, 255));
  }
}

void add_half_noise_row(uint8_t* to, const int8_t* noise, int count) {
  for (int i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(std::clamp(to[i] + noise[i] / 2, 0, 255));
  }
}

}  // namespace

SyntheticCamera::SyntheticCamera(const SyntheticCameraOptions& options)
    : options_(options),
      unit_(options.height),
      pan_range_(even(0.12 * options.height) + 4),
      head_(even(2 * kSpriteHalfWidth * unit_), even((kSpriteAbove + kSpriteBelow) * unit_)),
      torso_(even(2 * kTorsoHalfWidth * unit_), even((1.1 - kTorsoTop) * unit_)) {
  check(options.width >= 16 && options.height >= 16 && options.width <= kSyntheticCameraSideMax &&
            options.height <= kSyntheticCameraSideMax,
        "SyntheticCamera: size out of range");
  check(options.frame_rate.numerator > 0 && options.frame_rate.denominator > 0,
        "SyntheticCamera: frame rate out of range");
  paint_wall();
  paint_head();
  paint_torso();
  make_noise();
}

std::string SyntheticCamera::description() const {
  return "synthetic camera, seed " + std::to_string(options_.seed);
}

PicturePtr SyntheticCamera::picture(uint64_t index) {
  auto picture = std::make_shared<Picture>(make_picture(width(), height()));
  const Pose pose = pose_at(to_seconds(options_.frame_rate.time_of(index)));
  copy_wall(*picture, pose.pan);
  head_.draw(*picture, to_sixteenths(pose.head_x - kSpriteHalfWidth * unit_),
             to_sixteenths(pose.head_y - kSpriteAbove * unit_));
  torso_.draw(*picture, to_sixteenths(pose.torso_x - kTorsoHalfWidth * unit_),
              to_sixteenths(pose.torso_y));
  draw_face(*picture, pose);
  add_noise(*picture, index);
  return picture;
}

// A smooth random motion in [-1, 1) that changes direction about once per period.
double SyntheticCamera::moving(uint64_t channel, double seconds, double period) const {
  return value_noise(mix_hash(options_.seed, channel, 0), seconds / period);
}

SyntheticCamera::Pose SyntheticCamera::pose_at(double seconds) const {
  Pose pose;
  pose.pan = (moving(kPanChannel, seconds, 4.0) + 1.0) / 2 * (pan_range_ - 4);
  const double sway = moving(kSwayChannel, seconds, 1.1);
  const double nod = moving(kNodChannel, seconds, 0.8);
  const double jitter = moving(kJitterChannel, seconds, 0.3);
  const double breath = moving(kBreathChannel, seconds, 1.8);
  pose.torso_x = options_.width / 2.0 + 0.050 * unit_ * sway;
  pose.torso_y = (kTorsoTop + 0.006 * breath) * unit_;
  pose.head_x = options_.width / 2.0 + (0.085 * sway + 0.010 * jitter) * unit_;
  pose.head_y = (kHeadCentreY + 0.030 * nod + 0.004 * breath) * unit_;

  // Speech: phrases of a second or two, syllables of a tenth.
  const double phrase = std::clamp(moving(kTalkChannel, seconds, 1.2) * 3.0 + 1.6, 0.0, 1.0);
  const double syllable = moving(kMouthChannel, seconds, 0.09);
  pose.mouth = phrase * std::clamp(0.45 + 0.75 * syllable, 0.0, 1.0);

  // The eyes jump to a new place about once a second and stay there.
  const auto glance = static_cast<uint64_t>(seconds / 1.1);
  pose.gaze = 0.7 * lattice_value(mix_hash(options_.seed, kGazeChannel, 0),
                                  static_cast<int64_t>(glance), 0);
  // One blink of a fifth of a second every three seconds.
  const auto slot = static_cast<int64_t>(seconds / 3.0);
  const double at = 1.4 + 1.2 * lattice_value(mix_hash(options_.seed, kBlinkChannel, 0), slot, 0);
  const double since = seconds - 3.0 * static_cast<double>(slot) - at;
  pose.blink = std::clamp(1.6 - std::abs(since - 0.1) * 16.0, 0.0, 1.0);
  return pose;
}

Colour SyntheticCamera::wall_colour(double x, double y) const {
  const uint64_t seed = mix_hash(options_.seed, kWallChannel, 0);
  const double s = 360.0 / unit_;  // the texture is drawn for 360 rows
  const double px = x * s;
  const double py = y * s;
  double luma = 142 + 16 * value_noise(seed, px / 170, py / 170) +
                9 * value_noise(seed + 1, px / 47, py / 47) +
                7 * value_noise(seed + 2, px / 15, py / 15) +
                6.0 * value_noise(seed + 3, px / 3, py / 3) - py * 0.05;
  Colour colour{luma, 123 + 3 * value_noise(seed + 4, px / 90, py / 90), 131};
  // A picture on the wall, a shelf with books, the edge of a door.
  const double softness = 0.7;
  const auto inside = [&](double left, double top, double right, double bottom) {
    return std::clamp(std::min({px - left, right - px, py - top, bottom - py}) / softness, 0.0,
                      1.0);
  };
  Coverage pixel{colour, 1};
  if (const double frame = inside(60, 42, 168, 128); frame > 0) {
    pixel.lay({62, 122, 136}, frame);
    pixel.lay({120 + 45 * value_noise(seed + 5, px / 13, py / 13),
               132 + 14 * value_noise(seed + 6, px / 21, py / 21),
               122 + 12 * value_noise(seed + 7, px / 17, py / 17)},
              inside(68, 50, 160, 120));
  }
  pixel.lay({88, 118, 140}, inside(470, 150, 640, 158));
  if (const auto book = static_cast<int64_t>((px - 474) / 13); px > 474 && book < 12 && py < 151) {
    const double left = 474 + 13.0 * static_cast<double>(book);
    const double height = 42 + 16 * lattice_value(seed + 8, book, 0);
    const double cover = 6 * value_noise(seed + 9, px / 3, py / 20);
    pixel.lay(
        {105 + 50 * lattice_value(seed + 8, book, 1) + cover,
         128 + 18 * lattice_value(seed + 8, book, 2), 128 + 18 * lattice_value(seed + 8, book, 3)},
        inside(left, 150 - height, left + 11, 150));
  }
  pixel.lay({luma - 34, 122, 133}, inside(18, -10, 23, 500));
  return pixel.colour;
}

void SyntheticCamera::paint_wall() {
  wall_.luma_width = options_.width + pan_range_;
  wall_.chroma_width = (options_.width + 1) / 2 + pan_range_ / 2;
  std::vector<double> luma;  // one column wider: the phases lie between columns
  for (int row = 0; row < options_.height; ++row) {
    for (int column = 0; column <= wall_.luma_width; ++column) {
      luma.push_back(wall_colour(column, row).y);
    }
  }
  std::vector<double> blue;
  std::vector<double> red;
  for (int row = 0; row < (options_.height + 1) / 2; ++row) {
    for (int column = 0; column <= wall_.chroma_width; ++column) {
      const Colour colour = wall_colour(2 * column + 0.5, 2 * row + 0.5);
      blue.push_back(colour.u);
      red.push_back(colour.v);
    }
  }
  for (size_t phase = 0; phase < wall_.y.size(); ++phase) {
    const double shift = static_cast<double>(phase) / static_cast<double>(wall_.y.size());
    wall_.y[phase] = shifted(luma, wall_.luma_width, shift);
    wall_.u[phase] = shifted(blue, wall_.chroma_width, shift);
    wall_.v[phase] = shifted(red, wall_.chroma_width, shift);
  }
}

void SyntheticCamera::paint_head() {
  const uint64_t skin_seed = mix_hash(options_.seed, kSkinChannel, 0);
  const uint64_t hair_seed = mix_hash(options_.seed, kHairChannel, 0);
  const int sprite_width = even(2 * kSpriteHalfWidth * unit_);
  const int sprite_height = even((kSpriteAbove + kSpriteBelow) * unit_);
  const double blur = 1.0 / unit_;
  for (int row = 0; row < sprite_height; ++row) {
    for (int column = 0; column < sprite_width; ++column) {
      // Relative to the head's centre, as shares of the picture's height.
      const double x = column / unit_ - kSpriteHalfWidth;
      const double y = row / unit_ - kSpriteAbove;
      const auto in = [&](double cx, double cy, double rx, double ry, double soft = 1.0) {
        return ellipse_coverage({cx, cy, rx, ry}, x, y, soft * blur);
      };
      const double grain = 6.0 * value_noise(skin_seed, x * 100, y * 100) +
                           3.0 * value_noise(skin_seed + 1, x * 28, y * 28);
      const double strands = 15 * value_noise(hair_seed, x * 130 + 10 * y, y * 14) +
                             9 * value_noise(hair_seed + 1, x * 40, y * 22);
      const double light = -95 * x - 26 * y - 420 * x * x;
      Coverage pixel;
      pixel.lay(shaded(kHair, strands - 8), in(0, -0.035, 0.196, 0.240));  // hair behind
      // The neck widens towards the shoulders, so that the collar always shows skin.
      const double neck_half = 0.078 + std::max(0.0, y - 0.25) * 0.6;
      const double neck = std::clamp((neck_half - std::abs(x)) / blur, 0.0, 1.0) *
                          std::clamp((y - 0.12) / blur, 0.0, 1.0) *
                          std::clamp((0.385 - y) / 0.02, 0.0, 1.0);
      pixel.lay(shaded(kSkin, light * 0.6 - 30 + grain), neck);
      pixel.lay(shaded(kSkin, light * 0.5 - 14 + grain), in(-0.163, 0.005, 0.022, 0.046));
      pixel.lay(shaded(kSkin, light * 0.5 - 10 + grain), in(0.163, 0.005, 0.022, 0.046));
      pixel.lay(shaded(kSkin, light + grain), in(0, 0, kHeadRadiusX, kHeadRadiusY));
      // Fringe: the upper part of the hair, cut off along a slanted wavy line.
      const double fringe =
          -0.098 - 0.25 * x * (x > 0 ? 1 : -0.6) + 0.010 * value_noise(hair_seed + 2, x * 60);
      pixel.lay(shaded(kHair, strands),
                in(0, -0.035, 0.192, 0.236) * std::clamp((fringe - y) / (4 * blur), 0.0, 1.0));
      for (const double side : {-1.0, 1.0}) {
        pixel.lay(shaded(kBrow, strands * 0.5),
                  0.85 * in(side * kEyeOffsetX, -0.066 - 0.012 * side * x, 0.038, 0.0085, 3));
        pixel.lay(shaded(kSkin, light - 22), 0.5 * in(side * kEyeOffsetX, -0.026, 0.046, 0.026, 8));
        pixel.lay({kSkin.y + light - 4, 106, 160},
                  0.35 * in(side * 0.090, 0.062, 0.036, 0.026, 16));
      }
      pixel.lay(shaded(kSkin, light - 24), 0.6 * in(0.016, 0.035, 0.011, 0.048, 8));
      pixel.lay(shaded(kSkin, light + 16), 0.7 * in(-0.006, 0.030, 0.010, 0.045, 6));
      pixel.lay(shaded(kSkin, light - 38), 0.7 * in(-0.015, 0.076, 0.009, 0.005, 3));
      pixel.lay(shaded(kSkin, light - 38), 0.7 * in(0.017, 0.076, 0.009, 0.005, 3));
      head_.set(column, row, pixel);
    }
  }
  head_.seal();
}

void SyntheticCamera::paint_torso() {
  const uint64_t seed = mix_hash(options_.seed, kShirtChannel, 0);
  const int sprite_width = even(2 * kTorsoHalfWidth * unit_);
  const int sprite_height = even((1.1 - kTorsoTop) * unit_);
  const double blur = 1.0 / unit_;
  for (int row = 0; row < sprite_height; ++row) {
    for (int column = 0; column < sprite_width; ++column) {
      const double x = column / unit_ - kTorsoHalfWidth;
      const double y = row / unit_;
      const double weave = 13 * value_noise(seed, x * 110, y * 110) +
                           14 * value_noise(seed + 1, x * 9 + 4 * y, y * 6) +
                           8 * value_noise(seed + 2, x * 30, y * 9);
      Coverage pixel;
      const Colour cloth = shaded(kShirt, weave - 45 * x - 20 * y);
      pixel.lay(cloth, std::max(ellipse_coverage({0, 0.36, 0.46, 0.30}, x, y, blur),
                                ellipse_coverage({0, 0.20, 0.20, 0.15}, x, y, blur)));
      const double collar = ellipse_coverage({0, 0.035, 0.090, 0.085}, x, y, blur);
      pixel.lay(shaded(cloth, 22), collar * pixel.alpha);
      pixel.alpha *= 1.0 - ellipse_coverage({0, 0.025, 0.080, 0.085}, x, y, blur);
      torso_.set(column, row, pixel);
    }
  }
  torso_.seal();
}

void SyntheticCamera::make_noise() {
  // The sum of eight uniform bytes is close enough to normal, and exact on every machine.
  constexpr double kSumMean = 8 * 127.5;
  constexpr double kSumDeviation = 209.02;  // sqrt(8 · (256² − 1) / 12)
  noise_width_ = options_.width + kNoiseMargin;
  const size_t size =
      static_cast<size_t>(noise_width_) * static_cast<size_t>(options_.height + kNoiseMargin);
  noise_.resize(size);
  Rng rng = Rng{options_.seed}.fork(kNoiseChannel);
  for (int8_t& value : noise_) {
    uint64_t bits = rng.next();
    double sum = 0;
    for (int i = 0; i < 8; ++i) {
      sum += static_cast<double>(bits & 0xFFU);
      bits >>= 8U;
    }
    value = static_cast<int8_t>(std::floor((sum - kSumMean) / kSumDeviation * kNoiseLuma + 0.5));
  }
}

void SyntheticCamera::copy_wall(Picture& picture, double pan) const {
  const auto quarters = static_cast<size_t>(pan * 4);
  const auto copy = [](const std::vector<uint8_t>& from, int from_width, size_t offset, uint8_t* to,
                       int to_width, int rows) {
    for (int row = 0; row < rows; ++row) {
      std::copy_n(from.data() + static_cast<ptrdiff_t>(row) * from_width + offset, to_width,
                  to + static_cast<ptrdiff_t>(row) * to_width);
    }
  };
  copy(wall_.y[quarters % 4], wall_.luma_width, quarters / 4, picture.y(), picture.width,
       picture.height);
  const size_t halves = quarters / 2;
  copy(wall_.u[halves % 4], wall_.chroma_width, halves / 4, picture.u(), picture.chroma_width(),
       picture.chroma_height());
  copy(wall_.v[halves % 4], wall_.chroma_width, halves / 4, picture.v(), picture.chroma_width(),
       picture.chroma_height());
}

void SyntheticCamera::draw_face(Picture& picture, const Pose& pose) const {
  const auto ellipse = [&](double x, double y, double rx, double ry, const Colour& colour) {
    fill_ellipse(picture,
                 {pose.head_x + x * unit_, pose.head_y + y * unit_, rx * unit_, ry * unit_},
                 colour);
  };
  const double open = 0.017 * (1.0 - pose.blink);
  for (const double side : {-1.0, 1.0}) {
    const double x = side * kEyeOffsetX;
    if (open < 0.004) {
      ellipse(x, kEyeOffsetY + 0.006, 0.031, 0.004, kBrow);
      continue;
    }
    ellipse(x, kEyeOffsetY, 0.032, open + 0.003, kBrow);  // lashes around the white
    ellipse(x, kEyeOffsetY + 0.001, 0.029, open, kEyeWhite);
    ellipse(x + 0.012 * pose.gaze, kEyeOffsetY, 0.0135, std::min(0.0135, open), kIris);
    ellipse(x + 0.012 * pose.gaze, kEyeOffsetY, 0.0065, std::min(0.0065, open), kPupil);
    ellipse(x + 0.012 * pose.gaze - 0.004, kEyeOffsetY - 0.004, 0.003, 0.003, kTeeth);
  }
  const double mouth_width = 0.056 - 0.012 * pose.mouth;
  const double mouth_open = 0.036 * pose.mouth;
  ellipse(0, kMouthOffsetY + mouth_open * 0.4, mouth_width, 0.012 + mouth_open, kLips);
  ellipse(0, kMouthOffsetY + mouth_open * 0.4, mouth_width * 0.86, 0.002 + mouth_open * 0.8,
          kMouthInside);
  if (pose.mouth > 0.3) {
    ellipse(0, kMouthOffsetY - mouth_open * 0.12, mouth_width * 0.62, mouth_open * 0.22, kTeeth);
  }
}

void SyntheticCamera::add_noise(Picture& picture, uint64_t index) const {
  const auto offset = [&](uint64_t plane) {
    const uint64_t chance = mix_hash(mix_hash(options_.seed, kNoiseOffsetChannel, 0), index, plane);
    return noise_.data() +
           static_cast<ptrdiff_t>(chance % kNoiseMargin) * static_cast<ptrdiff_t>(noise_width_) +
           static_cast<ptrdiff_t>(chance / kNoiseMargin % kNoiseMargin);
  };
  const int8_t* luma = offset(0);
  for (int row = 0; row < picture.height; ++row) {
    add_noise_row(picture.y() + static_cast<ptrdiff_t>(row) * picture.width,
                  luma + static_cast<ptrdiff_t>(row) * noise_width_, picture.width);
  }
  const int8_t* blue = offset(1);
  const int8_t* red = offset(2);
  for (int row = 0; row < picture.chroma_height(); ++row) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(row) * noise_width_;
    const ptrdiff_t to = static_cast<ptrdiff_t>(row) * picture.chroma_width();
    add_half_noise_row(picture.u() + to, blue + at, picture.chroma_width());
    add_half_noise_row(picture.v() + to, red + at, picture.chroma_width());
  }
}

}  // namespace cress::media
