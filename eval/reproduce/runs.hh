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

/// One direction of a link: `link.down` is the direction of the data, `link.up` the reverse path.
struct LabLink {
  std::string name;  ///< "Verizon-LTE-short down"
  harness::LinkSpec link;
  Duration duration{};
  Duration skip{};
};

/// The inputs of all recipes. The first eight links are the paper's kinds: Verizon LTE, AT&T LTE,
/// T-Mobile UMTS, Verizon EVDO, each down and up.
struct Lab {
  std::vector<LabLink> links;
  std::vector<std::string> notes;  ///< which links are substitutes for which
  uint64_t seed = 1;
};
inline constexpr size_t kVerizonDown = 0;
inline constexpr size_t kVerizonUp = 1;
inline constexpr size_t kTMobileUp = 5;
inline constexpr size_t kPaperLinks = 8;
/// The four that follow: artificial links of equal mean, one for each distribution of
/// interarrivals.
inline constexpr size_t kDistributions = 8;
inline constexpr size_t kDistributionLinks = 4;

/// Recorded links of `data`; an embedded one replaces each missing one, with a note. `duration`: of
/// every run; a quarter of it, at most 10 s, is not scored; empty: as in the paper. Throws
/// std::runtime_error for a recording that cannot be read.
Lab make_lab(const std::filesystem::path& data, std::optional<Duration> duration, uint64_t seed);

struct RunRequest {
  std::string scheme;
  size_t link = 0;
  double loss = 0;
  std::string queue = "infinite";  ///< as --queue
  uint64_t seed = 1;
  int fifths = 0;  ///< the traces start this many fifths later
  friend auto operator<=>(const RunRequest&, const RunRequest&) = default;
};

/// The trace rotated to start at its first opportunity at or after `fifths` fifths of its length.
/// The length is unchanged.
sim::DeliveryTrace begun_later(const sim::DeliveryTrace& trace, int fifths);

/// All requested runs, each made once: one saturating flow each; a modelled program's flow sends
/// frames of the size that it allows itself.
class RunBook {
 public:
  explicit RunBook(const Lab& lab) : lab_(lab) {}

  void want(const RunRequest& request, bool timeline = false);
  size_t wanted() const { return entries_.size(); }
  /// Makes all requested runs, `jobs` at a time; `on_progress` is called from any thread. Throws
  /// the first error after running ones have ended.
  void make(unsigned jobs, const std::function<void(size_t run, double share)>& on_progress);
  const harness::DirectionResult& result(const RunRequest& request) const;
  /// Empty unless it was requested.
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
