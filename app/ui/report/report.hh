#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <string>

#include "app/ui/model/history.hh"
#include "app/ui/model/link_health.hh"
#include "transport/base/time.hh"

namespace cress::ui {

/// What the live panel showed, from the call's beginning on. Nothing of it is a link, a secret, an
/// address, or what people said or wrote.
struct Report {
  std::string made_at{};  ///< local time, "2026-11-25 10:04:05"; empty: not known
  std::string room{};     ///< its name; empty: a call of two
  size_t people = 2;      ///< including oneself
  std::string path{};     ///< how the datagrams travel, in plain words
  std::string status{};   ///< the sentence at the top of the panel
  LinkHealth health{};
  TimePoint began{};
  std::deque<LinkSample> samples{};  ///< at most kReportSamplesMax, times ascending
};
/// An hour at five a second; then the oldest are left out.
inline constexpr size_t kReportSamplesMax = 18'000;

/// The files of a report. Pure.
std::string report_csv(const Report& report);
std::string report_json(const Report& report);
/// The panel's graphs as a page that opens offline: HTML with the picture in it.
std::string report_html(const Report& report);

/// Makes a folder of its own in `parent`, named after the time, and writes the three files into it.
/// Returns that folder. Throws std::runtime_error "PATH: what".
std::filesystem::path write_report(const Report& report, const std::filesystem::path& parent);

}  // namespace cress::ui
