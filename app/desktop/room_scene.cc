#include "app/desktop/room_scene.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/desktop/notices.hh"
#include "app/ui/model/format.hh"

namespace cress::desktop {
namespace {

constexpr uint32_t kFormer = RoomScene::kFormer;
constexpr float kLevelStep = 3;  // dB
constexpr float kQuietestDbfs = -60;

float coarse(double dbov) {
  const float level = std::round(static_cast<float>(dbov) / kLevelStep) * kLevelStep;
  if (level <= kQuietestDbfs) {
    return ui::kSilenceDbfs;
  }
  return level;
}

// In a notice.
std::string name_of(const ui::Person& person) {
  return person.name.empty() ? "Somebody" : ui::short_name(person.name);
}

// A member whose presence is not proven: what its card says, if it sent one, may be a replay.
constexpr const char* kUnidentified = "Unidentified";

ui::Person to_person(const room::OtherMember& member) {
  const app::PersonState& state = member.person;
  return {.name = member.is_live ? state.name : kUnidentified,
          .muted = state.muted,
          .camera_off = state.camera_off,
          .shares_screen = state.shares_screen};
}

std::string words_for(const std::string& name, room::LeaveReason reason) {
  switch (reason) {
    case room::LeaveReason::kLost:
      return "The connection to " + name + " is lost.";
    case room::LeaveReason::kKicked:
      return name + " was removed from the room.";
    case room::LeaveReason::kLeft:
      break;
  }
  return name + " left.";
}

}  // namespace

ui::Member* find_member(ui::Room& room, uint32_t number) {
  const auto at = std::ranges::find(room.others, number, &ui::Member::number);
  return at == room.others.end() ? nullptr : &*at;
}

RoomScene::RoomScene(std::string name, Notify notify) : notify_(std::move(notify)) {
  room_.name = std::move(name);
}

void RoomScene::handle(TimePoint now, const room::RoomEvent& event,
                       const room::LiveRoomSample& sample) {
  switch (event.kind) {
    case room::RoomEvent::Kind::kWelcome:
      handle_welcome(now);
      break;
    case room::RoomEvent::Kind::kPresent:
    case room::RoomEvent::Kind::kJoined:
      for (const room::LiveRoomMember& other : sample.others) {
        if (other.member.number == event.member) {
          handle_there(other.member, event.kind == room::RoomEvent::Kind::kJoined);
        }
      }
      break;
    case room::RoomEvent::Kind::kLeft:
      handle_left(event);
      break;
    case room::RoomEvent::Kind::kFarewell:
      if (event.farewell.reason == room::FarewellReason::kDraining) {
        notify_(ui::Tone::kNote, "The relay is being restarted; you will be back in a moment.");
      }
      break;
    case room::RoomEvent::Kind::kKeyChanged:
    case room::RoomEvent::Kind::kDistrusted:
      warn(event);
      break;
    case room::RoomEvent::Kind::kChanged:
    case room::RoomEvent::Kind::kSpeaker:
    case room::RoomEvent::Kind::kChat:
      break;
  }
  update(now, sample);
}

void RoomScene::handle_welcome(TimePoint now) {
  welcome_at_ = now;
  if (!std::exchange(was_in_, true)) {
    return;
  }
  notify_(ui::Tone::kGood, "Back in the room.");
  for (ui::Member& member : room_.others) {
    if (member.number < kFormer) {
      const uint32_t number = next_former_++;
      room_.pinned = room_.pinned == member.number ? number : room_.pinned;
      member.number = number;
    }
  }
}

void RoomScene::handle_there(const room::OtherMember& other, bool is_news) {
  const ui::Member* there = find_member(room_, other.number);
  if (there != nullptr && there->person.name != kUnidentified) {
    return;
  }
  remove(other.number);
  const ui::Person person = to_person(other);
  const auto former = std::ranges::find_if(room_.others, [&](const ui::Member& member) {
    return member.number >= kFormer && !person.name.empty() && member.person.name == person.name;
  });
  if (former != room_.others.end()) {
    room_.pinned = room_.pinned == former->number ? other.number : room_.pinned;
    former->number = other.number;
    return;
  }
  room_.others.push_back({.number = other.number, .person = person});
  if (is_news) {
    notify_(ui::Tone::kNote, name_of(person) + " joined.");
  }
}

void RoomScene::warn(const room::RoomEvent& event) {
  const ui::Member* member = find_member(room_, event.member);
  const std::string name = member != nullptr ? name_of(member->person) : "A member";
  notify_(ui::Tone::kTrouble,
          event.kind == room::RoomEvent::Kind::kKeyChanged
              ? name + " is back with another key: ask for the code, it may be somebody else."
              : "Somebody sent in " + name + "'s name. " + name + " is no longer shown or played.");
}

void RoomScene::handle_left(const room::RoomEvent& event) {
  if (const ui::Member* member = find_member(room_, event.member)) {
    notify_(ui::Tone::kNote, words_for(name_of(member->person), event.left));
    remove(event.member);
  }
}

void RoomScene::remove(uint32_t number) {
  std::erase_if(room_.others, [=](const ui::Member& member) { return member.number == number; });
  room_.pinned = room_.pinned == number ? 0 : room_.pinned;
}

void RoomScene::update(TimePoint now, const room::LiveRoomSample& sample) {
  if (!sample.room.empty()) {
    room_.name = sample.room;
  }
  for (const room::LiveRoomMember& other : sample.others) {
    ui::Member* member = find_member(room_, other.member.number);
    const ui::Person person = to_person(other.member);
    if (member == nullptr) {
      if (!other.member.is_live) {  // otherwise it is reported next
        room_.others.push_back({.number = other.member.number, .person = person});
      }
      continue;
    }
    if (person.shares_screen && !member->person.shares_screen) {
      notify_(ui::Tone::kNote, name_of(person) + " shares a screen.");
    }
    if (person.camera_off && !person.shares_screen) {
      member->picture = {};  // must not reappear when the camera is on again
    }
    member->person = person;
    member->level_dbfs = coarse(other.member.level_dbov);
    member->key_code = other.member.is_live ? other.member.key_code : "";
    member->is_distrusted = other.member.is_distrusted;
    if (member->is_distrusted) {
      member->picture = {};
    }
  }
  while (now - welcome_at_ >= kPlaceKept) {
    const auto former = std::ranges::find_if(
        room_.others, [](const ui::Member& member) { return member.number >= kFormer; });
    if (former == room_.others.end()) {
      break;
    }
    notify_(ui::Tone::kNote, name_of(former->person) + " is not back.");
    remove(former->number);
  }
  room_.key_code = sample.key_code;
  room_.self_speaks = sample.speaker != room::kNobody && sample.speaker == sample.number;
  room_.speaker = find_member(room_, sample.speaker) != nullptr ? sample.speaker : 0;
  room_.video_wanted = sample.video_rate_max;
  choose_large();
}

void RoomScene::show(room::MemberNumber number, const ui::ShownPicture& picture) {
  if (ui::Member* member = find_member(room_, number)) {
    member->picture = picture;
  }
}

void RoomScene::pin(uint32_t number) {
  room_.pinned = find_member(room_, number) != nullptr ? number : 0;
  choose_large();
}

// A screen cannot be read in a tile.
void RoomScene::choose_large() {
  const auto sharer = std::ranges::find_if(
      room_.others, [](const ui::Member& member) { return member.person.shares_screen; });
  const uint32_t shared = sharer == room_.others.end() ? 0 : sharer->number;
  room_.large = room_.pinned != 0 ? room_.pinned : shared;
}

room::MemberNumber RoomScene::first() const {
  return room_.large < kFormer ? static_cast<room::MemberNumber>(room_.large) : room::kNobody;
}

}  // namespace cress::desktop
