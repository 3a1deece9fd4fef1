#pragma once

#include <string>

#include "eval/report/run_files.hh"

/// A run's worst moments as text, every number from its files. Threads: pure functions.
namespace cress::report {

struct WorstWords {
  std::string title;  ///< "This picture stood for 4.21 s"
  std::string text;   ///< when, and the state of link and sender at that time
};

/// `timeline` and `frames` are those of the moment's series; null if missing.
WorstWords worst_words(const WorstMoment& moment, const Timeline* timeline, const FrameLog* frames);

/// The picture for an <img>: "data:image/webp;base64,...".
std::string data_url(const WorstMoment& moment);

}  // namespace cress::report
