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
  /// Rooms with two members each, who speak all the time.
  std::vector<secure::Secret> rooms{};
  /// Request priority over all other processes.
  bool goes_first = false;
};

/// The transit of an audio message through a relay: from the hand-over at the sender to the
/// kernel's receipt at the receiver.
struct ProbedSound {
  TimePoint captured{};
  Duration delay{};
};

/// Members in a process of their own that only send audio, so that the measured delay is that of
/// the relay. Threads: none inside; one owner, whose process must have only one thread: it forks.
class ProbeProcess {
 public:
  explicit ProbeProcess(const ProbeOptions& options);
  /// All so far, in no particular order; at most kSoundsMax.
  std::vector<ProbedSound> sounds() const;

  static constexpr size_t kSoundsMax = 2'000'000;
  static constexpr int kMembers = 2;  ///< of each room

  /// Shared by both processes.
  struct Shared {
    std::atomic<size_t> count = 0;
    std::array<ProbedSound, kSoundsMax> sounds{};
  };

 private:
  SharedMemory<Shared> shared_;
  std::unique_ptr<ChildProcess> process_;
};

/// Gives this process priority over ordinary ones (SCHED_FIFO). Throws std::runtime_error if the
/// machine does not permit it.
void go_first();

}  // namespace cress::relay_load
