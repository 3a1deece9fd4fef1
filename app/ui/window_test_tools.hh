#pragma once

#include <SDL.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "app/ui/kit/geometry.hh"
#include "app/ui/kit/theme.hh"
#include "app/ui/window.hh"

namespace cress::ui {

/// Tools for tests on a desktop: a virtual screen of the test's own, programs, and screenshots.
/// xdotool controls mouse and keyboard (the X server's XTEST).

inline bool is_installed(const std::string& program) {
  const char* path = SDL_getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  for (size_t from = 0; from <= folders.size();) {
    const size_t to = std::min(folders.find(':', from), folders.size());
    if (::access((folders.substr(from, to - from) + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
    from = to + 1;
  }
  return false;
}

inline pid_t spawn(const std::vector<std::string>& command) {
  // All before the fork: other threads may hold locks that allocating needs.
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a test that crashes leaves no process behind
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
    ::dup2(nothing, 2);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  return pid;
}

class VirtualDisplay {
 public:
  VirtualDisplay() {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) {
      return;
    }
    ::fcntl(pipe[0], F_SETFD, FD_CLOEXEC);
    pid_ = spawn({"Xvfb", "-displayfd", std::to_string(pipe[1]), "-screen", "0", "1700x1300x24",
                  "-nolisten", "tcp", "-noreset"});
    ::close(pipe[1]);
    std::string number;
    for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) {
      number += c;
    }
    ::close(pipe[0]);
    if (!number.empty()) {
      SDL_setenv("DISPLAY", (":" + number).c_str(), 1);
      SDL_setenv("SDL_VIDEODRIVER", "x11", 1);
      up_ = true;
    }
  }
  ~VirtualDisplay() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  VirtualDisplay(const VirtualDisplay&) = delete;
  VirtualDisplay& operator=(const VirtualDisplay&) = delete;
  bool is_up() const { return up_; }

 private:
  pid_t pid_ = -1;
  bool up_ = false;
};

/// To be looked at.
inline void save_bmp(const Screenshot& shot, const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::vector<uint8_t> pixels(shot.rgba.begin(), shot.rgba.end());
  const std::unique_ptr<SDL_Surface, decltype(&SDL_FreeSurface)> surface{
      SDL_CreateRGBSurfaceWithFormatFrom(pixels.data(), shot.width, shot.height, 32, shot.width * 4,
                                         SDL_PIXELFORMAT_RGBA32),
      &SDL_FreeSurface};
  ASSERT_NE(surface, nullptr) << SDL_GetError();
  ASSERT_EQ(SDL_SaveBMP(surface.get(), path.c_str()), 0) << SDL_GetError();
}

struct Pixel {
  int red, green, blue;
};
inline Pixel pixel(const Screenshot& shot, float x, float y) {
  const size_t at =
      (static_cast<size_t>(y) * static_cast<size_t>(shot.width) + static_cast<size_t>(x)) * 4;
  return {shot.rgba.at(at), shot.rgba.at(at + 1), shot.rgba.at(at + 2)};
}
inline bool is_near(Pixel p, Color c, int by = 12) {
  return std::abs(p.red - c.red) <= by && std::abs(p.green - c.green) <= by &&
         std::abs(p.blue - c.blue) <= by;
}
// The number of pixels of `area` that meet a condition.
template <class Holds>
size_t count(const Rect& area, const Holds& holds) {
  size_t sum = 0;
  for (auto y = static_cast<int>(area.y); y < static_cast<int>(area.bottom()); ++y) {
    for (auto x = static_cast<int>(area.x); x < static_cast<int>(area.right()); ++x) {
      sum += holds(static_cast<float>(x), static_cast<float>(y)) ? 1U : 0U;
    }
  }
  return sum;
}
inline size_t count_near(const Screenshot& shot, const Rect& area, Color c, int by = 12) {
  return count(area, [&](float x, float y) { return is_near(pixel(shot, x, y), c, by); });
}
inline size_t count_different(const Screenshot& a, const Screenshot& b, const Rect& area) {
  return count(area, [&](float x, float y) {
    const Pixel p = pixel(a, x, y);
    const Pixel q = pixel(b, x, y);
    return std::abs(p.red - q.red) + std::abs(p.green - q.green) + std::abs(p.blue - q.blue) > 6;
  });
}

/// Null if there is none.
inline const Control* find_control(const Window& window, const std::string& id) {
  const auto controls = window.controls();
  const auto at = std::ranges::find(controls, id, &Control::id);
  return at == controls.end() ? nullptr : &*at;
}

/// The one that SDL has open.
inline SDL_Window* sdl_window() {
  uint32_t id = 1;
  while (SDL_GetWindowFromID(id) == nullptr && id < 10'000) {
    ++id;
  }
  return SDL_GetWindowFromID(id);
}
/// The position on the screen of a point in the window, as xdotool takes it.
inline std::array<std::string, 2> place_on_screen(Point p, float scale) {
  int x = 0;
  int y = 0;
  SDL_GetWindowPosition(sdl_window(), &x, &y);
  return {std::to_string(x + static_cast<int>(p.x * scale)),
          std::to_string(y + static_cast<int>(p.y * scale))};
}

}  // namespace cress::ui
