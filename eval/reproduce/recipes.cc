#include "eval/reproduce/recipes.hh"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "eval/reproduce/paper.hh"
#include "eval/reproduce/recipe_tools.hh"

namespace cress::reproduce {
namespace {

void want_nothing(const Lab& /*lab*/, RunBook& /*book*/) {}

constexpr std::array kRecipes = {
    Recipe{"fig1", "Skype-like and Sprout over time on the Verizon LTE downlink", want_fig1,
           figure_fig1},
    Recipe{"fig2", "interarrival times of recorded links and their power law", want_nothing,
           figure_fig2},
    Recipe{"fig7", "throughput against delay, each link and direction", want_fig7, figure_fig7},
    Recipe{"fig8", "mean utilization against mean self-inflicted delay", want_fig7, figure_fig8},
    Recipe{"fig9", "Sprout at 95, 75, 50, 25 and 5 % confidence", want_fig9, figure_fig9},
    Recipe{"intro", "both tables of the Sprout paper's introduction", want_fig7, figure_intro},
    Recipe{"loss", "Sprout under 5 and 10 % random loss", want_loss, figure_loss},
    Recipe{"tunnel", "Cubic and Skype through SproutTunnel", want_nothing, figure_tunnel},
    Recipe{"verus", "Verus with R = 2, 4, 6 next to Sprout and Cubic", want_verus, figure_verus},
    Recipe{"red", "Cubic over RED, its parameters swept", want_red, figure_red},
    Recipe{"distributions", "Sprout over invented links of equal mean, by interarrival",
           want_distributions, figure_distributions},
    Recipe{"sensitivity", "the same runs with other seeds and other parts of the links",
           want_sensitivity, figure_sensitivity},
    Recipe{"forecast", "how often deliveries fall short of the forecast", want_nothing,
           figure_forecast}};

// In the order of the colours: those compared most often first, so that they differ most.
constexpr std::array<std::string_view, 20> kColours{
    "sprout",   "cress",         "cubic",         "skype-like", "cubic-codel",
    "vegas",    "sprout-ewma",   "compound",      "ledbat",     "verus-r2",
    "verus-r4", "verus-r6",      "sprout-75",     "sprout-50",  "sprout-25",
    "sprout-5", "hangouts-like", "facetime-like", "cubic-red",  "sprout-tunnel"};

}  // namespace

std::span<const Recipe> recipes() { return kRecipes; }

const Recipe& find_recipe(std::string_view name) {
  const auto found = std::ranges::find(kRecipes, name, &Recipe::name);
  if (found == kRecipes.end()) {
    std::string known;
    for (const Recipe& recipe : kRecipes) {
      known += std::string{recipe.name} + ", ";
    }
    throw std::invalid_argument("there is no figure \"" + std::string{name} + "\"; there are " +
                                known + "and all");
  }
  return *found;
}

RunRequest request_of(const Lab& lab, std::string scheme, size_t link) {
  return {.scheme = std::move(scheme), .link = link, .seed = lab.seed};
}

std::vector<std::string> compared_schemes() {
  std::vector<std::string> names;
  names.reserve(std::size(paper::kMeans) + 2);
  for (const paper::Mean& mean : paper::kMeans) {
    names.emplace_back(mean.scheme);
  }
  names.emplace_back("sprout-ewma");
  names.emplace_back("cress");
  return names;
}

size_t colour_of(std::string_view scheme) {
  return static_cast<size_t>(std::ranges::find(kColours, scheme) - kColours.begin());
}

std::vector<Key> keys_of(std::span<const std::string> schemes) {
  std::vector<Key> keys;
  for (const std::string& scheme : schemes) {
    keys.push_back({scheme, colour_of(scheme)});
  }
  return keys;
}

double self_inflicted_ms(const harness::DirectionResult& result) {
  return result.self_inflicted_ms.value_or(to_milliseconds(result.window.length()));
}

double delay95_ms(const harness::DirectionResult& result) {
  return result.delay95_ms.value_or(to_milliseconds(result.window.length()));
}

void want_everywhere(RunBook& book, RunRequest request) {
  for (request.link = 0; request.link < kPaperLinks; ++request.link) {
    book.want(request);
  }
}

Means means_of(const RunBook& book, RunRequest request) {
  Means means;
  constexpr double kShare = 1.0 / kPaperLinks;
  for (request.link = 0; request.link < kPaperLinks; ++request.link) {
    const harness::DirectionResult& result = book.result(request);
    means.throughput_kbps += kShare * result.throughput_kbps;
    means.goodput_kbps += kShare * result.goodput_kbps;
    means.utilization += kShare * result.utilization;
    means.self_inflicted_ms += kShare * self_inflicted_ms(result);
  }
  return means;
}

std::vector<Cell> means_row(const std::string& scheme, const Means& means) {
  return {words(scheme), number(means.throughput_kbps, 0), number(means.goodput_kbps, 0),
          number(means.utilization, 3), number(means.self_inflicted_ms, 0)};
}

encoder_bench::ChartAxis axis_from_zero(std::string title, std::vector<double> values) {
  values.push_back(0);
  auto axis = encoder_bench::axis_around(std::move(title), values, false);
  axis.low = 0;
  return axis;
}

Panel scatter(std::string title, std::string x_title, std::string y_title,
              std::span<const Mark> marks) {
  // The smallest distance from the link's limit is a millisecond.
  constexpr double kDelayMinMs = 1;
  Panel panel{.title = std::move(title)};
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Mark& mark : marks) {
    xs.push_back(std::max(kDelayMinMs, mark.x));
    ys.push_back(mark.y);
    panel.chart.lines.push_back({.colour = mark.colour,
                                 .points = {{std::max(kDelayMinMs, mark.x), mark.y}},
                                 .markers = true,
                                 .label = mark.label});
  }
  panel.chart.x = encoder_bench::axis_around(std::move(x_title), xs, true);
  panel.chart.y = axis_from_zero(std::move(y_title), ys);
  return panel;
}

}  // namespace cress::reproduce
