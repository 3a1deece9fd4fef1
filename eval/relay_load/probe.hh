#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "eval/relay_load/child_process.hh"
#include "eval/relay_load/shared.hh"
#include "transport/base/address.hh"
#include "transport/base/time.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::relay_load {

struct ProbeOptions {
  Address relay{};
  /// Two members who speak all the time, in each of them.
  std::vector<secure::Secret> rooms{};
  /// Ask the machine to go before everybody else.
  bool goes_first = false;
};

/// A sound's way through a relay: from the hand-over at the sender to the kernel's receipt at the
/// receiver.
struct ProbedSound {
  TimePoint captured{};
  Duration delay{};
};

/// Members in a process of their own who do nothing but speak, so that what their sounds wait for
/// is the relay. Threads: none inside; one owner, who has one thread: it forks.
class ProbeProcess {
 public:
  explicit ProbeProcess(const ProbeOptions& options);
  /// All so far, in no order; at most kSoundsMax.
  std::vector<ProbedSound> sounds() const;

  static constexpr size_t kSoundsMax = 2'000'000;
  static constexpr int kMembers = 2;  ///< of each room

  /// What both processes see.
  struct Shared {
    std::atomic<size_t> count = 0;
    std::array<ProbedSound, kSoundsMax> sounds{};
  };

 private:
  SharedMemory<Shared> shared_;
  std::unique_ptr<ChildProcess> process_;
};

/// Asks that this process goes before all that do not ask (SCHED_FIFO). Throws std::runtime_error
/// if the machine does not allow it.
void go_first();

}  // namespace cress::relay_load
