#include <SDL.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include <cstdlib>
#include <functional>
#include <memory>

#include "app/ui/kit/canvas.hh"
#include "app/ui/kit/imgui_renderer.hh"
#include "app/ui/kit/picture_texture.hh"

namespace cress::ui {
namespace {

constexpr int kWidth = 120;
constexpr int kHeight = 90;

/// Draws into memory: no display is needed.
class RendererTest : public ::testing::Test {
 protected:
  RendererTest() {
    ImGui::SetCurrentContext(context_);
    ImGui::GetIO().IniFilename = nullptr;
    fonts_.load({});
    imgui_renderer_ = std::make_unique<ImguiRenderer>(*renderer_);
    imgui_renderer_->upload_fonts();
  }
  ~RendererTest() override {
    imgui_renderer_.reset();
    ImGui::DestroyContext(context_);
    SDL_DestroyRenderer(renderer_);
    SDL_FreeSurface(surface_);
  }

  // `scale`: pixels of the surface for each of the window's.
  void draw(const std::function<void(Canvas&)>& paint, float scale = 1) {
    SDL_SetRenderDrawColor(renderer_, 0, 0, 0, 255);
    SDL_RenderClear(renderer_);
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {kWidth / scale, kHeight / scale};
    io.DisplayFramebufferScale = {scale, scale};
    io.DeltaTime = 0.1F;
    ImGui::NewFrame();
    Canvas canvas{*ImGui::GetBackgroundDrawList(), fonts_, {}, {0, 0, kWidth, kHeight}};
    paint(canvas);
    ImGui::Render();
    imgui_renderer_->render(*ImGui::GetDrawData());
    SDL_RenderPresent(renderer_);
  }
  // As 0xrrggbb.
  uint32_t pixel(int x, int y) const {
    const auto* row =
        static_cast<const uint8_t*>(surface_->pixels) + static_cast<ptrdiff_t>(y) * surface_->pitch;
    return reinterpret_cast<const uint32_t*>(row)[x] & 0xffffffU;
  }
  static bool is_near(uint32_t pixel, uint32_t wanted) {
    for (const unsigned shift : {0U, 8U, 16U}) {
      const int difference =
          static_cast<int>(pixel >> shift & 0xffU) - static_cast<int>(wanted >> shift & 0xffU);
      if (std::abs(difference) > 6) {
        return false;
      }
    }
    return true;
  }
  int lit_pixels() const {
    int lit = 0;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        lit += pixel(x, y) != 0 ? 1 : 0;
      }
    }
    return lit;
  }

  SDL_Surface* surface_ =
      SDL_CreateRGBSurfaceWithFormat(0, kWidth, kHeight, 32, SDL_PIXELFORMAT_XRGB8888);
  SDL_Renderer* renderer_ = SDL_CreateSoftwareRenderer(surface_);
  ImGuiContext* context_ = ImGui::CreateContext();
  Fonts fonts_;
  std::unique_ptr<ImguiRenderer> imgui_renderer_;
};

media::PicturePtr picture_of(int width, int height, uint8_t y, uint8_t u, uint8_t v) {
  auto picture = std::make_shared<media::Picture>(media::make_picture(width, height));
  std::fill_n(picture->y(), width * height, y);
  const int chroma = picture->chroma_width() * ((height + 1) / 2);
  std::fill_n(picture->u(), chroma, u);
  std::fill_n(picture->v(), chroma, v);
  return picture;
}

TEST_F(RendererTest, ARectangleIsInItsPlaceAndColour) {
  draw([](Canvas& canvas) { canvas.fill({20, 30, 40, 10}, rgb(0x2080e0)); });
  EXPECT_EQ(pixel(40, 35), 0x2080e0U);
  EXPECT_EQ(pixel(18, 35), 0U);
  EXPECT_EQ(pixel(40, 28), 0U);
  EXPECT_EQ(pixel(62, 35), 0U);
  EXPECT_EQ(pixel(40, 42), 0U);
}

TEST_F(RendererTest, AtTwoPixelsAPointAllIsTwiceAsLarge) {
  draw([](Canvas& canvas) { canvas.fill({20, 10, 20, 10}, rgb(0x2080e0)); }, 2);
  EXPECT_EQ(pixel(44, 24), 0x2080e0U);
  EXPECT_EQ(pixel(76, 36), 0x2080e0U);
  EXPECT_EQ(pixel(36, 24), 0U);
  EXPECT_EQ(pixel(44, 16), 0U);
  EXPECT_EQ(pixel(84, 36), 0U);
  float x = 0;
  float y = 0;
  SDL_RenderGetScale(renderer_, &x, &y);
  EXPECT_EQ(x, 1) << "others draw unscaled";
  EXPECT_EQ(y, 1);
}

