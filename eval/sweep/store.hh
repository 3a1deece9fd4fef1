#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cress::sweep {

using Json = nlohmann::ordered_json;

/// The complete definition of one run: equal definitions give equal results, on every machine.
struct RunDefinition {
  std::string program;  ///< version and build
  std::string what;     ///< JSON: scheme, link, options, seed, digests of all input files

  /// The name of its file: 32 hexadecimal digits.
  std::string key() const;
};

/// Finished runs of a folder, FOLDER/runs/KEY.json, each completely written to disk before it gets
/// its name: a kill at any moment loses only unfinished ones. Several processes, also of several
/// machines over a shared file system, may write to one folder. Errors: std::runtime_error naming
/// the file and the system's reason. Threads: none inside.
class RunStore {
 public:
  /// Creates the folder if needed and removes temporary files of killed processes of this machine.
  explicit RunStore(std::filesystem::path folder);
  /// Read-only: a missing folder counts as empty.
  static RunStore reading(std::filesystem::path folder);

  /// The run's results, a list of objects; nullopt if it is not finished or its file is broken.
  std::optional<Json> find(const RunDefinition& run) const;
  void put(const RunDefinition& run, const Json& results) const;
  /// Another program than `program` that made runs of this folder, for an error message; empty:
  /// none.
  std::string other_program(std::string_view program) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct ReadOnly {};
  RunStore(std::filesystem::path folder, ReadOnly) : folder_(std::move(folder)) {}
  std::filesystem::path file_of(const RunDefinition& run) const;

  std::filesystem::path folder_;
};

/// As save_text, for a path to which several processes may write the same bytes at the same time.
void save_whole(std::string_view text, const std::filesystem::path& path);

}  // namespace cress::sweep
