#pragma once

#include <functional>
#include <memory>

#include "transport/base/time.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::runtime {

/// What made the paths of this machine different; several at once are told at once.
struct NetworkChange {
  bool addresses = false;  ///< an address came, went, or became usable
  bool routes = false;
  Duration slept{};  ///< the machine was asleep for so long; 0 when it was not
  friend bool operator==(const NetworkChange&, const NetworkChange&) = default;
};

/// Tells when it is worth trying at once what has just failed: the kernel's news about addresses
/// and routes (rtnetlink), within milliseconds, and that the machine woke from sleep, within a
/// second. What the kernel merely repeats (router advertisements do, every few seconds) is not
/// told. Needs no rights.
/// Errors: the constructor throws std::runtime_error; afterwards missed news are told as a change.
/// Threads: the loop's. Loop and clock are borrowed and must outlive it.
class NetworkWatch {
 public:
  NetworkWatch(EventLoop& loop, std::function<void(const NetworkChange&)> on_change);
  ~NetworkWatch();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cress::runtime
