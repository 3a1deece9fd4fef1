#pragma once

#include "app/ui/kit/canvas.hh"
#include "media/frame/picture.hh"

struct SDL_Renderer;
struct SDL_Texture;

namespace cress::ui {

/// The graphics device's copy of one stream's newest picture; its colours are converted there.
class PictureTexture {
 public:
  explicit PictureTexture(SDL_Renderer& renderer) : renderer_(renderer) {}
  ~PictureTexture() { drop(); }
  PictureTexture(const PictureTexture&) = delete;
  PictureTexture& operator=(const PictureTexture&) = delete;

  /// Null: no picture. The same picture again costs nothing. Returns whether a picture was
  /// uploaded.
  bool update(const media::PicturePtr& picture);
  /// The graphics device has lost the texture; the next update uploads it again.
  void drop();
  Texture view() const;

 private:
  SDL_Renderer& renderer_;
  SDL_Texture* texture_ = nullptr;
  int width_ = 0;
  int height_ = 0;
  media::PicturePtr shown_;
};

}  // namespace cress::ui
