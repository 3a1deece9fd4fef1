#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eval/encoder/bench_encoder.hh"
#include "eval/encoder/budget.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"

namespace cress::encoder_bench {

/// One cell of the benchmark: one encoder over one clip and one list of budgets.
struct CellSpec {
  std::string video;    ///< for reports
  std::string encoder;  ///< as make_encoder names it
  int quantizer = 32;   ///< of the encoder `quantizer`
  std::string budget;   ///< as make_budgets names it
  int width = 0;        ///< the encoder's picture size; pictures are scaled to it and back
  int height = 0;
  int cpu_used = -8;
  uint64_t frames = 300;
  uint64_t skip = 0;  ///< pictures at the start that are encoded but not scored; < frames
  uint64_t seed = 1;

  /// The encoder's name in reports: "quantizer:32" includes its quantizer.
  std::string encoder_label() const;
};

/// After this many pictures an encoder is notified that its frame was decoded: a round trip of 100
/// ms.
inline constexpr uint32_t kDecodedDelayFrames = 3;

/// One picture of the clip.
struct FrameRow {
  uint32_t frame = 0;
  std::optional<int64_t> budget_bytes;  ///< empty: no budget
  int64_t size_bytes = 0;               ///< 0: skipped
  bool key_frame = false;
  int quantizer = 0;
  int attempts = 0;  ///< 0: the encoder was not called, because there was no window
  int width = 0;     ///< of the decoded picture
  int height = 0;
  // The frame compared with its own original; empty if skipped.
  std::optional<double> psnr_db;
  std::optional<double> ssim;
  // The picture visible at this picture's time: the newest displayed frame, before the first one a
  // grey screen.
  double psnr_held_db = 0;
  double ssim_held = 0;

  bool coded() const { return size_bytes > 0; }
  friend bool operator==(const FrameRow&, const FrameRow&) = default;
};

/// Size / budget over the encoded frames that had a budget; a quantile is the smallest value that
/// at least that share of frames does not exceed.
struct FrameFit {
  double over_share = 0;  ///< of frames larger than their budget
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  friend bool operator==(const FrameFit&, const FrameFit&) = default;
};

/// The scores of one cell: pictures skip..frames-1.
struct CellResult {
  uint64_t frames = 0;   ///< scored pictures
  uint64_t skipped = 0;  ///< of them not encoded, without a window or by the encoder's choice
  std::optional<FrameFit> fit;
  std::optional<double>
      use_median;  ///< of size / budget over all with a budget > 0; a skipped one counts as 0
  std::optional<double> use_total;  ///< bytes / budget bytes
  std::optional<double> psnr_db;    ///< mean over encoded frames, in dB
  std::optional<double> ssim_db;    ///< from the mean SSIM over encoded frames
  double psnr_held_db = 0;          ///< mean over all pictures
  double ssim_held_db = 0;
  double bitrate_kbps = 0;
  std::optional<double> budget_kbps;
  std::optional<double> quantizer_mean;  ///< over encoded frames
  std::optional<double> attempts_mean;   ///< over pictures for which the encoder was called
  double scaled_share = 0;  ///< of encoded frames that the encoder made smaller than its size
  int64_t bytes = 0;
  uint64_t key_frames = 0;
  friend bool operator==(const CellResult&, const CellResult&) = default;
};

/// The result of a cell's rows; `spec` provides the size and the number skipped. Pure.
CellResult summarize(const std::vector<FrameRow>& rows, const CellSpec& spec,
                     media::FrameRate rate);

struct CellOutput {
  CellSpec spec;
  media::FrameRate frame_rate{};
  CellResult result;
  std::vector<FrameRow> frames;
  /// Measured, so they depend on machine and time: the encode time of each picture.
  std::vector<Duration> encode_times;
};

/// The context of a cell; everything except the budgets is optional.
struct CellContext {
  FrameBudgets budgets;
  /// The current time, for encode_times: passed in, because code below `main` does not read a
  /// clock.
  std::function<Duration()> stopwatch = [] { return Duration{}; };
  std::function<void(double share)> progress = [](double) {};
  std::optional<std::filesystem::path> ivf;  ///< encoded frames are written here
  std::optional<std::filesystem::path>
      y4m;  ///< the displayed video is written here, at the clip's size
};

/// Encodes, decodes and scores. `budgets` is empty or has one entry per picture. Errors:
/// std::runtime_error, also if a frame does not decode.
CellOutput run_cell(const CellSpec& spec, media::VideoSource& video, const CellContext& context);

}  // namespace cress::encoder_bench
