#pragma once

#include <string>

#include "eval/compare/run_record.hh"
#include "eval/run_command.hh"
#include "transport/sim/trace.hh"

/// The contents of run.json for `run` and `sweep`. Threads: none inside.
namespace cress::eval {

/// The digests of a run's input files. Empty for a synthetic clip or no clip.
struct InputDigests {
  std::string down{};
  std::string up{};
  std::string video{};
  std::string audio{};
};

bool is_video_file(const std::string& video);
bool is_audio_file(const std::string& audio);
/// Of the delivery times, independent of the file's spaces and line ends.
std::string digest_of(const sim::DeliveryTrace& trace);
/// Reads the files. Throws std::runtime_error "PATH: what".
InputDigests digests_of(const RunArguments& arguments, const harness::LinkSpec& link);

/// The `options` of a result: each with its value, given or default. `video` and `audio`: the names
/// for them, as given by the user.
nlohmann::ordered_json options_of(const RunArguments& arguments, const harness::RunSpec& spec,
                                  const std::string& video, const std::string& audio);

compare::Experiment experiment_of(const RunArguments& arguments, const harness::RunSpec& spec,
                                  nlohmann::ordered_json options, const InputDigests& digests);

/// With program and commit filled in.
compare::RunRecord new_record(const std::string& command);

}  // namespace cress::eval
