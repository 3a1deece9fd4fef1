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
  bool required = true;  ///< otherwise a kernel that has no such setting is fine, too
};

struct EnvironmentVariable {
  std::string name;
  std::string value;
};

struct NamespaceOptions {
  /// The program, searched in PATH, and its arguments.
  std::vector<std::string> command;
  /// Instead of a command: called in the process inside, which ends with what it returns (0..255).
  std::function<int()> work;
  /// The one interface beside loopback; none without. Its name is to be whole, without "%d".
  std::optional<InterfaceOptions> interface;
  std::vector<NetworkSetting> settings;
  /// Beside what this process has.
  std::vector<EnvironmentVariable> environment;
  /// Without: reads nothing (/dev/null), and the terminal's signals go elsewhere (a process group
  /// of its own).
  bool in_foreground = true;
};

/// A command in a network of its own: a network, process and mount namespace and, where we are not
/// root, a user namespace in which the caller's uid and gid are themselves and nothing else is
/// (user_namespaces(7)). No rights are needed where the machine allows those. The command has the
/// rights it would have without us.
///
/// No leftovers: a small first process inside holds everything. It dies with this object, with the
/// command, and with the thread that made this object, however that ended; with it the kernel ends
/// every process inside, and with the last one the network.
/// Errors: std::runtime_error (what, why, what to do). Threads: none inside; one owner, whose
/// process has no other threads while the constructor runs.
class NamespaceProcess {
 public:
  /// Makes and configures the network; the command does not run yet.
  explicit NamespaceProcess(NamespaceOptions options);
  ~NamespaceProcess();

  /// Runs the command. Throws when there is no such program or it cannot be executed.
  void start();
  /// To the command alone, not to its children; nothing when it has ended.
  void send_signal(int signal);
  /// The command's exit code, 128 + N when signal N ended it; nothing while it runs.
  std::optional<int> poll_exit();
  /// Blocks until the command has ended.
  int wait();
  /// For the event loop: readable when the command has ended.
  int handle() const;

  /// The other end of `interface`, of which there must be one.
  TunDevice& tun();
  /// Of the network inside.
  RouteSocket& routes();
  /// False where the interface was to have IPv6 addresses and the machine has no IPv6.
  bool has_ipv6() const;
  /// The first process inside, as seen from here: what nsenter(1) wants to know.
  int process_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs a command (or work) in a new network of its own and waits; its exit code.
int run_in_namespace(NamespaceOptions options);

/// Why NamespaceProcess cannot work here (no user namespaces, no TUN): found by trying; empty when
/// it can.
std::string namespaces_forbidden();

}  // namespace cress::netns
