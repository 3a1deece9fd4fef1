#pragma once

#include <cstddef>
#include <string_view>

/// The page's files (page.html, page.css, page.js) and Chart.js, embedded into the program at build
/// time.
namespace cress::report {

extern "C" {
extern const char cress_report_page_html[];      // NOLINT(readability-identifier-naming)
extern const char cress_report_page_html_end[];  // NOLINT(readability-identifier-naming)
extern const char cress_report_page_css[];       // NOLINT(readability-identifier-naming)
extern const char cress_report_page_css_end[];   // NOLINT(readability-identifier-naming)
extern const char cress_report_page_js[];        // NOLINT(readability-identifier-naming)
extern const char cress_report_page_js_end[];    // NOLINT(readability-identifier-naming)
extern const char cress_report_chart_js[];       // NOLINT(readability-identifier-naming)
extern const char cress_report_chart_js_end[];   // NOLINT(readability-identifier-naming)
}

/// The bytes between two of these marks.
inline std::string_view embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace cress::report
