#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/encoder/bench.hh"

namespace cress::encoder_bench {

/// How many more bits than the anchor an encoder needs for the same quality, over all --rates.
struct BdRate {
  std::string video;
  int width = 0;
  int height = 0;
  int cpu_used = 0;
  std::string encoder;
  std::string anchor;
  std::optional<double> psnr_percent;  ///< by psnr_held_db
  std::optional<double> ssim_percent;  ///< by ssim_held_db
};

/// The curve of every encoder over its cells compared with `anchor`'s of the same clip, size and
/// effort, in the order of the cells; the quantizer's cells form one curve.
std::vector<BdRate> bd_rates(const std::vector<CellOutput>& cells, const std::string& anchor);

/// Lists, one object or row per cell (frames.csv: per picture), identified by its number. An
/// unknown value is null or an empty field. All but timing_json depend only on the inputs.
std::string results_json(const std::vector<CellOutput>& cells);
std::string results_csv(const std::vector<CellOutput>& cells);
std::string frames_csv(const std::vector<CellOutput>& cells);
std::string bd_json(const std::vector<BdRate>& rates);
/// Milliseconds per picture's encode, all attempts together.
std::string timing_json(const std::vector<CellOutput>& cells);
/// Tables for a terminal.
std::string results_table(const std::vector<CellOutput>& cells);
std::string bd_table(const std::vector<BdRate>& rates);

/// Cell `number`'s name in file names: "02-cbr-constant-600-640x360-cpu8".
std::string file_name(size_t number, const CellSpec& spec);

/// The output folder of one command. Each finished cell is written at once and completely, so that
/// a later failure loses nothing. Errors: std::runtime_error naming the file.
class OutputFolder {
 public:
  /// Creates the folder if needed, checks that it is writable, and removes results of an earlier
  /// command that would contradict the new ones.
  explicit OutputFolder(std::filesystem::path folder);

  void add(CellOutput cell);
  const std::vector<CellOutput>& cells() const { return cells_; }
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::vector<CellOutput> cells_;
};

/// The cells as one HTML page that works offline, without a script; light and dark. For each clip,
/// size, effort and budget: a table, sizes and budgets over time, their distribution, quantizers,
/// quality; with `curves` first the rate-distortion curves and `bd`. The same cells give the same
/// bytes.
std::string report_page(const std::vector<CellOutput>& cells, bool curves,
                        const std::vector<BdRate>& bd);

}  // namespace cress::encoder_bench
