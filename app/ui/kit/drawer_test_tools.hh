#pragma once

#include <imgui.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/kit/canvas.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::ui {

/// What one frame has drawn, read back from the triangles.
struct DrawnFrame {
  size_t vertices = 0;
  std::string shapes;  ///< all vertices: a digest of colours and pictures, ~sums of their places
  std::vector<std::string> texts;  ///< "x y colour words", in whole pixels
};

/// The screens without a window: Dear ImGui makes its triangles, and nobody shows them.
class Drawer {
 public:
  explicit Drawer(Scale scale) : scale_(scale), context_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.ConfigInputTextCursorBlink = false;
    io.DeltaTime = 1.0F / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    ImGui::GetStyle().AntiAliasedLinesUseTex = false;
    ImGui::GetStyle().WindowPadding = {0, 0};
    fonts_.load(scale);
    io.Fonts->Build();
    io.Fonts->SetTexID(reinterpret_cast<void*>(1));
    read_letters();
  }
  ~Drawer() { ImGui::DestroyContext(context_); }
  Drawer(const Drawer&) = delete;
  Drawer& operator=(const Drawer&) = delete;

  const Fonts& fonts() const { return fonts_; }

  DrawnFrame draw(const Rect& area, const std::function<void(Canvas&)>& paint) {
    ImGui::SetCurrentContext(context_);
    ImGui::GetIO().DisplaySize = {area.width * scale_.unit, area.height * scale_.unit};
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("test", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNavInputs);
    Canvas canvas{*ImGui::GetWindowDrawList(), fonts_, scale_, area};
    paint(canvas);
    ImGui::End();
    ImGui::Render();
    return read(*ImGui::GetDrawData());
  }

 private:
  struct Letter {
    const ImFont* font;
    const ImFontGlyph* glyph;
  };
  using Corners = std::array<float, 4>;

  void read_letters() {
    for (size_t i = 0; i < kFonts; ++i) {
      const ImFont* font = fonts_[static_cast<Font>(i)];
      for (const ImFontGlyph& glyph : font->Glyphs) {
        if (glyph.Visible != 0) {
          letters_.try_emplace({glyph.U0, glyph.V0, glyph.U1, glyph.V1}, Letter{font, &glyph});
        }
      }
    }
  }

  static void append(std::string& to, float value, float steps) {
    const auto rounded = static_cast<int32_t>(std::lround(value * steps));
    to.append(reinterpret_cast<const char*>(&rounded), sizeof rounded);
  }

  /// Of all places, each with a weight, so that no two can be exchanged. Not a digest: Dear ImGui
  /// takes the processor's fast square roots, which differ from maker to maker by 1 in 3000.
  struct Sums {
    double x = 0;
    double y = 0;
    unsigned vertices = 0;
    void add(const ImVec2& place) {
      const double weight = 0.5 + 0.05 * (vertices++ % 16);
      x += weight * place.x;
      y += weight * place.y;
    }
    std::string text() const {
      return "~" + std::to_string(std::lround(x)) + " ~" + std::to_string(std::lround(y));
    }
  };

  DrawnFrame read(const ImDrawData& data) const {
    DrawnFrame frame;
    std::string bytes;
    Sums sums;
    for (int i = 0; i < data.CmdListsCount; ++i) {
      const ImDrawList& list = *data.CmdLists[i];
      for (const ImDrawCmd& command : list.CmdBuffer) {
        read_command(list, command, frame, bytes, sums);
      }
    }
    frame.shapes = golden_digest(bytes).substr(0, 8) + " " + sums.text();
    return frame;
  }

  void read_command(const ImDrawList& list, const ImDrawCmd& command, DrawnFrame& frame,
                    std::string& bytes, Sums& sums) const {
    for (const float edge :
         {command.ClipRect.x, command.ClipRect.y, command.ClipRect.z, command.ClipRect.w}) {
      append(bytes, edge, 4);
    }
    const auto texture = reinterpret_cast<uintptr_t>(command.GetTexID());
    bytes.append(reinterpret_cast<const char*>(&texture), sizeof texture);
    Words words;
    for (unsigned at = 0; at < command.ElemCount; ++at) {
      const ImDrawIdx* index = &list.IdxBuffer[static_cast<int>(command.IdxOffset + at)];
      const ImDrawVert* vertices = &list.VtxBuffer[static_cast<int>(command.VtxOffset)];
      const ImDrawVert& vertex = vertices[index[0]];
      sums.add(vertex.pos);
      bytes.append(reinterpret_cast<const char*>(&vertex.col), sizeof vertex.col);
      if (texture != 1) {
        sums.add({100 * vertex.uv.x, 100 * vertex.uv.y});  // percent of the picture
      }
      ++frame.vertices;
      if (at % 3 == 0 && at + 6 <= command.ElemCount && index[2] == index[0] + 2 &&
          index[4] == index[2] && index[5] == index[0] + 3) {
        const ImDrawVert& low = vertex;
        const ImDrawVert& high = vertices[index[2]];
        const auto letter = letters_.find({low.uv.x, low.uv.y, high.uv.x, high.uv.y});
        if (texture == 1 && letter != letters_.end()) {
          words.add(letter->second, low, frame.texts);
        }
      }
    }
    words.finish(frame.texts);
  }

  // Puts letters that follow each other into one text.
  class Words {
   public:
    void add(const Letter& letter, const ImDrawVert& low, std::vector<std::string>& texts) {
      const float scale = letter.font->Scale;
      const float x = low.pos.x - letter.glyph->X0 * scale;
      const float y = low.pos.y - letter.glyph->Y0 * scale;
      const float space = letter.font->FindGlyph(' ')->AdvanceX * scale;
      const auto spaces = static_cast<int>(std::lround((x - end_) / space));
      const bool follows = !words_.empty() && letter.font == font_ && low.col == color_ &&
                           std::abs(y - y_) < 0.1F && spaces >= 0 && spaces <= 3 &&
                           std::abs(x - end_ - static_cast<float>(spaces) * space) < 0.3F;
      if (!follows) {
        finish(texts);
        x_ = x;
        y_ = y;
        font_ = letter.font;
        color_ = low.col;
      } else {
        words_.append(static_cast<size_t>(spaces), ' ');
      }
      append_utf8(letter.glyph->Codepoint);
      end_ = x + letter.glyph->AdvanceX * scale;
    }
    void finish(std::vector<std::string>& texts) {
      if (words_.empty()) {
        return;
      }
      std::array<char, 64> place{};
      std::snprintf(place.data(), place.size(), "%ld %ld %08x ", std::lround(x_), std::lround(y_),
                    color_);
      texts.push_back(place.data() + words_);
      words_.clear();
    }

   private:
    void append_utf8(uint32_t code) {
      if (code < 0x80) {
        words_ += static_cast<char>(code);
      } else if (code < 0x800) {
        words_ += static_cast<char>(0xc0U | code >> 6U);
        words_ += static_cast<char>(0x80U | (code & 0x3fU));
      } else {
        words_ += static_cast<char>(0xe0U | code >> 12U);
        words_ += static_cast<char>(0x80U | (code >> 6U & 0x3fU));
        words_ += static_cast<char>(0x80U | (code & 0x3fU));
      }
    }
    std::string words_;
    const ImFont* font_ = nullptr;
    uint32_t color_ = 0;
    float x_ = 0;
    float y_ = 0;
    float end_ = 0;
  };

  Scale scale_;
  ImGuiContext* context_;
  Fonts fonts_;
  std::map<Corners, Letter> letters_;
};

/// What the letters are made of: another version of either has other widths.
inline std::string drawn_letters() {
  Drawer drawer{{}};
  const float width =
      drawer.fonts()[Font::kBody]->CalcTextSizeA(1000, FLT_MAX, 0, "The quick brown fox jumps").x;
  return std::string{"Dear ImGui "} + IMGUI_VERSION +
         (drawer.fonts().has_real_font() ? ", DejaVu Sans " : ", no font ") +
         std::to_string(std::lround(width)) + "\n";
}

}  // namespace cress::ui
