#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/address.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::desktop {

/// The most simultaneous errands: a user may try link after link while the name server is silent.
inline constexpr int kLookUpsMax = 8;

/// Runs slow work in other threads, and delivers the result to an event loop. A name server that
/// never answers delays nothing, not even the program's end. Threads: the loop's; `post` from any.
/// The loop is borrowed; nothing reaches it after the destructor.
class Errands {
 public:
  using LookUp = std::function<std::vector<Address>(std::string_view host_and_port)>;

  /// `look_up` is called in any thread, also after the destructor.
  Errands(runtime::EventLoop& loop, LookUp look_up);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  struct Answer {
    std::vector<Address> addresses;  ///< empty: `error` gives the reason
    std::string error;
  };
  /// Looks up in a thread of its own; the answer arrives in the loop's. False: kLookUpsMax are in
  /// progress.
  bool look_up(std::string host_and_port, std::function<void(const Answer&)> done);
  /// Runs `work` in a thread of its own; then `done` in the loop's, with what it threw or "".
  /// False: kLookUpsMax are in progress.
  bool run(std::function<void()> work, std::function<void(const std::string& error)> done);
  /// Calls `work` in the loop's thread.
  void post(std::function<void()> work);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // shared with the threads, which may outlive this object
};

}  // namespace cress::desktop
