#include "app/headless/stats.hh"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cress::headless {
namespace {

namespace fs = std::filesystem;

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }

live::LiveSample sample() {
  live::LiveSample sample;
  sample.at = kTimeZero + 12345678us;
  sample.connected = true;
  sample.forecast = DataRate::bits_per_second(1'234'560);
  sample.peer_forecast = kbps(2);
  sample.sent = kbps(3);
  sample.received = kbps(4);
  sample.window = DataSize{5};
  sample.rtt = 6060us;
  sample.loss_up = 0.01234;
  sample.loss_down = 0.5;
  sample.unheard = 7ms;
  sample.frame_delay_p50 = 8ms;
  sample.frame_delay_p95 = 9ms;
  sample.sound_delay = 10ms;
  sample.frames_captured = 11;
  sample.frames_coded = 12;
  sample.frames_late = 13;
  sample.frames_shown = 14;
  sample.key_frames = 15;
  sample.sound_played = 16;
  sample.sound_concealed = 17;
  return sample;
}

const char* const kSample =
    R"("t_s":12.346,"connected":true,"forecast_kbps":1234.6,"peer_forecast_kbps":2.0,)"
    R"("sent_kbps":3.0,"received_kbps":4.0,"window_bytes":5,"rtt_ms":6.1,"loss_up":0.0123,)"
    R"("loss_down":0.5,"unheard_ms":7.0,"frame_delay_p50_ms":8.0,"frame_delay_p95_ms":9.0,)"
    R"("sound_delay_ms":10.0,"frames_captured":11,"frames_coded":12,"frames_late":13,)"
    R"("frames_shown":14,"key_frames":15,"sound_played":16,"sound_concealed":17)";

std::string text_of(const fs::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(Stats, ASampleIsALineOfNumbersInTheirUnits) {
  live::LiveSample one = sample();
  one.code = "1111 2222 3333";
  const std::string start = std::string{"{"} + kSample + R"(,"code":"1111 2222 3333","path":)";
  EXPECT_EQ(sample_line(one), start + R"("direct","port_mapping":""})");
  one.is_relayed = true;
  one.mapped_by = mapping::MappingProtocol::kNatPmp;
  EXPECT_EQ(sample_line(one), start + R"("relay","port_mapping":"NAT-PMP"})");
  one.connected = false;
  EXPECT_TRUE(sample_line(one).ends_with(R"("path":"","port_mapping":"NAT-PMP"})"));
}

TEST(Stats, UnknownValuesAreNull) {
  const std::string line = sample_line({});
  for (const char* key : {"rtt_ms", "frame_delay_p50_ms", "frame_delay_p95_ms", "sound_delay_ms"}) {
    EXPECT_NE(line.find('"' + std::string{key} + "\":null"), std::string::npos) << key;
  }
  EXPECT_NE(line.find(R"("connected":false)"), std::string::npos);
}

TEST(Stats, AnEventIsALineOfItsOwn) {
  EXPECT_EQ(event_line({.kind = live::LiveEvent::Kind::kPathChanged,
                        .at = kTimeZero + 1500ms,
                        .words = "now \"there\""}),
            R"({"t_s":1.5,"event":"path_changed","words":"now \"there\""})");
  const std::string broken = event_line({.words = "\xff"});
  EXPECT_NE(broken.find("\xef\xbf\xbd"), std::string::npos) << "what is no UTF-8 is replaced";
}

