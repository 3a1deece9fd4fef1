#include "app/ui/kit/theme.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cress::ui {
namespace {

TEST(Theme, ContrastIsAsTheStandardDefinesIt) {
  EXPECT_NEAR(contrast_ratio(rgb(0x000000), rgb(0xffffff)), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(rgb(0xffffff), rgb(0xffffff)), 1, 1e-9);
  // A published pair: #767676 on white is the lightest grey that passes.
  EXPECT_NEAR(contrast_ratio(rgb(0x767676), rgb(0xffffff)), 4.54, 0.01);
}

TEST(Theme, EveryTextIsReadableOnEverySurfaceItIsUsedOn) {
  for (const ThemeChoice choice : {ThemeChoice::kDark, ThemeChoice::kLight}) {
    const Theme& t = theme_of(choice);
    struct Pair {
      const char* what;
      Color text;
      Color on;
    };
    std::vector<Pair> pairs{{"on accent", t.on_accent, t.accent},
                            {"on accent hover", t.on_accent, t.accent_hover},
                            {"on danger", t.on_danger, t.danger},
                            {"on danger hover", t.on_danger, t.danger_hover}};
    for (const Color on : {t.background, t.surface, t.raised, t.raised_hover}) {
      pairs.push_back({"text", t.text, on});
      pairs.push_back({"muted text", t.text_muted, on});
    }
    for (const Color on : {t.background, t.surface, t.raised}) {
      pairs.push_back({"accent text", t.accent_text, on});
    }
    for (const Color on : {t.background, t.surface}) {
      for (const Tone tone : {Tone::kGood, Tone::kNote, Tone::kWarning, Tone::kTrouble}) {
        pairs.push_back({"tone", tone_color(t, tone), on});
      }
    }
    // What is written on pills and on the row of buttons, whatever video is behind them.
    for (const Color behind : {rgb(0x000000), rgb(0xffffff)}) {
      const Color pill = mix(t.surface, behind, 0.06F);
      for (const Color on : {t.text, t.text_muted, t.accent_text, t.trouble_text}) {
        pairs.push_back({"on video", on, pill});
      }
    }
    pairs.push_back({"selected", t.text, mix(t.raised, t.accent, 0.45F)});
    for (const Color line : {t.forecast_line, t.second_line, t.third_line}) {
      pairs.push_back({"graph", line, t.surface});
    }
    for (const Pair& pair : pairs) {
      EXPECT_GE(contrast_ratio(pair.text, pair.on), 4.5)
          << pair.what << " of theme " << static_cast<int>(choice);
    }
  }
}

TEST(Theme, MixingIsExactAtItsEnds) {
  EXPECT_EQ(mix(rgb(0x102030), rgb(0xf0e0d0), 0), rgb(0x102030));
  EXPECT_EQ(mix(rgb(0x102030), rgb(0xf0e0d0), 1), rgb(0xf0e0d0));
}

}  // namespace
}  // namespace cress::ui
