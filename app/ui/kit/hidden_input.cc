#include "app/ui/kit/hidden_input.hh"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cress::ui {
namespace {

template <class Value>
std::span<std::byte> memory_of(ImVector<Value>& values) {
  return std::as_writable_bytes(std::span{values.Data, static_cast<size_t>(values.Capacity)});
}

/// Where Dear ImGui keeps the text of the field that has, or had last, the keyboard.
void apply_to_imgui(std::span<const std::byte> pad) {
  ImGuiInputTextState& state = ImGui::GetCurrentContext()->InputTextState;
  const std::array<std::span<std::byte>, 4> copies{
      memory_of(state.TextW), memory_of(state.TextA), memory_of(state.InitialTextA),
      std::as_writable_bytes(std::span{state.Stb.undostate.undo_char})};
  for (const std::span<std::byte> memory : copies) {
    runtime::apply_pad(memory, pad);
  }
}

bool is_edited(unsigned imgui_id) {
  return ImGui::GetCurrentContext()->InputTextState.ID == imgui_id;
}

}  // namespace

void HiddenInput::put(std::string_view text) {
  std::ranges::fill(text_, '\0');
  std::copy_n(text.begin(), std::min(text.size(), text_.size() - 1), text_.begin());
  mask();
}

runtime::ClearText HiddenInput::reveal() const {
  std::string clear{text_.data(), size_};
  if (size_ > 0) {
    runtime::apply_pad(std::as_writable_bytes(std::span{clear}), pad_);
  }
  return runtime::ClearText{std::move(clear)};
}

void HiddenInput::mask() {
  size_ = std::strlen(text_.data());
  std::fill(text_.begin() + static_cast<ptrdiff_t>(size_), text_.end(), '\0');
  pad_.resize(size_);
  runtime::fill_pad(pad_);
  if (size_ > 0) {
    runtime::apply_pad(std::as_writable_bytes(std::span{text_.data(), size_}), pad_);
  }
}

void HiddenInput::unmask() {
  if (size_ > 0) {
    runtime::apply_pad(std::as_writable_bytes(std::span{text_.data(), size_}), pad_);
  }
}

HiddenInput::Unmasked::Unmasked(HiddenInput& of, unsigned imgui_id) : of_(of), imgui_id_(imgui_id) {
  of_.unmask();
  // Another field may have taken Dear ImGui's memory over since.
  if (is_edited(imgui_id_) && !of_.imgui_pad_.empty()) {
    apply_to_imgui(of_.imgui_pad_);
  }
  of_.imgui_pad_.clear();
}

HiddenInput::Unmasked::~Unmasked() {
  of_.mask();
  if (is_edited(imgui_id_)) {
    // Another one each time: what a field left there masked would else become clear again.
    constexpr size_t kPadSize = 256;
    of_.imgui_pad_.resize(kPadSize);
    runtime::fill_pad(of_.imgui_pad_);
    apply_to_imgui(of_.imgui_pad_);
  }
}

}  // namespace cress::ui
