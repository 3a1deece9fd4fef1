// Goal: the memory of a running `cress-call` window contains no link secret, also while the window
// displays the link. Method: the real program on a virtual screen, controlled by keys; all readable
// memory of it is searched for the secret as bytes and as text, in the widths of Dear ImGui too.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/ui/window_test_tools.hh"
#include "relay/program_test_tools.hh"
#include "transport/base/leak_check.hh"
#include "transport/process/own_secrets.hh"
#include "transport/secure/link/link.hh"

namespace cress::relay {
namespace {

/// The text with `zeros` zero bytes after each character: UTF-16 and UTF-32, low byte first.
std::string widened(const std::string& text, size_t zeros) {
  std::string wide;
  for (const char c : text) {
    wide += c;
    wide.append(zeros, '\0');
  }
  return wide;
}

/// What must not be found: the secret of `link`.
struct LinkNeedles {
  explicit LinkNeedles(const std::string& link) {
    const auto parsed = secure::parse_link(link);
    if (!parsed) {
      ADD_FAILURE() << "no link: " << link;
      return;
    }
    const std::string text = link.substr(link.find('#') + 1);
    of = {{"bytes", as_text(parsed->secret)},
          {"text", text},
          {"UTF-16", widened(text, 1)},
          {"UTF-32", widened(text, 3)}};
  }
  std::string found_in(const std::string& memory) const {
    std::string found;
    for (const auto& [what, needle] : of) {
      if (const size_t times = count(memory, needle); times > 0) {
        found += std::to_string(times) + " as " + what + "; ";
      }
    }
    return of.empty() ? "nothing was searched for" : found;
  }
  std::vector<std::pair<std::string, std::string>> of{};
};

/// The clipboard of the virtual screen, as another program on it has it.
class OtherPrograms {
 public:
  OtherPrograms() {
    SDL_InitSubSystem(SDL_INIT_VIDEO);
    window_ = SDL_CreateWindow("another", 0, 900, 40, 40, SDL_WINDOW_HIDDEN);
  }
  ~OtherPrograms() {
    done_ = true;
    if (answers_.joinable()) {
      answers_.join();
    }
    SDL_DestroyWindow(window_);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
  }
  OtherPrograms(const OtherPrograms&) = delete;
  OtherPrograms& operator=(const OtherPrograms&) = delete;

  std::string take() {
    char* const text = SDL_GetClipboardText();
    std::string copy = text;
    SDL_free(text);
    return copy;
  }
  /// From now on the program answers whoever pastes.
  void offer(const std::string& text) {
    SDL_SetClipboardText(text.c_str());
    answers_ = std::thread{[this] {
      while (!done_) {
        SDL_PumpEvents();
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
      }
    }};
  }

 private:
  SDL_Window* window_ = nullptr;
  std::atomic<bool> done_ = false;
  std::thread answers_;
};

class WindowProgram : public RelayProgram {
 protected:
  static void SetUpTestSuite() {
    if (ui::is_installed("Xvfb") && ui::is_installed("xdotool")) {
      display() = std::make_unique<ui::VirtualDisplay>();
    }
  }
  static void TearDownTestSuite() { display().reset(); }
  static std::unique_ptr<ui::VirtualDisplay>& display() {
    static std::unique_ptr<ui::VirtualDisplay> the_display;
    return the_display;
  }
  void SetUp() override {
#if defined(CRESS_LEAK_CHECK) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "with a sanitizer freed memory is kept as it was";
#endif
    if (!display() || !display()->is_up()) {
      GTEST_SKIP() << "no virtual display and hand: install xvfb and xdotool";
    }
    if (geteuid() != 0) {
      GTEST_SKIP() << "only root may surely read the memory of another program";
    }
    RelayProgram::SetUp();
    SDL_setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }

