#include "app/ui/kit/picture_texture.hh"

#include <SDL.h>

namespace cress::ui {

void PictureTexture::drop() {
  if (texture_ != nullptr) {
    SDL_DestroyTexture(texture_);
  }
  texture_ = nullptr;
  shown_.reset();
}

bool PictureTexture::update(const media::PicturePtr& picture) {
  if (picture == shown_) {
    return false;
  }
  if (!picture || picture->width != width_ || picture->height != height_) {
    drop();
  }
  if (!picture) {
    return false;
  }
  if (texture_ == nullptr) {
    texture_ = SDL_CreateTexture(&renderer_, SDL_PIXELFORMAT_IYUV, SDL_TEXTUREACCESS_STREAMING,
                                 picture->width, picture->height);
    if (texture_ == nullptr) {
      return false;  // larger than the graphics card takes
    }
    SDL_SetTextureScaleMode(texture_, SDL_ScaleModeLinear);
    // Rounded corners fade out.
    SDL_SetTextureBlendMode(texture_, SDL_BLENDMODE_BLEND);
    width_ = picture->width;
    height_ = picture->height;
  }
  SDL_UpdateYUVTexture(texture_, nullptr, picture->y(), picture->width, picture->u(),
                       picture->chroma_width(), picture->v(), picture->chroma_width());
  shown_ = picture;
  return true;
}

Texture PictureTexture::view() const {
  return texture_ == nullptr ? Texture{} : Texture{texture_, width_, height_};
}

}  // namespace cress::ui
