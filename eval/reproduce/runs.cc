#include "eval/reproduce/runs.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eval/schemes/registry.hh"
#include "traces/links.hh"
#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::reproduce {
namespace {

struct PaperLink {
  std::string_view recorded;
  std::string_view stand_in;
  Duration duration;
  Duration skip;
};
// docs/method.md: seconds 60 to 260; the short drive's 10 to 140.
constexpr std::array kLinks = {PaperLink{"Verizon-LTE-short", "lte-fast", 140s, 10s},
                               PaperLink{"ATT-LTE-driving", "lte-slow", 260s, 60s},
                               PaperLink{"TMobile-UMTS-driving", "3g", 260s, 60s},
                               PaperLink{"Verizon-EVDO-driving", "outages", 260s, 60s}};

// 6 Mbit/s, a usual LTE downlink: an opportunity of 1500 bytes every 2 ms.
constexpr double kMeanInterarrivalMs = 2;
constexpr Duration kInventedLength = 260s;
constexpr Duration kInventedSkip = 60s;

/// Interarrivals of equal mean, drawn by `kind`.
double interarrival_ms(Rng& rng, size_t kind) {
  switch (kind) {
    case 0:  // Gaussian, standard deviation half of the mean; none below 0
      return std::max(0.0, kMeanInterarrivalMs * (1 + 0.5 * rng.normal()));
    case 1:
      return rng.uniform(0, 2 * kMeanInterarrivalMs);
    case 2:
      return rng.exponential(kMeanInterarrivalMs);
    default:  // whole milliseconds, Poisson
      return static_cast<double>(rng.poisson(kMeanInterarrivalMs));
  }
}

std::shared_ptr<const sim::DeliveryTrace> invented_trace(size_t kind, uint64_t seed) {
  Rng rng = Rng{seed}.fork(kind);
  sim::DeliveryTrace trace;
  for (double at_ms = 0; at_ms < to_milliseconds(kInventedLength);) {
    at_ms += interarrival_ms(rng, kind);
    trace.opportunities.push_back({from_seconds(at_ms / 1000)});
  }
  return std::make_shared<const sim::DeliveryTrace>(std::move(trace));
}

void set_window(LabLink& link, std::optional<Duration> duration) {
  if (duration) {
    link.duration = *duration;
    link.skip = std::min<Duration>(10s, *duration / 4);
  }
}

void add_pair(Lab& lab, const PaperLink& wanted, const std::filesystem::path& data, bool is_there,
              std::optional<Duration> duration) {
  traces::NamedLink named =
      traces::resolve_link(is_there ? wanted.recorded : wanted.stand_in, data);
  const auto down = std::make_shared<const sim::DeliveryTrace>(std::move(named.down));
  const auto up = std::make_shared<const sim::DeliveryTrace>(std::move(named.up));
  for (const bool is_down : {true, false}) {
    LabLink link{.name = named.name + (is_down ? " down" : " up"),
                 .link = {.name = named.name,
                          .down = is_down ? down : up,
                          .up = is_down ? up : down,
                          .queue = {}},
                 .duration = is_there ? wanted.duration : traces::kEmbeddedLength,
                 .skip = is_there ? wanted.skip : Duration{10s}};
    set_window(link, duration);
    lab.links.push_back(std::move(link));
  }
  if (!is_there) {
    lab.notes.push_back("There is no recorded link " + std::string{wanted.recorded} +
                        "; the embedded \"" + std::string{wanted.stand_in} + "\" stands in.");
  }
}

}  // namespace

