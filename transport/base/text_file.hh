#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "transport/base/units.hh"

namespace cress {

/// The whole of a file's bytes, at most `size_max` of them. Throws std::runtime_error "PATH: what".
std::string load_text(const std::filesystem::path& path, DataSize size_max);
/// Writes the whole text or nothing: to PATH.part in the same folder, which is then renamed to
/// PATH. An existing path that is not a regular file (a pipe, /dev/stdout) is written directly.
/// Throws std::runtime_error "PATH: what".
void save_text(std::string_view text, const std::filesystem::path& path);

}  // namespace cress
