#pragma once

#include "app/ui/kit/canvas.hh"

struct ImDrawData;
struct SDL_Renderer;
struct SDL_Texture;

namespace cress::ui {

/// Draws Dear ImGui's triangles with an SDL_Renderer (Debian's package has no such backend); an
/// ImTextureID is an SDL_Texture*. Needs a current ImGui context; the renderer outlives it. Errors:
/// std::runtime_error if the font texture cannot be created.
class ImguiRenderer {
 public:
  explicit ImguiRenderer(SDL_Renderer& renderer);
  ~ImguiRenderer();
  ImguiRenderer(const ImguiRenderer&) = delete;
  ImguiRenderer& operator=(const ImguiRenderer&) = delete;

  /// Call after the atlas changed, and after the graphics device lost its textures.
  void upload_fonts();
  void render(const ImDrawData& data);

 private:
  SDL_Renderer& renderer_;
  SDL_Texture* letters_ = nullptr;
};

}  // namespace cress::ui
