// Goal: drawings stay as they were, pixel by pixel. Method: digests of canvases after seeded boxes,
// masks, pictures and texts, and of a film of two scripted calls.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "eval/film/canvas.hh"
#include "eval/film/film.hh"
#include "eval/film/font.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::film {
namespace {

std::string pixels_of(const media::Picture& picture) {
  return golden_digest({reinterpret_cast<const char*>(picture.data.data()), picture.data.size()});
}

int within(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng.below(static_cast<uint64_t>(high - low)));
}

/// Braces evaluate from left to right with every compiler; the arguments of a call need not.
Colour random_colour(Rng& rng) {
  const std::array<int, 3> rgb{within(rng, 0, 256), within(rng, 0, 256), within(rng, 0, 256)};
  return from_rgb(rgb[0], rgb[1], rgb[2]);
}

media::Picture noisy(Rng& rng, int width, int height) {
  media::Picture picture = media::make_picture(width, height);
  for (uint8_t& pixel : picture.data) {
    pixel = static_cast<uint8_t>(rng.below(256));
  }
  return picture;
}

TEST(FilmGolden, CanvasesAreDrawnAsRecorded) {
  Rng rng{3};
  std::string golden;
  for (const auto& [width, height] : {std::pair{40, 30}, {41, 31}, {2, 2}, {1, 1}}) {
    media::Picture canvas = media::make_picture(width, height);
    for (int i = 0; i < 30; ++i) {
      const Box box{within(rng, -9, 45), within(rng, -9, 35), within(rng, -2, 30),
                    within(rng, -2, 25)};
      const Colour colour = random_colour(rng);
      fill(canvas, box, colour, static_cast<uint8_t>(rng.chance(0.4) ? 255 : rng.below(256)));
      golden += pixels_of(canvas) + " ";
      Mask mask{within(rng, 1, 12), within(rng, 1, 12), {}};
      for (int pixel = 0; pixel < mask.width * mask.height; ++pixel) {
        mask.alpha.push_back(
            static_cast<uint8_t>(rng.chance(0.3) ? 255 * rng.below(2) : rng.below(256)));
      }
      const std::array<int, 6> at{within(rng, -9, 45), within(rng, -9, 35), within(rng, -5, 20),
                                  within(rng, -5, 15), within(rng, 1, 16),  within(rng, 1, 16)};
      stamp(canvas, at[0], at[1], mask, colour);
      golden += pixels_of(canvas) + " ";
      place(canvas, 2 * at[2], 2 * at[3], noisy(rng, at[4], at[5]));
      golden += pixels_of(canvas) + "\n";
    }
  }
  for (int i = 0; i < 40; ++i) {
    const std::array<int, 10> n{within(rng, 1, 900), within(rng, 1, 900), within(rng, 0, 50),
                                within(rng, 0, 50),  within(rng, 2, 500), within(rng, 2, 500),
                                within(rng, 1, 99),  within(rng, 1, 99),  within(rng, 1, 99),
                                within(rng, 0, 257)};
    const Box box = fit(n[0], n[1], {2 * n[2], 2 * n[3], n[4], n[5]});
    golden += std::to_string(box.x) + "," + std::to_string(box.y) + " " +
              std::to_string(box.width) + "x" + std::to_string(box.height) + ", " +
              std::to_string(nearest_even(n[6], n[7], n[8])) + "\n";
    const std::array<Colour, 2> two{random_colour(rng), random_colour(rng)};
    const Colour colour = mix(two[0], two[1], n[9]);
    golden += std::to_string(colour.y) + " " + std::to_string(colour.u) + " " +
              std::to_string(colour.v) + "\n";
  }
  expect_golden("canvas", golden);
}

TEST(FilmGolden, LettersAreDrawnAsRecorded) {
  std::string golden;
  Font font;
  for (const int height : {5, 9, 14, 31}) {
    for (char letter = ' '; letter <= '~'; ++letter) {
      const std::string text(1, letter);
      media::Picture canvas = media::make_picture(height * 2 + 20, height * 2 + 20);
      const int end = font.draw(canvas, 9, 7, height, text, from_rgb(250, 240, 100));
      golden += text + std::to_string(font.width_of(text, height)) + " " + std::to_string(end) +
                " " + pixels_of(canvas) + "\n";
    }
  }
  media::Picture canvas = media::make_picture(300, 60);
  for (const char* text : {"", "Cress 12.5 ms", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80!",
                           "\xff\xfe broken \xc3", "tab\tand\nline"}) {
    const int end = font.draw(canvas, 3, 20, 12, text, {90, 90, 200});
    golden += std::to_string(font.width_of(text, 12)) + " " + std::to_string(end) + " " +
              pixels_of(canvas) + "\n";
  }
  // 400 letters are more than a screen: the file keeps their digest and the text.
  const std::string digest = golden_digest(golden);
  expect_golden("font", digest + "\n" + golden.substr(golden.size() - 200));
}

/// Pictures of changing sizes, late and with stalls, from a seed.
class ScriptedCall final : public Feed {
 public:
  explicit ScriptedCall(uint64_t seed) : rng_(seed) {}
  std::optional<ShownPicture> poll() override {
    if (captured_ > kTimeZero + 20s) {
      return std::nullopt;
    }
    captured_ += 33ms;
    const Duration stall = rng_.chance(0.06) ? from_seconds(rng_.exponential(0.8)) : Duration{};
    shown_ = std::max(shown_, captured_ + 50ms + stall);
    const int width = rng_.chance(0.1) ? 32 : 64;
    return ShownPicture{captured_, shown_,
                        std::make_shared<const media::Picture>(noisy(rng_, width, width * 9 / 16)),
                        rng_.chance(0.5) ? std::to_string(width) + " wide" : ""};
  }

 private:
  Rng rng_;
  TimePoint captured_ = kTimeZero;
  TimePoint shown_ = kTimeZero;
};

TEST(FilmGolden, AFilmOfScriptedCallsIsDrawnAsRecorded) {
  std::string golden;
  for (size_t panes = 1; panes <= kPanesMax; ++panes) {
    std::vector<Pane> list;
    for (size_t i = 0; i < panes; ++i) {
      list.push_back({i % 2 == 0 ? "cress" : "a scheme with a long name",
                      std::make_unique<ScriptedCall>(i + 1)});
    }
    const int width = 300 * static_cast<int>(panes);
    Film film{{.width = width,
               .height = fitting_height(panes, 64, 36, width),
               .frame_rate = {5, 1},
               .begin = kTimeZero + (panes == 2 ? 1500ms : 0ms),
               .length = panes == 1 ? 14s : 6s,
               .title = "3g down, 20 ms"},
              std::move(list)};
    golden +=
        std::to_string(film.options().width) + "x" + std::to_string(film.options().height) + "\n";
    for (int step = 0; film.step(); ++step) {
      golden += std::to_string(to_milliseconds(film.time())) + " " + pixels_of(film.canvas());
      for (size_t i = 0; i < panes && step % 5 == 0; ++i) {
        const PaneState& state = film.state(i);
        golden += " | " + state_words(state).front() + " " + std::to_string(state.still / 1ms) +
                  " " + std::to_string(state.frozen / 1ms);
      }
      golden += "\n";
    }
  }
  for (size_t panes = 1; panes <= kPanesMax; ++panes) {
    for (const auto& [width, height] : {std::pair{640, 480}, {1280, 720}, {90, 160}, {64, 64}}) {
      golden += std::to_string(fitting_height(panes, width, height)) + " ";
    }
  }
  expect_golden("film", golden + "\n");
}

}  // namespace
}  // namespace cress::film
