#include "app/ui/screens/screens.hh"

#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/ui/kit/drawer_test_tools.hh"
#include "app/ui/kit/ui.hh"
#include "app/ui/model/format.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::ui {
namespace {

const TimePoint kShownAt = kTimeZero + 1h;

Texture texture_of(uintptr_t number, int width, int height) {
  return {reinterpret_cast<void*>(number), width, height};
}

/// One screen, with the state that is kept from frame to frame.
struct Sight {
  CallView view;
  UiState state{};
  Controls controls{};
  std::deque<UserAction> actions{};
  Texture remote = texture_of(2, 1280, 720);
  Texture own = texture_of(3, 640, 360);
  TimePoint now = kShownAt;
  TimePoint wake = kNever;
  Rect area{};
  Drawer* drawer = nullptr;

  DrawnFrame frame() {
    return drawer->draw(area, [this](Canvas& canvas) {
      Ui ui{.canvas = canvas,
            .controls = controls,
            .theme = theme_of(view.theme),
            .view = view,
            .state = state,
            .actions = actions,
            .remote = remote,
            .own = own,
            .members = {},
            .now = now};
      for (const Member& member : view.room.value_or(Room{}).others) {
        if (member.number % 6 != 5) {  // the others have no picture yet
          ui.members[member.number] =
              member.number % 5 == 4 ? texture_of(4, 240, 320) : texture_of(5, 320, 180);
        }
      }
      controls.begin_frame();
      if (view.screen == Screen::kInCall) {
        draw_call(ui);
      } else {
        draw_lobby(ui);
      }
      draw_menu(ui);
      draw_tip(ui);
      controls.end_frame();
      state.wheel = 0;
      state.last_at = now;
      wake = ui.wake;
    });
  }
  void pass(Duration time) {
    now += time;
    frame();
  }
  Point middle_of(const std::string& id) const {
    const Control* control = controls.find(id);
    EXPECT_NE(control, nullptr) << id;
    return control != nullptr ? control->rect.center() : Point{};
  }
  void point_at(const std::string& id) {
    controls.handle_move(now, middle_of(id));
    state.active_at = now;
    frame();
  }
  void click(const std::string& id) {
    const Point at = middle_of(id);
    controls.handle_press(now, at);
    controls.handle_release(at);
    state.active_at = now;
    frame();
    frame();
  }
  void tab(int times) {
    for (int i = 0; i < times; ++i) {
      controls.move_focus(now, false);
    }
    frame();
    frame();
  }
};

Devices many(const std::string& name, int count, int chosen) {
  Devices devices;
  for (int i = 0; i < count; ++i) {
    devices.all.push_back({name + std::to_string(i), name + " " + std::to_string(i)});
  }
  devices.chosen = name + std::to_string(chosen);
  return devices;
}

CallView lobby_view(Screen screen) {
  CallView view;
  view.screen = screen;
  view.self.name = "Jonas";
  view.peer.name = "Anna Lindqvist";
  view.cameras = many("Camera", 2, 1);
  view.microphones = many("A microphone with a name that is too long for its box", 2, 0);
  view.speakers = many("Speaker", 1, 7);
  view.screens = many("Screen", 2, 7);
  view.link = "cress://203.0.113.7:41641/#Jx8mQ0vKZq3uVtYw2aBcDg";
  view.relay = "relay.example:4747";
  view.link_warning = "Only its own network can reach the address in this link.";
  view.microphone_dbfs = -18;
  view.speaker_dbfs = -24;
  return view;
}

CallView pair_view() {
  CallView view = lobby_view(Screen::kInCall);
  view.connected_at = kShownAt - 754'300ms;
  view.code = "5501 0038 7764";
  view.path = "Through the relay, IPv6";
  view.remote.captured_at = kShownAt - 100ms;
  view.health.sent = DataRate::kilobits_per_second(1420);
  view.health.received = DataRate::kilobits_per_second(1630);
  view.health.uplink_forecast = DataRate::kilobits_per_second(1810);
  view.health.downlink_forecast = DataRate::kilobits_per_second(2050);
  view.health.window = DataSize{22'400};
  view.health.one_way_delay = 46ms;
  view.health.frame_delay = 118ms;
  view.health.loss_up = 0.004;
  view.health.loss_down = 0.012;
  view.status = {"The link is good.", Tone::kGood};
  // Slopes, and peaks of one sample.
  for (int i = 0; i < 300; ++i) {
    LinkSample s;
    s.at = kShownAt - 30s + i * 100ms;
    s.forecast = DataRate::kilobits_per_second(1900 - 7 * (i % 150) + (i % 50 == 7 ? 900 : 0));
    s.sent = DataRate::kilobits_per_second(1500 - 5 * (i % 100));
    s.window = DataSize{22'000 - 97 * (i % 128)};
    s.one_way_delay = 45ms + (i % 64) * 2ms;
    s.frame_delay = 115ms + (i % 40) * 3ms + (i % 70 == 0 ? 200ms : 0ms);
    s.loss = i % 90 < 10 ? 0.01 * (i % 90) : 0;
    view.history.add(s);
  }
  return view;
}

CallView room_of(uint32_t others) {
  CallView view = pair_view();
  view.code.clear();
  view.room = Room{.name = "kitchen", .key_code = "0117 5482 1993"};
  constexpr std::array<const char*, 5> kOthers{"Ben", "", "Gertrude-Maria von Hohenfels", "Đorđe",
                                               "Ines"};
  for (uint32_t number = 1; number <= others; ++number) {
    Member member{.number = number};
    member.person = {.name = kOthers.at(number % kOthers.size()), .muted = number % 3 == 2};
    member.person.camera_off = number % 7 == 6;
    member.person.shares_screen = number % 14 == 6;
    member.picture.captured_at = kShownAt - (number == 2 ? 1500ms : 20ms);
    member.level_dbfs = number == 1 ? -18.0F : kSilenceDbfs;
    member.key_code = number == 1 ? "4821 9930 1175" : "";
    member.is_distrusted = number == 3;
    view.room->others.push_back(member);
  }
  return view;
}

CallView with_chat(CallView view, int lines) {
  auto chat = std::make_shared<std::vector<ChatLine>>();
  for (int i = 0; i < lines; ++i) {
    ChatLine line{.id = static_cast<uint64_t>(i + 1), .text = "Line number " + std::to_string(i)};
    line.is_own = i % 4 == 3;
    line.writer = line.is_own ? "" : i % 8 == 6 ? "" : "Anna Lindqvist";
    if (i % 5 == 4) {
      line.text += ", which is long enough to go over the end of its line";
    }
    chat->push_back(line);
  }
  chat->push_back({.id = 1000, .is_own = true, .text = std::string(100, 'W')});
  chat->push_back(
      {.id = 1001, .is_own = true, .text = "On my way", .state = ChatLine::State::kWaiting});
  chat->push_back(
      {.id = 1002, .is_own = true, .text = "Too fast", .state = ChatLine::State::kFailed});
  view.chat = chat;
  return view;
}

struct Scene {
  std::string name;
  CallView view;
  std::function<void(Sight&)> act = [](Sight& /*sight*/) {};
};

const std::vector<Notice> kNotices{{1, Tone::kNote, "Anna Lindqvist shares a screen."},
                                   {2, Tone::kGood, "The headset is plugged in."},
                                   {3, Tone::kWarning,
                                    "The camera is gone; plug it in, or choose another one in the "
                                    "list of cameras below your own picture."},
                                   {4, Tone::kTrouble, "No microphone."}};

void type_link(Sight& sight, const char* text) { sight.state.link.put(text); }

std::vector<Scene> lobby_scenes() {
  std::vector<Scene> scenes;
  const CallView start = lobby_view(Screen::kStart);
  scenes.push_back({"start", start});
  scenes.push_back({"start with a link", start, [](Sight& s) { type_link(s, " cress://a "); }});
  scenes.push_back({"start with no link", start, [](Sight& s) { type_link(s, "http://a"); }});
  CallView bare = start;
  bare.self = {.name = std::string(80, 'n'), .muted = true, .camera_off = true};
  bare.cameras = bare.microphones = bare.speakers = {};
  bare.notices = kNotices;
  scenes.push_back({"start with nothing", bare});
  scenes.push_back({"start, a field focused", start, [](Sight& s) { s.click("link"); }});
  scenes.push_back({"start by keyboard", start, [](Sight& s) { s.tab(3); }});
  scenes.push_back({"start by keyboard, join", start, [](Sight& s) {
                      type_link(s, "cress://a");
                      s.frame();
                      s.tab(4);
                    }});
  scenes.push_back({"start, pointer rests", start, [](Sight& s) {
                      s.point_at("theme");
                      s.pass(600ms);
                    }});
  scenes.push_back({"start, pointer comes", start, [](Sight& s) { s.point_at("start"); }});
  scenes.push_back({"start, pointer rests long", start, [](Sight& s) {
                      s.point_at("mute");
                      s.pass(4s);
                    }});
  scenes.push_back(
      {"start, presses", start, [](Sight& s) {
         type_link(s, "cress://b");
         s.frame();
         for (const char* id : {"theme", "mute", "camera", "join", "start", "new-room"}) {
           s.click(id);
         }
         s.controls.set_focus("link", false);
         s.frame();
         s.controls.press_focused();
         s.frame();
       }});
  scenes.push_back({"nothing, presses", bare, [](Sight& s) {
                      for (const char* id : {"mute", "camera", "join", "notice-4"}) {
                        s.click(id);
                      }
                    }});
  scenes.push_back({"start, cameras", start, [](Sight& s) { s.click("choose-camera"); }});
  scenes.push_back({"start, a camera chosen", start, [](Sight& s) {
                      s.click("choose-camera");
                      s.point_at("menu-camera-Camera0");
                      s.click("menu-camera-Camera0");
                    }});
  scenes.push_back({"start, microphones", start, [](Sight& s) {
                      s.click("choose-microphone");
                      s.tab(2);
                    }});
  CallView crowded = start;
  crowded.speakers = many("Speaker", 80, 40);
  scenes.push_back({"start, 80 speakers", crowded, [](Sight& s) {
                      s.click("choose-speaker");
                      s.state.wheel = -5;
                      s.frame();
                    }});
  scenes.push_back({"start, the last speaker", crowded, [](Sight& s) {
                      s.click("choose-speaker");
                      s.controls.move_focus(s.now, true);
                      s.controls.move_focus(s.now, true);
                      s.frame();
                      s.frame();
                      s.frame();
                    }});
  CallView plan = lobby_view(Screen::kNewRoom);
  scenes.push_back({"new room", plan, [](Sight& s) { s.tab(2); }});
  plan.new_room.name_error = "A name is 1 to 64 of A-Z a-z 0-9 . _ -, and not only dots.";
  plan.new_room.relay_error = "Not HOST:PORT, such as relay.example:4747.";
  scenes.push_back({"new room, errors", plan, [](Sight& s) {
                      std::strncpy(s.state.room_name.data(), " kitchen ", kRoomNameBytesMax - 1);
                      s.frame();
                      s.click("make-room");
                      s.controls.set_focus("room-name", false);
                      s.frame();
                      s.controls.press_focused();
                      s.frame();
                      s.click("back");
                    }});
  CallView made = lobby_view(Screen::kNewRoom);
  made.link = "cress://relay.example:4747/kitchen#Jx8mQ0vKZq3uVtYw2aBcDg";
  made.new_room = {.name = "kitchen",
                   .access = "cress-access://kitchen#AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
  scenes.push_back({"new room made", made, [](Sight& s) {
                      s.click("copy");
                      s.click("copy-access");
                      s.actions.push_back(ShowTiles{s.state.copies_link ? 1U : 0U,
                                                    s.state.copies_access ? 1U : 0U});
                      s.click("join-room");
                      s.click("back");
                    }});
  made.link_warning.clear();
  made.new_room.name = std::string(64, 'w');
  scenes.push_back({"new room copied", made, [](Sight& s) { s.state.access_copied_at = s.now; }});
  CallView waiting = lobby_view(Screen::kWaiting);
  scenes.push_back({"waiting", waiting});
  scenes.push_back({"waiting, copied", waiting, [](Sight& s) { s.state.copied_at = s.now - 1s; }});
  scenes.push_back({"waiting, copied long ago", waiting, [](Sight& s) {
                      s.state.copied_at = s.now - 3s;
                      s.click("copy");
                      s.click("hang-up");
                      s.actions.push_back(ShowTiles{s.state.copies_link ? 1U : 0U, 0});
                    }});
  waiting.link.clear();
  scenes.push_back({"waiting for the link", waiting});
  CallView connecting = lobby_view(Screen::kConnecting);
  scenes.push_back({"connecting", connecting, [](Sight& s) { s.click("hang-up"); }});
  connecting.status = {"Asking the relay.", Tone::kNote};
  scenes.push_back({"connecting to a relay", connecting, [](Sight& s) { s.pass(500ms); }});
  CallView ended = lobby_view(Screen::kEnded);
  ended.ended_reason = "Anna Lindqvist hung up after 12 minutes.";
  ended.notices = kNotices;
  scenes.push_back({"ended", ended, [](Sight& s) {
                      s.click("back");
                      s.click("quit");
                    }});
  ended.room = Room{.name = "kitchen"};
  ended.ended_reason.clear();
  scenes.push_back({"ended room", ended});
  return scenes;
}

std::vector<Scene> pair_scenes() {
  std::vector<Scene> scenes;
  const CallView call = pair_view();
  scenes.push_back({"call", call});
  CallView view = call;
  view.self.muted = view.peer.muted = true;
  view.remote.captured_at = kShownAt - 1000ms;
  view.status = {"Reconnecting for 4 s. The call goes on when the network is back.",
                 Tone::kTrouble};
  view.notices = kNotices;
  scenes.push_back({"call, outage", view, [](Sight& s) { s.click("mute"); }});
  view.push_to_talk = true;
  view.remote.captured_at = kShownAt - 4200ms;
  view.status = {"Sending little.", Tone::kWarning};
  scenes.push_back({"call, push to talk", view, [](Sight& s) { s.click("notice-2"); }});
  view = call;
  view.peer = {.name = "Élodie", .camera_off = true};
  view.self.camera_off = true;
  view.microphone_dbfs = kSilenceDbfs;
  scenes.push_back({"call, no cameras", view, [](Sight& s) { s.click("camera"); }});
  view.self.shares_screen = view.peer.shares_screen = true;
  scenes.push_back({"call, shared screens", view, [](Sight& s) { s.click("share"); }});
  view = call;
  view.peer.name = "";
  view.connected_at.reset();
  view.remote.captured_at.reset();
  view.screens = {};
  scenes.push_back({"call, nothing known", view, [](Sight& s) {
                      s.remote = s.own = {};
                      s.click("share");
                      s.click("camera");
                      s.click("mute");
                    }});
  view.peer.name = std::string(30, 'W') + " " + std::string(90, 'm');
  view.screens = many("Screen", 1, 0);
  scenes.push_back({"call, long name", view, [](Sight& s) {
                      s.remote = texture_of(2, 90, 160);
                      s.click("share");
                    }});
  view = call;
  view.newcomer = "1234 5678 9012";
  view.status = {"Reconnecting for 4 s.", Tone::kTrouble};
  view.notices = kNotices;
  scenes.push_back({"call, newcomer", view, [](Sight& s) {
                      s.click("newcomer-admit");
                      s.click("newcomer-refuse");
                    }});
  scenes.push_back({"call, newcomer, panel, by keyboard", view, [](Sight& s) {
                      s.click("panel");
                      s.controls.set_focus("newcomer-refuse", true);
                      s.frame();
                      s.controls.press_focused();
                      s.frame();
                    }});
  scenes.push_back({"call, screens", call, [](Sight& s) { s.click("share"); }});
  scenes.push_back({"call, a screen chosen", call, [](Sight& s) {
                      s.click("share");
                      s.click("menu-screen-Screen1");
                    }});
  scenes.push_back({"call, devices", call, [](Sight& s) { s.click("devices"); }});
  scenes.push_back({"call, panel", call, [](Sight& s) { s.click("panel"); }});
  scenes.push_back({"call, panel closed", call, [](Sight& s) {
                      s.click("panel");
                      s.click("panel-close");
                    }});
  view = call;
  view.status = {};
  view.history.clear();
  scenes.push_back({"call, empty panel", view, [](Sight& s) { s.click("panel"); }});
  scenes.push_back({"call, buttons rest", call, [](Sight& s) {
                      s.state.active_at = s.now;
                      s.pass(2999ms);
                    }});
  scenes.push_back({"call, buttons go", call, [](Sight& s) {
                      s.state.active_at = s.now;
                      s.pass(3050ms);
                    }});
  view = call;
  view.peer.muted = true;
  view.full_screen = true;
  scenes.push_back({"call, buttons gone", call, [](Sight& s) {
                      s.state.active_at = s.now;
                      s.pass(3200ms);
                    }});
  scenes.push_back({"call, buttons gone, muted", view, [](Sight& s) {
                      s.state.active_at = s.now;
                      s.pass(3300ms);
                    }});
  scenes.push_back({"call, full screen", view, [](Sight& s) {
                      s.click("full-screen");
                      s.click("hang-up");
                    }});
  scenes.push_back({"call, own picture dragged", call, [](Sight& s) {
                      const Point from = s.middle_of("own-picture");
                      s.controls.handle_press(s.now, from);
                      s.frame();
                      s.controls.handle_move(s.now, from - Point{300, 90});
                      s.frame();
                    }});
  scenes.push_back({"call, own picture thrown", call, [](Sight& s) {
                      const Point from = s.middle_of("own-picture");
                      s.controls.handle_press(s.now, from);
                      s.frame();
                      s.controls.handle_move(s.now, {10, 10});
                      s.frame();
                      s.controls.handle_release({10, 10});
                      s.frame();
                      s.pass(30ms);
                    }});
  for (const auto& [name, arrow] :
       {std::pair{"left", Point{-1, 0}}, {"right", {1, 0}}, {"up", {0, -1}}, {"down", {0, 1}}}) {
    scenes.push_back({std::string{"call, own picture "} + name, call, [arrow](Sight& s) {
                        s.state.own_corner =
                            arrow.x + arrow.y < 0 ? Corner::kBottomRight : Corner::kTopLeft;
                        s.frame();
                        s.controls.set_focus("own-picture", true);
                        s.frame();
                        s.controls.handle_arrow(s.now, arrow);
                        s.frame();
                        s.pass(10s);
                      }});
  }
  return scenes;
}

std::vector<Scene> chat_scenes() {
  std::vector<Scene> scenes;
  const CallView call = pair_view();
  scenes.push_back({"nobody wrote", call, [](Sight& s) { s.click("chat"); }});
  scenes.push_back({"unread", with_chat(call, 2), [](Sight& s) { s.pass(2s); }});
  scenes.push_back({"few lines", with_chat(call, 3), [](Sight& s) {
                      s.click("chat");
                      std::strncpy(s.state.chat.data(), " Hello ", kChatBytesMax);
                      s.frame();
                    }});
  scenes.push_back({"many lines", with_chat(call, 40), [](Sight& s) {
                      s.click("chat");
                      s.point_at("chat-lines");
                      s.state.wheel = 3;
                      s.frame();
                    }});
  scenes.push_back({"scrolled to the first by keys", with_chat(call, 40), [](Sight& s) {
                      s.click("chat");
                      s.controls.set_focus("chat-lines", true);
                      for (int i = 0; i < 100; ++i) {
                        s.controls.handle_arrow(s.now, {0, -1});
                        s.frame();
                      }
                    }});
  scenes.push_back({"sent by Enter and by the button", with_chat(call, 1), [](Sight& s) {
                      s.click("chat");
                      for (const bool by_key : {true, false}) {
                        std::strncpy(s.state.chat.data(), " Hello ", kChatBytesMax);
                        s.frame();
                        if (by_key) {
                          s.controls.press_focused();
                          s.frame();
                        } else {
                          s.click("chat-send");
                        }
                      }
                    }});
  scenes.push_back({"the panel takes its place", with_chat(call, 1), [](Sight& s) {
                      s.click("chat");
                      s.click("panel");
                    }});
  scenes.push_back({"closed again", with_chat(call, 1), [](Sight& s) {
                      s.click("chat");
                      s.click("chat-close");
                    }});
  scenes.push_back({"in a room", with_chat(room_of(11), 20), [](Sight& s) { s.click("chat"); }});
  return scenes;
}

std::vector<Scene> room_scenes() {
  std::vector<Scene> scenes;
  for (const uint32_t others : {0U, 1U, 2U, 11U, 40U}) {
    CallView view = room_of(others);
    const std::string name = "room of " + std::to_string(others + 1);
    scenes.push_back({name, view, [](Sight& s) {
                        if (s.controls.find("member-1") != nullptr) {
                          s.point_at("member-1");
                          s.click("member-1");
                        }
                      }});
    view.room->speaker = others;
    view.room->self_speaks = true;
    view.self.muted = others % 2 == 0;
    view.status = {"Your uplink is down to 200 kbit/s; audio first.", Tone::kWarning};
    view.room->video_wanted = DataRate::kilobits_per_second(300);
    scenes.push_back({name + ", panel", view, [](Sight& s) {
                        s.click("panel");
                        s.tab(1);
                      }});
    if (others == 0) {
      scenes.push_back({name + ", copied", view, [](Sight& s) {
                          s.click("copy");
                          s.state.copied_at = s.now;
                          s.frame();
                        }});
      continue;
    }
    view.room->pinned = view.room->large = 1;
    view.connected_at.reset();
    scenes.push_back({name + ", pinned", view, [](Sight& s) { s.click("member-1"); }});
    view.full_screen = true;
    view.room->pinned = 0;
    view.room->large = others;
    scenes.push_back({name + ", full screen", view, [](Sight& s) {
                        s.tab(2);
                        s.state.active_at = s.now;
                        s.pass(3s);
                      }});
  }
  return scenes;
}

std::string line_of(Sight& sight, const Scene& scene, bool with_texts) {
  sight.view = scene.view;
  sight.frame();
  scene.act(sight);
  const DrawnFrame drawn = sight.frame();
  std::string texts;
  for (const std::string& text : drawn.texts) {
    texts += text + "\n";
  }
  std::string controls;
  for (const Control& c : sight.controls.all()) {
    std::array<char, 96> place{};
    std::snprintf(place.data(), place.size(), "|%ld %ld %ld %ld %d %d|", std::lround(c.rect.x * 4),
                  std::lround(c.rect.y * 4), std::lround(c.rect.width * 4),
                  std::lround(c.rect.height * 4), static_cast<int>(c.kind),
                  static_cast<int>(c.enabled));
    controls += c.id + "|" + c.label + "|" + c.tip + place.data();
  }
  std::string asked;
  for (const UserAction& action : sight.actions) {
    asked += "; " + describe(action);
  }
  const auto wake = sight.wake == kNever ? std::string{"never"}
                                         : std::to_string((sight.wake - sight.now) / 1ms) + " ms";
  std::string line = scene.name + ": " + std::to_string(drawn.vertices) + " " + drawn.shapes + " " +
                     golden_digest(texts).substr(0, 8) + " " +
                     golden_digest(controls).substr(0, 8) + " " + wake + asked + "\n";
  return with_texts ? line + texts : line;
}

struct Look {
  float width;
  float height;
  ThemeChoice theme;
  Scale scale;
};

/// All scenes in a window of this kind.
std::string scenes_in(const Look& look, const std::vector<Scene>& scenes, bool with_texts) {
  std::string all = "window " + std::to_string(std::lround(look.width)) + "x" +
                    std::to_string(std::lround(look.height)) + " x" +
                    std::to_string(std::lround(look.scale.unit * 100)) + "%" +
                    (look.theme == ThemeChoice::kLight ? " light" : " dark") + "\n";
  Drawer drawer{look.scale};
  for (const Scene& scene : scenes) {
    Sight sight{.view = scene.view};
    sight.area = {0, 0, look.width, look.height};
    sight.drawer = &drawer;
    sight.state.active_at = kShownAt;  // there was input just now
    Scene themed = scene;
    themed.view.theme = look.theme;
    all += line_of(sight, themed, with_texts);
  }
  return all;
}

void expect_scenes(const char* name, const std::vector<Scene>& scenes, bool with_texts) {
  const std::string first = drawn_letters();
  if (!golden_begins(name, first.substr(0, first.size() - 1), __FILE__)) {
    GTEST_SKIP() << "the golden file is of other letters than " << first;
  }
  std::string all = first;
  all += scenes_in({800, 600, ThemeChoice::kDark, {}}, scenes, with_texts);
  all += scenes_in({640, 480, ThemeChoice::kLight, {}}, scenes, false);
  all += scenes_in({1280, 800, ThemeChoice::kLight, {1.5F, 2}}, scenes, false);
  expect_golden(name, all, __FILE__);
}

TEST(Screens, TheLobbyIsDrawnAsCommitted) { expect_scenes("lobby", lobby_scenes(), true); }

TEST(Screens, TheLimitsOfASmallWindowAreAsCommitted) {
  const std::string first = drawn_letters();
  if (!golden_begins("limits", first.substr(0, first.size() - 1))) {
    GTEST_SKIP() << "the golden file is of other letters than " << first;
  }
  const CallView start = lobby_view(Screen::kStart);
  std::vector<Scene> scenes{
      {"start", start},
      {"a box pointed at", start, [](Sight& s) { s.point_at("choose-camera"); }},
      {"a box held", start,
       [](Sight& s) {
         s.controls.handle_press(s.now, s.middle_of("choose-speaker"));
         s.controls.handle_leave();
       }},
      {"buttons pointed at and held", start, [](Sight& s) {
         s.controls.handle_press(s.now, s.middle_of("start"));
         s.controls.handle_leave();
       }}};
  CallView ended = lobby_view(Screen::kEnded);
  ended.notices = kNotices;
  scenes.push_back({"ended", ended});
  const CallView call = pair_view();
  scenes.push_back({"call", call});
  scenes.push_back({"a round button pointed at", call, [](Sight& s) { s.point_at("hang-up"); }});
  scenes.push_back({"a round button held", call, [](Sight& s) {
                      s.controls.handle_press(s.now, s.middle_of("mute"));
                      s.controls.handle_leave();
                      s.pass(5s);
                    }});
  scenes.push_back({"a menu stays", call, [](Sight& s) {
                      s.click("devices");
                      s.pass(5s);
                    }});
  scenes.push_back({"panel", call, [](Sight& s) { s.click("panel"); }});
  std::string all = first;
  for (const auto& [width, height] :
       {std::pair{719.0F, 559.0F}, {720.0F, 560.0F}, {952.0F, 596.0F}, {1100.0F, 640.0F}}) {
    all += scenes_in({width, height, ThemeChoice::kDark, {}}, scenes, false);
  }
  expect_golden("limits", all);
}

TEST(Screens, MuteAndHangUpAreThereHoweverNarrowTheWindow) {
  Drawer drawer{{}};
  size_t most = 0;
  for (float width = 190; width <= 700; width += 10) {
    Sight sight{.view = pair_view()};
    sight.area = {0, 0, width, 400};
    sight.drawer = &drawer;
    sight.state.active_at = kShownAt;
    sight.frame();
    for (const char* id : {"mute", "hang-up"}) {
      const Control* control = sight.controls.find(id);
      ASSERT_NE(control, nullptr) << id << " at " << width;
      EXPECT_GE(control->rect.x, 0) << id << " at " << width;
      EXPECT_LE(control->rect.right(), width) << id << " at " << width;
    }
    size_t buttons = 0;
    for (const char* id : {"camera", "share", "devices", "chat", "panel", "full-screen"}) {
      const Control* control = sight.controls.find(id);
      buttons += control != nullptr ? 1 : 0;
      EXPECT_TRUE(control == nullptr || control->rect.right() <= width) << id << " at " << width;
    }
    EXPECT_GE(buttons, most) << "a wider window has at least as many, at " << width;
    most = buttons;
  }
  EXPECT_EQ(most, 6U);
}

/// Where a notice is, by its button, which is in the middle of its height.
std::optional<Point> middle_of_notice(const Sight& sight, uint64_t id) {
  const Control* control = sight.controls.find("notice-" + std::to_string(id));
  return control != nullptr ? std::optional{control->rect.center()} : std::nullopt;
}

TEST(Screens, ANoticeWithALongNameTakesTwoLinesInTheSmallestWindow) {
  Drawer drawer{{}};
  const std::string name = short_name(std::string(64, 'W'));
  for (const CallView& call : {pair_view(), room_of(11)}) {
    for (const char* words : {" shares a screen.", " joined."}) {
      Sight sight{.view = call};
      sight.view.notices = {{1, Tone::kNote, name + words}, {2, Tone::kNote, name + words}};
      sight.area = {0, 0, 640, 480};
      sight.drawer = &drawer;
      sight.state.active_at = kShownAt;
      sight.frame();
      const auto older = middle_of_notice(sight, 1);
      const auto newer = middle_of_notice(sight, 2);
      ASSERT_TRUE(older && newer);
      EXPECT_LE(older->y - newer->y, 2 * 18 + 26 + 8) << words;
    }
  }
}

TEST(Screens, NoticesLeaveMostOfTheVideoButTheNewestIsThere) {
  Drawer drawer{{}};
  const std::string lines(200, 'm');
  for (const size_t times : {1, 2, 4}) {
    Sight sight{.view = pair_view()};
    for (uint64_t id = 1; id <= 3; ++id) {
      sight.view.notices.push_back({id, Tone::kWarning, ""});
      for (size_t i = 0; i < times; ++i) {
        sight.view.notices.back().text += lines;
      }
    }
    sight.area = {0, 0, 640, 480};
    sight.drawer = &drawer;
    sight.state.active_at = kShownAt;
    sight.frame();
    EXPECT_TRUE(middle_of_notice(sight, 3)) << times;
    EXPECT_FALSE(middle_of_notice(sight, 1)) << times;
    EXPECT_EQ(middle_of_notice(sight, 2).has_value(), false) << times;
  }
  Sight sight{.view = pair_view()};
  sight.view.notices = {{2, Tone::kNote, "a"}, {3, Tone::kNote, "b"}, {4, Tone::kNote, "c"}};
  sight.area = {0, 0, 640, 480};
  sight.drawer = &drawer;
  sight.state.active_at = kShownAt;
  sight.frame();
  for (const uint64_t id : {2, 3, 4}) {
    EXPECT_TRUE(middle_of_notice(sight, id)) << id;
  }
  sight.click("chat");  // half of the width is left
  EXPECT_FALSE(middle_of_notice(sight, 2));
  EXPECT_TRUE(middle_of_notice(sight, 4));
}

TEST(Screens, ACallOfTwoIsDrawnAsCommitted) { expect_scenes("call", pair_scenes(), true); }

TEST(Screens, TheChatIsDrawnAsCommitted) { expect_scenes("chat", chat_scenes(), true); }

TEST(Screens, ALineIsUnreadUntilItWasDisplayed) {
  Drawer drawer{{}};
  Sight sight{.view = with_chat(pair_view(), 2)};
  sight.area = {0, 0, 1280, 800};
  sight.drawer = &drawer;
  sight.state.active_at = kShownAt - 1h;
  sight.frame();
  EXPECT_EQ(sight.state.active_at, kShownAt) << "the buttons come back with the mark";
  EXPECT_EQ(sight.controls.find("chat")->label, "New text");
  sight.pass(10s);
  EXPECT_EQ(sight.state.active_at, kShownAt) << "once";
  sight.state.active_at = sight.now;
  sight.frame();
  sight.click("chat");
  sight.click("chat-close");
  EXPECT_EQ(sight.controls.find("chat")->label, "Chat");
}

TEST(Screens, TabReachesEveryControlAndItsFocusIsVisible) {
  Drawer drawer{{}};
  size_t reached = 0;
  for (auto scenes_of : {lobby_scenes, pair_scenes, chat_scenes, room_scenes}) {
    for (const Scene& scene : scenes_of()) {
      Sight sight{.view = scene.view};
      sight.area = {0, 0, 640, 480};
      sight.drawer = &drawer;
      sight.state.active_at = kShownAt;
      sight.frame();
      scene.act(sight);
      sight.state.active_at = sight.now;
      sight.controls.handle_leave();
      sight.controls.clear_focus();
      sight.frame();
      std::set<std::string> missing;
      for (const Control& control : sight.controls.all()) {
        if (control.enabled && (!sight.controls.is_modal() || control.id.starts_with("menu-"))) {
          missing.insert(control.id);
        }
      }
      for (size_t tabs = missing.size(); tabs > 0; --tabs) {
        sight.controls.move_focus(sight.now, false);
        sight.frame();
        const std::string with_ring = sight.frame().shapes;
        const Control* focused = sight.controls.focused();
        ASSERT_NE(focused, nullptr) << scene.name;
        const std::string id = focused->id;
        missing.erase(id);
        sight.controls.set_focus(id, false);
        EXPECT_NE(sight.frame().shapes, with_ring) << scene.name << ": " << id;
        sight.controls.set_focus(id, true);
        sight.frame();
        ++reached;
      }
      EXPECT_TRUE(missing.empty()) << scene.name << ": " << *missing.begin();
    }
  }
  EXPECT_GT(reached, 500U);
}

TEST(Screens, ARoomIsDrawnAsCommitted) { expect_scenes("room", room_scenes(), false); }

}  // namespace
}  // namespace cress::ui