TEST_F(RendererTest, NothingIsDrawnOutsideOfAClip) {
  draw([](Canvas& canvas) {
    canvas.push_clip({20, 30, 40, 20});
    canvas.fill({0, 0, 100, 80}, rgb(0xffffff));
    canvas.pop_clip();
    canvas.push_clip({70, 70, 0, 10});
    canvas.fill({0, 0, 100, 90}, rgb(0xff0000));
    canvas.pop_clip();
    canvas.push_clip({70, 80, 10, 0});
    canvas.fill({0, 0, 100, 90}, rgb(0xff0000));
    canvas.pop_clip();
    // Over the window's edges.
    canvas.push_clip({-10, -10, 15, 15});
    canvas.fill({-20, -20, 200, 200}, rgb(0x00ff00));
    canvas.pop_clip();
    canvas.push_clip({110, 80, 100, 100});
    canvas.fill({-20, -20, 300, 300}, rgb(0x00ff00));
    canvas.pop_clip();
  });
  EXPECT_EQ(lit_pixels(), 40 * 20 + 5 * 5 + 10 * 10);
  EXPECT_EQ(pixel(20, 30), 0xffffffU);
  EXPECT_EQ(pixel(59, 49), 0xffffffU);
  EXPECT_EQ(pixel(4, 4), 0x00ff00U);
  EXPECT_EQ(pixel(110, 80), 0x00ff00U);
  EXPECT_EQ(SDL_RenderIsClipEnabled(renderer_), SDL_FALSE) << "others draw unclipped";
}

TEST_F(RendererTest, LettersAreDrawnAlsoAfterTheyWereLoadedAgain) {
  const auto word = [](Canvas& canvas) {
    canvas.text({10, 10, 100, 40}, Font::kTitle, rgb(0xffffff), "H");
  };
  draw(word);
  const int lit = lit_pixels();
  EXPECT_GT(lit, 50);
  EXPECT_LT(lit, 700) << "a letter, not its box";
  fonts_.load({});
  imgui_renderer_->upload_fonts();
  draw(word);
  EXPECT_EQ(lit_pixels(), lit);
}

TEST_F(RendererTest, APictureIsDrawnInItsColours) {
  PictureTexture texture{*renderer_};
  EXPECT_EQ(texture.view().handle, nullptr);
  const auto red = picture_of(8, 6, 81, 90, 240);
  EXPECT_TRUE(texture.update(red));
  EXPECT_FALSE(texture.update(red)) << "it is there already";
  EXPECT_EQ(texture.view().width, 8);
  EXPECT_EQ(texture.view().height, 6);
  draw([&](Canvas& canvas) { canvas.image(texture.view(), {20, 30, 40, 30}); });
  EXPECT_TRUE(is_near(pixel(40, 45), 0xff0000U)) << std::hex << pixel(40, 45);
  // Of the same size, another size, and none.
  EXPECT_TRUE(texture.update(picture_of(8, 6, 145, 54, 34)));
  draw([&](Canvas& canvas) { canvas.image(texture.view(), {20, 30, 40, 30}); });
  EXPECT_TRUE(is_near(pixel(40, 45), 0x00ff00U)) << std::hex << pixel(40, 45);
  for (const auto& [width, height] : {std::pair{8, 10}, {12, 10}}) {
    EXPECT_TRUE(texture.update(picture_of(width, height, 41, 240, 110)));
    EXPECT_EQ(texture.view().width, width);
    EXPECT_EQ(texture.view().height, height);
    draw([&](Canvas& canvas) { canvas.image(texture.view(), {20, 30, 40, 30}); });
    EXPECT_TRUE(is_near(pixel(40, 58), 0x0000ffU)) << std::hex << pixel(40, 58);
  }
  EXPECT_FALSE(texture.update(nullptr));
  EXPECT_EQ(texture.view().handle, nullptr);
}

TEST_F(RendererTest, ADroppedPictureIsBroughtAgain) {
  PictureTexture texture{*renderer_};
  const auto red = picture_of(8, 6, 81, 90, 240);
  EXPECT_TRUE(texture.update(red));
  texture.drop();
  EXPECT_EQ(texture.view().handle, nullptr);
  EXPECT_TRUE(texture.update(red));
}

TEST_F(RendererTest, APictureWithRoundCornersFadesOut) {
  PictureTexture texture{*renderer_};
  texture.update(picture_of(8, 8, 235, 128, 128));
  draw([&](Canvas& canvas) { canvas.image(texture.view(), {20, 20, 40, 40}, 20); });
  EXPECT_EQ(pixel(21, 21), 0U);
  EXPECT_TRUE(is_near(pixel(40, 40), 0xffffffU));
}

}  // namespace
}  // namespace cress::ui
