#include <algorithm>
#include <utility>

#include "app/desktop/desktop_call.hh"
#include "app/room/new_room.hh"
#include "transport/runtime/own_address.hh"

namespace cress::desktop {

void DesktopCall::act(const ui::PlanRoom&) {
  if (screen_ == ui::Screen::kStart) {
    show_screen(ui::Screen::kNewRoom);
  }
}

void DesktopCall::act(const ui::MakeRoom& plan) {
  if (screen_ != ui::Screen::kNewRoom || has_new_room_) {
    return;
  }
  const auto link = room::new_room(plan.name, plan.relay);
  if (!link) {
    const std::string error = sentence(room::describe(link.error()));
    const bool is_name = link.error() == room::NewRoomError::kBadName;
    board_.change([&](ui::CallView& view) {
      view.new_room = {.name_error = is_name ? error : "", .relay_error = is_name ? "" : error};
    });
    return;
  }
  has_new_room_ = true;
  show_new_room(*link);
}

void DesktopCall::show_new_room(const secure::Link& link) {
  const std::string who = runtime::who_reaches(link.host);
  board_.change([&](ui::CallView& view) {
    view.link = secure::format_link(link);
    view.link_warning = who.empty() ? "" : "Only " + who + " can reach the relay in this link.";
    view.new_room = {.name = link.room, .access = room::relays_half(link)};
  });
}

ui::Screen DesktopCall::before_call() const {
  return has_new_room_ ? ui::Screen::kNewRoom : ui::Screen::kStart;
}

bool DesktopCall::open_room(room::LiveRoomOptions options, const secure::Link& link) {
  options.devices = device_options();
  options.person = person();
  options.prefer = options_.prefer;
  room::LiveRoomOutputs outputs;
  set_outputs(outputs);
  outputs.room = [this](const room::RoomEvent& event) {
    if (room_ != nullptr) {
      handle_room_event(event);
      return;
    }
    // Still inside its constructor, which opens devices: on a busy machine that takes longer than
    // to join.
    loop_.post([this, event, call = call_] {
      if (call == call_ && room_ != nullptr) {
        handle_room_event(event);
      }
    });
  };
  outputs.shown = [this](const room::RoomShown& shown) { show_member(shown); };
  scene_ = std::make_unique<RoomScene>(
      link.room, [this](ui::Tone tone, const std::string& words) { notify(tone, words); });
  const bool is_open = open([&] {
    auto live = std::make_unique<room::LiveRoom>(clock_, loop_, options, outputs);
    room_ = live.get();
    return live;
  });
  if (!is_open) {
    scene_.reset();
    return false;
  }
  board_.change([&](ui::CallView& view) { view.link = secure::format_link(link); });
  return true;
}

void DesktopCall::handle_room_event(const room::RoomEvent& event) {
  if (leaving_) {
    return;
  }
  scene_->handle(clock_.now(), event, room_->room_sample());
  if (event.kind == room::RoomEvent::Kind::kChat) {
    const auto& others = scene_->room().others;
    const auto writer = std::ranges::find(others, event.member, &ui::Member::number);
    handle_chat(writer != others.end() ? writer->person.name : "", event.text);
    return;
  }
  if (event.kind == room::RoomEvent::Kind::kWelcome) {
    handle_connected(clock_.now());
    loop_.post([this] { send_view(); });  // not inside this call: the caller is the room itself
  }
  show_room();
}

void DesktopCall::show_room() {
  board_.change([this](ui::CallView& view) { view.room = scene_->room(); });
}

void DesktopCall::show_member(const room::RoomShown& shown) {
  const ui::ShownPicture picture{shown.frame.picture, shown.frame.shown};
  scene_->show(shown.member, picture);
  board_.change([&](ui::CallView& view) {
    if (ui::Member* member = view.room ? find_member(*view.room, shown.member) : nullptr) {
      member->picture = picture;
    }
  });
}

void DesktopCall::sample_room(CallCircumstances& now) {
  const room::LiveRoomSample sample = room_->room_sample();
  const room::MemberNumber before = scene_->first();
  scene_->update(clock_.now(), sample);
  if (scene_->first() != before) {
    send_view();
  }
  show_room();
  now.peer_name = "the relay";
  now.nobody_looks = sample.video_rate_max.value_or(DataRate{}) == DataRate{};
}

/// Sends the window's view to the relay.
void DesktopCall::send_view() {
  if (room_ != nullptr && !leaving_) {
    room_->set_view(scene_->first(), tiles_.pictures, tiles_.height);
  }
}

void DesktopCall::act(const ui::ShowTiles& tiles) {
  tiles_ = tiles;
  send_view();
}

void DesktopCall::act(const ui::Unpin&) { act(ui::Pin{}); }

void DesktopCall::act(const ui::Pin& wish) {
  if (room_ != nullptr && !leaving_) {
    scene_->pin(wish.member);
    send_view();
    show_room();
  }
}

}  // namespace cress::desktop
