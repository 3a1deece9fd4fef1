#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "app/desktop/call_health.hh"
#include "app/desktop/device_shelf.hh"
#include "app/desktop/notices.hh"
#include "app/desktop/room_scene.hh"
#include "app/desktop/settings/settings.hh"
#include "media/devices/devices.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/own_address.hh"

namespace cress::desktop {
namespace {

const TimePoint kModelBegins = kTimeZero + 1h;

std::string milliseconds(Duration time) { return std::to_string(time / 1ms); }

std::string rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

/// A link whose state lasts for a while, then another.
live::LiveSample draw_sample(Rng& rng, const live::LiveSample& before, TimePoint at) {
  live::LiveSample s = before;
  s.at = at;
  if (rng.chance(0.08)) {
    s.forecast = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(3) * 400));
    s.peer_forecast = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(3) * 400));
    s.loss_up = rng.chance(0.5) ? rng.uniform(0, 0.3) : 0;
    s.loss_down = rng.chance(0.5) ? rng.uniform(0, 0.3) : 0;
    s.unheard = rng.chance(0.3) ? 3s : 20ms;
    s.picture_skipped = rng.chance(0.3) ? 4s : 0ms;
    s.microphone_dbfs = rng.chance(0.5) ? -30 : -45;
  }
  s.sent = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(2000)));
  s.received = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(2000)));
  s.window = DataSize{static_cast<int64_t>(rng.below(30'000))};
  s.rtt = rng.chance(0.9) ? std::optional<Duration>{20ms + rng.below(200) * 1ms} : std::nullopt;
  s.frame_delay_p50 =
      rng.chance(0.9) ? std::optional<Duration>{rng.below(900) * 1ms} : std::nullopt;
  s.frame_delay_p95 =
      rng.chance(0.9) ? std::optional<Duration>{rng.below(900) * 1ms} : std::nullopt;
  const bool is_slow = at.time_since_epoch() / 10s % 3 == 2;
  s.frames_late += is_slow ? 3 : 0;
  s.frames_captured += is_slow ? 2 : 5;
  if (rng.chance(0.01)) {
    s.frames_late = s.frames_captured = 0;
  }
  return s;
}

TEST(DesktopModel, ACallsHealthIsAsCommitted) {
  Rng rng{5};
  std::string all;
  CallHealth health;
  live::LiveSample sample;
  CallCircumstances now{.peer_name = "Ana"};
  for (int i = 0; i < 900; ++i) {
    sample = draw_sample(rng, sample, kModelBegins + i * 200ms);
    if (rng.chance(0.04)) {
      now = {.peer_name = rng.chance(0.5) ? "Ana" : ""};
      now.muted = rng.chance(0.3);
      now.camera_off = rng.chance(0.3);
      now.camera_lost = rng.chance(0.2);
      now.microphone_lost = rng.chance(0.2);
      now.speaker_lost = rng.chance(0.2);
      now.nobody_looks = rng.chance(0.2);
    }
    const std::string before = health.status().text;
    health.add(sample, now);
    const ui::LinkHealth& h = health.health();
    const ui::LinkSample& last = health.history().newest();
    if (health.status().text != before) {
      all += milliseconds(sample.at - kModelBegins) + " \"" + health.status().text + "\" " +
             std::to_string(static_cast<int>(health.status().tone)) + "\n";
    }
    if (i % 9 == 0) {
      all += milliseconds(sample.at - kModelBegins) + " " + h.peer_name + " " +
             rounded(h.uplink_forecast.kilobits_per_second()) + " " +
             rounded(h.downlink_forecast.kilobits_per_second()) + " " +
             rounded(h.sent.kilobits_per_second()) + " " +
             rounded(h.received.kilobits_per_second()) + " " + std::to_string(h.window.bytes()) +
             " " + milliseconds(h.one_way_delay) + " " + milliseconds(h.frame_delay) + " " +
             milliseconds(h.outage) + " " + milliseconds(h.picture_skipped) + " " +
             rounded(h.loss_up) + " " + rounded(h.loss_down) + " " + (h.muted ? "m" : "") +
             (h.speaking ? "s" : "") + (h.microphone_lost ? "M" : "") +
             (h.speaker_lost ? "S" : "") + (h.camera_lost ? "C" : "") + " " +
             rounded(h.late_pictures) + " | " + std::to_string(health.history().size()) + " " +
             milliseconds(last.at - kModelBegins) + " " +
             rounded(last.forecast.kilobits_per_second()) + " " + milliseconds(last.one_way_delay) +
             " " + milliseconds(last.frame_delay) + " " + rounded(last.loss) + "\n";
    }
  }
  expect_golden("health", all);
}

std::string lines_of(const ui::Room& room) {
  std::string line = room.name + ": speaker " + std::to_string(room.speaker) +
                     (room.self_speaks ? " self" : "") + " pinned " + std::to_string(room.pinned) +
                     " large " + std::to_string(room.large) + " wanted " +
                     (room.video_wanted ? rounded(room.video_wanted->kilobits_per_second()) : "-");
  for (const ui::Member& m : room.others) {
    line += "; " + std::to_string(m.number) + " " + m.person.name + (m.person.muted ? " m" : "") +
            (m.person.camera_off ? " o" : "") + (m.person.shares_screen ? " s" : "") +
            (m.picture.picture != nullptr ? " p" : "") +
            (std::isfinite(m.level_dbfs) ? " " + rounded(m.level_dbfs) : " -");
  }
  return line;
}

TEST(DesktopModel, ARoomsSceneIsAsCommitted) {
  using Kind = room::RoomEvent::Kind;
  constexpr std::array<const char*, 5> kNames{"Ana", "Ben", "", "Cem", "Ana"};
  Rng rng{8};
  std::string all;
  TimePoint now = kModelBegins;
  room::LiveRoomSample sample;
  sample.number = 1;
  RoomScene scene{"kitchen", [&](ui::Tone tone, const std::string& words) {
                    all += "  " + std::to_string(static_cast<int>(tone)) + " " + words + "\n";
                  }};
  scene.handle(now, {.kind = Kind::kWelcome, .member = 1}, sample);
  room::MemberNumber next = 2;
  const auto picture = std::make_shared<media::Picture>(media::make_picture(16, 16));
  const auto somebody = [&] {
    return sample.others.empty() ? room::MemberNumber{0}
                                 : sample.others[rng.below(sample.others.size())].member.number;
  };
  for (int i = 0; i < 160; ++i) {
    now += rng.below(3000) * 1ms;
    const uint64_t what = rng.below(10);
    if (what < 3) {
      room::LiveRoomMember other;
      other.member.number = next++;
      other.member.person.name = kNames.at(rng.below(kNames.size()));
      other.member.is_live = true;
      sample.others.push_back(other);
      scene.handle(
          now,
          {.kind = rng.chance(0.5) ? Kind::kJoined : Kind::kPresent, .member = other.member.number},
          sample);
    } else if (what == 3) {
      const room::MemberNumber gone = somebody();
      std::erase_if(sample.others, [=](const auto& other) { return other.member.number == gone; });
      scene.handle(now,
                   {.kind = Kind::kLeft,
                    .member = gone,
                    .left = std::array{room::LeaveReason::kLeft, room::LeaveReason::kLost,
                                       room::LeaveReason::kKicked}
                                .at(rng.below(3))},
                   sample);
    } else if (what == 4 && rng.chance(0.4)) {
      const auto reason =
          rng.chance(0.6) ? room::FarewellReason::kDraining : room::FarewellReason::kClosed;
      scene.handle(now, {.kind = Kind::kFarewell, .farewell = {.reason = reason}}, sample);
      sample.others.clear();
      scene.handle(now, {.kind = Kind::kWelcome, .member = 1}, sample);
    } else if (what == 5) {
      scene.pin(rng.chance(0.8) ? somebody() : 0);
    } else if (what == 6) {
      scene.show(somebody(), {picture, now});
    } else {
      sample.speaker = rng.chance(0.3) ? sample.number : somebody();
      sample.room = rng.chance(0.5) ? "" : "cellar";
      sample.video_rate_max = DataRate::kilobits_per_second(static_cast<int64_t>(rng.below(900)));
      if (!sample.others.empty()) {
        room::OtherMember& other = sample.others[rng.below(sample.others.size())].member;
        other.level_dbov = rng.uniform(-70, 0);
        other.person.muted = rng.chance(0.3);
        other.person.camera_off = rng.chance(0.3);
        other.person.shares_screen = rng.chance(0.2);
      }
      scene.update(now, sample);
    }
    if (i % 2 == 0) {
      const std::string line = lines_of(scene.room());
      all += milliseconds(now - kModelBegins) + " first " + std::to_string(scene.first()) + " " +
             (line.size() > 160 ? line.substr(0, 100) + "... " + golden_digest(line) : line) + "\n";
    }
  }
  expect_golden("room", all);
}

TEST(DesktopModel, TheDeviceShelfIsAsCommitted) {
  using media::DeviceKind;
  constexpr std::array kAllKinds{DeviceKind::kCamera, DeviceKind::kMicrophone, DeviceKind::kSpeaker,
                                 DeviceKind::kScreen};
  constexpr std::array<const char*, 10> kIds{
      "default", "test", "none", "screen", "portal", "a", "b", "file:/x/y.mkv", "gst:fakesrc", ""};
  Rng rng{2};
  std::string all;
  DeviceShelf shelf;
  for (int i = 0; i < 120; ++i) {
    if (i >= 8 && rng.chance(0.4)) {
      std::vector<media::Device> list;
      for (const DeviceKind kind : kAllKinds) {
        for (const char* id : {"test", "a", "b", "screen"}) {
          if (rng.chance(0.35)) {
            list.push_back({kind, id, std::string{"the "} + id, rng.chance(0.5)});
          }
        }
      }
      shelf.set_list(list);
    } else {
      const DeviceKind chosen = kAllKinds.at(rng.below(4));
      shelf.choose(chosen, kIds.at(rng.below(kIds.size())));
    }
    const DeviceKind kind = kAllKinds.at(static_cast<size_t>(i) % 4);
    const ui::Devices view = shelf.view(kind);
    all += std::to_string(static_cast<int>(kind)) + " wants " + shelf.wanted(kind) + " uses " +
           shelf.used(kind) + (shelf.is_missing(kind) ? " missing" : "") +
           (shelf.has_list() ? "" : " no list") + " shows " + view.chosen + " named " +
           shelf.name_of(kind, view.chosen) + (shelf.lists(kind, "a") ? " a" : "") + " of";
    for (const ui::Device& device : view.all) {
      all += " " + device.id + "=" + device.name;
    }
    all += "\n";
  }
  for (const char* id : kIds) {
    all += std::string{id} + (is_built_in(id) ? " is" : " is not") + " built in\n";
  }
  expect_golden("devices", all);
}

TEST(DesktopModel, NoticesComeAndGoAsCommitted) {
  constexpr std::array kTones{ui::Tone::kGood, ui::Tone::kNote, ui::Tone::kWarning,
                              ui::Tone::kTrouble};
  Rng rng{3};
  std::string all;
  Notices notices;
  TimePoint now = kModelBegins;
  for (int i = 0; i < 120; ++i) {
    now += (i % 40 < 20 ? rng.below(2000) : rng.below(9000)) * 1ms;
    const bool went = notices.update(now);
    if (rng.chance(0.7)) {
      const ui::Tone tone = kTones.at(rng.below(4));
      notices.add(now, tone, sentence(std::string(1, "abcXYZ1"[rng.below(7)])));
    } else {
      const auto shown = notices.all();
      notices.dismiss(shown.empty() ? 7 : shown[rng.below(shown.size())].id);
    }
    all += milliseconds(now - kModelBegins) + (went ? " went:" : ":");
    for (const ui::Notice& notice : notices.all()) {
      all += " " + std::to_string(notice.id) + "/" + std::to_string(static_cast<int>(notice.tone)) +
             notice.text;
    }
    all += "\n";
  }
  expect_golden("notices", all);
}

TEST(DesktopModel, TheBestAddressOfEachTwoIsAsCommitted) {
  constexpr std::array<const char*, 16> kAddresses{
      "127.0.0.1:0",   "127.1.2.3:0",   "128.0.0.1:0", "169.254.0.1:0",
      "169.253.0.1:0", "170.254.0.1:0", "0.0.0.0:0",   "0.0.0.1:0",
      "[::]:0",        "[::1]:0",       "[::2]:0",     "[fe80::1]:0",
      "[febf::1]:0",   "[fec0::1]:0",   "[fc00::1]:0", "[2001:db8::7]:0"};
  const auto address = [](const char* text) { return *runtime::parse_address(text); };
  std::string all;
  for (const char* a : kAddresses) {
    all +=
        runtime::host_of(address(a)) + (runtime::is_specific(address(a)) ? ":" : " is no address:");
    for (const char* b : kAddresses) {
      const std::array both{runtime::InterfaceAddress{"a", address(a)},
                            runtime::InterfaceAddress{"b", address(b)}};
      const std::array routed{address(b)};
      const Address best = runtime::best_address(both, {});
      const Address best_routed = runtime::best_address(both, routed);
      all += best == address(a) ? "a" : best == address(b) ? "b" : "-";
      all += best_routed == address(a) ? "a " : best_routed == address(b) ? "b " : "- ";
    }
    all += "\n";
  }
  expect_golden("addresses", all);
}

TEST(DesktopModel, SettingsAreReadAndWrittenAsCommitted) {
  const std::array<std::string, 18> texts{
      "",
      "{}",
      "[]",
      "null",
      R"({"name":"  Ana  "})",
      R"({"name":1})",
      R"({"theme":"light"})",
      R"({"theme":"dark"})",
      R"({"theme":"blue"})",
      R"({"devices":{}})",
      R"({"devices":[]})",
      R"({"devices":{"camera":""}})",
      R"({"devices":{"camera":"a","microphone":"b","speaker":"c"}})",
      R"({"devices":{"speaker":")" + std::string(kDeviceIdMax, 'x') + R"("}})",
      R"({"devices":{"speaker":")" + std::string(kDeviceIdMax + 1, 'x') + R"("}})",
      R"({"voice":{"echo_cancellation":false,"noise_suppression":false,"gain_control":false}})",
      R"({"voice":{"gain_control":0},"more":7})",
      R"({"more":7,"voice":3})"};
  std::string all;
  for (const std::string& text : texts) {
    const auto parsed = parse_settings(text);
    const std::string written =
        format_settings(parsed ? parsed.value() : Settings{.name = "Jo"}, text);
    all += text.substr(0, 80) + "\n" + (parsed ? "" : describe(parsed.error()) + "\n") +
           (written.size() > 400 ? golden_digest(written) + "\n" : written);
  }
  expect_golden("settings", all);
}

TEST(DesktopModel, ASettingsFileMayHaveItsMostBytesButNoMore) {
  const auto most = static_cast<size_t>(kSettingsFileMax.bytes());
  const std::string settings = R"({"name":"Ana"})";
  EXPECT_TRUE(parse_settings(settings + std::string(most - settings.size(), ' ')));
  const auto refused = parse_settings(settings + std::string(most - settings.size() + 1, ' '));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, SettingsError::Kind::kTooLong);
}

}  // namespace
}  // namespace cress::desktop
