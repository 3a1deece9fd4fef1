#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace cress {

/// Golden file `name` in folder golden/ next to `test_file`: absolute, or relative to the folder in
/// which the compiler ran, as ccache makes it.
inline std::filesystem::path golden_path(std::string_view name, const char* test_file) {
  const std::filesystem::path build = std::filesystem::path{CRESS_BIN}.parent_path();
  return (build / test_file).lexically_normal().parent_path() / "golden" /
         (std::string{name} + ".txt");
}

/// 16 hexadecimal digits that differ when the bytes do (FNV-1a), for outputs that are too long for
/// a golden file.
inline std::string golden_digest(std::string_view bytes) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << digest;
  return text.str();
}

/// Whether golden file `name` begins with `line`, which states the conditions under which it holds.
/// True if the file does not exist yet.
inline bool golden_begins(std::string_view name, std::string_view line,
                          const char* test_file = __builtin_FILE()) {
  std::ifstream file{golden_path(name, test_file)};
  std::string first;
  return !std::getline(file, first) || first == line;
}

/// Whether two lines of a golden file are equal, where ~N stands for a number from N - 2 to N + 2:
/// for sums of what the square roots of different processors give.
inline bool is_golden_line(const std::string& committed, const std::string& actual) {
  if (committed == actual) {
    return true;
  }
  std::istringstream committed_words{committed};
  std::istringstream actual_words{actual};
  std::string was;
  std::string is;
  while (committed_words >> was) {
    if (!(actual_words >> is)) {
      return false;
    }
    const bool is_near = was.starts_with('~') && is.starts_with('~') &&
                         std::abs(std::atol(was.c_str() + 1) - std::atol(is.c_str() + 1)) <= 2;
    if (was != is && !is_near) {
      return false;
    }
  }
  return !(actual_words >> is);
}

struct GoldenDifference {
  int line = 1;
  std::string was{};
  std::string is{};
};
inline std::optional<GoldenDifference> first_golden_difference(const std::string& committed,
                                                               const std::string& actual) {
  std::istringstream committed_lines{committed};
  std::istringstream actual_lines{actual};
  for (GoldenDifference at;; ++at.line) {
    const bool has_was{std::getline(committed_lines, at.was)};
    const bool has_is{std::getline(actual_lines, at.is)};
    if (!has_was && !has_is) {
      return std::nullopt;
    }
    if (!has_was || !has_is || !is_golden_line(at.was, at.is)) {
      at.was = has_was ? at.was : "(nothing)";
      at.is = has_is ? at.is : "(nothing)";
      return at;
    }
  }
}

/// Compares the output of a deterministic machine, as lines of text, with the committed golden
/// file. One line per event or period of time, rounded to what matters, so that a difference shows
/// when the behaviour began to change. For machines with too many outputs for an expectation each;
/// a rule that has a reason still gets a test of its own. A test that differs leaves the new text
/// in build/PRESET/golden; if the change is intended, `./cress golden` copies it over the committed
/// file, to be reviewed as part of the change.
inline void expect_golden(std::string_view name, const std::string& actual,
                          const char* test_file = __builtin_FILE()) {
  const std::filesystem::path committed = golden_path(name, test_file);
  std::ifstream file{committed, std::ios::binary};
  const std::string expected{std::istreambuf_iterator<char>{file}, {}};
  const auto mismatch = first_golden_difference(expected, actual);
  if (file && !mismatch) {
    return;
  }
  const std::filesystem::path written =
      std::filesystem::path{CRESS_BIN}.parent_path() / "golden" /
      std::filesystem::relative(committed, std::filesystem::path{CRESS_SOURCE});
  std::filesystem::create_directories(written.parent_path());
  std::ofstream{written, std::ios::binary} << actual;
  ADD_FAILURE() << "behaviour differs from " << committed.string() << " at line " << mismatch->line
                << "\n  committed: " << mismatch->was << "\n  now:       " << mismatch->is
                << "\nIf the change is intended: ./cress golden";
}

}  // namespace cress
