#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/relay_load/child_process.hh"
#include "relay/daemon/room_store.hh"
#include "transport/base/address.hh"
#include "transport/base/time.hh"

namespace cress::relay_load {

/// A relay in a child process, on a free port of the loopback interface, until destroyed. Its
/// limits are the defaults, except the numbers of rooms and members.
class RelayProcess {
 public:
  /// `goes_first`: with priority over everything else on the machine. Throws std::runtime_error if
  /// it does not start. Forks: the caller must have only one thread.
  RelayProcess(const std::vector<relay::RoomDoor>& rooms, int members_max, bool goes_first);
  ~RelayProcess();
  RelayProcess(const RelayProcess&) = delete;
  RelayProcess& operator=(const RelayProcess&) = delete;

  const Address& address() const { return address_; }
  /// Its processor time so far, on all threads.
  Duration cpu() const;
  /// Its current memory.
  uint64_t resident_bytes() const;
  /// The text of /metrics.
  std::string metrics() const;
  pid_t pid() const { return process_->pid(); }

 private:
  std::filesystem::path folder_;
  std::optional<ChildProcess> process_;
  Address address_{};
  int metrics_port_ = 0;
};

/// A process's processor time so far, on all threads.
Duration cpu_of(pid_t process);

/// One sample of a metrics text, by its name with labels; 0 if missing.
double metric(const std::string& text, const std::string& name);

}  // namespace cress::relay_load
