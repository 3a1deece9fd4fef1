#pragma once

#include <filesystem>
#include <string>

#include "eval/report/run_files.hh"

/// A run's files as one HTML page that anybody can open: no network, no other file, but that
/// movies of the run that lie beside the page are played from there.
namespace cress::report {

/// The page. Same run, same bytes. Nothing that a file says is taken for markup or script.
std::string report_html(const Run& run);

/// Reads `run_dir` (see run_files.hh) and writes the page whole or not at all.
/// Throws std::runtime_error with one clear line when a file is missing, broken or cannot be
/// written.
void write_report(const std::filesystem::path& run_dir, const std::filesystem::path& html_file);

}  // namespace cress::report
