#include "app/ui/kit/hidden_input.hh"

#include <gtest/gtest.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "app/ui/kit/drawer_test_tools.hh"

namespace cress::ui {
namespace {

constexpr const char* kLink = "cress://203.0.113.7:41641/#Jx8mQ0vKZq3uVtYw2aBcDg";
constexpr size_t kFieldSize = 128;

/// Two fields, of which one is hidden, in frames of Dear ImGui.
class HiddenInputTest : public ::testing::Test {
 protected:
  /// `keyboard`: "##link", "##name" or none, gets it.
  void frame(const std::string& keyboard = "") {
    drawer_.draw({0, 0, 400, 200}, [&](Canvas& /*canvas*/) {
      const auto field = [&](const char* id, std::span<char> text) {
        if (keyboard == id) {
          ImGui::SetKeyboardFocusHere();
        }
        ImGui::InputText(id, text.data(), text.size());
      };
      hidden_.edit(ImGui::GetID("##link"), [&](std::span<char> clear) {
        seen_ = clear.data();
        field("##link", clear);
        return 0;
      });
      field("##name", name_);
    });
  }
  void type(const std::string& keyboard, const char* text) {
    frame(keyboard);
    frame();
    ImGui::GetIO().AddInputCharactersUTF8(text);
    frame();
    ImGui::GetIO().InputQueueCharacters.clear();
  }
  static void press(ImGuiKey key) {
    ImGuiIO& io = ImGui::GetIO();
    io.KeyMap[key] = key;
    io.KeysDown[key] = true;
  }
  static void release() {
    std::ranges::fill(ImGui::GetIO().KeysDown, false);
    ImGui::GetIO().KeyCtrl = false;
  }
  /// Where Dear ImGui has a part of the link now.
  static std::string found_in_imgui() {
    const ImGuiInputTextState& state = ImGui::GetCurrentContext()->InputTextState;
    const std::string part{kLink + 30, 12};
    std::u16string wide{part.begin(), part.end()};
    const auto has = [](const void* memory, size_t size, const void* needle, size_t length) {
      return size >= length && memmem(memory, size, needle, length) != nullptr;
    };
    std::string found;
    const auto look = [&](const char* where, const void* memory, size_t size) {
      if (has(memory, size, part.data(), part.size()) ||
          has(memory, size, wide.data(), 2 * wide.size())) {
        found += std::string{where} + " ";
      }
    };
    look("TextW", state.TextW.Data, 2 * static_cast<size_t>(state.TextW.Capacity));
    look("TextA", state.TextA.Data, static_cast<size_t>(state.TextA.Capacity));
    look("InitialTextA", state.InitialTextA.Data, static_cast<size_t>(state.InitialTextA.Capacity));
    look("undo", std::begin(state.Stb.undostate.undo_char), sizeof state.Stb.undostate.undo_char);
    return found;
  }
  bool is_hidden() const {
    return memmem(seen_, kFieldSize, kLink + 30, 12) == nullptr && found_in_imgui().empty();
  }

  Drawer drawer_{Scale{}};
  HiddenInput hidden_{kFieldSize};
  std::array<char, kFieldSize> name_{};
  const char* seen_ = nullptr;
};

TEST_F(HiddenInputTest, GivesBackWhatWasPut) {
  EXPECT_TRUE(hidden_.empty());
  hidden_.put(kLink);
  EXPECT_EQ(hidden_.reveal().view(), kLink);
  hidden_.put(std::string(1000, 'x'));
  EXPECT_EQ(hidden_.reveal().view(), std::string(kFieldSize - 1, 'x'));
  hidden_.clear();
  EXPECT_TRUE(hidden_.empty());
  EXPECT_EQ(hidden_.reveal().view(), "");
}

TEST_F(HiddenInputTest, WhatIsTypedIsInTheField) {
  type("##link", kLink);
  EXPECT_EQ(hidden_.reveal().view(), kLink);
  type("##link", "xyz");
  EXPECT_EQ(hidden_.reveal().view(), std::string{kLink} + "xyz");
}

TEST_F(HiddenInputTest, BetweenFramesNoCopyIsInClear) {
  hidden_.put(kLink);
  frame();
  EXPECT_TRUE(is_hidden()) << "without the keyboard";
  type("##link", "more");
  EXPECT_TRUE(is_hidden()) << found_in_imgui();
  EXPECT_GT(ImGui::GetCurrentContext()->InputTextState.TextW.Size, 0) << "it never had it";
  for (int i = 0; i < 5; ++i) {
    frame();
    EXPECT_TRUE(is_hidden()) << found_in_imgui();
  }
}

TEST_F(HiddenInputTest, ADeletedLinkIsNotInClearAndComesBack) {
  hidden_.put(kLink);
  frame("##link");  // which selects all
  frame();
  press(ImGuiKey_Delete);
  frame();
  release();
  frame();
  ASSERT_TRUE(hidden_.empty());
  EXPECT_TRUE(is_hidden()) << found_in_imgui();
  ImGui::GetIO().KeyCtrl = true;
  press(ImGuiKey_Z);
  frame();
  release();
  frame();
  EXPECT_EQ(hidden_.reveal().view(), kLink) << "undone";
  EXPECT_TRUE(is_hidden()) << found_in_imgui();
}

TEST_F(HiddenInputTest, AnotherFieldTakesTheKeyboardAndGivesItBack) {
  hidden_.put(kLink);
  for (int i = 0; i < 3; ++i) {
    type("##link", "a");
    EXPECT_TRUE(is_hidden()) << found_in_imgui();
    type("##name", "b");
    EXPECT_TRUE(is_hidden()) << found_in_imgui();
  }
  EXPECT_TRUE(hidden_.reveal().view().starts_with("cress://") ||
              hidden_.reveal().view().starts_with("a"));
  EXPECT_NE(std::string{name_.data()}.find('b'), std::string::npos);
}

}  // namespace
}  // namespace cress::ui
