#include "eval/sweep/store.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "eval/sweep/digest.hh"
#include "transport/base/text_file.hh"

namespace cress::sweep {
namespace {

namespace fs = std::filesystem;

constexpr DataSize kRunFileSizeMax{16 << 20};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return "host";
  }
  std::string text{name.data()};
  for (char& c : text) {
    c = c == '/' || c == '-' ? '_' : c;
  }
  return text;
}

/// Temporary files are NAME.HOST-PID.tmp, so that no two processes share one. True for a temporary
/// file of a process of this machine that has ended.
bool is_left_over(const std::string& name) {
  for (const std::string_view ending : {std::string_view{".tmp"}, std::string_view{".tmp.part"}}) {
    if (!name.ends_with(ending)) {
      continue;
    }
    const std::string_view stem = std::string_view{name}.substr(0, name.size() - ending.size());
    const size_t dash = stem.rfind('-');
    const std::string mine = fmt::format(".{}", host_name());
    pid_t pid = 0;
    if (dash == std::string_view::npos || !stem.substr(0, dash).ends_with(mine) ||
        std::from_chars(stem.data() + dash + 1, stem.data() + stem.size(), pid).ec != std::errc{}) {
      return false;
    }
    return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
  }
  return false;
}

void remove_left_overs(const fs::path& folder) {
  std::error_code ignored;  // a file that stays is harmless
  for (const fs::directory_entry& entry : fs::directory_iterator{folder, ignored}) {
    if (is_left_over(entry.path().filename().string())) {
      fs::remove(entry.path(), ignored);
    }
  }
}

/// A rename is durable only once the folder is synced.
void flush_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    ::fsync(fd);  // some file systems cannot; the file itself is synced in any case
    ::close(fd);
  }
}

std::optional<Json> parsed(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return std::nullopt;
  }
  Json record = Json::parse(load_text(path, kRunFileSizeMax), nullptr, false);
  return record.is_object() ? std::optional{std::move(record)} : std::nullopt;
}

}  // namespace

std::string RunDefinition::key() const { return Digest{}.add(program).add(what).hex(); }

void save_whole(std::string_view text, const fs::path& path) {
  fs::path own = path;
  own += fmt::format(".{}-{}.tmp", host_name(), getpid());
  try {
    save_text(text, own);
  } catch (const std::runtime_error& error) {
    // The name of the temporary file is of no interest to the user.
    std::string words = error.what();
    if (const size_t at = words.find(own.string()); at != std::string::npos) {
      words.replace(at, own.string().size(), path.string());
    }
    throw std::runtime_error(words);
  }
  std::error_code error;
  fs::rename(own, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(own, ignored);
    throw std::runtime_error(
        fmt::format("{}: cannot be put in place: {}", path.string(), error.message()));
  }
  flush_folder(path.parent_path());
}

RunStore::RunStore(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directories(folder_ / "runs", error);
  if (error || ::access((folder_ / "runs").c_str(), W_OK | X_OK) != 0) {
    throw std::runtime_error(fmt::format(
        "{}: the output folder cannot be written to: {}; choose another with --out",
        folder_.string(), error ? error.message() : std::generic_category().message(errno)));
  }
  remove_left_overs(folder_);
  remove_left_overs(folder_ / "runs");
}

RunStore RunStore::reading(fs::path folder) { return {std::move(folder), ReadOnly{}}; }

fs::path RunStore::file_of(const RunDefinition& run) const {
  return folder_ / "runs" / (run.key() + ".json");
}

std::optional<Json> RunStore::find(const RunDefinition& run) const {
  std::optional<Json> record = parsed(file_of(run));
  if (!record || record->value("program", Json{}) != run.program ||
      record->value("definition", Json{}).dump() != run.what || !record->contains("results") ||
      !record->at("results").is_array()) {
    return std::nullopt;
  }
  return std::move(record->at("results"));
}

void RunStore::put(const RunDefinition& run, const Json& results) const {
  const Json record{
      {"program", run.program}, {"definition", Json::parse(run.what)}, {"results", results}};
  save_whole(record.dump(1) + "\n", file_of(run));
}

std::string RunStore::other_program(std::string_view program) const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator{folder_ / "runs", error}) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const auto record = parsed(entry.path());
    const Json name = record ? record->value("program", Json{}) : Json{};
    if (name.is_string() && name != program) {
      return name.get<std::string>();
    }
  }
  return {};
}

}  // namespace cress::sweep
