#include "relay/daemon/late_rooms.hh"

#include <exception>
#include <utility>

#include "transport/secure/handshake/credential.hh"

namespace cress::relay {

std::optional<secure::Secret> LateRooms::look_up(std::string_view identity) {
  const TimePoint now = now_();
  if (now >= next_read_) {
    next_read_ = now + kReadInterval;
    try {
      if (store_ == nullptr) {
        store_ = std::make_unique<RoomStore>(file_);
      }
      read();
    } catch (const std::exception& error) {
      found_ = Found{.rooms = {}, .error = error.what()};
    }
  }
  const auto key = keys_.find(identity);
  return key == keys_.end() ? std::nullopt : std::optional{key->second};
}

void LateRooms::read() {
  const int64_t version = store_->version();
  if (version == version_) {
    return;
  }
  found_ = Found{.rooms = store_->rooms(), .error = {}};
  keys_.clear();
  for (const StoredRoom& room : found_->rooms) {
    const secure::Credential credential = secure::room_credential(room.door.access);
    keys_.insert_or_assign(credential.identity, credential.psk);
  }
  version_ = version;
}

std::optional<LateRooms::Found> LateRooms::take() { return std::exchange(found_, std::nullopt); }

}  // namespace cress::relay
