#include "eval/metrics/picture_quality.hh"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/base/check.hh"

namespace cress::metrics {

namespace {

constexpr int kBlock = 4;            // windows start every 4 pixels and are 2 × 2 blocks
constexpr int kWindow = 2 * kBlock;  // 8
constexpr int kPixels = kWindow * kWindow;
// (K L)² with the standard's K1 = .01, K2 = .03 and L = 255, times n²: the sums below are not
// divided by the number of pixels n.
constexpr double kC1 = (0.01 * 255) * (0.01 * 255) * kPixels * kPixels;
constexpr double kC2 = (0.03 * 255) * (0.03 * 255) * kPixels * kPixels;

/// Sums of one row of 4×4 blocks (or of intermediate 4×1 columns), one array per sum. All fit into
/// 32 bits, also multiplied by 64 as below: 64 · 128 · 255² < 2^30.
struct BlockRow {
  std::vector<int32_t> x, y, squares, products;
  explicit BlockRow(size_t n) : x(n), y(n), squares(n), products(n) {}
};

/// Column sums over four rows of `width` pixels.
void sum_columns(const uint8_t* a, const uint8_t* b, size_t width, BlockRow& out) {
  int32_t* const x = out.x.data();
  int32_t* const y = out.y.data();
  int32_t* const squares = out.squares.data();
  int32_t* const products = out.products.data();
  for (size_t i = 0; i < width; ++i) {
    int32_t sum_x = 0;
    int32_t sum_y = 0;
    int32_t sum_squares = 0;
    int32_t sum_products = 0;
    for (size_t row = 0; row < kBlock; ++row) {
      const auto p = static_cast<int32_t>(a[row * width + i]);
      const auto q = static_cast<int32_t>(b[row * width + i]);
      sum_x += p;
      sum_y += q;
      sum_squares += p * p + q * q;
      sum_products += p * q;
    }
    x[i] = sum_x;
    y[i] = sum_y;
    squares[i] = sum_squares;
    products[i] = sum_products;
  }
}

void sum_fours(std::span<const int32_t> columns, std::span<int32_t> blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = columns[4 * i] + columns[4 * i + 1] + columns[4 * i + 2] + columns[4 * i + 3];
  }
}

void sum_blocks(const uint8_t* a, const uint8_t* b, size_t width, BlockRow& columns,
                BlockRow& blocks) {
  sum_columns(a, b, width, columns);
  sum_fours(columns.x, blocks.x);
  sum_fours(columns.y, blocks.y);
  sum_fours(columns.squares, blocks.squares);
  sum_fours(columns.products, blocks.products);
}

/// SSIM of each window that two rows of blocks make, into `out` (blocks - 1 values).
void window_ssim(const BlockRow& top, const BlockRow& bottom, std::span<double> out) {
  const auto window_sum = [](const std::vector<int32_t>& t, const std::vector<int32_t>& b,
                             size_t i) { return t[i] + t[i + 1] + b[i] + b[i + 1]; };
  for (size_t i = 0; i < out.size(); ++i) {
    const int32_t x = window_sum(top.x, bottom.x, i);
    const int32_t y = window_sum(top.y, bottom.y, i);
    const int32_t squares = window_sum(top.squares, bottom.squares, i);
    const int32_t products = window_sum(top.products, bottom.products, i);
    const int32_t means_product = x * y;
    const int32_t means_squares = x * x + y * y;
    const int32_t covariance = kPixels * products - means_product;
    const int32_t variances = kPixels * squares - means_squares;
    const double numerator = (2.0 * means_product + kC1) * (2.0 * covariance + kC2);
    const double denominator = (means_squares + kC1) * (variances + kC2);
    out[i] = numerator / denominator;
  }
}

double ssim_same_size(const media::Picture& shown, const media::Picture& original) {
  check(original.width >= kWindow && original.height >= kWindow, "ssim: picture under 8x8");
  const auto width = static_cast<size_t>(original.width);
  const size_t blocks = width / kBlock;
  const size_t block_rows = static_cast<size_t>(original.height) / kBlock;
  BlockRow columns(width);
  BlockRow above(blocks);
  BlockRow below(blocks);
  std::vector<double> windows(blocks - 1);
  double sum = 0.0;
  for (size_t row = 0; row < block_rows; ++row) {
    const size_t offset = row * kBlock * width;
    sum_blocks(shown.y() + offset, original.y() + offset, width, columns, below);
    if (row > 0) {
      window_ssim(above, below, windows);
      for (const double value : windows) {
        sum += value;  // one after the other: the order is part of the result
      }
    }
    std::swap(above, below);
  }
  return sum / (static_cast<double>(windows.size()) * static_cast<double>(block_rows - 1));
}

double psnr_db_same_size(const media::Picture& shown, const media::Picture& original) {
  const auto width = static_cast<size_t>(original.width);
  int64_t squares = 0;
  for (size_t row = 0; row < static_cast<size_t>(original.height); ++row) {
    const uint8_t* const a = shown.y() + row * width;
    const uint8_t* const b = original.y() + row * width;
    int32_t row_squares = 0;  // at most kPictureSideMax · 255² < 2^31
    for (size_t i = 0; i < width; ++i) {
      const int32_t difference = static_cast<int32_t>(a[i]) - static_cast<int32_t>(b[i]);
      row_squares += difference * difference;
    }
    squares += row_squares;
  }
  if (squares == 0) {
    return kPsnrDbMax;
  }
  const double mean = static_cast<double>(squares) / static_cast<double>(original.luma_size());
  return std::min(10.0 * std::log10(255.0 * 255.0 / mean), kPsnrDbMax);
}

/// Position of an output pixel between two input pixels: (256 - weight) · first + weight · second.
struct Tap {
  int32_t first = 0;
  int32_t second = 0;
  int32_t weight = 0;
};

std::vector<Tap> taps(int from, int to) {
  std::vector<Tap> result(static_cast<size_t>(to));
  for (int i = 0; i < to; ++i) {
    // Centre of pixel i: (i + 1/2) · from / to - 1/2, in 1/256 pixels, inside the picture.
    const int64_t centre = (int64_t{256} * (2 * i + 1) * from / to - 256) / 2;
    const int64_t inside = std::clamp<int64_t>(centre, 0, int64_t{256} * (from - 1));
    const auto first = static_cast<int32_t>(inside / 256);
    result[static_cast<size_t>(i)] = {.first = first,
                                      .second = std::min(first + 1, from - 1),
                                      .weight = static_cast<int32_t>(inside % 256)};
  }
  return result;
}

/// One input row, stretched; 256 times the pixel's value.
void stretch(const uint8_t* row, std::span<const Tap> across, std::vector<int32_t>& out) {
  for (size_t i = 0; i < across.size(); ++i) {
    const Tap& tap = across[i];
    out[i] = row[tap.first] * (256 - tap.weight) + row[tap.second] * tap.weight;
  }
}

bool same_size(const media::Picture& a, const media::Picture& b) {
  return a.width == b.width && a.height == b.height;
}

/// `shown` itself, or `storage` filled with it at the original's size.
const media::Picture& fitted(const media::Picture& shown, const media::Picture& original,
                             std::optional<media::Picture>& storage) {
  if (same_size(shown, original)) {
    return shown;
  }
  return storage.emplace(scaled_luma(shown, original.width, original.height));
}

}  // namespace

