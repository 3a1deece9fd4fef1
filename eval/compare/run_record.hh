#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "eval/report/run_files.hh"
#include "transport/base/result.hh"

/// run.json, the file next to a results.json that describes its experiment: every option with its
/// value, and the digests of all input files. Two sets of results are compared only if they are of
/// the same experiment. Threads: pure functions.
namespace cress::compare {

inline constexpr const char* kRecordName = "run.json";
inline constexpr size_t kRecordBytesMax = size_t{64} << 20;
inline constexpr size_t kExperimentsMax = 50'000;

/// Everything that a result depends on except its scheme, its seed and the program.
struct Experiment {
  std::string link;
  /// As in results of `sweep`: `duration_s`, `skip_s`, `delay_ms`, `loss`, `queue`; for calls also
  /// `video`, `audio`, `one_way`.
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  /// `down`, `up`; for calls also `video` and `audio`. Each is an object: a file's `digest`, or the
  /// `name` of a generated input, and its `seed`.
  nlohmann::ordered_json inputs = nlohmann::ordered_json::object();
};

/// Shape: one experiment for each link and set of options.
struct RunRecord {
  std::string program;
  std::string commit;
  std::string command;  ///< "run" or "sweep"
  /// What may differ between compared results: schemes, seeds, folders, films.
  nlohmann::ordered_json not_compared = nlohmann::ordered_json::object();
  std::vector<Experiment> experiments;
  std::string digest{};  ///< of the experiments and the results, see digest_of
};

/// The same for equal values, however a JSON tool formats them and in whatever order the results
/// are; different for different values. `results`: a results.json that parse_results accepts.
std::string digest_of(const std::vector<Experiment>& experiments, std::string_view results);

/// run.json's text, with the digest of `results`.
std::string record_json(RunRecord record, std::string_view results);
/// Total: any bytes give a record or one error.
Result<RunRecord, report::ParseError> parse_record(std::string_view json);

/// Results with their run.json.
struct RecordedResults {
  RunRecord record;
  std::vector<report::RunResult> results;
};

/// Whether the record was written together with the results in `text`. If not, values or options
/// were changed since, or one of the two files is from another run.
bool has_values_of(const RunRecord& record, std::string_view text);

/// Throws std::invalid_argument with one clear line: there are results of no experiment in the
/// record.
void check_belongs(const RecordedResults& recorded);

/// Writes the options of their experiment into all results, with the same text on both sides if the
/// experiments are the same. Throws std::invalid_argument with one clear line that names the option
/// and both values: one side has an experiment that the other lacks (with `allow_missing`: they
/// have none in common), or a file of the same name has different bytes.
void match_experiments(RecordedResults& before, RecordedResults& after, bool allow_missing);

/// A result's options with each number as a double, so that 60 and 60.0 are the same text.
std::string normal_options(const std::string& options);

}  // namespace cress::compare
