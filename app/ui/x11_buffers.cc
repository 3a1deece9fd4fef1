#include "app/ui/x11_buffers.hh"

#include <SDL.h>
#include <SDL_syswm.h>
#include <dlfcn.h>

#include <memory>

namespace cress::ui {

#ifdef SDL_VIDEO_DRIVER_X11
namespace {

// The library that SDL has loaded: nothing else of this program needs it.
constexpr const char* kLibrary = "libX11.so.6";
constexpr size_t kBufferSize = 16'384;  // of libX11's requests, and of libxcb's replies

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

void overwrite_x11_buffers(SDL_Window& window) {
  SDL_SysWMinfo info{};
  SDL_VERSION(&info.version);
  if (SDL_GetWindowWMInfo(&window, &info) == SDL_FALSE || info.subsystem != SDL_SYSWM_X11) {
    return;
  }
  const std::unique_ptr<void, int (*)(void*)> library{dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD),
                                                      &dlclose};
  if (library == nullptr) {
    return;
  }
  auto* const no_operation = find<decltype(XNoOp)>(library.get(), "XNoOp");
  auto* const display_keycodes =
      find<decltype(XDisplayKeycodes)>(library.get(), "XDisplayKeycodes");
  auto* const keyboard = find<decltype(XGetKeyboardMapping)>(library.get(), "XGetKeyboardMapping");
  auto* const release = find<decltype(XFree)>(library.get(), "XFree");
  if (no_operation == nullptr || display_keycodes == nullptr || keyboard == nullptr ||
      release == nullptr) {
    return;
  }
  Display* const display = info.info.x11.display;
  constexpr size_t kRequestSize = 4;
  for (size_t i = 0; i < kBufferSize / kRequestSize; ++i) {
    no_operation(display);
  }
  // The longest reply that is always there: some 7000 bytes, a link has 512. If its head comes
  // alone, libxcb reads the rest past its buffer (seen in one of 15 pastes on a busy machine).
  constexpr int kTimes = 8;
  int first = 0;
  int last = 0;
  int for_each = 0;
  display_keycodes(display, &first, &last);
  for (int i = 0; i < kTimes; ++i) {
    release(keyboard(display, static_cast<KeyCode>(first), last - first + 1, &for_each));
  }
}

bool asks_for_clipboard(const SDL_Event& event) {
  return event.type == SDL_SYSWMEVENT && event.syswm.msg->subsystem == SDL_SYSWM_X11 &&
         event.syswm.msg->msg.x11.event.type == SelectionRequest;
}
#else
void overwrite_x11_buffers(SDL_Window& /*window*/) {}
bool asks_for_clipboard(const SDL_Event& /*event*/) { return false; }
#endif

}  // namespace cress::ui
