#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/encoder/chart.hh"

/// The contents of a reproduction, and its output formats. Threads: pure functions; the same figure
/// gives the same bytes.
namespace cress::reproduce {

/// A number as text, and exact for programs; or just text.
struct Cell {
  std::string text;
  std::optional<double> value{};
};
Cell words(std::string text);
Cell number(double value, int decimals);
/// A dash if there is no value.
Cell number(std::optional<double> value, int decimals);

/// Shape: every row is as long as `columns`.
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows{};
};

struct Key {
  std::string name;
  size_t colour = 0;
};

struct Panel {
  std::string title;
  encoder_bench::Chart chart{};
};

struct Figure {
  std::string name;
  std::string title;
  std::string source;     ///< where the other numbers of the table were published
  std::string verdict{};  ///< one line: does the published ordering hold, or where not
  std::vector<std::string> notes{};
  Table table;
  std::vector<Panel> panels{};
  std::vector<Key> keys{};
};

/// For a terminal.
std::string figure_text(const Figure& figure);
/// The table.
std::string figure_csv(const Figure& figure);
/// The table with exact numbers, the verdict and the notes.
std::string figure_json(const Figure& figure);
/// All panels with their legend; follows the viewer's light or dark mode.
std::string figure_svg(const Figure& figure);
/// All figures as one HTML page that works offline, without a script.
std::string index_page(std::span<const Figure> figures);

/// A quantity by which a publication orders schemes: the published value and ours.
struct Ranked {
  std::string name;
  double published = 0;
  double here = 0;
};
/// One line: whether every pair has the published order of `quantity`, or the pairs that do not,
/// those furthest apart first. `decimals`: of the printed values.
std::string order_verdict(std::string_view quantity, std::span<const Ranked> ranked, int decimals);

}  // namespace cress::reproduce
