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
  int width = 0;        ///< at which the encoder works; pictures are scaled to it and back
  int height = 0;
  int cpu_used = -8;
  uint64_t frames = 300;
  uint64_t skip = 0;  ///< pictures at the start that are coded but not scored; < frames
  uint64_t seed = 1;

  /// The encoder as reports show it: "quantizer:32" tells its quantizer too.
  std::string encoder_label() const;
};

/// How many pictures later an encoder hears that its frame was decoded: a round trip of 100 ms.
inline constexpr uint32_t kDecodedDelayFrames = 3;

/// One picture of the clip.
struct FrameRow {
  uint32_t frame = 0;
  std::optional<int64_t> budget_bytes;  ///< none: nobody asked
  int64_t size_bytes = 0;               ///< 0: skipped
  bool key_frame = false;
  int quantizer = 0;
  int attempts = 0;  ///< 0: the encoder was not asked, for there was no window
  int width = 0;     ///< of the decoded picture
  int height = 0;
  // Of the frame against its own original; none when skipped.
  std::optional<double> psnr_db;
  std::optional<double> ssim;
  // Of what the viewer sees at this picture's time: the newest shown frame, before it a grey
  // screen.
  double psnr_held_db = 0;
  double ssim_held = 0;

  bool coded() const { return size_bytes > 0; }
  friend bool operator==(const FrameRow&, const FrameRow&) = default;
};

/// Size / budget over the coded frames that had a budget; quantiles are the smallest value that is
/// not exceeded by at least that share of frames.
struct FrameFit {
  double over_share = 0;  ///< of frames larger than their budget
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
  friend bool operator==(const FrameFit&, const FrameFit&) = default;
};

/// What is scored of one cell: pictures skip..frames-1.
struct CellResult {
  uint64_t frames = 0;   ///< scored pictures
  uint64_t skipped = 0;  ///< of them not coded, for want of a window or by the encoder's choice
  std::optional<FrameFit> fit;
  std::optional<double> use_median;  ///< of size / budget over all with a budget > 0, skipped: 0
  std::optional<double> use_total;   ///< bytes / budget bytes
  std::optional<double> psnr_db;     ///< mean over coded frames, in dB
  std::optional<double> ssim_db;     ///< of the mean SSIM over coded frames
  double psnr_held_db = 0;           ///< mean over all pictures
  double ssim_held_db = 0;
  double bitrate_kbps = 0;
  std::optional<double> budget_kbps;
  std::optional<double> quantizer_mean;  ///< over coded frames
  std::optional<double> attempts_mean;   ///< over pictures the encoder was asked for
  double scaled_share = 0;  ///< of coded frames that the encoder made smaller than its size
  int64_t bytes = 0;
  uint64_t key_frames = 0;
  friend bool operator==(const CellResult&, const CellResult&) = default;
};

/// The result of a cell's rows; of `spec` the size and what is skipped count. Pure.
CellResult summarize(const std::vector<FrameRow>& rows, const CellSpec& spec,
                     media::FrameRate rate);

struct CellOutput {
  CellSpec spec;
  media::FrameRate frame_rate{};
  CellResult result;
  std::vector<FrameRow> frames;
  /// Measured, so of this machine and moment: each asked picture's encode.
  std::vector<Duration> encode_times;
};

/// The cell's surroundings; all but the budgets may be left out.
struct CellContext {
  FrameBudgets budgets;
  /// The time now, for encode_times: handed in, for nothing below `main` reads a clock.
  std::function<Duration()> stopwatch = [] { return Duration{}; };
  std::function<void(double share)> progress = [](double) {};
  std::optional<std::filesystem::path> ivf;  ///< coded frames go here
  std::optional<std::filesystem::path> y4m;  ///< what was on the screen, at the clip's size
};

/// Codes, decodes and scores. `budgets` is empty or has one entry a picture.
/// Errors: std::runtime_error, also when a frame does not decode.
CellOutput run_cell(const CellSpec& spec, media::VideoSource& video, const CellContext& context);

}  // namespace cress::encoder_bench
