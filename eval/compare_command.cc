#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "eval/compare/compare.hh"
#include "eval/compare/run_record.hh"
#include "eval/report/run_files.hh"
#include "eval/subcommands.hh"
#include "transport/base/text_file.hh"

namespace cress::eval {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-eval compare build/before build/after
  cress-eval compare before/results.json after/results.json --all --json
  cress-eval compare a b --noise delay95_ms=10,ssim_db=2%
  cress-eval compare a b --noise none                 the least change counts
  cress-eval compare a a --pair cress-cautious=cress  two schemes of one sweep
Exit code 0: nothing got worse; 1: something did; 2: bad input.)";

template <class T>
T value_or_throw(Result<T, report::ParseError> parsed, const std::filesystem::path& file) {
  if (!parsed) {
    const size_t line = parsed.error().line;
    throw std::runtime_error(fmt::format(
        "{}{}: {}", file.string(), line > 0 ? fmt::format(":{}", line) : "", parsed.error().what));
  }
  return std::move(parsed).value();
}

/// A side's results, with the run.json that lies next to them.
struct Side {
  compare::RecordedResults recorded;
  bool has_record = false;
  /// Why nothing certain can be said about them; empty: no problem.
  std::string doubt{};
};

Side load_side(const std::string& path, bool unchecked) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file)) {
    file /= "results.json";
  }
  constexpr DataSize kSizeMax{static_cast<int64_t>(report::kRunFileBytesMax)};
  const std::string text = load_text(file, kSizeMax);
  Side side;
  side.recorded.results = value_or_throw(report::parse_results(text), file);
  const std::filesystem::path record = file.parent_path() / compare::kRecordName;
  side.has_record = std::filesystem::exists(record);
  if (!side.has_record) {
    if (!unchecked) {
      throw std::runtime_error(fmt::format(
          "{}: no such file, so nothing says of what experiment {} is; run it again, or compare "
          "with --unchecked",
          record.string(), file.string()));
    }
    return side;
  }
  constexpr DataSize kRecordSizeMax{static_cast<int64_t>(compare::kRecordBytesMax)};
  side.recorded.record =
      value_or_throw(compare::parse_record(load_text(record, kRecordSizeMax)), record);
  try {
    compare::check_belongs(side.recorded);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: {}", record.string(), error.what()));
  }
  if (!compare::has_values_of(side.recorded.record, text)) {
    side.doubt = fmt::format(
        "{} was written with other values than {} has now: one of them was changed, or is of "
        "another "
        "run; run the experiment again",
        record.string(), file.string());
  }
  return side;
}

std::pair<std::string, std::string> parse_pair(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw std::invalid_argument(
        fmt::format("--pair {}: not A=B, scheme A of the first with scheme B of the second", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void add_compare_options(CLI::App& command, CompareArguments& a) {
  command.footer(kExamples);
  command.add_option("A", a.before, "Before: a folder of `run` or `sweep`, or its results.json")
      ->required();
  command.add_option("B", a.after, "After: the same")->required();
  command
      .add_option("--noise", a.noise,
                  "What may move: seeds (their spread, where there are 3; else default), default "
                  "(fixed tolerances), none, or MEASURE=NUMBER, MEASURE=SHARE%, SHARE%")
      ->capture_default_str();
  command
      .add_option("--confidence", a.confidence,
                  "That nothing is called worse by chance, in the whole comparison")
      ->capture_default_str();
  command.add_option("--pair", a.pairs, "A=B: compare scheme A before with scheme B after only")
      ->delimiter(',');
  command.add_flag("--all", a.all, "Show also what is the same");
  command.add_flag("--allow-missing", a.allow_missing, "Leave out rows that only one side has");
  command.add_flag("--unchecked", a.unchecked,
                   "Compare also results without a run.json, of whatever experiment they are");
  command.add_flag("--json", a.json, "As JSON");
}

int execute_compare(const CompareArguments& arguments, std::ostream& out) {
  compare::Options options{.noise = compare::parse_noise(arguments.noise),
                           .confidence = arguments.confidence,
                           .allow_missing = arguments.allow_missing,
                           .pairs = {}};
  if (!(options.confidence > 0 && options.confidence < 1)) {
    throw std::invalid_argument("--confidence: between 0 and 1, as in 0.95");
  }
  for (const std::string& pair : arguments.pairs) {
    options.pairs.push_back(parse_pair(pair));
  }
  Side before = load_side(arguments.before, arguments.unchecked);
  Side after = load_side(arguments.after, arguments.unchecked);
  if (before.has_record && after.has_record) {
    compare::match_experiments(before.recorded, after.recorded, options.allow_missing);
  }
  const compare::Comparison comparison =
      compare::compare(before.recorded.results, after.recorded.results, options);
  const bool is_worse = count(comparison, compare::Verdict::kWorse) > 0;
  for (const Side* side : {&before, &after}) {
    // A regression is reported whatever tool wrote the file; a result without one must be as
    // measured.
    if (!is_worse && !side->doubt.empty()) {
      throw std::runtime_error(side->doubt);
    }
  }
  out << (arguments.json ? compare::comparison_json(comparison)
                         : compare::comparison_table(comparison, arguments.all));
  return is_worse ? 1 : 0;
}

}  // namespace cress::eval
