#include "transport/netns/namespace_process.hh"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "transport/base/check.hh"

namespace cress::netns {
namespace {

using runtime::FileDescriptor;

std::string reason(int error) { return std::system_category().message(error); }

/// Messages between the first process inside and its maker.
struct Message {
  enum class Kind : int {
    kReady,       ///< configured; with the files of the TUN device (if any) and of netlink
    kFailed,      ///< not configured: `text` says why
    kStart,       ///< to the inside: run the command
    kStarted,     ///< with the command's pidfd
    kNotStarted,  ///< `value` is the error number
    kEnded,       ///< `value` is the wait status
  };
  Kind kind = Kind::kReady;
  int value = 0;
  std::array<char, 480> text{};
};

constexpr size_t kFilesMax = 2;

struct Received {
  Message message;
  std::vector<int> files;
};

/// False if the other side has gone.
bool send_message(int fd, const Message& message, std::span<const int> files = {}) {
  iovec part{const_cast<Message*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFilesMax * sizeof(int))> control{};
  if (!files.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(rights), files.data(), files.size_bytes());
  }
  return sendmsg(fd, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

/// nullopt if the other side has gone (or, with MSG_DONTWAIT, has sent nothing yet).
std::optional<Received> receive_message(int fd, int flags = 0) {
  Received received;
  iovec part{&received.message, sizeof received.message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFilesMax * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = recvmsg(fd, &header, flags | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size != static_cast<ssize_t>(sizeof received.message)) {
    return std::nullopt;
  }
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    received.files.resize((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(received.files.data(), CMSG_DATA(rights), received.files.size() * sizeof(int));
  }
  return received;
}

/// 0 or an error number.
int write_file(const std::string& path, const std::string& value) {
  const FileDescriptor file{open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (file.get() < 0 || write(file.get(), value.data(), value.size()) < 0) {
    return errno;
  }
  return 0;
}

/// Our ids before the user namespace mapped them to nobody.
struct Identity {
  uid_t user = geteuid();
  gid_t group = getegid();
};

void map_identity(const Identity& identity) {
  const auto map = [](const char* path, uint64_t id) {
    const std::string number = std::to_string(id);
    std::string line = number;
    line.append(" ").append(number).append(" 1");
    if (const int error = write_file(path, line)) {
      throw std::runtime_error(std::string{"cannot write "} + path + ": " + reason(error));
    }
  };
  write_file("/proc/self/setgroups", "deny");  // the kernel's condition for a group map
  map("/proc/self/uid_map", identity.user);
  map("/proc/self/gid_map", identity.group);
}

/// So that /proc shows the processes inside, and programs that look up their own number there find
/// themselves. If that is forbidden (in many containers) the old /proc stays.
void mount_own_proc() {
  if (mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0) {
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  }
}

void apply(const NetworkSetting& setting) {
  const int error = write_file("/proc/sys/" + setting.path, setting.value);
  if (error != 0 && setting.required) {
    throw std::runtime_error("cannot set " + setting.path + " to \"" + setting.value +
                             "\": " + reason(error));
  }
}

/// The process that becomes the command. Never returns.
[[noreturn]] void become_command(const NamespaceOptions& options, int tell_error) {
  if (!options.in_foreground) {
    setpgid(0, 0);
    const FileDescriptor nothing{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    dup2(nothing.get(), STDIN_FILENO);
  }
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (const EnvironmentVariable& variable : options.environment) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread
    setenv(variable.name.c_str(), variable.value.c_str(), 1);
  }
  if (options.work) {
    close(tell_error);
    int code = 125;
    try {
      code = options.work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(code);
  }
  std::vector<char*> arguments;
  arguments.reserve(options.command.size() + 1);
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  (void)!write(tell_error, &error, sizeof error);
  _exit(127);
}

/// The first process inside: everything in it ends with it. It has no signal handlers, so that the
/// kernel delivers no signal to it except its maker's SIGKILL.
class FirstProcess {
 public:
  FirstProcess(const NamespaceOptions& options, int control, int maker)
      : options_(options), control_(control), maker_(maker) {}

  [[noreturn]] void run(const std::optional<Identity>& identity) {
    prctl(PR_SET_NAME, "cress-netns");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pollfd maker{maker_, POLLIN, 0};
    if (poll(&maker, 1, 0) != 0) {
      _exit(0);  // its maker died before the line above
    }
    try {
      configure(identity);
    } catch (const std::exception& error) {
      fail(error.what());
    }
    const auto order = receive_message(control_);
    if (!order || order->message.kind != Message::Kind::kStart) {
      _exit(0);
    }
    start();
    end(wait_for_command());
  }

 private:
  [[noreturn]] void fail(const std::string& why) {
    Message message{Message::Kind::kFailed};
    std::strncpy(message.text.data(), why.c_str(), message.text.size() - 1);
    send_message(control_, message);
    _exit(1);
  }

  void configure(const std::optional<Identity>& identity) {
    if (identity) {
      map_identity(*identity);
      // Making a user namespace may have removed it.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    mount_own_proc();
    for (const char* family : {"all", "default"}) {
      const std::string conf = std::string{"net/ipv6/conf/"} + family;
      apply({conf + "/disable_ipv6", "0", false});
      apply({conf + "/accept_ra", "0", false});
      apply({conf + "/router_solicitations", "0", false});
    }
    for (const NetworkSetting& setting : options_.settings) {
      apply(setting);
    }
    RouteSocket routes;
    routes.set_up("lo");
    Message ready{Message::Kind::kReady, 1};
    if (options_.interface) {
      const TunDevice tun{options_.interface->name};
      ready.value = routes.configure(*options_.interface) ? 1 : 0;
      send_message(control_, ready, std::array{routes.handle(), tun.handle()});
    } else {
      send_message(control_, ready, std::array{routes.handle()});
    }
  }

  void start() {
    std::array<int, 2> errors{};
    if (pipe2(errors.data(), O_CLOEXEC) != 0) {
      send_message(control_, {Message::Kind::kNotStarted, errno, {}});
      _exit(1);
    }
    command_ = fork();
    if (command_ == 0) {
      become_command(options_, errors[1]);
    }
    int error = command_ < 0 ? errno : 0;
    close(errors[1]);
    if (error == 0) {
      (void)!read(errors[0], &error, sizeof error);  // nothing: it runs
    }
    close(errors[0]);
    if (error != 0) {
      send_message(control_, {Message::Kind::kNotStarted, error, {}});
      _exit(1);
    }
    const FileDescriptor pidfd{static_cast<int>(syscall(SYS_pidfd_open, command_, 0))};
    send_message(control_, {Message::Kind::kStarted, 0, {}}, std::array{pidfd.get()});
  }

  /// Also reaps processes that its children left behind.
  int wait_for_command() const {
    while (true) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      if (ended == command_ || (ended < 0 && errno != EINTR)) {
        return status;
      }
    }
  }

  [[noreturn]] void end(int status) {
    send_message(control_, {Message::Kind::kEnded, status, {}});
    _exit(0);
  }

  const NamespaceOptions& options_;
  int control_;
  int maker_;
  pid_t command_ = -1;
};

/// fork() into new namespaces, and a pidfd of the child. Like fork(), returns twice.
pid_t fork_into(unsigned long namespaces, int& pidfd) {
  std::fflush(nullptr);
  return static_cast<pid_t>(
      syscall(SYS_clone, namespaces | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr));
}

constexpr unsigned long kNamespaces = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS;

[[noreturn]] void refuse_namespaces(int error) {
  std::string advice;
  if (error == EPERM || error == EACCES || error == ENOSPC || error == EUSERS) {
    advice =
        "; this machine allows no user namespaces "
        "(kernel.unprivileged_userns_clone=1, user.max_user_namespaces and, on Ubuntu, "
        "kernel.apparmor_restrict_unprivileged_userns=0 decide), root needs none";
  }
  throw std::runtime_error("cannot make a network of one's own: " + reason(error) + advice);
}

}  // namespace

class NamespaceProcess::Impl {
 public:
  explicit Impl(NamespaceOptions options) : options_(std::move(options)) {
    check(options_.work != nullptr || !options_.command.empty(),
          "NamespaceProcess: nothing to run");
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error("cannot make a socket pair: " + reason(errno));
    }
    control_.emplace(ends[0]);
    const FileDescriptor inside{ends[1]};
    make(ends[1]);
    try {
      take_ready();
    } catch (...) {
      end();
      throw;
    }
  }
  ~Impl() { end(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start() {
    send_message(control_->get(), {Message::Kind::kStart, 0, {}});
    const auto answer = receive_message(control_->get());
    if (answer && answer->message.kind == Message::Kind::kStarted && !answer->files.empty()) {
      command_.emplace(answer->files[0]);
      return;
    }
    const int error = answer ? answer->message.value : ESRCH;
    const std::string name = options_.work ? "the work" : options_.command[0];
    throw std::runtime_error(error == ENOENT ? "no such program: " + name
                                             : "cannot run " + name + ": " + reason(error));
  }

  void send_signal(int signal) {
    if (command_ && !exit_) {
      syscall(SYS_pidfd_send_signal, command_->get(), signal, nullptr, 0);
    }
  }

  std::optional<int> poll_exit(int flags) {
    if (exit_) {
      return exit_;
    }
    pollfd waiting{control_->get(), POLLIN, 0};
    if (flags == MSG_DONTWAIT && poll(&waiting, 1, 0) == 0) {
      return std::nullopt;
    }
    const auto news = receive_message(control_->get(), flags);
    constexpr int kSignalled = 128;
    if (news && news->message.kind == Message::Kind::kEnded) {
      const int status = news->message.value;
      exit_ = WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    } else {
      exit_ = kSignalled + SIGKILL;  // the first process was killed, and with it all others
    }
    return exit_;
  }

  int handle() const { return control_->get(); }
  int process_id() const { return process_; }
  bool has_ipv6() const { return has_ipv6_; }
  TunDevice& tun() {
    check(tun_.has_value(), "NamespaceProcess: has no interface");
    return *tun_;
  }
  RouteSocket& routes() { return *routes_; }

 private:
  void make(int inside) {
    const Identity identity;
    const FileDescriptor self{static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))};
    const auto attempt = [&](unsigned long namespaces) {
      int pidfd = -1;
      process_ = fork_into(namespaces, pidfd);
      if (process_ == 0) {
        const bool is_mapped = (namespaces & CLONE_NEWUSER) != 0;
        FirstProcess{options_, inside, self.get()}.run(is_mapped ? std::optional{identity}
                                                                 : std::nullopt);
      }
      if (process_ > 0) {
        first_.emplace(pidfd);
      }
      return process_ > 0;
    };
    const bool is_root = identity.user == 0;
    if (!(is_root && attempt(kNamespaces)) && !attempt(kNamespaces | CLONE_NEWUSER)) {
      refuse_namespaces(errno);
    }
  }

  void take_ready() {
    const auto ready = receive_message(control_->get());
    if (!ready) {
      throw std::runtime_error("cannot make a network of one's own: its first process died");
    }
    if (ready->message.kind != Message::Kind::kReady || ready->files.empty()) {
      throw std::runtime_error(ready->message.text.data());
    }
    has_ipv6_ = ready->message.value != 0;
    routes_.emplace(ready->files[0]);
    if (ready->files.size() > 1) {
      tun_.emplace(ready->files[1], options_.interface->name);
    }
  }

  void end() {
    if (!first_) {
      return;
    }
    syscall(SYS_pidfd_send_signal, first_->get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    while (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(first_->get()), &info,
                  WEXITED) != 0 &&
           errno == EINTR) {
    }
    first_.reset();
  }

  NamespaceOptions options_;
  std::optional<FileDescriptor> control_;
  std::optional<FileDescriptor> first_;    // the first process
  std::optional<FileDescriptor> command_;  // the command's
  std::optional<RouteSocket> routes_;
  std::optional<TunDevice> tun_;
  pid_t process_ = -1;
  bool has_ipv6_ = true;
  std::optional<int> exit_;
};

NamespaceProcess::NamespaceProcess(NamespaceOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
NamespaceProcess::~NamespaceProcess() = default;
void NamespaceProcess::start() { impl_->start(); }
void NamespaceProcess::send_signal(int signal) { impl_->send_signal(signal); }
std::optional<int> NamespaceProcess::poll_exit() { return impl_->poll_exit(MSG_DONTWAIT); }
int NamespaceProcess::wait() { return impl_->poll_exit(0).value_or(0); }
int NamespaceProcess::handle() const { return impl_->handle(); }
TunDevice& NamespaceProcess::tun() { return impl_->tun(); }
RouteSocket& NamespaceProcess::routes() { return impl_->routes(); }
bool NamespaceProcess::has_ipv6() const { return impl_->has_ipv6(); }
int NamespaceProcess::process_id() const { return impl_->process_id(); }

void require_program(const std::string& name, const std::string& path) {
  const auto is_there = [](const std::string& file) { return access(file.c_str(), F_OK) == 0; };
  const bool is_path = name.find('/') != std::string::npos;
  bool found = is_path && is_there(name);
  for (size_t from = 0; from <= path.size() && !found && !is_path && !name.empty();) {
    const size_t colon = std::min(path.find(':', from), path.size());
    const std::string folder = path.substr(from, colon - from);
    found = is_there((folder.empty() ? "." : folder) + "/" + name);
    from = colon + 1;
  }
  if (!found) {
    throw std::runtime_error("no such program: " + name);
  }
}

int run_in_namespace(NamespaceOptions options) {
  NamespaceProcess process{std::move(options)};
  process.start();
  return process.wait();
}

std::string namespaces_forbidden() {
  try {
    NamespaceOptions options;
    options.work = [] { return 0; };
    options.interface = InterfaceOptions{.name = "cress0"};
    return run_in_namespace(std::move(options)) == 0 ? "" : "a process inside failed";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

}  // namespace cress::netns
