// Text chat: what a person writes goes to the call, what others write into the view, and nothing
// of it anywhere else.

#include "app/call/chat.hh"
#include "app/desktop/desktop_call.hh"

namespace cress::desktop {

void DesktopCall::show_chat() {
  board_.change([this](ui::CallView& view) { view.chat = chat_.lines(); });
}

void DesktopCall::handle_chat(const std::string& writer, const std::string& text) {
  if (leaving_) {
    return;
  }
  chat_.add(writer, text);
  show_chat();
}

void DesktopCall::act(const ui::SendChat& line) {
  const std::string text = app::clean_line(line.text);
  if (!is_in_call() || leaving_ || text.empty()) {
    return;
  }
  const bool taken = live_->send_chat(text);
  chat_.add_own(text, taken);
  show_chat();
  if (!taken) {
    notify(ui::Tone::kWarning, live_->sample().connected
                                   ? "Not sent: that was too fast. Wait a moment."
                                   : "Not sent: nothing can be sent now.");
  }
}

void DesktopCall::settle_chat(bool is_connected) {
  // Otherwise nothing waits any more, and nothing has arrived.
  if (is_connected && chat_.settle(live_->chat_waiting())) {
    show_chat();
  }
}

}  // namespace cress::desktop