Lab make_lab(const std::filesystem::path& data, std::optional<Duration> duration, uint64_t seed) {
  Lab lab;
  lab.seed = seed;
  const auto there = traces::list_links(data);
  for (const PaperLink& link : kLinks) {
    add_pair(lab, link, data,
             std::ranges::find(there, link.recorded, &traces::LinkSummary::name) != there.end(),
             duration);
  }
  check(lab.links.size() == kPaperLinks, "make_lab: eight links");
  constexpr std::array<const char*, kDistributionLinks> kNames{"Gaussian", "uniform", "exponential",
                                                               "Poisson"};
  for (size_t kind = 0; kind < kNames.size(); ++kind) {
    LabLink link{.name = kNames[kind],
                 .link = {.name = kNames[kind],
                          .down = invented_trace(kind, seed),
                          .up = invented_trace(kind, seed + 1),
                          .queue = {}},
                 .duration = kInventedLength,
                 .skip = kInventedSkip};
    set_window(link, duration);
    lab.links.push_back(std::move(link));
  }
  return lab;
}

sim::DeliveryTrace begun_later(const sim::DeliveryTrace& trace, int fifths) {
  const Duration wanted = trace.period() * fifths / 5;
  const auto first =
      std::ranges::lower_bound(trace.opportunities, wanted, {}, &sim::DeliveryOpportunity::at);
  if (fifths == 0 || first == trace.opportunities.end()) {
    return trace;
  }
  const Duration start = first->at;
  sim::DeliveryTrace later;
  for (const auto& opportunity : trace.opportunities) {
    if (opportunity.at > start) {
      later.opportunities.push_back({opportunity.at - start});
    }
  }
  for (const auto& opportunity : trace.opportunities) {
    if (opportunity.at <= start) {
      later.opportunities.push_back({opportunity.at + trace.period() - start});
    }
  }
  return later;
}

void RunBook::want(const RunRequest& request, bool timeline) {
  Entry& entry = entries_[request];
  entry.timeline = entry.timeline || timeline;
}

harness::RunSpec RunBook::spec_of(const RunRequest& request) const {
  const LabLink& link = lab_.links.at(request.link);
  harness::RunSpec spec;
  spec.scheme = request.scheme;
  spec.link = link.link;
  spec.duration = link.duration;
  spec.skip = link.skip;
  spec.seed = request.seed;
  spec.link.loss = request.loss;
  spec.link.queue = harness::QueueSpec::parse(request.queue);
  if (request.fifths != 0) {
    spec.link.down =
        std::make_shared<sim::DeliveryTrace>(begun_later(*link.link.down, request.fifths));
    spec.link.up = std::make_shared<sim::DeliveryTrace>(begun_later(*link.link.up, request.fifths));
  }
  return spec;
}

void RunBook::make(unsigned jobs, const std::function<void(size_t, double)>& on_progress) {
  std::vector<std::pair<const RunRequest*, Entry*>> runs;
  runs.reserve(entries_.size());
  for (auto& [request, entry] : entries_) {
    runs.emplace_back(&request, &entry);
  }
  const schemes::SchemeContext context;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (size_t i = next++; i < runs.size(); i = next++) {
      try {
        runs[i].second->output = harness::run(spec_of(*runs[i].first), context,
                                              [&](double share) { on_progress(i, share); });
        if (!runs[i].second->timeline) {
          runs[i].second->output.timeline = {};
        }
        runs[i].second->output.frames = {};
        on_progress(i, 1);
      } catch (...) {
        const std::scoped_lock lock{mutex};
        error = error ? error : std::current_exception();
        next = runs.size();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, jobs); ++i) {
    threads.emplace_back(work);
  }
  threads.clear();
  if (error) {
    std::rethrow_exception(error);
  }
}

const RunBook::Entry& RunBook::entry(const RunRequest& request) const {
  const auto found = entries_.find(request);
  check(found != entries_.end(), "RunBook: a run that nobody wanted");
  return found->second;
}

const harness::DirectionResult& RunBook::result(const RunRequest& request) const {
  return entry(request).output.results.at(0);
}

const std::vector<harness::TimelineRow>& RunBook::timeline(const RunRequest& request) const {
  return entry(request).output.timeline;
}

}  // namespace cress::reproduce
