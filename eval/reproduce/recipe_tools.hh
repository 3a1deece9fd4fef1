#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/reproduce/recipes.hh"

/// Code shared by several recipes. Threads: pure functions.
namespace cress::reproduce {

Figure figure_fig1(const Lab& lab, const RunBook& book);
Figure figure_fig2(const Lab& lab, const RunBook& book);
Figure figure_fig7(const Lab& lab, const RunBook& book);
Figure figure_fig8(const Lab& lab, const RunBook& book);
Figure figure_fig9(const Lab& lab, const RunBook& book);
Figure figure_intro(const Lab& lab, const RunBook& book);
Figure figure_loss(const Lab& lab, const RunBook& book);
Figure figure_tunnel(const Lab& lab, const RunBook& book);
Figure figure_verus(const Lab& lab, const RunBook& book);
Figure figure_red(const Lab& lab, const RunBook& book);
Figure figure_distributions(const Lab& lab, const RunBook& book);
Figure figure_sensitivity(const Lab& lab, const RunBook& book);
Figure figure_forecast(const Lab& lab, const RunBook& book);

void want_fig1(const Lab& lab, RunBook& book);
void want_fig7(const Lab& lab, RunBook& book);
void want_fig9(const Lab& lab, RunBook& book);
void want_loss(const Lab& lab, RunBook& book);
void want_verus(const Lab& lab, RunBook& book);
void want_red(const Lab& lab, RunBook& book);
void want_distributions(const Lab& lab, RunBook& book);
void want_sensitivity(const Lab& lab, RunBook& book);

RunRequest request_of(const Lab& lab, std::string scheme, size_t link = 0);

/// The paper's schemes, and Cress.
std::vector<std::string> compared_schemes();
/// The same colour for a scheme in every figure.
size_t colour_of(std::string_view scheme);
std::vector<Key> keys_of(std::span<const std::string> schemes);

/// If nothing arrived, the delay counts as the whole scored time.
double self_inflicted_ms(const harness::DirectionResult& result);
double delay95_ms(const harness::DirectionResult& result);

/// Means over the eight links.
struct Means {
  double throughput_kbps = 0;
  double goodput_kbps = 0;
  double utilization = 0;
  double self_inflicted_ms = 0;
};
void want_everywhere(RunBook& book, RunRequest request);
Means means_of(const RunBook& book, RunRequest request);

/// Scheme, throughput, goodput, utilization, self-inflicted delay.
std::vector<Cell> means_row(const std::string& scheme, const Means& means);

/// From 0 on, around values that are not negative.
encoder_bench::ChartAxis axis_from_zero(std::string title, std::vector<double> values);

/// A mark labelled with its name.
struct Mark {
  std::string label;
  double x = 0;
  double y = 0;
  size_t colour = 0;
};
/// x: milliseconds of delay, logarithmic.
Panel scatter(std::string title, std::string x_title, std::string y_title,
              std::span<const Mark> marks);

}  // namespace cress::reproduce