  std::unique_ptr<Program> open_window(std::vector<std::string> arguments) {
    // Few pictures: without a graphics card, drawing 30 a second takes nearly half of a core.
    arguments.insert(arguments.end(), {"--name", kName, "--camera", "test", "--size", "320x180",
                                       "--fps", "10", "--microphone", "test", "--speaker", "none"});
    auto window = std::make_unique<Program>(folder_, "window", "cress-call", arguments);
    by_hand({"search", "--sync", "--onlyvisible", "--name", "^Cress$", "windowfocus"});
    // Its name is in its memory as soon as it has begun, and says that the right one is searched.
    EXPECT_TRUE(eventually([&] { return count(memory_of(window->pid()), kName) > 0; }));
    return window;
  }
  std::unique_ptr<Program> start_headless(const std::string& label,
                                          std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--headless", "--name", label, "--size", "160x96", "--fps", "10",
                      "--video-in", "test", "--stats", (folder_ / (label + ".jsonl")).string()});
    return std::make_unique<Program>(folder_, label, "cress-call", arguments);
  }
  /// A listener without a window, and its link.
  std::unique_ptr<Program> start_listener(std::string& link) {
    auto listener = start_headless("lea", {"--listen", relay_address()});
    EXPECT_TRUE(eventually([&] { return count(listener->out(), "\n") > 0; })) << listener->err();
    link = listener->out().substr(0, listener->out().find('\n'));
    return listener;
  }
  bool is_up(const std::string& label) {
    return eventually([&] { return count(stats(label), "\"connected\":true") > 1; });
  }
  static void by_hand(std::vector<std::string> words) {
    if (words[0] == "key") {
      words.insert(words.begin() + 1, {"--delay", "100"});  // as long as a finger presses
    }
    words.insert(words.begin(), "xdotool");
    int status = -1;
    ::waitpid(ui::spawn(words), &status, 0);
    EXPECT_EQ(status, 0) << "xdotool " << words[1];
    std::this_thread::sleep_for(std::chrono::milliseconds{700});  // some frames
  }
  static std::string frozen(const Program& window) {
    kill(window.pid(), SIGSTOP);
    std::string memory = memory_of(window.pid());
    kill(window.pid(), SIGCONT);
    EXPECT_GT(count(memory, kName), 0U) << "nothing was searched";
    return memory;
  }
  /// In the instant in which a frame draws it, a text is in clear; so several instants are looked
  /// at, and what stays is found in all of them.
  static std::string found_in(const Program& window, const LinkNeedles& needles) {
    constexpr int kInstantsMax = 12;  // on a busy machine, drawing takes most of the time
    std::string found;
    for (int i = 0; i < kInstantsMax; ++i) {
      found = needles.found_in(frozen(window));
      if (found.empty()) {
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{110});
    }
    return found;
  }

  static constexpr const char* kName = "Jo-in-the-memory";
  /// What is in the field that has the keyboard.
  static std::string in_field() {
    OtherPrograms{}.offer("");  // of an empty field nothing is copied
    by_hand({"key", "ctrl+a"});
    by_hand({"key", "ctrl+c"});
    return OtherPrograms{}.take();
  }
  /// Types again where on a busy machine a key came with the shift or control of its neighbour.
  static bool type_into_field(const std::string& text) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      by_hand({"key", "ctrl+a"});
      by_hand({"type", "--delay", "10", text});
      if (in_field() == text) {
        return true;
      }
    }
    return false;
  }
};

TEST_F(WindowProgram, ALinkThatItDisplaysIsNotInItsMemory) {
  const auto window = open_window({"--listen", relay_address()});
  ASSERT_TRUE(eventually([&] { return count(window->out(), "\n") > 0; })) << window->err();
  const std::string link = window->out().substr(0, window->out().find('\n'));
  const LinkNeedles needles{link};
  std::this_thread::sleep_for(std::chrono::seconds{1});
  EXPECT_EQ(found_in(*window, needles), "") << "while the link is displayed";
  by_hand({"key", "ctrl+c"});
  EXPECT_EQ(found_in(*window, needles), "") << "copied, and the X server has it";
  EXPECT_EQ(OtherPrograms{}.take(), link);
  const auto jo = start_headless("jo", {link});
  ASSERT_TRUE(is_up("jo")) << jo->err();
  EXPECT_EQ(found_in(*window, needles), "") << "in the call";
}

