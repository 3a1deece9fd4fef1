// Text chat in a room: docs/protocol/wire.md, "Chat".

#include <algorithm>
#include <span>
#include <utility>

#include "app/room/room_member.hh"

namespace cress::room {
namespace {

/// The kind of own lines in the outbox.
size_t own_lines() { return RoomMessage{Chat{}}.index(); }
static_assert(kChatSizeMax >= secure::RoomKeys::kChatSizeMax &&
              secure::RoomKeys::kChatPlainMax >= app::kChatLineMax);

}  // namespace

bool RoomMember::send_chat(TimePoint now, std::string_view text) {
  const std::string line = app::clean_line(text);
  const bool may = keys_ && !farewell_ && !line.empty() &&
                   chat_waiting() < OutboxOptions{}.chats_max && chat_rate_.take(now);
  if (may) {
    outbox_.put(Chat{.serial = ++chat_serial_,
                     .line = keys_->seal_chat(now, std::as_bytes(std::span{line}))});
  }
  drain(now);
  return may;
}

size_t RoomMember::chat_waiting() const { return outbox_.waiting(own_lines()); }

void RoomMember::handle_chat(TimePoint now, const room::MemberChat& news) {
  const auto writer = others_.find(news.number);
  if (writer == others_.end()) {
    ++stats_.from_unknown;
  } else if (!writer->second.chats.take(now)) {
    ++stats_.chats_over_limit;
  } else {
    open_chat(now, writer->second, news.chat);
  }
}

void RoomMember::open_chat(TimePoint now, Other& other, const room::Chat& chat) {
  const auto opened = keys_->open_chat(now, other.view.number, chat.line);
  if (!opened) {
    const bool may_open_later =
        opened.error() == secure::SFrameError::kNoSecretYet ||
        (opened.error() == secure::SFrameError::kUnknownKey && !other.view.is_live);
    if (may_open_later && other.waiting_chats.size() < kChatsWaitingMax) {
      other.waiting_chats.push_back(chat);
    } else {
      ++stats_.chats_refused;
    }
    return;
  }
  std::string text(opened->size(), '\0');
  std::ranges::transform(*opened, text.begin(), [](std::byte b) { return static_cast<char>(b); });
  text = app::clean_line(text);
  if (text.empty()) {
    ++stats_.chats_refused;
    return;
  }
  show_chat(other, other.order.add(now, chat.serial, std::move(text)));
}

void RoomMember::show_chat(const Other& other, std::vector<std::string> lines) {
  for (std::string& line : lines) {
    events_.push_back(
        {.kind = RoomEvent::Kind::kChat, .member = other.view.number, .text = std::move(line)});
  }
}

}  // namespace cress::room
