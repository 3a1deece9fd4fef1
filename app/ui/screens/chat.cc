#include <algorithm>
#include <string>
#include <vector>

#include "app/ui/kit/icons.hh"
#include "app/ui/kit/widgets.hh"
#include "app/ui/screens/screens.hh"

namespace cress::ui {
namespace {

constexpr float kChatField = 40;
constexpr float kSendWidth = 76;
constexpr float kBetweenLines = 4;
constexpr float kBetweenWriters = 12;
constexpr float kName = 20;
constexpr float kState = 18;
constexpr float kScrollStep = 48;

bool same_writer(const ChatLine& a, const ChatLine& b) {
  return a.is_own == b.is_own && (a.is_own || a.writer == b.writer);
}

std::string name_of(const ChatLine& line) {
  return line.is_own ? "You" : line.writer.empty() ? "Somebody" : line.writer;
}

/// One line with what is above and below it.
struct Block {
  const ChatLine* line = nullptr;
  bool has_name = false;
  float text = 0;  // height
  float height = 0;
};

std::vector<Block> blocks_of(const Ui& ui, float width) {
  std::vector<Block> blocks;
  if (!ui.view.chat) {
    return blocks;
  }
  const ChatLine* before = nullptr;
  for (const ChatLine& line : *ui.view.chat) {
    Block block{.line = &line, .has_name = before == nullptr || !same_writer(*before, line)};
    block.text = ui.canvas.paragraph_height(Font::kBody, line.text, width);
    block.height = block.text + kBetweenLines + (block.has_name ? kBetweenWriters + kName : 0) +
                   (line.state != ChatLine::State::kThere ? kState : 0);
    blocks.push_back(block);
    before = &line;
  }
  return blocks;
}

void draw_block(Ui& ui, Rect box, const Block& block) {
  const ChatLine& line = *block.line;
  if (block.has_name) {
    box.cut_top(kBetweenWriters);
    ui.canvas.text(box.cut_top(kName), Font::kSmall,
                   line.is_own ? ui.theme.accent_text : ui.theme.text_muted, name_of(line));
  }
  ui.canvas.paragraph(box.cut_top(block.text), Font::kBody, ui.theme.text, line.text);
  if (line.state == ChatLine::State::kWaiting) {
    ui.canvas.text(box.cut_top(kState), Font::kSmall, ui.theme.text_muted, "Not there yet…");
  } else if (line.state == ChatLine::State::kFailed) {
    ui.canvas.text(box.cut_top(kState), Font::kSmall, ui.theme.warning_text, "Not sent");
  }
}

void draw_lines(Ui& ui, const Rect& list) {
  const std::vector<Block> blocks = blocks_of(ui, list.width);
  float height = 0;
  for (const Block& block : blocks) {
    height += block.height;
  }
  ControlState state;
  if (height > list.height) {
    state = ui.controls.add({.id = "chat-lines",
                             .label = "What was written",
                             .tip = "The wheel and the arrow keys lead to what was written before",
                             .rect = list,
                             .kind = Control::Kind::kDrag});
  }
  const bool is_under_pointer = ui.controls.pointer() && list.contains(*ui.controls.pointer());
  const float wheel = is_under_pointer && ui.state.menu == Menu::kNone ? ui.state.wheel : 0;
  ui.state.chat_scroll = std::clamp(ui.state.chat_scroll + (wheel - state.arrow.y) * kScrollStep,
                                    0.0F, std::max(0.0F, height - list.height));
  ui.canvas.push_clip(list);
  // Few lines begin at the top, many end at the bottom.
  float y = height <= list.height ? list.y : list.bottom() - height + ui.state.chat_scroll;
  for (const Block& block : blocks) {
    if (y < list.bottom() && y + block.height > list.y) {
      draw_block(ui, {list.x, y, list.width, block.height}, block);
    }
    y += block.height;
  }
  ui.canvas.pop_clip();
  if (state.shows_ring) {
    focus_ring(ui, list.inset(-4), 8);
  }
}

void draw_empty(Ui& ui, const Rect& list) {
  ui.canvas.paragraph(list, Font::kBody, ui.theme.text_muted,
                      "Whoever is here now can read what you write. Nobody stores it: it is gone "
                      "when you leave.");
}

void draw_entry(Ui& ui, Rect row) {
  const Rect press = row.cut_right(kSendWidth);
  row.cut_right(8);
  const bool entered =
      text_field(ui, row, "chat-line", "Your text", "Write to everybody here", ui.state.chat)
          .entered;
  const std::string text{trimmed(ui.state.chat.data())};
  const bool pressed = button(ui, press,
                              {.id = "chat-send",
                               .label = "Send",
                               .tip = "Send it (Enter)",
                               .weight = text.empty() ? Weight::kPlain : Weight::kPrimary,
                               .enabled = !text.empty()});
  if ((entered || pressed) && !text.empty()) {
    ui.ask(SendChat{text});
    clear_text(ui.state.chat);
    ui.state.chat_scroll = 0;
    ui.controls.set_focus("chat-line", ui.controls.shows_ring());
    ui.wake_at(ui.now);
  }
}

}  // namespace

bool has_unread(const Ui& ui) {
  if (ui.state.chat_open || !ui.view.chat) {
    return false;
  }
  return std::ranges::any_of(*ui.view.chat, [&](const ChatLine& line) {
    return !line.is_own && line.id > ui.state.chat_read;
  });
}

void draw_chat(Ui& ui, const Rect& box) {
  SidePanel panel =
      side_panel(ui, box, "Chat", "chat-close", "Close the chat", "Close the chat (C)");
  if (panel.closes) {
    toggle_chat(ui.state, ui.controls, false);
  }
  Rect& inside = panel.inside;
  const Rect entry = inside.cut_bottom(kChatField);
  inside.cut_bottom(10);
  if (ui.view.chat && !ui.view.chat->empty()) {
    draw_lines(ui, inside);
    ui.state.chat_read = ui.view.chat->back().id;
  } else {
    draw_empty(ui, inside);
  }
  draw_entry(ui, entry);
}

}  // namespace cress::ui
