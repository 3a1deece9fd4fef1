#include "eval/sweep/pool.hh"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/base/check.hh"
#include "transport/base/file_descriptor.hh"
#include "transport/base/text_file.hh"

namespace cress::sweep {
namespace {

constexpr int kTickMilliseconds = 200;
constexpr size_t kMessageBytesMax = size_t{64} << 20;

/// A worker's messages: one letter, a length, that many bytes.
enum class Letter : char { kShare = 's', kBytes = 'b', kWords = 'w' };
struct Header {
  Letter letter{};
  uint32_t size = 0;
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

bool say(int fd, Letter letter, std::string_view bytes) {
  const Header header{letter, static_cast<uint32_t>(bytes.size())};
  std::string message(sizeof header, '\0');
  std::memcpy(message.data(), &header, sizeof header);
  message += bytes;
  return write_all(fd, message);
}

/// Never returns: the rest of the parent's program is not the child's.
[[noreturn]] void be_worker(size_t task, const Work& work, int fd, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(1);  // its parent died before the request to be ended with it
  }
  // The terminal's Ctrl-C is for the parent, which decides.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, nullptr);
  sigaction(SIGTERM, &ignore, nullptr);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  bool said = false;
  try {
    double told = 0;
    const std::string bytes = work(task, [&](double share) {
      constexpr double kShareStep = 0.01;
      if (share >= told + kShareStep) {
        told = share;
        say(fd, Letter::kShare, {reinterpret_cast<const char*>(&share), sizeof share});
      }
    });
    check(bytes.size() <= kMessageBytesMax, "a worker's bytes do not fit a message");
    said = say(fd, Letter::kBytes, bytes);
  } catch (const std::exception& error) {
    said = say(fd, Letter::kWords, error.what());
  }
  ::_exit(said ? 0 : 1);  // no destructors, no flushing of the parent's output
}

struct Worker {
  size_t task = 0;
  pid_t pid = 0;
  FileDescriptor from_it;
  std::string unread{};
  double share = 0;
  std::optional<Outcome> outcome{};
};

std::string words_of_status(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* name = sigabbrev_np(number);
    return fmt::format("ended by signal {} (SIG{}){}", number, name != nullptr ? name : "?",
                       number == SIGKILL ? ": out of memory? fewer --jobs may help" : "");
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

/// Splits the bytes read into whole messages.
void handle_messages(Worker& worker) {
  for (;;) {
    Header header;
    if (worker.unread.size() < sizeof header) {
      return;
    }
    std::memcpy(&header, worker.unread.data(), sizeof header);
    if (worker.unread.size() < sizeof header + header.size) {
      return;
    }
    const std::string bytes = worker.unread.substr(sizeof header, header.size);
    worker.unread.erase(0, sizeof header + header.size);
    if (header.letter == Letter::kShare && bytes.size() == sizeof worker.share) {
      std::memcpy(&worker.share, bytes.data(), sizeof worker.share);
    } else if (header.letter != Letter::kShare) {
      worker.outcome = Outcome{header.letter == Letter::kBytes, bytes};
    }
  }
}

/// All processes of one pool; none outlives it.
class Workers {
 public:
  Workers() = default;
  Workers(Workers&&) = delete;
  ~Workers() { drop(); }

  void start(size_t task, const Work& work) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      fail("no pipe for a worker; fewer --jobs may help");
    }
    FileDescriptor from_it{ends[0]};
    const FileDescriptor to_parent{ends[1]};
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
      fail("no process for a worker; fewer --jobs may help");
    }
    if (pid == 0) {
      be_worker(task, work, to_parent.get(), parent);
    }
    all_.push_back({.task = task, .pid = pid, .from_it = std::move(from_it)});
  }

  /// Reads the messages of worker `i`; its outcome once it has ended.
  std::optional<std::pair<size_t, Outcome>> read(size_t i) {
    Worker& worker = all_[i];
    std::array<char, 1 << 16> piece{};
    const ssize_t got = ::read(worker.from_it.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      return std::nullopt;
    }
    if (got > 0) {
      worker.unread.append(piece.data(), static_cast<size_t>(got));
      handle_messages(worker);
      return std::nullopt;
    }
    const int status = wait_for(worker.pid);
    const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    Outcome outcome = ended_well && worker.outcome ? std::move(*worker.outcome)
                                                   : Outcome{false, words_of_status(status)};
    const size_t task = worker.task;
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    return std::pair{task, std::move(outcome)};
  }

  void drop() {
    for (const Worker& worker : all_) {
      ::kill(worker.pid, SIGKILL);
    }
    for (const Worker& worker : all_) {
      wait_for(worker.pid);
    }
    all_.clear();
  }

  size_t size() const { return all_.size(); }
  int fd(size_t i) const { return all_[i].from_it.get(); }
  double shares() const {
    return std::accumulate(all_.begin(), all_.end(), 0.0,
                           [](double sum, const Worker& worker) { return sum + worker.share; });
  }

 private:
  static int wait_for(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  std::vector<Worker> all_;
};

/// SIGINT and SIGTERM as something to read, while this object exists.
class Signals {
 public:
  Signals() : fd_(-1) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    fd_ = FileDescriptor{::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC)};
    if (fd_.get() < 0) {
      fail("signals cannot be read");
    }
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  /// 0: none came.
  int next() const {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                : 0;
  }

 private:
  sigset_t before_{};
  FileDescriptor fd_;
};

}  // namespace

PoolEnd run_in_processes(std::span<const size_t> tasks, size_t jobs, const Work& work,
                         const PoolEvents& events) {
  const Signals signals;
  Workers workers;
  bool interrupted = false;
  size_t next = 0;
  size_t ended_count = 0;
  while (workers.size() > 0 || (next < tasks.size() && !interrupted)) {
    while (!interrupted && next < tasks.size() && workers.size() < std::max<size_t>(jobs, 1)) {
      workers.start(tasks[next++], work);
    }
    std::vector<pollfd> wanted{{signals.fd(), POLLIN, 0}};
    for (size_t i = 0; i < workers.size(); ++i) {
      wanted.push_back({workers.fd(i), POLLIN, 0});
    }
    if (::poll(wanted.data(), wanted.size(), kTickMilliseconds) < 0 && errno != EINTR) {
      fail("workers cannot be waited for");
    }
    // From the last: removing an ended one leaves the positions before it unchanged.
    for (size_t i = wanted.size() - 1; i >= 1; --i) {
      if (wanted[i].revents != 0) {
        if (auto ended = workers.read(i - 1)) {
          ++ended_count;
          events.on_end(ended->first, std::move(ended->second));
        }
      }
    }
    while (const int number = signals.next()) {
      if (number == SIGTERM || interrupted) {
        workers.drop();
      } else {
        events.on_interrupt(workers.size());
      }
      interrupted = true;
    }
    events.on_tick(workers.shares());
  }
  return ended_count < tasks.size() ? PoolEnd::kInterrupted : PoolEnd::kAllDone;
}

}  // namespace cress::sweep
