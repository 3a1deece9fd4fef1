#include <gtest/gtest.h>
#include <imgui.h>

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/kit/drawer_test_tools.hh"
#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::ui {
namespace {

/// All widgets, in two columns, with what lives from frame to frame.
struct Sheet {
  Drawer& drawer;
  ThemeChoice theme;
  CallView view{};
  UiState state{};
  Controls controls{};
  std::deque<UserAction> actions{};
  TimePoint now = kTimeZero + 1h;
  std::string pressed{};

  DrawnFrame frame() {
    return drawer.draw({0, 0, 640, 700}, [this](Canvas& canvas) {
      Ui ui{.canvas = canvas,
            .controls = controls,
            .theme = theme_of(theme),
            .view = view,
            .state = state,
            .actions = actions,
            .remote = {},
            .own = {},
            .members = {},
            .now = now};
      controls.begin_frame();
      pressed.clear();
      draw_buttons(ui);
      draw_fields(ui);
      draw_shapes(canvas);
      controls.end_frame();
      pressed += ui.wake == now ? "wake" : "";
    });
  }

  void draw_buttons(Ui& ui) {
    float y = 20;
    for (const Weight weight : {Weight::kPlain, Weight::kPrimary, Weight::kDanger}) {
      const std::string id = std::to_string(static_cast<int>(weight));
      const Button plain{.id = "b" + id, .label = "Press", .tip = "tip", .weight = weight};
      pressed += button(ui, {20, y, 130, 40}, plain) ? plain.id : "";
      const Button sign{.id = "s" + id,
                        .label = "Sign",
                        .tip = "tip",
                        .weight = weight,
                        .icon = Icon::kClose,
                        .enabled = weight != Weight::kDanger};
      pressed += button(ui, {170, y, 130, 40}, sign) ? sign.id : "";
      const RoundButton round{.id = "r" + id,
                              .label = "Round",
                              .tip = "tip",
                              .weight = weight,
                              .marked = weight == Weight::kPrimary,
                              .level = weight == Weight::kDanger ? 0.4F : 0.0F,
                              .shows_label = weight != Weight::kPrimary};
      pressed += round_button(ui, {60 + y, 420}, round) ? round.id : "";
      y += 80;
    }
    pressed +=
        icon_button(ui, {200, 300, 40, 40}, "icon", "Icon", "tip", Icon::kClose) ? "icon" : "";
    pressed +=
        icon_button(ui, {250, 300, 24, 24}, "small", "Icon", "", Icon::kChevron) ? "small" : "";
  }

  void draw_fields(Ui& ui) {
    const Devices two{.all = {{"a", "First"}, {"b", "Second"}}, .chosen = "b"};
    device_box(ui, {330, 20, 290, 44}, "wide", "Camera", two, Icon::kClose, Menu::kCameras);
    device_box(ui, {330, 80, 200, 44}, "narrow", "Speaker", two, Icon::kClose, Menu::kSpeakers);
    device_box(ui, {330, 140, 290, 44}, "open", "Screen", {.all = two.all, .chosen = "c"},
               Icon::kClose, Menu::kScreens);
    device_box(ui, {330, 200, 290, 44}, "none", "Microphone", {}, Icon::kClose, Menu::kMicrophones);
    const Typed typed = text_field(ui, {330, 260, 290, 40}, "link", "Link", "paste", state.link);
    pressed += typed.entered ? "entered" : "";
    float y = 320;
    for (const float dbfs : {-70.0F, -59.5F, -30.0F, -6.0F, -1.0F, 0.0F, kSilenceDbfs}) {
      level_meter(ui, {330, y, 290, 8}, dbfs, dbfs == -1.0F);
      y += 12;
    }
  }

