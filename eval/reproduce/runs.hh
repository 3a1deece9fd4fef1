#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/harness/run.hh"

namespace cress::reproduce {

/// One direction of a link: `link.down` is the way the data go, `link.up` the way back.
struct LabLink {
  std::string name;  ///< "Verizon-LTE-short down"
  harness::LinkSpec link;
  Duration duration{};
  Duration skip{};
};

/// What all recipes work with. The first eight links are the paper's kinds: Verizon LTE, AT&T LTE,
/// T-Mobile UMTS, Verizon EVDO, each down and up.
struct Lab {
  std::vector<LabLink> links;
  std::vector<std::string> notes;  ///< what stands in for what
  uint64_t seed = 1;
};
inline constexpr size_t kVerizonDown = 0;
inline constexpr size_t kVerizonUp = 1;
inline constexpr size_t kTMobileUp = 5;
inline constexpr size_t kPaperLinks = 8;
/// The four that follow: invented links of equal mean, one for each distribution of interarrivals.
inline constexpr size_t kDistributions = 8;
inline constexpr size_t kDistributionLinks = 4;

/// Recorded links of `data`; an embedded one stands in for each that is not there, and a note says
/// so. `duration`: of every run, a quarter of it, at most 10 s, unscored; empty: as in the paper.
/// Throws std::runtime_error for a recording that cannot be read.
Lab make_lab(const std::filesystem::path& data, std::optional<Duration> duration, uint64_t seed);

struct RunRequest {
  std::string scheme;
  size_t link = 0;
  double loss = 0;
  std::string queue = "infinite";  ///< as --queue
  uint64_t seed = 1;
  int fifths = 0;  ///< the traces begin so many fifths later
  friend auto operator<=>(const RunRequest&, const RunRequest&) = default;
};

/// The trace begun at its first opportunity at or after `fifths` fifths of its length, the rest at
/// its end. As long as before.
sim::DeliveryTrace begun_later(const sim::DeliveryTrace& trace, int fifths);

/// Every run that somebody asks for, made once: one saturating flow each; a modelled
/// program's sends frames of the size that it allows itself.
class RunBook {
 public:
  explicit RunBook(const Lab& lab) : lab_(lab) {}

  void want(const RunRequest& request, bool timeline = false);
  size_t wanted() const { return entries_.size(); }
  /// Makes all that was wanted, `jobs` at a time; `on_progress` is told from any thread. Throws
  /// the first error after what had begun is over.
  void make(unsigned jobs, const std::function<void(size_t run, double share)>& on_progress);
  const harness::DirectionResult& result(const RunRequest& request) const;
  /// Empty unless it was wanted.
  const std::vector<harness::TimelineRow>& timeline(const RunRequest& request) const;

 private:
  struct Entry {
    bool timeline = false;
    harness::RunOutput output;
  };
  harness::RunSpec spec_of(const RunRequest& request) const;
  const Entry& entry(const RunRequest& request) const;

  const Lab& lab_;
  std::map<RunRequest, Entry> entries_;
};

}  // namespace cress::reproduce
