#include "transport/process/own_secrets.hh"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "transport/base/file_descriptor.hh"
#include "transport/base/leak_check.hh"
#include "transport/base/text.hh"

namespace cress::runtime {
namespace {

constexpr std::string_view kLinkScheme = "cress://";

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

}  // namespace

OwnArguments::OwnArguments(int argc, char** argv) {
  const std::span<char*> arguments{argv, static_cast<size_t>(argc)};
  texts_.assign(arguments.begin(), arguments.end());
  for (const std::string& text : texts_) {
    pointers_.push_back(text.c_str());
  }
  pointers_.push_back(nullptr);
  for (char* const argument : arguments) {
    if (std::string_view{argument}.find(kLinkScheme) != std::string_view::npos) {
      std::fill_n(argument, std::strlen(argument), 'x');
    }
  }
}

void OwnArguments::forget() {
  for (std::string& text : texts_) {
    std::fill(text.begin(), text.end(), 'x');
  }
}

void refuse_core_dumps() {
  rlimit core{};
  if (getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &core);
  }
}

bool refuse_inspection() {
  refuse_core_dumps();
#ifdef CRESS_LEAK_CHECK
  return false;
#else
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
#endif
}

std::string read_secret(const std::filesystem::path& file, size_t size_max) {
  const FileDescriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) {
    refuse(file, "cannot be read: " + std::system_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    refuse(file, "not a file");
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    refuse(file, "belongs to another user, who may read and change it");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse(file, "others may read or change it; chmod 600 it");
  }
  std::string text(size_max + 1, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) {
    refuse(file, "cannot be read: " + std::system_category().message(errno));
  }
  text.resize(static_cast<size_t>(size));
  if (text.size() > size_max) {
    refuse(file, "too long for a link");
  }
  return std::string{trimmed(text)};
}

std::string read_secret(std::istream& in, size_t size_max) {
  std::string text;
  for (char c = 0; text.size() <= size_max && in.get(c) && c != '\n';) {
    text.push_back(c);
  }
  if (text.size() > size_max) {
    throw std::runtime_error("standard input: too long for a link");
  }
  const std::string_view line = trimmed(text);
  if (line.empty()) {
    throw std::runtime_error("standard input: no link");
  }
  return std::string{line};
}

void write_secret(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::path temporary = file;
  temporary += ".new";
  ::unlink(temporary.c_str());  // left by a program that crashed
  const FileDescriptor fd{
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  const std::string line = text + "\n";
  if (fd.get() < 0 ||
      ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(fd.get()) != 0 || ::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    refuse(file, "cannot be written: " + std::system_category().message(error));
  }
}

}  // namespace cress::runtime
