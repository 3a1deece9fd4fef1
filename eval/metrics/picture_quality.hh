#pragma once

#include "media/frame/picture.hh"

/// The similarity of a displayed picture to its original, in luma. A displayed picture of another
/// size is first scaled to the original's (bilinear, pixel centres aligned, integer arithmetic), as
/// a viewer's window does. Sums are integers and every floating-point step has a fixed order: equal
/// pictures give equal bits on every machine. Threads: pure functions.
namespace cress::metrics {

/// PSNR of equal pictures would be infinite; values above this are reported as this.
inline constexpr double kPsnrDbMax = 100.0;
/// The same for SSIM in dB.
inline constexpr double kSsimDbMax = 100.0;

struct PictureQuality {
  double ssim = 0.0;     ///< -1..1; 1 for equal pictures
  double psnr_db = 0.0;  ///< 0..kPsnrDbMax
  friend bool operator==(const PictureQuality&, const PictureQuality&) = default;
};

/// Structural similarity (Wang, Bovik, Sheikh, Simoncelli, 2004; K1 = .01, K2 = .03, L = 255): the
/// mean over all 8×8 windows that start at multiples of 4 and lie inside the picture, unweighted,
/// variances over 64 pixels. `original` is at least 8×8.
double ssim(const media::Picture& shown, const media::Picture& original);

/// 10 log10(255² / mean squared error), at most kPsnrDbMax.
double psnr_db(const media::Picture& shown, const media::Picture& original);

/// Both at once; scales only once.
PictureQuality picture_quality(const media::Picture& shown, const media::Picture& original);

/// -10 log10(1 - ssim), at most kSsimDbMax.
double ssim_to_db(double ssim);

/// `picture` with its luma scaled to width × height as described above; chroma is grey.
media::Picture scaled_luma(const media::Picture& picture, int width, int height);

}  // namespace cress::metrics