  static void draw_shapes(Canvas& canvas) {
    const Color red = rgb(0xc04020);
    canvas.set_opacity(0.7F);
    canvas.fill(fit_inside(16, 9, {330, 420, 100, 100}), red, 4);
    canvas.outline({450, 420, 60, 40}, with_alpha(red, 0.5F));
    canvas.fill_circle({560, 440}, 20, red);
    canvas.outline_circle({600, 440}, 15, red);
    canvas.line({330, 540}, {430, 560}, red);
    const std::array<Point, 3> corners{Point{450, 500}, {500, 500}, {480, 540}};
    canvas.polyline(corners, red, 2);
    canvas.polyline(corners, red, 3, true);
    canvas.arc({540, 520}, 20, 0.5F, 2, red, 3);
    canvas.fill_convex(corners, red);
    canvas.set_opacity(1);
    const Texture texture{reinterpret_cast<void*>(2), 320, 180};
    canvas.push_clip({330, 580, 100, 50});
    canvas.image(texture, {320, 570, 160, 90});
    canvas.pop_clip();
    canvas.image(texture, {500, 570, 80, 45}, 8, true);
    const Rect box{20, 560, 120, 60};
    const float height = canvas.paragraph(box, Font::kBody, red, "some words that need two lines");
    canvas.line({box.x, box.y + height}, {box.right(), box.y + height}, red);
    const float line = canvas.line_height(Font::kTitle);
    canvas.text({20, 640, 200, line}, Font::kTitle, red, "Title");
    canvas.outline({20, 640, canvas.text_width(Font::kTitle, "Title"), line}, red);
  }
};

TEST(Drawing, EachWidgetIsDrawnAsCommitted) {
  std::string all = drawn_letters();
  if (!golden_begins("widgets", all.substr(0, all.size() - 1))) {
    GTEST_SKIP() << "the golden file is of other letters than " << all;
  }
  const auto add = [&all](Sheet& sheet, const std::string& what) {
    const DrawnFrame drawn = sheet.frame();
    std::string texts;
    for (const std::string& text : drawn.texts) {
      texts += text + "\n";
    }
    all += what + ": " + std::to_string(drawn.vertices) + " " + drawn.shapes + " " +
           golden_digest(texts).substr(0, 12) + " " + sheet.pressed + "\n";
  };
  for (const Scale scale : {Scale{}, {1.5F, 2}}) {
    Drawer drawer{scale};
    for (const ThemeChoice theme : {ThemeChoice::kDark, ThemeChoice::kLight}) {
      Sheet sheet{.drawer = drawer, .theme = theme};
      add(sheet, "at rest");
      for (const char* id : {"b0", "b1", "b2", "s0", "s2", "r0", "r1", "r2", "icon", "small",
                             "wide", "narrow", "open", "none", "link"}) {
        const Point at = sheet.controls.find(id)->rect.center();
        sheet.controls.handle_move(sheet.now, at);
        add(sheet, std::string{id} + " pointed at");
        sheet.controls.handle_press(sheet.now, at);
        sheet.controls.handle_leave();
        add(sheet, std::string{id} + " held");
        sheet.controls.handle_release(at);
        add(sheet, std::string{id} + " pressed");
        add(sheet, std::string{id} + " after that " + sheet.state.menu_owner + " " +
                       std::to_string(static_cast<int>(sheet.state.menu)));
        sheet.controls.handle_leave();
        sheet.controls.set_focus(id, true);
        sheet.controls.press_focused();
        add(sheet, std::string{id} + " by keyboard");
        sheet.controls.clear_focus();
        sheet.state.menu_scroll = 3;
      }
      add(sheet, "at the end " + std::to_string(sheet.state.menu_scroll));
    }
  }
  expect_golden("widgets", all);
}

TEST(Drawing, LoadingTheLettersAgainReplacesThem) {
  Drawer drawer{{}};
  Fonts fonts;
  fonts.load({1.5F, 1});
  EXPECT_EQ(ImGui::GetIO().Fonts->Fonts.Size, static_cast<int>(kFonts));
}

TEST(Drawing, LevelsAndTypedTextsAreMeasured) {
  EXPECT_EQ(level_share(-90), 0);
  EXPECT_EQ(level_share(-60), 0);
  EXPECT_EQ(level_share(-30), 0.5F);
  EXPECT_EQ(level_share(0), 1);
  EXPECT_EQ(level_share(3), 1);
  EXPECT_EQ(level_share(kSilenceDbfs), 0);
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed("\t a b\r\n"), "a b");
}

