#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "eval/report/embedded.hh"
#include "eval/reproduce/figure.hh"
#include "transport/base/markup.hh"

namespace cress::reproduce {
namespace {

constexpr int kPanelWidth = 480;
constexpr int kPanelHeight = 300;
constexpr int kGap = 20;
constexpr int kTitleHeight = 34;
constexpr int kKeyWidthMin = 160;
constexpr int kKeyHeight = 22;

constexpr const char* kPageStyle = R"(
.keys { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 16px; font-size: 0.92rem; }
.keys span { display: inline-flex; align-items: center; gap: 8px; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); gap: 18px; margin-bottom: 18px; }
.verdict { font-weight: 560; max-width: 64rem; overflow-wrap: anywhere; }
table.values td:first-child { position: sticky; left: 0; z-index: 1; text-align: left; background: var(--card); }
table.values td { white-space: nowrap; }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; }
a { color: var(--accent); }
)";

template <class... Arguments>
void add(std::string& text, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
}

std::string_view report_css() {
  return report::embedded(report::cress_report_page_css, report::cress_report_page_css_end);
}

/// The page's colours alone, light and dark: the part before the first general rule.
std::string_view colours_css() {
  const std::string_view css = report_css();
  return css.substr(0, css.find("\n* {"));
}

/// A chart as a part of a larger picture.
std::string placed(std::string chart, int x, int y) {
  constexpr std::string_view kOpening = "<svg ";
  return chart.replace(0, kOpening.size(),
                       fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" ", x, y,
                                   kPanelWidth, kPanelHeight));
}

std::string table_html(const Table& table) {
  std::string html = "<div class=\"scroll\"><table class=\"values\">\n<thead><tr>";
  for (const std::string& column : table.columns) {
    html += "<th>" + escaped_markup(column) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      html += "<td>" + escaped_markup(cell.text) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n";
}

std::string section_html(const Figure& figure) {
  std::string html;
  add(html, "<section class=\"link-section\" id=\"{}\">\n<h2>{} <small>{}</small></h2>\n",
      figure.name, figure.name, escaped_markup(figure.title));
  add(html, "<p class=\"verdict\">{}</p>\n", escaped_markup(figure.verdict));
  if (!figure.keys.empty()) {
    html += "<p class=\"keys\">";
    for (const Key& key : figure.keys) {
      add(html, "<span>{}{}</span>", encoder_bench::swatch_svg(key.colour),
          escaped_markup(key.name));
    }
    html += "</p>\n";
  }
  html += "<div class=\"panels\">\n";
  for (const Panel& panel : figure.panels) {
    add(html, "<figure><figcaption><strong>{}</strong></figcaption>\n{}</figure>\n",
        escaped_markup(panel.title),
        encoder_bench::chart_svg(panel.chart, kPanelWidth, kPanelHeight));
  }
  html += "</div>\n";
  // Long content is collapsed; the panels show it.
  constexpr size_t kRowsShown = 24;
  const bool is_long = figure.table.rows.size() > kRowsShown;
  if (is_long) {
    add(html, "<details><summary>All {} rows</summary>\n", figure.table.rows.size());
  }
  html += table_html(figure.table) + (is_long ? "</details>\n" : "");
  for (const std::string& note : figure.notes) {
    add(html, "<p class=\"hint\">{}</p>\n", escaped_markup(note));
  }
  add(html, "<p class=\"hint\">Published: {}</p>\n</section>\n", escaped_markup(figure.source));
  return html;
}

/// The width of one key and its swatch: the longest name's, with the widest letters of this size.
int width_of_keys(std::span<const Key> keys) {
  constexpr int kSwatch = 34;
  constexpr int kCharacter = 7;
  int width = kKeyWidthMin;
  for (const Key& key : keys) {
    width = std::max(width, kSwatch + kCharacter * static_cast<int>(key.name.size()) + kGap / 2);
  }
  return width;
}

}  // namespace

std::string figure_svg(const Figure& figure) {
  const int key_width = width_of_keys(figure.keys);
  const int count = static_cast<int>(figure.panels.size());
  const int across = std::min(2, std::max(1, count));
  const int down = (count + across - 1) / across;
  const int width = across * kPanelWidth + (across + 1) * kGap;
  const int keys_across = std::max(1, (width - 2 * kGap) / key_width);
  const int key_rows = (static_cast<int>(figure.keys.size()) + keys_across - 1) / keys_across;
  const int keys_top = kTitleHeight + kGap;
  const int panels_top = keys_top + key_rows * kKeyHeight + kGap / 2;
  const int height = panels_top + down * (kPanelHeight + kTitleHeight) + kGap;
  std::string svg;
  add(svg,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" "
      "height=\"{}\">\n<title>{}</title>\n<style>{}\n{}"
      "text {{ font-family: system-ui, sans-serif; fill: var(--ink); }}\n</style>\n"
      "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--card)\"/>\n",
      width, height, width, height, escaped_markup(figure.title), colours_css(),
      encoder_bench::chart_style());
  add(svg, "<text x=\"{}\" y=\"34\" font-size=\"17\" font-weight=\"600\">{}</text>\n", kGap,
      escaped_markup(figure.name));
  for (int i = 0; const Key& key : figure.keys) {
    const int x = kGap + i % keys_across * key_width;
    const int y = keys_top + i / keys_across * kKeyHeight;
    std::string swatch = encoder_bench::swatch_svg(key.colour);
    add(svg, "{}<text x=\"{}\" y=\"{}\" font-size=\"12\">{}</text>\n",
        swatch.replace(0, 5,
                       fmt::format("<svg x=\"{}\" y=\"{}\" width=\"26\" height=\"12\" ", x, y)),
        x + 34, y + 10, escaped_markup(key.name));
    ++i;
  }
  for (int i = 0; const Panel& panel : figure.panels) {
    const int x = kGap + i % across * (kPanelWidth + kGap);
    const int y = panels_top + i / across * (kPanelHeight + kTitleHeight);
    add(svg, "<text x=\"{}\" y=\"{}\" font-size=\"14\" font-weight=\"600\">{}</text>\n{}", x,
        y + 20, escaped_markup(panel.title),
        placed(encoder_bench::chart_svg(panel.chart, kPanelWidth, kPanelHeight), x,
               y + kTitleHeight - 6));
    ++i;
  }
  return svg + "</svg>\n";
}

std::string index_page(std::span<const Figure> figures) {
  std::string html;
  add(html,
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Cress: "
      "reproduction</title>\n<style>{}{}{}</style>\n</head>\n<body>\n<header class=\"top\">\n<p "
      "class=\"brand\">Cress</p>\n<h1>Published figures and tables, run again</h1>\n<nav>",
      report_css(), encoder_bench::chart_style(), kPageStyle);
  for (const Figure& figure : figures) {
    add(html, "<a href=\"#{}\">{}</a>", figure.name, figure.name);
  }
  html += "</nav>\n</header>\n<main>\n";
  for (const Figure& figure : figures) {
    html += section_html(figure);
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace cress::reproduce
