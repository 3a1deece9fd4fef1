#include "app/desktop/run_desktop.hh"

#include <csignal>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>

#include "media/gst/gst_runtime.hh"
#include "transport/base/text_file.hh"

namespace cress::desktop {
namespace {

/// SIGINT and SIGTERM, handled instead of ending the program: it closes the call first. Created
/// before any other thread, which would receive them otherwise.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  /// Since the last call.
  bool raised() const {
    const timespec at_once{};
    return sigtimedwait(&signals_, nullptr, &at_once) > 0;
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

std::unique_ptr<ui::Window> open_window(const ui::WindowOptions& options) {
  try {
    return std::make_unique<ui::Window>(options);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string{error.what()} +
                             "; a call without a screen: cress-call --headless");
  }
}

}  // namespace

void show(ui::Window& window, DesktopCall& call, const runtime::MonotonicClock& clock,
          const std::function<bool()>& until) {
  while (!call.has_quit()) {
    window.draw(clock.now(), call.view());
    while (const auto action = window.poll_action()) {
      call.handle(*action);
    }
    if (until && until()) {
      return;
    }
    call.wait_for_news(window.poll_timeout());
  }
}

int run_desktop(const DesktopOptions& options, std::ostream& out) {
  const EndSignals signals;
  const runtime::MonotonicClock clock;
  // First of all: if there is no display, no camera's lamp should flash either.
  const auto window = open_window(options.window);
  const media::GstRuntime gstreamer;
  DesktopCall call{clock, options.call};
  bool prints = options.call.listen.has_value();
  show(*window, call, clock, [&] {
    if (signals.raised()) {
      call.handle(ui::HangUp{});
      call.handle(ui::Quit{});
    }
    if (prints) {
      const runtime::HiddenText link = call.view().link;
      if (!link.empty()) {
        print_now(out, std::string{link.reveal().view()} + "\n");
        prints = false;
      }
    }
    return false;
  });
  return 0;
}

}  // namespace cress::desktop