TEST_F(WindowProgram, ALinkThatItWasGivenIsNotInItsMemory) {
  std::string link;
  const auto lea = start_listener(link);
  const auto window = open_window({link});
  ASSERT_TRUE(is_up("lea")) << lea->err() << window->err();
  EXPECT_EQ(found_in(*window, LinkNeedles{link}), "");
}

TEST_F(WindowProgram, ALinkThatIsTypedIsNotInItsMemory) {
  std::string link;
  const auto lea = start_listener(link);
  const auto window = open_window({});
  const LinkNeedles needles{link};
  by_hand({"key", "Tab", "Tab", "Tab"});
  ASSERT_TRUE(type_into_field(link));
  EXPECT_EQ(found_in(*window, needles), "") << "in the field";
  by_hand({"key", "Delete"});
  EXPECT_EQ(found_in(*window, needles), "") << "deleted, and kept for undoing";
  by_hand({"key", "ctrl+z"});
  EXPECT_EQ(found_in(*window, needles), "") << "undone";
  ASSERT_TRUE(in_field() == link || type_into_field(link));
  by_hand({"key", "Return"});
  ASSERT_TRUE(is_up("lea")) << lea->err() << window->err();
  EXPECT_EQ(found_in(*window, needles), "") << "in the call";
}

TEST_F(WindowProgram, ALinkThatIsPastedIsNotInItsMemory) {
  std::string link;
  const auto lea = start_listener(link);
  OtherPrograms others;
  others.offer(link);
  const auto window = open_window({});
  const LinkNeedles needles{link};
  by_hand({"key", "ctrl+v"});
  EXPECT_EQ(found_in(*window, needles), "") << "pasted where nothing has the keyboard";
  by_hand({"key", "ctrl+a"});
  by_hand({"key", "ctrl+v"});
  EXPECT_EQ(found_in(*window, needles), "") << "pasted into the field";
  by_hand({"key", "Return"});
  ASSERT_TRUE(is_up("lea")) << lea->err() << window->err();
  EXPECT_EQ(found_in(*window, needles), "") << "in the call";
}

TEST_F(WindowProgram, TheLinkOfARoomIsNotInItsMemory) {
  const auto relay = start_relay("relay");
  const auto window = open_window({"--relay", relay_address()});
  by_hand({"key", "ctrl+r"});
  by_hand({"key", "Tab", "Tab"});
  by_hand({"type", "kitchen"});
  by_hand({"key", "Return"});
  std::vector<std::string> memories;
  for (int i = 0; i < 5; ++i) {
    memories.push_back(frozen(*window));
    std::this_thread::sleep_for(std::chrono::milliseconds{70});
  }
  OtherPrograms others;
  by_hand({"key", "ctrl+c"});
  const std::string made = others.take();
  ASSERT_TRUE(made.starts_with("cress://" + relay_address() + "/kitchen#")) << made;
  const LinkNeedles of_made{made};
  EXPECT_TRUE(std::ranges::any_of(
      memories, [&](const std::string& memory) { return of_made.found_in(memory).empty(); }))
      << "a room that is made: " << of_made.found_in(memories.back());
}

TEST_F(WindowProgram, TheLinkOfARoomItIsInIsNotInItsMemory) {
  const std::string link = ask_relay({"room", "create", "cellar"});
  const auto relay = start_relay("relay");
  runtime::write_secret(folder_ / "cellar.link", link);
  const auto window = open_window({"--link-file", (folder_ / "cellar.link").string()});
  const auto kim = start_member("kim", link);
  ASSERT_TRUE(eventually([&] { return others("kim") == std::vector<std::string>{kName}; }))
      << window->err() << kim->err();
  EXPECT_EQ(found_in(*window, LinkNeedles{link}), "") << "with others";
}

}  // namespace
}  // namespace cress::relay