TEST(Drawing, ActionsThatNobodyPollsDropTheOldest) {
  Drawer drawer{{}};
  Sheet sheet{.drawer = drawer, .theme = ThemeChoice::kDark};
  drawer.draw({0, 0, 10, 10}, [&](Canvas& canvas) {
    Ui ui{.canvas = canvas,
          .controls = sheet.controls,
          .theme = theme_of(ThemeChoice::kDark),
          .view = sheet.view,
          .state = sheet.state,
          .actions = sheet.actions,
          .remote = {},
          .own = {},
          .members = {}};
    for (uint32_t i = 1; i <= kActionsMax + 1; ++i) {
      ui.ask(Pin{i});
    }
  });
  ASSERT_EQ(sheet.actions.size(), kActionsMax);
  EXPECT_EQ(describe(sheet.actions.front()), "pin 2");
  EXPECT_EQ(describe(sheet.actions.back()), "pin 65");
}

TEST(Drawing, EachIconIsDrawnAsCommitted) {
  Drawer drawer{{}};
  std::string all = std::string{"Dear ImGui "} + IMGUI_VERSION + "\n";
  if (!golden_begins("icons", all.substr(0, all.size() - 1))) {
    GTEST_SKIP() << "the golden file is of another version than " << all;
  }
  for (int i = 0; i < kIcons; ++i) {
    all += std::to_string(i);
    for (const float size : {16.0F, 40.0F}) {
      const DrawnFrame drawn = drawer.draw({0, 0, 640, 480}, [&](Canvas& canvas) {
        draw_icon(canvas, static_cast<Icon>(i), {100, 60}, size, rgb(0x123456), rgb(0xabcdef));
      });
      all += " " + std::to_string(drawn.vertices) + " " + drawn.shapes;
    }
    all += "\n";
  }
  expect_golden("icons", all);
}

TEST(Drawing, TooWideTextEndsInDots) {
  Drawer drawer{{}};
  std::vector<std::string> texts;
  for (const auto& [width, align] : {std::pair{200.0F, Align::kLeft},
                                     {200.0F, Align::kCenter},
                                     {200.0F, Align::kRight},
                                     {60.0F, Align::kLeft},
                                     {4.0F, Align::kLeft}}) {
    const DrawnFrame drawn = drawer.draw({0, 0, 640, 480}, [&](Canvas& canvas) {
      const float fits = canvas.text_width(Font::kBody, "Anna Lindqvist");
      canvas.text({100, 100, fits, 20}, Font::kBody, rgb(0xffffff), "Anna Lindqvist");
      canvas.text({100, 140, fits - 1, 20}, Font::kBody, rgb(0xffffff), "Anna Lindqvist");
      canvas.text({300, 100, width, 20}, Font::kBody, rgb(0xffffff), "Anna Lindqvist", align);
    });
    ASSERT_EQ(drawn.texts.size(), 3U);
    EXPECT_TRUE(drawn.texts[0].ends_with(" Anna Lindqvist")) << drawn.texts[0];
    EXPECT_TRUE(drawn.texts[1].ends_with(" Anna Lindqv…")) << drawn.texts[1];
    texts.push_back(drawn.texts[2]);
  }
  EXPECT_TRUE(texts[0].starts_with("300 ") && texts[0].ends_with(" Anna Lindqvist")) << texts[0];
  EXPECT_TRUE(texts[2].ends_with(" Anna Lindqvist")) << texts[2];
  EXPECT_TRUE(texts[3].ends_with("…")) << texts[3];
  EXPECT_TRUE(texts[4].ends_with(" …")) << texts[4];
}

}  // namespace
}  // namespace cress::ui
