#pragma once

#include <string>

#include "eval/report/run_files.hh"

/// A run's worst moments in plain words, every number from its files alone.
/// Threads: pure functions.
namespace cress::report {

struct WorstWords {
  std::string title;  ///< "This picture stood for 4.21 s"
  std::string text;   ///< when, and what the link and the sender did meanwhile
};

/// `timeline` and `frames` are those of the moment's series; null where there are none.
WorstWords worst_words(const WorstMoment& moment, const Timeline* timeline, const FrameLog* frames);

/// The picture for an <img>: "data:image/webp;base64,...".
std::string data_url(const WorstMoment& moment);

}  // namespace cress::report
