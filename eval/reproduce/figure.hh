#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/encoder/chart.hh"

/// What a reproduction shows, and how it is written. Threads: pure functions; same figure, same
/// bytes.
namespace cress::reproduce {

/// A number as people read it, and whole for machines; or words.
struct Cell {
  std::string text;
  std::optional<double> value{};
};
Cell words(std::string text);
Cell number(double value, int decimals);
/// A dash where there is none.
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
/// The table with whole numbers, the verdict and the notes.
std::string figure_json(const Figure& figure);
/// All panels with their legend; light or dark with whoever looks at it.
std::string figure_svg(const Figure& figure);
/// All figures as one HTML page that opens offline, without a script.
std::string index_page(std::span<const Figure> figures);

/// A quantity by which a publication puts schemes in an order, there and here.
struct Ranked {
  std::string name;
  double published = 0;
  double here = 0;
};
/// One line: whether every pair stands here in the published order of `quantity`, or the pairs that
/// do not, those furthest apart first. `decimals` of the values told.
std::string order_verdict(std::string_view quantity, std::span<const Ranked> ranked, int decimals);

}  // namespace cress::reproduce
