#include "eval/encoder/bench.hh"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

#include "eval/metrics/picture_quality.hh"
#include "media/codec/vp8_decoder.hh"
#include "media/frame/ivf.hh"
#include "media/frame/scale_picture.hh"
#include "media/source/y4m.hh"
#include "transport/base/check.hh"

namespace cress::encoder_bench {
namespace {

/// Nearest rank: the smallest value that at least `share` of the values do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

/// Sum and count; the mean, if there is one.
struct Mean {
  double sum = 0;
  uint64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  std::optional<double> value() const {
    return count == 0 ? std::nullopt : std::optional{sum / static_cast<double>(count)};
  }
};

std::optional<FrameFit> fit_of(std::vector<double> ratios) {
  if (ratios.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(ratios);
  const auto over = std::ranges::count_if(ratios, [](double ratio) { return ratio > 1; });
  return FrameFit{.over_share = static_cast<double>(over) / static_cast<double>(ratios.size()),
                  .p50 = quantile(ratios, 0.5),
                  .p95 = quantile(ratios, 0.95),
                  .p99 = quantile(ratios, 0.99),
                  .max = ratios.back()};
}

/// What rows add up to.
struct Sums {
  CellResult so_far;  // its counts
  std::vector<double> ratios;
  std::vector<double> uses;
  Mean psnr, ssim, psnr_held, ssim_held, quantizer, attempts;
  int64_t budget_bytes = 0;
  bool has_budget = false;
  uint64_t smaller = 0;

  void add(const FrameRow& row, int width) {
    ++so_far.frames;
    so_far.skipped += row.coded() ? 0 : 1;
    psnr_held.add(row.psnr_held_db);
    ssim_held.add(row.ssim_held);
    if (row.attempts > 0) {
      attempts.add(row.attempts);
    }
    has_budget = has_budget || row.budget_bytes.has_value();
    budget_bytes += row.budget_bytes.value_or(0);
    if (row.budget_bytes.value_or(0) > 0) {
      uses.push_back(static_cast<double>(row.size_bytes) / static_cast<double>(*row.budget_bytes));
      if (row.coded()) {
        ratios.push_back(uses.back());
      }
    }
    if (row.coded()) {
      psnr.add(row.psnr_db.value_or(0));
      ssim.add(row.ssim.value_or(0));
      quantizer.add(row.quantizer);
      so_far.bytes += row.size_bytes;
      so_far.key_frames += row.key_frame ? 1 : 0;
      smaller += row.width < width ? 1 : 0;
    }
  }

  CellResult result(Duration length) {
    const auto kbps = [&](int64_t bytes) {
      return static_cast<double>(bytes) * 8e-3 / to_seconds(length);
    };
    CellResult result = so_far;
    result.fit = fit_of(ratios);
    std::ranges::sort(uses);
    result.use_median = uses.empty() ? std::nullopt : std::optional{quantile(uses, 0.5)};
    result.psnr_db = psnr.value();
    result.ssim_db =
        ssim.count == 0 ? std::nullopt : std::optional{metrics::ssim_to_db(*ssim.value())};
    result.psnr_held_db = *psnr_held.value();
    result.ssim_held_db = metrics::ssim_to_db(*ssim_held.value());
    result.bitrate_kbps = kbps(result.bytes);
    result.quantizer_mean = quantizer.value();
    result.attempts_mean = attempts.value();
    result.scaled_share =
        psnr.count == 0 ? 0 : static_cast<double>(smaller) / static_cast<double>(psnr.count);
    if (has_budget) {
      result.budget_kbps = kbps(budget_bytes);
    }
    if (budget_bytes > 0) {
      result.use_total = static_cast<double>(result.bytes) / static_cast<double>(budget_bytes);
    }
    return result;
  }
};

/// The frames of one cell on their way from the clip to the score.
class Cell {
 public:
  Cell(const CellSpec& spec, media::VideoSource& video, const CellContext& context)
      : spec_(spec),
        video_(video),
        context_(context),
        encoder_(make_encoder(spec.encoder, {.width = spec.width,
                                             .height = spec.height,
                                             .frame_rate = video.frame_rate(),
                                             .cpu_used = spec.cpu_used,
                                             .quantizer = spec.quantizer})),
        screen_(std::make_shared<const media::Picture>(
            media::make_picture(video.width(), video.height()))) {
    const media::FrameRate rate = video.frame_rate();
    if (context.ivf) {
      ivf_.emplace(*context.ivf,
                   media::IvfHeader{.width = spec.width,
                                    .height = spec.height,
                                    .timebase_numerator = narrow<uint32_t>(rate.denominator),
                                    .timebase_denominator = narrow<uint32_t>(rate.numerator)});
    }
    if (context.y4m) {
      y4m_.emplace(
          *context.y4m,
          media::Y4mHeader{.width = video.width(), .height = video.height(), .frame_rate = rate});
    }
  }

  FrameRow step(uint32_t number) {
    FrameRow row;
    row.frame = number;
    const media::PicturePtr original = video_.picture(number);
    if (!context_.budgets.empty()) {
      row.budget_bytes = budget_of(number);
    }
    report_decoded(number);
    if (row.budget_bytes != 0) {
      code(original, row);
    }
    saved_bytes_ = std::max<int64_t>(0, row.budget_bytes.value_or(0) - row.size_bytes);
    const metrics::PictureQuality seen = metrics::picture_quality(*screen_, *original);
    row.psnr_held_db = seen.psnr_db;
    row.ssim_held = seen.ssim;
    if (row.coded()) {
      row.psnr_db = seen.psnr_db;
      row.ssim = seen.ssim;
    }
    if (y4m_) {
      y4m_->write(*media::at_size(screen_, video_.width(), video_.height()));
    }
    return row;
  }

  void finish() {
    if (ivf_) {
      ivf_->finish();
    }
    if (y4m_) {
      y4m_->finish();
    }
  }

  std::vector<Duration> take_times() { return std::move(times_); }

 private:
  [[noreturn]] void fail(const FrameRow& row, const std::string& what) const {
    throw std::runtime_error("encoder " + spec_.encoder_label() + ", frame " +
                             std::to_string(row.frame) + ": " + what);
  }

  int64_t budget_of(uint32_t number) const {
    const int64_t share = context_.budgets[number].bytes();
    if (!is_window_budget(spec_.budget)) {
      return share;
    }
    const media::FrameRate rate = video_.frame_rate();
    const Duration interval = rate.time_of(number + 1) - rate.time_of(number);
    const auto most = static_cast<int64_t>(static_cast<double>(share) *
                                           to_seconds(kBudgetLookAhead) / to_seconds(interval));
    return std::min(share + saved_bytes_, std::max(share, most));
  }

  void code(const media::PicturePtr& original, FrameRow& row) {
    const media::PicturePtr picture = media::at_size(original, spec_.width, spec_.height);
    const auto budget =
        row.budget_bytes ? std::optional{DataSize{*row.budget_bytes}} : std::nullopt;
    const TimePoint now = kTimeZero + video_.frame_rate().time_of(row.frame);
    const Duration before = context_.stopwatch();
    const BenchFrame frame = encoder_->encode(now, row.frame, picture, budget);
    times_.push_back(context_.stopwatch() - before);
    row.attempts = frame.attempts;
    if (frame.data.empty()) {
      return;
    }
    row.size_bytes = static_cast<int64_t>(frame.data.size());
    row.key_frame = frame.key_frame;
    row.quantizer = frame.quantizer;
    if (row.size_bytes > media::kEncodedFrameMax.bytes()) {
      fail(row, std::to_string(row.size_bytes) + " bytes, more than a frame may have; choose a " +
                    "coarser quantizer or a smaller --size");
    }
    const auto decoded = decoder_.decode(frame.data);
    if (!decoded || *decoded == nullptr) {
      fail(row, decoded ? "decodes to nothing" : media::describe(decoded.error()));
    }
    screen_ = *decoded;
    row.width = screen_->width;
    row.height = screen_->height;
    underway_.push_back(row.frame);
    if (ivf_) {
      ivf_->write(row.frame, frame.data);
    }
  }

  void report_decoded(uint32_t number) {
    while (!underway_.empty() && underway_.front() + kDecodedDelayFrames <= number) {
      encoder_->handle_decoded(underway_.front());
      underway_.pop_front();
    }
  }

  const CellSpec& spec_;
  media::VideoSource& video_;
  const CellContext& context_;
  std::unique_ptr<BenchEncoder> encoder_;
  media::Vp8Decoder decoder_;
  media::PicturePtr screen_;
  int64_t saved_bytes_ = 0;        // of the budget of the picture before
  std::deque<uint32_t> underway_;  // at most kDecodedDelayFrames
  std::optional<media::IvfWriter> ivf_;
  std::optional<media::Y4mWriter> y4m_;
  std::vector<Duration> times_;
};

}  // namespace

std::string CellSpec::encoder_label() const {
  return encoder == "quantizer" ? encoder + ":" + std::to_string(quantizer) : encoder;
}

CellResult summarize(const std::vector<FrameRow>& rows, const CellSpec& spec,
                     media::FrameRate rate) {
  check(spec.skip < rows.size(), "summarize: nothing to score");
  Sums sums;
  for (size_t i = spec.skip; i < rows.size(); ++i) {
    sums.add(rows[i], spec.width);
  }
  return sums.result(rate.time_of(rows.size()) - rate.time_of(spec.skip));
}

CellOutput run_cell(const CellSpec& spec, media::VideoSource& video, const CellContext& context) {
  check(context.budgets.empty() || context.budgets.size() >= spec.frames,
        "run_cell: fewer budgets than pictures");
  CellOutput output;
  output.spec = spec;
  output.frame_rate = video.frame_rate();
  Cell cell{spec, video, context};
  for (uint64_t i = 0; i < spec.frames; ++i) {
    output.frames.push_back(cell.step(narrow<uint32_t>(i)));
    context.progress(static_cast<double>(i + 1) / static_cast<double>(spec.frames));
  }
  cell.finish();
  output.encode_times = cell.take_times();
  output.result = summarize(output.frames, spec, output.frame_rate);
  return output;
}

}  // namespace cress::encoder_bench
