#pragma once

#include <string>
#include <vector>

#include "eval/encoder/bench.hh"
#include "eval/encoder/outputs.hh"

namespace cress::encoder_bench {

/// The cells as one HTML page that works offline, without a script; light and dark. For each clip,
/// size, effort and budget: a table, sizes and budgets over time, their distribution, quantizers,
/// quality; with `curves` first the rate-distortion curves and `bd`. The same cells give the same
/// bytes.
std::string report_page(const std::vector<CellOutput>& cells, bool curves,
                        const std::vector<BdRate>& bd);

}  // namespace cress::encoder_bench
