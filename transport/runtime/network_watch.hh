#pragma once

#include <functional>
#include <memory>

#include "transport/base/time.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// A change of this machine's network paths; several simultaneous changes are reported together.
struct NetworkChange {
  bool addresses = false;  ///< an address was added, removed, or became usable
  bool routes = false;
  Duration slept{};  ///< how long the machine was suspended; 0 if it was not
  friend bool operator==(const NetworkChange&, const NetworkChange&) = default;
};

/// Reports when an operation that has just failed is worth retrying at once: changes of addresses
/// and routes from the kernel (rtnetlink), within milliseconds, and resume from suspend, within a
/// second. Mere repetitions by the kernel (for router advertisements, every few seconds) are not
/// reported. Needs no privileges. Errors: the constructor throws std::runtime_error; afterwards
/// lost notifications are reported as a change. Threads: the loop's. Loop and clock are borrowed
/// and must outlive it.
class NetworkWatch {
 public:
  NetworkWatch(EventLoop& loop, std::function<void(const NetworkChange&)> on_change);
  ~NetworkWatch();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::runtime
