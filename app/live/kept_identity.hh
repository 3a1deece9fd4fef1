#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace cress::live {

/// The identity secret of a user's calls (secure::ConnectionOptions), kept in `file`: with it a
/// program that was restarted proves to the other end that it is the same. A new one is written if
/// there is none; only this user may read it. Throws std::runtime_error "FILE: what; what to do" if
/// others may read or change the file, or if it holds something else or cannot be written.
std::vector<std::byte> kept_identity(const std::filesystem::path& file);

}  // namespace cress::live
