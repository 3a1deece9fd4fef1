#pragma once

#include <functional>

#include "transport/sim/host.hh"
#include "transport/sim/link.hh"

namespace cress::sim {

/// Two hosts and the path between them, in virtual time: the only place besides the real driver
/// that steps machines ("change once, then drain"). Two runs with equal parts are equal.
/// The hosts and links are borrowed and must outlive the world.
class World {
 public:
  struct Parts {
    Host& left;
    Host& right;
    Link& forward;  ///< left -> right
    Link& reverse;  ///< right -> left
  };

  explicit World(Parts parts) : parts_(parts) {}

  /// Runs every event up to and including `end`. `on_progress` (may be empty) is told the virtual
  /// time now and then.
  void run_until(TimePoint end, const std::function<void(TimePoint)>& on_progress = {});
  TimePoint now() const { return now_; }

 private:
  TimePoint next_event() const;
  void step();
  void drain(Host& host, Link& out);

  Parts parts_;
  TimePoint now_ = kTimeZero;
};

}  // namespace cress::sim
