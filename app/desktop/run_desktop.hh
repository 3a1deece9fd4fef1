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

/// The whole program with a window: opens it, carries out the user's requests, until the user quits
/// (or SIGINT or SIGTERM). If `call.listen` is set, the link is also printed to `out`, on a line of
/// its own. Returns the program's exit code, 0. Errors: std::runtime_error, one clear line, if
/// there is no display: `main` prints it and returns 2. Threads: the program's first (SDL's rule).
int run_desktop(const DesktopOptions& options, std::ostream& out);

/// The window's loop: draws the call's view, passes on user requests, sleeps, until the user has
/// quit or `until` returns true (called after each turn; empty: never).
void show(ui::Window& window, DesktopCall& call, const runtime::MonotonicClock& clock,
          const std::function<bool()>& until = {});

}  // namespace cress::desktop
