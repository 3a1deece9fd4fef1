#pragma once

#include <string>
#include <vector>

#include "eval/encoder/bench.hh"
#include "eval/encoder/outputs.hh"

namespace cress::encoder_bench {

/// The cells as one HTML page that opens offline, without a script; light and dark. For each clip,
/// size, effort and budget: a table, sizes beside budgets over time, their distribution,
/// quantizers, quality; with `curves` first the rate-distortion curves and `bd`. Same cells, same
/// bytes.
std::string report_page(const std::vector<CellOutput>& cells, bool curves,
                        const std::vector<BdRate>& bd);

}  // namespace cress::encoder_bench
