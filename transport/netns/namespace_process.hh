#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/netns/route_socket.hh"
#include "transport/netns/tun_device.hh"

namespace cress::netns {

/// A kernel setting of the network, as in "net/ipv4/tcp_congestion_control" (sysctl).
struct NetworkSetting {
  std::string path;
  std::string value;
  bool required = true;  ///< if false, a kernel without this setting is accepted
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
};

struct NamespaceOptions {
  /// The program, looked up in PATH, and its arguments.
  std::vector<std::string> command;
  /// Used instead of a command: called in the process inside the namespace, whose exit code is what
  /// it returns (0..255).
  std::function<int()> work;
  /// The one interface in addition to loopback; nullopt: only loopback. Its name must be complete,
  /// without "%d".
  std::optional<InterfaceOptions> interface;
  std::vector<NetworkSetting> settings;
  /// In addition to this process's environment.
  std::vector<EnvironmentVariable> environment;
  /// If false: standard input is /dev/null, and the process group is separate, so that the
  /// terminal's signals do not reach it.
  bool in_foreground = true;
};

/// Runs a command in a network of its own: a network, process and mount namespace and, unless we
/// are root, a user namespace in which the caller's uid and gid map to themselves and no others are
/// mapped (user_namespaces(7)). No privileges are needed where the machine allows user namespaces.
/// The command has the same privileges as without this class.
///
/// Nothing is left behind: a small first process inside holds everything. It ends with this object,
/// with the command, or with the thread that made this object, however that ended. The kernel then
/// ends every process inside, and removes the network with the last one. Errors: std::runtime_error
/// (what, why, what to do). Threads: none inside; one owner, whose process has no other threads
/// while the constructor runs.
class NamespaceProcess {
 public:
  /// Creates and configures the network; the command is not started yet.
  explicit NamespaceProcess(NamespaceOptions options);
  ~NamespaceProcess();

  /// Starts the command. Throws if the program is missing or cannot be executed.
  void start();
  /// Signals the command alone, not its children; does nothing after it has ended.
  void send_signal(int signal);
  /// The command's exit code, or 128 + N if signal N ended it; nullopt while it runs.
  std::optional<int> poll_exit();
  /// Blocks until the command has ended.
  int wait();
  /// For the event loop: readable when the command has ended.
  int handle() const;

  /// The other end of `interface`, which must be set.
  TunDevice& tun();
  /// The routes of the network inside.
  RouteSocket& routes();
  /// False if the interface was to have IPv6 addresses and the machine has no IPv6.
  bool has_ipv6() const;
  /// The first process inside, as seen from outside: the target for nsenter(1).
  int process_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws std::runtime_error "no such program: NAME" where start() would: before a network is made
/// and anything is said of it. `path`: $PATH, for a name without a slash.
void require_program(const std::string& name, const std::string& path);

/// Runs a command (or work) in a new network of its own and waits; returns its exit code.
int run_in_namespace(NamespaceOptions options);

/// Why NamespaceProcess cannot work here (no user namespaces, no TUN), found by trying; empty if it
/// can.
std::string namespaces_forbidden();

}  // namespace cress::netns
