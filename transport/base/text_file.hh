#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

#include "transport/base/units.hh"

namespace cress {

/// All bytes of a file. Throws std::runtime_error "PATH: what", also if they are over `size_max`.
std::string load_text(const std::filesystem::path& path, DataSize size_max);
/// To an open file, pipe or socket. False, with errno: not all of it could be written.
bool write_all(int fd, std::string_view bytes);
/// Writes the whole text or nothing: to a sibling PATH.part that then takes the path's place.
/// A path that is there but no regular file (a pipe, /dev/stdout) is written directly.
/// Throws std::runtime_error "PATH: what".
void save_text(std::string_view text, const std::filesystem::path& path);

/// For what somebody waits for, such as a link: written to `out` when this returns. Throws
/// std::runtime_error if it cannot be written.
void print_now(std::ostream& out, std::string_view text);
/// Whether both are one regular file, by whatever names; one that does not exist is compared by its
/// path. So that a program does not replace what it reads.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace cress
