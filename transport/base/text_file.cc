#include "transport/base/text_file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace cress {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what, int error) {
  throw std::runtime_error(path.string() + ": " + std::string{what} + ": " +
                           std::generic_category().message(error));
}

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  /// Closes now and returns the error, 0 for none: a network file system may report errors only
  /// here.
  int close_now() {
    const int failed = ::close(fd_);
    fd_ = -1;
    return failed == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

int open_retrying(const std::filesystem::path& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// Writes all of `text` into an open file and closes it. Returns 0 or the system's error number.
int write_all(File& file, std::string_view text, bool durable) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.fd(), text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (durable && ::fsync(file.fd()) != 0) {
    return errno;
  }
  return file.close_now();
}

}  // namespace

std::string load_text(const std::filesystem::path& path, DataSize size_max) {
  const File file{open_retrying(path, O_RDONLY)};
  if (file.fd() < 0) {
    fail(path, "cannot be opened", errno);
  }
  std::string text;
  struct stat status {};
  if (::fstat(file.fd(), &status) == 0 && S_ISREG(status.st_mode)) {
    text.reserve(static_cast<size_t>(std::clamp<int64_t>(status.st_size, 0, size_max.bytes())));
  }
  std::vector<char> chunk(1 << 18);
  for (;;) {
    const ssize_t got = ::read(file.fd(), chunk.data(), chunk.size());
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
  File file{open_retrying(part, O_WRONLY | O_CREAT | O_TRUNC)};
  if (file.fd() < 0) {
    fail(path, "cannot be written", errno);
  }
  const int error = write_all(file, text, !direct);
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

}  // namespace cress
