#include "transport/base/text_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "transport/base/file_descriptor.hh"

namespace cress {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what, int error) {
  throw std::runtime_error(path.string() + ": " + std::string{what} + ": " +
                           std::generic_category().message(error));
}

int open_retrying(const std::filesystem::path& path, int flags) {
  return static_cast<int>(TEMP_FAILURE_RETRY(::open(path.c_str(), flags | O_CLOEXEC, 0666)));
}

/// Writes all of `text` into an open file and closes it. Returns 0 or the system's error number.
int write_whole(FileDescriptor& file, std::string_view text, bool durable) {
  if (!write_all(file.get(), text) || (durable && ::fsync(file.get()) != 0)) {
    return errno;
  }
  return file.close_now();
}

}  // namespace

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  return true;
}

std::string load_text(const std::filesystem::path& path, DataSize size_max) {
  const FileDescriptor file{open_retrying(path, O_RDONLY)};
  if (file.get() < 0) {
    fail(path, "cannot be opened", errno);
  }
  std::string text;
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    text.reserve(static_cast<size_t>(std::clamp<int64_t>(status.st_size, 0, size_max.bytes())));
  }
  std::vector<char> chunk(1 << 18);
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      fail(path, "cannot be read", errno);
    }
    if (got == 0) {
      return text;
    }
    text.append(chunk.data(), static_cast<size_t>(got));
    if (text.size() > static_cast<size_t>(size_max.bytes())) {
      throw std::runtime_error(path.string() + ": larger than " + std::to_string(size_max.bytes()) +
                               " bytes; cut it into shorter files");
    }
  }
}

void save_text(std::string_view text, const std::filesystem::path& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  const bool direct =
      type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found;
  // A symbolic link is followed, so that its target is replaced and the link stays.
  std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  if (ignored || direct) {
    target = path;
  }
  std::filesystem::path part = target;
  if (!direct) {
    part += ".part";
  }
  FileDescriptor file{open_retrying(part, O_WRONLY | O_CREAT | O_TRUNC)};
  if (file.get() < 0) {
    fail(path, "cannot be written", errno);
  }
  const int error = write_whole(file, text, !direct);
  if (error != 0) {
    if (!direct) {
      ::unlink(part.c_str());
    }
    fail(path, "cannot be written whole", error);
  }
  if (!direct && ::rename(part.c_str(), target.c_str()) != 0) {
    const int rename_error = errno;
    ::unlink(part.c_str());
    fail(path, "cannot be put in place", rename_error);
  }
}

void print_now(std::ostream& out, std::string_view text) {
  if (!(out << text << std::flush)) {
    throw std::runtime_error("standard output cannot be written");
  }
}

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  if (std::filesystem::exists(a, ignored) && std::filesystem::exists(b, ignored)) {
    return std::filesystem::is_regular_file(a, ignored) &&
           std::filesystem::equivalent(a, b, ignored);
  }
  return std::filesystem::weakly_canonical(a, ignored) ==
         std::filesystem::weakly_canonical(b, ignored);
}

}  // namespace cress
