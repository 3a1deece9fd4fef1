#include "media/frame/scale_picture.hh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr int kWeightSum = 256;

// Which source pixels make each target pixel: `taps` of them from `first` on, their weights in a
// row of `weights`.
struct Axis {
  int taps = 0;
  std::vector<int> first;
  std::vector<uint16_t> weights;

  std::span<const uint16_t> weights_of(int target) const {
    return std::span{weights}.subspan(static_cast<size_t>(target) * static_cast<size_t>(taps),
                                      static_cast<size_t>(taps));
  }
};

// Adds the weights of one target pixel, in units of which `whole` make kWeightSum. Rounding is
// of running sums, so that they come out at kWeightSum exactly.
void add_weights(Axis& axis, int first, int source_size, std::span<const int64_t> parts,
                 int64_t whole) {
  // The window of taps stays inside the source; taps outside of it move to the edge's pixel.
  const int start = std::clamp(first, 0, std::max(0, source_size - axis.taps));
  std::vector<uint16_t> row(static_cast<size_t>(axis.taps));
  int64_t sum = 0;
  int64_t given = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    sum += parts[i];
    const int64_t until = (sum * kWeightSum + whole / 2) / whole;
    const int at = std::clamp(first + static_cast<int>(i), 0, source_size - 1) - start;
    row[static_cast<size_t>(std::clamp(at, 0, axis.taps - 1))] +=
        static_cast<uint16_t>(until - given);
    given = until;
  }
  axis.first.push_back(start);
  axis.weights.insert(axis.weights.end(), row.begin(), row.end());
}

// Lengths are counted in units of 1 / (2 · target) of a source pixel, which makes every edge whole.
Axis make_axis(int source, int target) {
  Axis axis;
  std::vector<int64_t> parts;
  const int64_t pixel = int64_t{2} * target;
  const bool shrinks = source >= target;
  axis.taps = std::min(source, shrinks ? (source + target - 1) / target + 1 : 2);
  for (int i = 0; i < target; ++i) {
    // Shrinking: the area [begin, end) under the pixel. Growing: between two centres.
    const int64_t step = int64_t{2} * source;
    const int64_t begin = shrinks ? i * step : i * step + source - target;
    const int64_t end = shrinks ? begin + step : begin + pixel;
    const int64_t first = begin >= 0 ? begin / pixel : -1;
    parts.clear();
    for (int64_t at = first; at * pixel < end; ++at) {
      parts.push_back(std::min(end, (at + 1) * pixel) - std::max(begin, at * pixel));
    }
    add_weights(axis, static_cast<int>(first), source, parts, end - begin);
  }
  return axis;
}

struct Plane {
  const uint8_t* data;
  int width;
  int height;
};

// The weighted sum of a few rows; at most 255 · kWeightSum, which fits 16 bits.
void blend_rows(const Plane& from, const Axis& rows, int target, std::vector<uint16_t>& sums) {
  std::ranges::fill(sums, uint16_t{0});
  const std::span<const uint16_t> weights = rows.weights_of(target);
  const size_t width = static_cast<size_t>(from.width);
  for (size_t i = 0; i < weights.size(); ++i) {
    const unsigned weight = weights[i];
    if (weight == 0) {
      continue;
    }
    const uint8_t* row =
        from.data + (static_cast<size_t>(rows.first[static_cast<size_t>(target)]) + i) * width;
    uint16_t* out = sums.data();
    for (size_t x = 0; x < width; ++x) {
      out[x] = static_cast<uint16_t>(out[x] + row[x] * weight);
    }
  }
}

template <int kTaps>
void blend_columns(const std::vector<uint16_t>& sums, const Axis& columns, uint8_t* out) {
  const size_t taps = kTaps > 0 ? static_cast<size_t>(kTaps) : static_cast<size_t>(columns.taps);
  const uint16_t* weights = columns.weights.data();
  for (const int first : columns.first) {
    const uint16_t* from = sums.data() + first;
    uint32_t sum = kWeightSum * kWeightSum / 2;
    for (size_t i = 0; i < taps; ++i) {
      sum += uint32_t{from[i]} * weights[i];
    }
    *out++ = static_cast<uint8_t>(sum / (kWeightSum * kWeightSum));
    weights += taps;
  }
}

void scale_plane(const Plane& from, uint8_t* to, int width, int height) {
  const Axis columns = make_axis(from.width, width);
  const Axis rows = make_axis(from.height, height);
  std::vector<uint16_t> sums(static_cast<size_t>(from.width));
  for (int row = 0; row < height; ++row, to += width) {
    blend_rows(from, rows, row, sums);
    switch (columns.taps) {
      case 2:
        blend_columns<2>(sums, columns, to);
        break;
      case 3:
        blend_columns<3>(sums, columns, to);
        break;
      default:
        blend_columns<0>(sums, columns, to);
        break;
    }
  }
}

}  // namespace

Picture scale_picture(const Picture& picture, int width, int height) {
  check(picture.width > 0 && picture.height > 0, "scale_picture: empty picture");
  Picture scaled = make_picture(width, height);
  const int chroma_width = picture.chroma_width();
  const int chroma_height = picture.chroma_height();
  scale_plane({picture.y(), picture.width, picture.height}, scaled.y(), width, height);
  scale_plane({picture.u(), chroma_width, chroma_height}, scaled.u(), scaled.chroma_width(),
              scaled.chroma_height());
  scale_plane({picture.v(), chroma_width, chroma_height}, scaled.v(), scaled.chroma_width(),
              scaled.chroma_height());
  return scaled;
}

PicturePtr at_size(PicturePtr picture, int width, int height) {
  if (picture->width == width && picture->height == height) {
    return picture;
  }
  return std::make_shared<const Picture>(scale_picture(*picture, width, height));
}

}  // namespace cress::media