media::Picture scaled_luma(const media::Picture& picture, int width, int height) {
  media::Picture scaled = media::make_picture(width, height);
  const std::vector<Tap> across = taps(picture.width, width);
  const std::vector<Tap> down = taps(picture.height, height);
  // The two stretched input rows between which the last output row was, by input row number.
  std::array<std::vector<int32_t>, 2> rows{std::vector<int32_t>(across.size()),
                                           std::vector<int32_t>(across.size())};
  std::array<int32_t, 2> row_numbers{-1, -1};
  for (size_t line = 0; line < down.size(); ++line) {
    const Tap& tap = down[line];
    for (const int32_t wanted : {tap.first, tap.second}) {
      const auto slot = static_cast<size_t>(wanted % 2);
      if (row_numbers[slot] != wanted) {
        stretch(picture.y() + static_cast<size_t>(wanted) * static_cast<size_t>(picture.width),
                across, rows[slot]);
        row_numbers[slot] = wanted;
      }
    }
    const int32_t* const above = rows[static_cast<size_t>(tap.first % 2)].data();
    const int32_t* const below = rows[static_cast<size_t>(tap.second % 2)].data();
    uint8_t* const out = scaled.y() + line * across.size();
    for (size_t i = 0; i < across.size(); ++i) {
      const int32_t mixed = above[i] * (256 - tap.weight) + below[i] * tap.weight;
      out[i] = static_cast<uint8_t>((mixed + 32'768) >> 16);
    }
  }
  return scaled;
}

double ssim(const media::Picture& shown, const media::Picture& original) {
  std::optional<media::Picture> storage;
  return ssim_same_size(fitted(shown, original, storage), original);
}

double psnr_db(const media::Picture& shown, const media::Picture& original) {
  std::optional<media::Picture> storage;
  return psnr_db_same_size(fitted(shown, original, storage), original);
}

PictureQuality picture_quality(const media::Picture& shown, const media::Picture& original) {
  std::optional<media::Picture> storage;
  const media::Picture& picture = fitted(shown, original, storage);
  return {.ssim = ssim_same_size(picture, original),
          .psnr_db = psnr_db_same_size(picture, original)};
}

double ssim_to_db(double ssim) {
  const double distance = std::max(1.0 - ssim, 0.0);
  return std::min(-10.0 * std::log10(distance), kSsimDbMax);  // infinite for equal pictures
}

}  // namespace cress::metrics
