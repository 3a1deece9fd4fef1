#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "transport/process/hidden_text.hh"

namespace cress::ui {

/// The contents of a text field for a link. In clear only inside edit(), that is while the field is
/// drawn; between frames it is masked, see HiddenText, and so is the copy that Dear ImGui has of
/// it while the field has the keyboard. Threads: none inside; one owner.
class HiddenInput {
 public:
  /// `bytes`: of the field, with the NUL at its end.
  explicit HiddenInput(size_t bytes) : text_(bytes) {}

  /// What does not fit is cut off.
  void put(std::string_view text);
  void clear() { put({}); }
  bool empty() const { return size_ == 0; }
  runtime::ClearText reveal() const;

  /// Calls `draw` with the field in clear, ending with a NUL, and masks what it leaves there.
  /// `imgui_id`: of the field that it draws, in the current context of Dear ImGui.
  template <class Draw>
  auto edit(unsigned imgui_id, Draw&& draw) {
    const Unmasked now{*this, imgui_id};
    return draw(std::span<char>{text_});
  }

 private:
  /// In clear while it exists.
  class Unmasked {
   public:
    Unmasked(HiddenInput& of, unsigned imgui_id);
    ~Unmasked();
    Unmasked(const Unmasked&) = delete;
    Unmasked& operator=(const Unmasked&) = delete;

   private:
    HiddenInput& of_;
    unsigned imgui_id_;
  };
  void mask();
  void unmask();

  std::vector<char> text_;  // `size_` masked bytes, then zeros
  size_t size_ = 0;
  std::vector<std::byte> pad_;
  std::vector<std::byte> imgui_pad_;  // empty: Dear ImGui's copy is not masked
};

}  // namespace cress::ui
