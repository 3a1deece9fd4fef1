#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/address.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::desktop {

/// More names than these are not asked for at once: a person who tries link after link while the
/// name server is silent.
inline constexpr int kLookUpsMax = 8;

/// Does what may take long elsewhere, and brings the answer to an event loop. A name server that
/// never answers holds up nobody, not even the program's end.
/// Threads: the loop's; `post` from any. The loop is borrowed; nothing reaches it after the
/// destructor.
class Errands {
 public:
  using LookUp = std::function<std::vector<Address>(std::string_view host_and_port)>;

  /// `look_up` is called in any thread, also after the destructor.
  Errands(runtime::EventLoop& loop, LookUp look_up);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  struct Answer {
    std::vector<Address> addresses;  ///< none: `error` says why
    std::string error;
  };
  /// Asks in a thread of its own; the answer comes in the loop's. False: kLookUpsMax are under way.
  bool look_up(std::string host_and_port, std::function<void(const Answer&)> done);
  /// Has `work` called in the loop's thread.
  void post(std::function<void()> work);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;  // with the threads that may outlive us
};

}  // namespace cress::desktop
