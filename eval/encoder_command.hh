#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace cress::eval {

/// The arguments of `cress-eval encoder`, as typed.
struct EncoderArguments {
  std::vector<std::string> videos{"synthetic"};
  std::vector<std::string> encoders{"cress", "cbr"};
  std::vector<std::string> budgets;
  std::vector<std::string> sizes;
  std::vector<int> cpu_used{-8};
  std::vector<int> quantizers{20, 30, 40, 50};
  std::vector<int64_t> rates;
  bool rate_distortion = false;
  uint64_t frames = 300;
  uint64_t skip = 0;
  uint64_t seed = 1;
  std::string out = "cress-encoder";
  bool save_ivf = false;
  bool save_y4m = false;
  bool json = false;
  bool no_report = false;
};

void add_encoder_options(CLI::App& command, EncoderArguments& arguments);
/// `data`: the folder with recorded links. Throws std::invalid_argument or std::runtime_error with
/// one clear line; finished results are kept.
void execute_encoder(const EncoderArguments& arguments, const std::string& data, std::ostream& out);

}  // namespace cress::eval
