#include "app/live/listening_link.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "transport/base/text.hh"
#include "transport/runtime/file_descriptor.hh"

namespace cress::live {
namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

[[noreturn]] void refuse_by_system(const std::filesystem::path& file, const char* what) {
  refuse(file, std::string{"cannot be "} + what + ": " + std::system_category().message(errno));
}

}  // namespace

ListeningLink::ListeningLink(const Address& bind, std::filesystem::path file)
    : bind_(bind), file_(std::move(file)) {
  if (!file_.empty()) {
    read();
  }
  if (!is_kept_) {
    link_.secret = secure::make_secret();
  } else if (bind_.port == 0) {
    bind_.port = link_.port;
  } else if (bind_.port != link_.port) {
    refuse(file_, "its link is for port " + std::to_string(link_.port) + ", not " +
                      std::to_string(bind_.port) +
                      "; listen there, or remove the file for a new link");
  }
}

void ListeningLink::read() {
  const runtime::FileDescriptor fd{::open(file_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.get() < 0) {
    if (errno == ENOENT) {
      return;
    }
    refuse_by_system(file_, "read");
  }
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) {
    refuse_by_system(file_, "read");
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    refuse(file_, "belongs to another user, who may read and change it");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    refuse(file_, "others may read it, and so join; chmod 600 it, or remove it for a new link");
  }
  std::array<char, secure::kLinkLengthMax + 64> text{};  // and white space
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  if (size < 0) {
    refuse_by_system(file_, "read");
  }
  const auto link =
      secure::parse_link(trimmed(std::string_view{text.data(), static_cast<size_t>(size)}));
  if (!link) {
    refuse(file_, std::string{secure::describe(link.error())} + "; remove the file for a new link");
  }
  link_ = *link;
  is_kept_ = true;
}

const secure::Link& ListeningLink::opened(const std::string& host, uint16_t port) {
  if (!is_kept_) {
    link_.host = host;
    link_.port = port;
    if (!file_.empty()) {
      write();
      is_kept_ = true;
    }
  }
  return link_;
}

void ListeningLink::write() const {
  // Written completely or not at all: a listener that crashes here finds none, or the one it gave
  // away.
  std::filesystem::path temporary = file_;
  temporary += ".new";
  ::unlink(temporary.c_str());  // left by a program that crashed
  const runtime::FileDescriptor fd{
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode)};
  const std::string text = secure::format_link(link_) + "\n";
  if (fd.get() < 0 ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(fd.get()) != 0 || ::rename(temporary.c_str(), file_.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    refuse_by_system(file_, "written");
  }
}

}  // namespace cress::live
