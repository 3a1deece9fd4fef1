#pragma once

#include "media/frame/picture.hh"

/// How close a shown picture is to its original, in luma.
/// A shown picture of another size than the original's is scaled to it first (bilinear, pixel
/// centres aligned, whole-number arithmetic): that is what a viewer's window does to it.
/// Sums are of whole numbers and every floating-point step has a fixed order: equal pictures give
/// equal bits on every machine.
/// Threads: pure functions.
namespace cress::metrics {

/// PSNR of equal pictures would be infinite; it and anything above is told as this.
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
