#include "app/ui/kit/imgui_renderer.hh"

#include <SDL.h>
#include <imgui.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "transport/base/check.hh"

namespace cress::ui {

ImguiRenderer::ImguiRenderer(SDL_Renderer& renderer) : renderer_(renderer) {
  ImGui::GetIO().BackendRendererName = "cress";
  // Vertices are addressed from an offset, so that a draw list may have more than 2^16 of them.
  ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
}

ImguiRenderer::~ImguiRenderer() { SDL_DestroyTexture(letters_); }

void ImguiRenderer::upload_fonts() {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  atlas.GetTexDataAsRGBA32(&pixels, &width, &height);
  if (letters_ != nullptr) {
    SDL_DestroyTexture(letters_);
  }
  letters_ = SDL_CreateTexture(&renderer_, SDL_PIXELFORMAT_RGBA32, SDL_TEXTUREACCESS_STATIC, width,
                               height);
  if (letters_ == nullptr || SDL_UpdateTexture(letters_, nullptr, pixels, 4 * width) != 0) {
    throw std::runtime_error(std::string("cannot prepare the window's letters: ") + SDL_GetError());
  }
  SDL_SetTextureBlendMode(letters_, SDL_BLENDMODE_BLEND);
  SDL_SetTextureScaleMode(letters_, SDL_ScaleModeLinear);
  atlas.SetTexID(letters_);
  atlas.ClearTexData();
}

void ImguiRenderer::render(const ImDrawData& data) {
  const ImVec2 scale = data.FramebufferScale;
  SDL_RenderSetScale(&renderer_, scale.x, scale.y);
  SDL_RenderSetViewport(&renderer_, nullptr);
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      check(command.UserCallback == nullptr, "ImguiRenderer: callbacks are not for us");
      const float left = std::max(0.0F, command.ClipRect.x);
      const float top = std::max(0.0F, command.ClipRect.y);
      const float right = std::min(data.DisplaySize.x, command.ClipRect.z);
      const float bottom = std::min(data.DisplaySize.y, command.ClipRect.w);
      if (right <= left || bottom <= top) {
        continue;
      }
      const SDL_Rect clip{static_cast<int>(left), static_cast<int>(top),
                          static_cast<int>(right - left), static_cast<int>(bottom - top)};
      SDL_RenderSetClipRect(&renderer_, &clip);
      const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
      static_assert(sizeof(vertices->col) == sizeof(SDL_Color));
      constexpr int kStride = sizeof(ImDrawVert);
      SDL_RenderGeometryRaw(
          &renderer_, static_cast<SDL_Texture*>(command.GetTexID()), &vertices->pos.x, kStride,
          reinterpret_cast<const SDL_Color*>(&vertices->col), kStride, &vertices->uv.x, kStride,
          list.VtxBuffer.Size - static_cast<int>(command.VtxOffset),
          list.IdxBuffer.Data + command.IdxOffset, static_cast<int>(command.ElemCount),
          sizeof(ImDrawIdx));
    }
  }
  SDL_RenderSetClipRect(&renderer_, nullptr);
  SDL_RenderSetScale(&renderer_, 1, 1);
}

}  // namespace cress::ui
