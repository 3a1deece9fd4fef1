#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cress::sweep {

using Json = nlohmann::ordered_json;

/// One run, told whole: equal definitions give equal results, on every machine.
struct RunDefinition {
  std::string program;  ///< version and build
  std::string what;     ///< JSON: scheme, link, options, seed, digests of all files it reads

  /// The name of its file: 32 hexadecimal digits.
  std::string key() const;
};

/// Finished runs of a folder, FOLDER/runs/KEY.json, each written whole and for good before it has
/// its name: a kill at any moment loses only what is not finished. Several processes, also of
/// several machines over a shared file system, may write to one folder.
/// Errors: std::runtime_error naming the file and what the system said. Threads: none inside.
class RunStore {
 public:
  /// Makes the folder if need be and clears away what killed processes of this machine left.
  explicit RunStore(std::filesystem::path folder);
  /// Only looks: a folder that is not there is an empty one.
  static RunStore reading(std::filesystem::path folder);

  /// The run's results, a list of objects; nothing where it is not finished or its file is broken.
  std::optional<Json> find(const RunDefinition& run) const;
  void put(const RunDefinition& run, const Json& results) const;
  /// A program other than `program` that runs of this folder are of, for an error's words; empty:
  /// none.
  std::string other_program(std::string_view program) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  struct ReadOnly {};
  RunStore(std::filesystem::path folder, ReadOnly) : folder_(std::move(folder)) {}
  std::filesystem::path file_of(const RunDefinition& run) const;

  std::filesystem::path folder_;
};

/// As save_text, for a path that several processes may write the same bytes to at the same time.
void save_whole(std::string_view text, const std::filesystem::path& path);

}  // namespace cress::sweep
