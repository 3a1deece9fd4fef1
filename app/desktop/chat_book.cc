#include "app/desktop/chat_book.hh"

#include <memory>
#include <utility>
#include <vector>

namespace cress::desktop {

using State = ui::ChatLine::State;

void ChatBook::push(ui::ChatLine line) {
  line.id = next_id_++;
  if (lines_.size() == kLinesMax) {
    lines_.pop_front();
  }
  lines_.push_back(std::move(line));
}

void ChatBook::add(const std::string& writer, const std::string& text) {
  push({.writer = writer, .text = text});
}

void ChatBook::add_own(const std::string& text, bool taken) {
  push({.is_own = true, .text = text, .state = taken ? State::kWaiting : State::kFailed});
}

bool ChatBook::settle(size_t waiting) {
  bool is_changed = false;
  for (size_t i = lines_.size(); i-- > 0;) {
    ui::ChatLine& line = lines_[i];
    if (line.state == State::kWaiting && waiting > 0) {
      --waiting;
    } else if (line.state == State::kWaiting) {
      line.state = State::kThere;
      is_changed = true;
    }
  }
  return is_changed;
}

bool ChatBook::fail_waiting() {
  bool is_changed = false;
  for (ui::ChatLine& line : lines_) {
    if (line.state == State::kWaiting) {
      line.state = State::kFailed;
      is_changed = true;
    }
  }
  return is_changed;
}

ui::ChatLines ChatBook::lines() const {
  return lines_.empty()
             ? nullptr
             : std::make_shared<const std::vector<ui::ChatLine>>(lines_.begin(), lines_.end());
}

}  // namespace cress::desktop
