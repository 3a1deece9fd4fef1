#pragma once

#include <filesystem>
#include <string>

#include "eval/report/run_files.hh"

/// A run's files as one self-contained HTML page: no network, no other file, except that movies of
/// the run in the same folder are played from there.
namespace cress::report {

/// The page. The same run gives the same bytes. Text from the files is never interpreted as markup
/// or script.
std::string report_html(const Run& run);

/// Reads `run_dir` (see run_files.hh) and writes the page completely or not at all. Throws
/// std::runtime_error with one clear line if a file is missing, broken or cannot be written.
void write_report(const std::filesystem::path& run_dir, const std::filesystem::path& html_file);

}  // namespace cress::report
