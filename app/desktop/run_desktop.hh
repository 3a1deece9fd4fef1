#pragma once

#include <functional>
#include <ostream>

#include "app/desktop/desktop_call.hh"
#include "app/ui/window.hh"
#include "transport/runtime/clock.hh"

namespace cress::desktop {

struct DesktopOptions {
  DesktopCallOptions call{};
  ui::WindowOptions window{};
};

/// The whole program with a window: opens it, makes what its person asks for, until he quits (or
/// SIGINT or SIGTERM do). Where `call.listen` is set, the link goes to `out` too, on a line of its
/// own. Gives the program's exit code, 0.
/// Errors: std::runtime_error, one clear line, where there is no display: `main` prints it and
/// gives 2. Threads: the program's first (SDL's rule).
int run_desktop(const DesktopOptions& options, std::ostream& out);

/// The window's loop: draws what the call says, hands on what the person asks for, sleeps, until
/// the person has quit or `until` says so (asked after each turn; empty: never).
void show(ui::Window& window, DesktopCall& call, const runtime::MonotonicClock& clock,
          const std::function<bool()>& until = {});

}  // namespace cress::desktop
