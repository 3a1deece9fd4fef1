#pragma once

#include <SDL.h>
#include <fcntl.h>
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
#include <functional>
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

/// PNG's CRC-32 of one byte.
inline constexpr std::array<uint32_t, 256> kCrcOfByte = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ (0xedb88320U & (0U - (crc & 1U)));
    }
    table.at(byte) = crc;
  }
  return table;
}();

// A PNG whose data is stored, not compressed: good enough for inspection.
inline void save_png(const Screenshot& shot, const std::filesystem::path& path) {
  std::string out("\x89PNG\r\n\x1a\n", 8);
  const auto number = [](std::string& to, uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      to += static_cast<char>(value >> static_cast<unsigned>(shift) & 0xffU);
    }
  };
  const auto chunk = [&](const std::string& body) {
    number(out, static_cast<uint32_t>(body.size() - 4));
    uint32_t crc = 0xffffffffU;
    for (const char c : body) {
      crc = (crc >> 8U) ^ kCrcOfByte[(crc ^ static_cast<unsigned char>(c)) & 0xffU];
    }
    out += body;
    number(out, ~crc);
  };
  std::string head = "IHDR";
  number(head, static_cast<uint32_t>(shot.width));
  number(head, static_cast<uint32_t>(shot.height));
  head += std::string("\x08\x06\0\0\0", 5);
  chunk(head);
  std::string raw;
  const size_t row = static_cast<size_t>(shot.width) * 4;
  for (size_t y = 0; y < static_cast<size_t>(shot.height); ++y) {
    raw += '\0';
    raw.append(reinterpret_cast<const char*>(shot.rgba.data()) + y * row, row);
  }
  std::string data = std::string("IDAT\x78\x01");
  uint32_t low = 1;
  uint32_t high = 0;
  for (size_t from = 0; from < raw.size(); from += 65'535) {
    const size_t size = std::min<size_t>(65'535, raw.size() - from);
    data += from + size == raw.size() ? '\x01' : '\0';
    data += static_cast<char>(size & 0xffU);
    data += static_cast<char>(size >> 8U);
    data += static_cast<char>(~size & 0xffU);
    data += static_cast<char>(~size >> 8U & 0xffU);
    data.append(raw, from, size);
  }
  for (const char c : raw) {
    low = (low + static_cast<unsigned char>(c)) % 65'521;
    high = (high + low) % 65'521;
  }
  number(data, high << 16U | low);
  chunk(data);
  chunk("IEND");
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << out;
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
inline size_t count(const Rect& area, const std::function<bool(float, float)>& holds) {
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
