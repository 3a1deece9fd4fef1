#include "app/ui/screens/keys.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cress::ui {
namespace {

Key letter(char c) { return {.name = Key::Name::kLetter, .letter = c}; }
Key control(char c) { return {.name = Key::Name::kLetter, .letter = c, .control = true}; }
Key named(Key::Name name) { return {.name = name}; }

class KeysTest : public ::testing::Test {
 protected:
  KeysTest() {
    controls_.begin_frame();
    controls_.add(
        {.id = "link", .label = "Link", .rect = {0, 0, 100, 40}, .kind = Control::Kind::kText});
    controls_.add({.id = "devices", .label = "Devices", .rect = {0, 50, 60, 60}});
    controls_.end_frame();
  }
  bool press(const Key& key, const std::string& clipboard = "") {
    return keys_.handle_down(kTimeZero, key, view_, clipboard);
  }
  std::vector<std::string> asked() {
    std::vector<std::string> words;
    words.reserve(actions_.size());
    for (const UserAction& action : actions_) {
      words.push_back(describe(action));
    }
    actions_.clear();
    return words;
  }
  using Words = std::vector<std::string>;

  Controls controls_;
  UiState state_;
  std::deque<UserAction> actions_;
  Keys keys_{controls_, state_, actions_};
  CallView view_;
};

TEST_F(KeysTest, LettersMatchTheToolTips) {
  view_.screen = Screen::kInCall;
  for (const char c : {'m', 'v', 's', 'f', 't', 'r'}) {
    EXPECT_TRUE(press(letter(c)));
  }
  EXPECT_EQ(asked(), (Words{"mute", "camera off", "share screen ", "full screen", "light theme",
                            "save report"}));
  view_.self = {.muted = true, .camera_off = true, .shares_screen = true};
  view_.full_screen = true;
  view_.theme = ThemeChoice::kLight;
  for (const char c : {'m', 'v', 's', 'f', 't'}) {
    EXPECT_TRUE(press(letter(c)));
  }
  EXPECT_EQ(asked(),
            (Words{"unmute", "camera on", "stop sharing", "leave full screen", "dark theme"}));
  EXPECT_FALSE(press(letter('x')));
  EXPECT_EQ(asked(), Words{});
}

TEST_F(KeysTest, ChatAndPanelHaveOnePlaceAndTheChatTakesTheKeys) {
  view_.screen = Screen::kInCall;
  press(letter('p'));
  press(letter('c'));
  EXPECT_TRUE(state_.chat_open);
  EXPECT_FALSE(state_.panel_open);
  controls_.begin_frame();
  controls_.add({.id = "chat-line", .label = "Your text", .kind = Control::Kind::kText});
  controls_.end_frame();
  EXPECT_FALSE(press(letter('m'))) << "it is text";
  EXPECT_TRUE(press(named(Key::Name::kEscape)));
  EXPECT_TRUE(state_.chat_open);
  EXPECT_TRUE(press(letter('m')));
  EXPECT_EQ(asked(), Words{"mute"});
  press(named(Key::Name::kEscape));
  EXPECT_FALSE(state_.chat_open);
  press(letter('c'));
  controls_.clear_focus();
  press(letter('p'));
  EXPECT_FALSE(state_.chat_open);
  EXPECT_TRUE(state_.panel_open);
  state_.panel_open = false;
  view_.screen = Screen::kWaiting;
  press(letter('c'));
  EXPECT_FALSE(state_.chat_open);
}

TEST_F(KeysTest, AHeldLetterCountsOnce) {
  view_.screen = Screen::kInCall;
  Key key = letter('m');
  press(key);
  key.repeated = true;
  press(key);
  EXPECT_EQ(asked(), Words{"mute"});
}

TEST_F(KeysTest, InATextLettersAndArrowsAreText) {
  controls_.set_focus("link", false);
  for (const Key& key : {letter('m'), letter('v'), named(Key::Name::kSpace),
                         named(Key::Name::kLeft), control('v'), control('c')}) {
    EXPECT_FALSE(press(key, "cress://x"));
  }
  EXPECT_EQ(asked(), Words{});
  EXPECT_TRUE(state_.link.empty());
}

TEST_F(KeysTest, SpaceTalksOnlyWhileMutedAndInACall) {
  view_.screen = Screen::kInCall;
  press(named(Key::Name::kSpace));
  keys_.handle_up(named(Key::Name::kSpace));
  EXPECT_EQ(asked(), Words{});
  view_.self.muted = true;
  press(named(Key::Name::kSpace));
  Key repeated = named(Key::Name::kSpace);
  repeated.repeated = true;
  press(repeated);
  keys_.handle_up(named(Key::Name::kSpace));
  keys_.handle_up(named(Key::Name::kSpace));
  EXPECT_EQ(asked(), (Words{"talk pressed", "talk released"}));
}

TEST_F(KeysTest, AWindowThatLosesTheKeyboardStopsTalking) {
  view_.screen = Screen::kInCall;
  view_.self.muted = true;
  press(named(Key::Name::kSpace));
  keys_.handle_focus_lost();
  keys_.handle_focus_lost();
  EXPECT_EQ(asked(), (Words{"talk pressed", "talk released"}));
}

TEST_F(KeysTest, EscapeGoesBackOneStepAndNeverEndsACall) {
  view_.screen = Screen::kInCall;
  view_.full_screen = true;
  state_.panel_open = true;
  press(letter('d'));
  EXPECT_EQ(state_.menu, Menu::kAllDevices);
  press(named(Key::Name::kEscape));
  EXPECT_EQ(state_.menu, Menu::kNone);
  EXPECT_EQ(asked(), Words{});
  press(named(Key::Name::kEscape));
  EXPECT_EQ(asked(), Words{"leave full screen"});
  view_.full_screen = false;
  press(named(Key::Name::kEscape));
  EXPECT_FALSE(state_.panel_open);
  for (int i = 0; i < 5; ++i) {
    press(named(Key::Name::kEscape));
  }
  EXPECT_EQ(asked(), Words{});
  view_.screen = Screen::kConnecting;
  press(named(Key::Name::kEscape));
  EXPECT_EQ(asked(), Words{"hang up"});
  for (const Screen screen : {Screen::kEnded, Screen::kNewRoom}) {
    view_.screen = screen;
    press(named(Key::Name::kEscape));
    EXPECT_EQ(asked(), Words{"back to start"});
  }
  view_.screen = Screen::kStart;
  press(control('r'));
  EXPECT_EQ(asked(), Words{"plan a room"});
}

TEST_F(KeysTest, PastingFillsTheLinkTrimmedAndBounded) {
  EXPECT_TRUE(press(control('v'), " \n cress://a/#b\t\n"));
  EXPECT_EQ(state_.link.reveal().view(), "cress://a/#b");
  controls_.clear_focus();
  EXPECT_TRUE(press(control('v'), std::string(100'000, 'x')));
  EXPECT_EQ(state_.link.reveal().view().size(), kLinkBytesMax - 1);
  controls_.clear_focus();
  view_.screen = Screen::kInCall;
  EXPECT_FALSE(press(control('v'), "cress://other"));
}

TEST_F(KeysTest, QuittingHangsUpWhereThereIsSomethingToHangUp) {
  press(control('q'));
  EXPECT_EQ(asked(), Words{"quit"});
  for (const Screen screen : {Screen::kWaiting, Screen::kConnecting, Screen::kInCall}) {
    view_.screen = screen;
    press(control('q'));
    EXPECT_EQ(asked(), (Words{"hang up", "quit"}));
  }
}

TEST_F(KeysTest, SharingAsksWhichScreenWhereThereAreSeveral) {
  view_.screen = Screen::kInCall;
  view_.screens.all = {{"a", "A"}};
  press(letter('s'));
  EXPECT_EQ(asked(), Words{"share screen a"});
  view_.screens.all.push_back({"b", "B"});
  press(letter('s'));
  EXPECT_EQ(asked(), Words{});
  EXPECT_EQ(state_.menu, Menu::kScreens);
}

TEST_F(KeysTest, UnpolledActionsAreBounded) {
  view_.screen = Screen::kInCall;
  for (int i = 0; i < 1000; ++i) {
    press(letter('m'));
  }
  EXPECT_EQ(actions_.size(), kActionsMax);
}

}  // namespace
}  // namespace cress::ui
