#include "app/ui/kit/controls.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cress::ui {
namespace {

Control button(const std::string& id, float x, bool enabled = true) {
  return {.id = id, .label = id, .tip = "press " + id, .rect = {x, 0, 100, 40}, .enabled = enabled};
}

// Three buttons in a row, and a menu of two over the first when it is open.
class Row : public ::testing::Test {
 protected:
  Row() { frame(); }
  // Returns the ids that were activated.
  std::vector<std::string> frame() {
    std::vector<std::string> activated;
    const auto add = [&](const Control& control) {
      if (controls_.add(control).activated) {
        activated.push_back(control.id);
      }
    };
    controls_.begin_frame();
    add(button("a", 0));
    add(button("b", 100, b_enabled_));
    Control drag = button("c", 200);
    drag.kind = Control::Kind::kDrag;
    arrow_ = controls_.add(drag).arrow;
    if (menu_open_) {
      controls_.begin_modal({0, 0, 100, 80});
      add({.id = "menu 1", .label = "one", .tip = "", .rect = {0, 0, 100, 40}});
      add({.id = "menu 2", .label = "two", .tip = "", .rect = {0, 40, 100, 40}});
    }
    controls_.end_frame();
    return activated;
  }
  void click(Point at) {
    controls_.handle_press(now_, at);
    controls_.handle_release(at);
  }
  std::string focus() const {
    return controls_.focused() != nullptr ? controls_.focused()->id : "";
  }

  Controls controls_;
  TimePoint now_ = kTimeZero;
  bool b_enabled_ = true;
  bool menu_open_ = false;
  Point arrow_{};
};

using Activated = std::vector<std::string>;

TEST_F(Row, APressAndReleaseBetweenTwoFramesActivatesOnce) {
  click({150, 20});
  EXPECT_EQ(frame(), Activated{"b"});
  EXPECT_EQ(frame(), Activated{});
}

TEST_F(Row, ReleaseElsewhereCancelsThePress) {
  controls_.handle_press(now_, {50, 20});
  EXPECT_EQ(frame(), Activated{});
  controls_.handle_release({150, 20});
  EXPECT_EQ(frame(), Activated{});
}

TEST_F(Row, DisabledControlIgnoresInput) {
  b_enabled_ = false;
  frame();
  click({150, 20});
  EXPECT_EQ(frame(), Activated{});
  controls_.move_focus(now_, false);
  EXPECT_EQ(focus(), "a");
  controls_.move_focus(now_, false);
  EXPECT_EQ(focus(), "c") << "Tab passes it by";
}

TEST_F(Row, TabGoesAroundBothWaysAndEnterActivates) {
  EXPECT_EQ(focus(), "");
  for (const char* expected : {"a", "b", "c", "a"}) {
    controls_.move_focus(now_, false);
    EXPECT_EQ(focus(), expected);
  }
  EXPECT_TRUE(controls_.shows_ring());
  controls_.move_focus(now_, true);
  EXPECT_EQ(focus(), "c");
  controls_.press_focused();
  EXPECT_EQ(frame(), Activated{}) << "c was added without being asked";
  controls_.set_focus("b", true);
  controls_.press_focused();
  EXPECT_EQ(frame(), Activated{"b"});
}

TEST_F(Row, ClickHidesTheFocusRingAndOneOutsideRemovesFocus) {
  controls_.move_focus(now_, false);
  click({150, 20});
  EXPECT_FALSE(controls_.shows_ring());
  EXPECT_EQ(focus(), "b");
  click({500, 500});
  EXPECT_EQ(focus(), "");
}

TEST_F(Row, AMenuTakesPointerAndKeyboard) {
  controls_.set_focus("c", true);
  menu_open_ = true;
  frame();
  EXPECT_EQ(focus(), "menu 1") << "opened by the keyboard, it begins at its first line";
  EXPECT_EQ(controls_.at({150, 20}), nullptr) << "what is beside the menu is out of reach";
  EXPECT_EQ(controls_.at({50, 20})->id, "menu 1") << "it lies on top of a";
  controls_.handle_arrow(now_, {0, 1});
  EXPECT_EQ(focus(), "menu 2");
  controls_.handle_arrow(now_, {0, 1});
  EXPECT_EQ(focus(), "menu 1");
  controls_.press_focused();
  EXPECT_EQ(frame(), Activated{"menu 1"});
  menu_open_ = false;
  frame();
  EXPECT_EQ(focus(), "c") << "the focus is back where it was";
}

TEST_F(Row, PressOutsideAMenuOnlyDismissesIt) {
  menu_open_ = true;
  frame();
  EXPECT_FALSE(controls_.take_dismissed());
  click({150, 20});
  EXPECT_EQ(frame(), Activated{});
  EXPECT_TRUE(controls_.take_dismissed());
  EXPECT_FALSE(controls_.take_dismissed());
}

TEST_F(Row, ArrowsReachAFocusedDragOnce) {
  controls_.set_focus("c", true);
  controls_.handle_arrow(now_, {-1, 0});
  frame();
  EXPECT_EQ(arrow_, (Point{-1, 0}));
  frame();
  EXPECT_EQ(arrow_, (Point{}));
}

TEST_F(Row, ATipComesAfterARestAndGoesWithAClick) {
  controls_.handle_move(now_, {50, 20});
  EXPECT_EQ(controls_.tip_at(now_ + 499ms), nullptr);
  EXPECT_EQ(controls_.tip_due(now_), now_ + 500ms);
  ASSERT_NE(controls_.tip_at(now_ + 500ms), nullptr);
  EXPECT_EQ(controls_.tip_at(now_ + 500ms)->tip, "press a");
  controls_.handle_move(now_ + 600ms, {150, 20});
  EXPECT_EQ(controls_.tip_at(now_ + 700ms), nullptr) << "another control: the wait starts again";
  now_ += 2s;
  click({150, 20});
  EXPECT_EQ(controls_.tip_at(now_ + 10s), nullptr);
  EXPECT_EQ(controls_.tip_due(now_), kNever);
}

TEST_F(Row, ATipAlsoComesForTheKeyboard) {
  controls_.move_focus(now_, false);
  ASSERT_NE(controls_.tip_at(now_ + 500ms), nullptr);
  EXPECT_EQ(controls_.tip_at(now_ + 500ms)->id, "a");
}

TEST_F(Row, ClickOnAControlRemovedNextFrameDoesNothing) {
  menu_open_ = true;
  frame();
  click({50, 60});
  menu_open_ = false;
  EXPECT_EQ(frame(), Activated{});
  menu_open_ = true;
  EXPECT_EQ(frame(), Activated{});
}

}  // namespace
}  // namespace cress::ui
