#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "eval/reproduce/paper.hh"
#include "eval/reproduce/recipe_tools.hh"

/// Later experiments of others, and the reliability of single runs.
namespace cress::reproduce {
namespace {

constexpr std::array<const char*, 3> kVerus{"verus-r2", "verus-r4", "verus-r6"};
constexpr std::array<const char*, 2> kBeside{"sprout", "cubic"};

// From a short queue to one of seconds, at the usual 0.1 and at a tenth of it.
constexpr std::array<const char*, 8> kRed{"red:5,15,0.1",    "red:10,30,0.1",   "red:30,90,0.1",
                                          "red:100,300,0.1", "red:300,900,0.1", "red:5,15,0.01",
                                          "red:30,90,0.01",  "red:300,900,0.01"};

constexpr std::array<const char*, 2> kForecasters{"sprout", "cress"};

constexpr std::array<const char*, 3> kRepeated{"sprout", "cress", "cubic-codel"};
constexpr int kSeeds = 5;
constexpr int kFifths = 5;

RunRequest over_red(const Lab& lab, std::string queue) {
  RunRequest request = request_of(lab, "cubic");
  request.queue = std::move(queue);
  return request;
}

const std::vector<std::string> kMeansColumns{"scheme", "throughput kbit/s", "goodput kbit/s",
                                             "utilization", "self-inflicted ms"};

Mark means_mark(const std::string& label, const Means& means, size_t colour) {
  return {label, means.self_inflicted_ms, means.utilization, colour};
}

Panel means_panel(std::span<const Mark> marks) {
  return scatter("Mean of eight links", "mean self-inflicted delay, ms", "mean utilization", marks);
}

struct Spread {
  double least = 0;
  double middle = 0;
  double most = 0;
};
Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

std::string told(const Spread& spread) {
  return fmt::format("{:.0f} / {:.0f} / {:.0f}", spread.least, spread.middle, spread.most);
}

std::vector<RunRequest> repeats(const Lab& lab, const std::string& scheme, size_t link,
                                bool by_seed) {
  std::vector<RunRequest> requests;
  for (int i = 0; i < (by_seed ? kSeeds : kFifths); ++i) {
    RunRequest request = request_of(lab, scheme, link);
    request.seed += by_seed ? static_cast<uint64_t>(i) : 0;
    request.fifths = by_seed ? 0 : i;
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace

void want_verus(const Lab& lab, RunBook& book) {
  for (const char* scheme : kVerus) {
    want_everywhere(book, request_of(lab, scheme));
  }
  for (const char* scheme : kBeside) {
    want_everywhere(book, request_of(lab, scheme));
  }
}

Figure figure_verus(const Lab& lab, const RunBook& book) {
  Figure figure{.name = "verus",
                .title = "Verus by its R, next to Sprout and Cubic, means over eight links",
                .source = std::string{paper::kVerus} +
                          ", abstract: Cubic's delay is more than 10 times Verus's at comparable "
                          "throughput; run again by Zhang and Dutz, 2017 (no number taken over)",
                .notes = lab.notes,
                .table = {.columns = kMeansColumns}};
  figure.table.columns.emplace_back("Cubic's delay over its");
  figure.table.columns.emplace_back("published");
  const Means cubic = means_of(book, request_of(lab, "cubic"));
  std::vector<Mark> marks;
  std::vector<Ranked> rates;
  std::vector<Ranked> delays;
  double factor = 0;
  for (const std::string scheme : {"verus-r2", "verus-r4", "verus-r6", "sprout", "cubic"}) {
    const Means means = means_of(book, request_of(lab, scheme));
    const bool is_verus = scheme.starts_with("verus");
    std::vector<Cell> row = means_row(scheme, means);
    const double its_factor = cubic.self_inflicted_ms / means.self_inflicted_ms;
    row.push_back(number(its_factor, 1));
    row.push_back(words(is_verus ? "> 10" : "–"));
    figure.table.rows.push_back(std::move(row));
    marks.push_back(means_mark(scheme, means, colour_of(scheme)));
    figure.keys.push_back({scheme, colour_of(scheme)});
    if (is_verus) {
      const auto rank = static_cast<double>(rates.size());
      rates.push_back({scheme, rank, means.throughput_kbps});
      delays.push_back({scheme, rank, means.self_inflicted_ms});
      factor = factor == 0 ? its_factor : std::min(factor, its_factor);
    }
  }
  figure.panels.push_back(means_panel(marks));
  figure.verdict =
      fmt::format("Cubic's delay is {:.0f} times Verus's or more: {}. ", factor,
                  factor > paper::kVerusDelayFactor ? "as published" : "less than published") +
      order_verdict("throughput by R", rates, 0) + " " + order_verdict("delay by R", delays, 0);
  return figure;
}

void want_red(const Lab& lab, RunBook& book) {
  for (const char* queue : kRed) {
    want_everywhere(book, over_red(lab, queue));
  }
  want_verus(lab, book);
}

Figure figure_red(const Lab& lab, const RunBook& book) {
  Figure figure{
      .name = "red",
      .title = "Cubic over RED, its parameters swept, next to Verus; means of eight links",
      .source = "the comparison is Zhang and Dutz's, 2017 (no number taken over)",
      .notes = lab.notes,
      .table = {.columns = kMeansColumns}};
  figure.notes.emplace_back(
      "red:MIN,MAX,P: thresholds in packets of 1500 bytes, largest chance to drop between them.");
  std::vector<Mark> marks;
  std::vector<std::pair<std::string, Means>> all;
  for (const std::string queue : kRed) {
    all.emplace_back("cubic over " + queue, means_of(book, over_red(lab, queue)));
    marks.push_back(means_mark(queue.substr(4), all.back().second, colour_of("cubic")));
  }
  for (const std::string scheme : kVerus) {
    all.emplace_back(scheme, means_of(book, request_of(lab, scheme)));
    marks.push_back(means_mark(scheme, all.back().second, colour_of(scheme)));
  }
  all.emplace_back("cubic", means_of(book, request_of(lab, "cubic")));
  for (const auto& [name, means] : all) {
    figure.table.rows.push_back(means_row(name, means));
  }
  // A setting that is better in both respects makes the change at the end hosts unnecessary.
  const Means& verus = all[kRed.size()].second;
  std::string better;
  for (size_t i = 0; i < kRed.size(); ++i) {
    const Means& means = all[i].second;
    if (means.self_inflicted_ms <= verus.self_inflicted_ms &&
        means.throughput_kbps >= verus.throughput_kbps) {
      better += (better.empty() ? "" : ", ") + std::string{kRed[i]};
    }
  }
  figure.keys = {{"cubic over red:MIN,MAX,P", colour_of("cubic")},
                 {"verus-r2", colour_of("verus-r2")},
                 {"verus-r4", colour_of("verus-r4")},
                 {"verus-r6", colour_of("verus-r6")}};
  figure.panels.push_back(means_panel(marks));
  figure.verdict =
      better.empty() ? "With no setting of RED has Cubic both Verus's (R = 2) delay and throughput."
                     : "Cubic has at most Verus's (R = 2) delay and at least its throughput over " +
                           better + ".";
  return figure;
}

void want_distributions(const Lab& lab, RunBook& book) {
  for (size_t i = 0; i < kDistributionLinks; ++i) {
    for (const char* scheme : kForecasters) {
      book.want(request_of(lab, scheme, kDistributions + i));
    }
  }
}

Figure figure_distributions(const Lab& lab, const RunBook& book) {
  Figure figure{
      .name = "distributions",
      .title = "links of 6 Mbit/s whose interarrivals are drawn independently",
      .source =
          "asked by the Stanford CS244 reproductions of Sprout, 2014 (no number "
          "taken over)",
      .table = {.columns = {"interarrivals", "variance / mean²", "scheme", "throughput kbit/s",
                            "goodput kbit/s", "utilization", "delay95 ms", "self-inflicted ms"}}};
  constexpr std::array<double, kDistributionLinks> kSpread{0.25, 1.0 / 3, 1, 0.5};
  std::vector<Ranked> ranked;
  std::vector<Mark> marks;
  for (size_t i = 0; i < kDistributionLinks; ++i) {
    for (const std::string scheme : kForecasters) {
      const size_t link = kDistributions + i;
      const auto& result = book.result(request_of(lab, scheme, link));
      figure.table.rows.push_back({words(lab.links[link].name), number(kSpread[i], 2),
                                   words(scheme), number(result.throughput_kbps, 0),
                                   number(result.goodput_kbps, 0), number(result.utilization, 3),
                                   number(delay95_ms(result), 0),
                                   number(self_inflicted_ms(result), 0)});
      marks.push_back(
          {lab.links[link].name, self_inflicted_ms(result), result.utilization, colour_of(scheme)});
      if (scheme == "sprout") {
        ranked.push_back({lab.links[link].name, -kSpread[i], result.utilization});
      }
    }
  }
  figure.keys = {{"sprout", colour_of("sprout")}, {"cress", colour_of("cress")}};
  figure.panels.push_back(
      scatter("One link each", "self-inflicted delay, ms", "utilization", marks));
  const auto [worst, best] = std::ranges::minmax(ranked, {}, &Ranked::here);
  figure.verdict = fmt::format(
      "Sprout's utilization is {:.3f} ({}) to {:.3f} ({}): the shape of the interarrivals, at "
      "equal mean, makes {} difference.",
      worst.here, worst.name, best.here, best.name,
      best.here - worst.here < 0.05 ? "little" : "a clear");
  return figure;
}

void want_sensitivity(const Lab& lab, RunBook& book) {
  for (const char* scheme : kRepeated) {
    for (size_t link = 0; link < kPaperLinks; ++link) {
      for (const bool by_seed : {true, false}) {
        for (const RunRequest& request : repeats(lab, scheme, link, by_seed)) {
          book.want(request);
        }
      }
    }
  }
}

Figure figure_sensitivity(const Lab& lab, const RunBook& book) {
  Figure figure{
      .name = "sensitivity",
      .title = "least / median / most of five seeds, and of five parts of the link",
      .source = "the paper tells no spread",
      .notes = lab.notes,
      .table = {.columns = {"scheme", "link", "kbit/s, seeds", "kbit/s, parts", "goodput, seeds",
                            "self-inflicted ms, seeds", "self-inflicted ms, parts"}}};
  double seeds_widest = 0;
  double parts_widest = 0;
  for (const std::string scheme : kRepeated) {
    std::vector<Mark> marks;
    for (size_t link = 0; link < kPaperLinks; ++link) {
      std::array<std::vector<double>, 2> rates;
      std::array<std::vector<double>, 2> delays;
      std::vector<double> goodputs;
      for (const size_t by_seed : {size_t{1}, size_t{0}}) {
        for (const RunRequest& request : repeats(lab, scheme, link, by_seed == 1)) {
          const auto& result = book.result(request);
          rates.at(by_seed).push_back(result.throughput_kbps);
          delays.at(by_seed).push_back(self_inflicted_ms(result));
          if (by_seed == 1) {
            goodputs.push_back(result.goodput_kbps);
          }
          marks.push_back({"", self_inflicted_ms(result), result.utilization, link});
        }
      }
      const Spread seeds = spread_of(rates[1]);
      const Spread parts = spread_of(rates[0]);
      seeds_widest = std::max(seeds_widest, (seeds.most - seeds.least) / seeds.middle);
      parts_widest = std::max(parts_widest, (parts.most - parts.least) / parts.middle);
      figure.table.rows.push_back({words(scheme), words(lab.links[link].name), words(told(seeds)),
                                   words(told(parts)), words(told(spread_of(goodputs))),
                                   words(told(spread_of(delays[1]))),
                                   words(told(spread_of(delays[0])))});
    }
    figure.panels.push_back(scatter(scheme, "self-inflicted delay, ms", "utilization", marks));
  }
  for (size_t link = 0; link < kPaperLinks; ++link) {
    figure.keys.push_back({lab.links[link].name, link});
  }
  figure.verdict = fmt::format(
      "Between seeds throughput differs by at most {:.0f} % of its median, between parts of the "
      "same recording by up to {:.0f} %.",
      100 * seeds_widest, 100 * parts_widest);
  return figure;
}

}  // namespace cress::reproduce
