#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/harness/run.hh"

namespace cress::harness {

/// results.json's text: a list, one object per scheme × link × direction; an unknown value is null.
std::string results_json(const std::vector<DirectionResult>& results);
/// timeline.csv and frames.csv, header line included.
std::string timeline_csv(const std::vector<TimelineRow>& rows);
std::string frames_csv(const std::vector<FrameRow>& rows);
/// worst.json's text: a list, one object per moment; the pictures are in the same folder.
std::string worst_json(const std::vector<MomentRow>& rows);
/// "worst-SCHEME-DIRECTION-KIND.webp": the picture of a moment.
std::string picture_name(const MomentRow& row);
/// A table for a terminal, one line per scheme × direction.
std::string results_table(const std::vector<DirectionResult>& results);

/// The output folder of one command. Each finished run is written at once and completely, so that a
/// later failure, a kill or a full disk loses no finished result. Files: results.json, timeline.csv
/// and, once a run had video, frames.csv, worst.json and a small picture of each of its moments.
/// Errors: std::runtime_error naming the file and the system's reason.
class OutputFolder {
 public:
  /// Creates the folder if needed and checks that it is writable.
  explicit OutputFolder(std::filesystem::path folder);

  void add(RunOutput output);
  const std::vector<DirectionResult>& results() const { return all_.results; }
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  RunOutput all_;
};

}  // namespace cress::harness
