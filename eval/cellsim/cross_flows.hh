#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/cellsim/cellsim.hh"
#include "transport/base/address.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/file_descriptor.hh"

namespace cress::cellsim {

/// Other traffic over the emulated link: connections of the kernel's TCP between the two networks,
/// each end in a process of its own, which ends with this object or with the program.
/// Errors: the constructor throws std::runtime_error, one clear line. A connection that fails later
/// is replaced by a new one. Threads: none inside; one owner, whose process has no other threads
/// while the constructor runs.
class CrossFlows {
 public:
  /// One end: its address in the emulated networks, and a process in the network that has it.
  struct Side {
    Address address;
    std::optional<pid_t> process{};  ///< none: this process's own network
  };
  struct Sides {
    Side near, far;
  };

  CrossFlows(const std::vector<CrossFlow>& flows, const Sides& sides, uint64_t seed,
             const runtime::MonotonicClock& clock);
  ~CrossFlows();
  CrossFlows(const CrossFlows&) = delete;
  CrossFlows& operator=(const CrossFlows&) = delete;

  /// The flows' starts count from `begin`.
  void begin(TimePoint begin);
  /// What arrived by now; `length`: since begin.
  std::vector<CrossReport> report(Duration length) const;

 private:
  struct Arrived;

  void start_process(const Side& side, auto work);

  const std::vector<CrossFlow> flows_;  // one each
  Arrived* arrived_ = nullptr;          // of each flow, shared with its processes
  std::vector<pid_t> processes_;
  std::optional<runtime::FileDescriptor> go_;  // says when the sources begin: see begin
};

/// What the kernel's TCP may use here, and kWebTraffic; throws std::invalid_argument otherwise.
void check_cross_kind(const std::string& kind);

}  // namespace cress::cellsim
