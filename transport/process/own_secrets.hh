#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

namespace cress::runtime {

// What keeps the secret of a link out of sight of other users and programs of the machine. Called
// by main() and by command lines, before any thread begins.

/// A program's arguments. Those that contain a link are copied, and overwritten where the system
/// shows them to all users (ps, /proc/PID/cmdline). They were visible for the moment before: a file
/// or standard input (read_secret) never is.
class OwnArguments {
 public:
  OwnArguments(int argc, char** argv);
  int count() const { return static_cast<int>(pointers_.size()) - 1; }
  /// Ends with a null pointer.
  const char* const* values() const { return pointers_.data(); }
  /// The copies too are overwritten.
  void forget();

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> pointers_;
};

/// No core file is written if this program crashes. Programs that it starts may allow it again.
void refuse_core_dumps();
/// In addition, no other program of this user may read this one's memory (PR_SET_DUMPABLE). False:
/// it may, under AddressSanitizer, whose leak check reads the memory from a process of its own.
bool refuse_inspection();

/// The text of a file, without white space at both ends: a link. The file must belong to this user
/// or to root, and nobody else may read or write it. At most `size_max` bytes. Throws
/// std::runtime_error: what is wrong, and what to do.
std::string read_secret(const std::filesystem::path& file, size_t size_max);
/// The first line, likewise.
std::string read_secret(std::istream& in, size_t size_max);
/// Writes `text` as the one line of a file that only this user may read, completely or not at all;
/// a file of that name is replaced. Throws std::runtime_error: "FILE: cannot be written: why".
void write_secret(const std::filesystem::path& file, const std::string& text);

}  // namespace cress::runtime