TEST(Stats, ARoomsSampleListsItsMembers) {
  room::LiveRoomSample room;
  room.session = sample();
  room.room = "lab";
  room.number = 3;
  room.key_code = "1234 5678 9012";
  room.speaker = 4;
  EXPECT_EQ(room_line(room),
            std::string{"{"} + kSample +
                R"(,"room":"lab","number":3,"key_code":"1234 5678 9012","speaker":4,)"
                R"("video_rate_max_kbps":null,"members":[]})");
  room.video_rate_max = kbps(250);
  room::LiveRoomMember member;
  member.member.number = 4;
  member.member.person = {.name = "Ben", .muted = true, .camera_off = false, .shares_screen = true};
  member.member.is_live = true;
  member.member.key_code = "0000 1111 2222";
  member.member.level_dbov = -20.04;
  member.frame_delay_p50 = 5ms;
  member.member.frames_shown = 6;
  member.member.frames_unopened = 7;
  member.member.frames_undecodable = 8;
  member.member.frames_over_budget = 18;
  member.member.key_frames_asked = 9;
  member.member.sound_played = 10;
  member.member.sound_concealed = 11;
  room.others.push_back(member);
  EXPECT_EQ(
      room_line(room),
      std::string{"{"} + kSample +
          R"(,"room":"lab","number":3,"key_code":"1234 5678 9012","speaker":4,)"
          R"("video_rate_max_kbps":250.0,"members":[)"
          R"({"number":4,"name":"Ben","muted":true,"camera_off":false,"shares_screen":true,)"
          R"("live":true,"key_code":"0000 1111 2222","distrusted":false,"level_dbov":-20.0,"frame_delay_p50_ms":5.0,"frame_delay_p95_ms":null,)"
          R"("frames_shown":6,"frames_unopened":7,"frames_undecodable":8,"frames_over_budget":18,)"
          R"("key_frames_asked":9,)"
          R"("sound_played":10,"sound_concealed":11}]})");
}

TEST(Stats, EveryEventOfARoomHasItsWord) {
  using Kind = room::RoomEvent::Kind;
  const auto word = [](Kind kind) {
    return room_event_line(kTimeZero + 2s, {.kind = kind, .member = 5}, "Ada");
  };
  const auto line = [](const std::string& event) {
    return R"({"t_s":2.0,"event":")" + event + R"(","member":5,"name":"Ada"})";
  };
  EXPECT_EQ(word(Kind::kWelcome), line("welcome"));
  EXPECT_EQ(word(Kind::kPresent), line("present"));
  EXPECT_EQ(word(Kind::kJoined), line("joined"));
  EXPECT_EQ(word(Kind::kChanged), line("changed"));
  EXPECT_EQ(word(Kind::kKeyChanged), line("key_changed"));
  EXPECT_EQ(word(Kind::kDistrusted), line("distrusted"));
  EXPECT_EQ(word(Kind::kLeft), line("left"));
  EXPECT_EQ(word(Kind::kSpeaker), line("speaker"));
  EXPECT_EQ(word(Kind::kFarewell), line("farewell"));
}

TEST(Stats, AShownFrameIsALineOfATable) {
  app::ShownFrame frame;
  frame.frame_id = 7;
  frame.captured = kTimeZero + 1234567us;
  frame.shown = kTimeZero + 2s;
  frame.size = DataSize{800};
  EXPECT_EQ(frame_line(frame), ",7,1.234567,2.000000,800");
  EXPECT_EQ(frame_line(frame, room::MemberNumber{3}), "3,7,1.234567,2.000000,800");
}

TEST(LineWriter, WritesToAFileOrToStandardOutputOrNowhere) {
  const fs::path path = fs::path{testing::TempDir()} / "cress-lines.txt";
  std::ostringstream out;
  LineWriter file{path, out};
  file.write("one");
  EXPECT_EQ(text_of(path), "one\n") << "at once";
  file.write("two");
  file.finish();
  EXPECT_EQ(text_of(path), "one\ntwo\n");
  EXPECT_EQ(out.str(), "");
  LineWriter standard{"-", out};
  standard.write("three");
  standard.finish();
  EXPECT_EQ(out.str(), "three\n");
  LineWriter nowhere{"", out};
  nowhere.write("four");
  nowhere.finish();
  EXPECT_EQ(out.str(), "three\n");
  fs::remove(path);
}

TEST(LineWriter, UnwritableOutputIsAnError) {
  std::ostringstream out;
  try {
    const LineWriter writer{"/no/such/folder/lines", out};
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/no/such/folder/lines: cannot be written");
  }
  LineWriter full{"/dev/full", out};
  full.write("one");
  EXPECT_THROW(full.finish(), std::runtime_error);
}

}  // namespace
}  // namespace cress::headless
