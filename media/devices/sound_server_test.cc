// Speakers and microphones of a real audio server: a PulseAudio of the test's own, whose sink
// discards audio and whose source records it. Skipped without pulseaudio.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "media/devices/device_test_tools.hh"
#include "media/devices/devices.hh"
#include "media/devices/microphone.hh"
#include "media/devices/speaker.hh"
#include "media/gst/gst_runtime.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;
using Kind = DeviceEvent::Kind;

class SoundServer : public ::testing::Test {
 protected:
  SoundServer() : folder_(fs::temp_directory_path() / "cress_sound_server") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
    // The library reads them when a device is opened.
    ::setenv("PULSE_SERVER", ("unix:" + socket().string()).c_str(), 1);  // NOLINT(concurrency-*)
    ::setenv("PULSE_COOKIE", (folder_ / "cookie").c_str(), 1);           // NOLINT(concurrency-*)
    start();
  }
  ~SoundServer() override {
    stop();
    ::unsetenv("PULSE_SERVER");  // NOLINT(concurrency-*)
    ::unsetenv("PULSE_COOKIE");  // NOLINT(concurrency-*)
    fs::remove_all(folder_);
  }
  void SetUp() override {
    if (server_ == 0) {
      GTEST_SKIP() << "no pulseaudio to make a sound server with";
    }
  }

  fs::path socket() const { return folder_ / "native"; }

  void start() {
    const std::string protocol =
        "module-native-protocol-unix auth-anonymous=1 socket=" + socket().string();
    const std::string home = "HOME=" + folder_.string();
    const std::string runtime = "XDG_RUNTIME_DIR=" + folder_.string();
    const char* path = std::getenv("PATH");  // NOLINT(concurrency-*): set-up
    const std::string search = std::string{"PATH="} + (path == nullptr ? "" : path);
    std::array<const char*, 13> arguments{
        "pulseaudio",
        "-n",
        "--daemonize=no",
        "--use-pid-file=no",
        "--exit-idle-time=-1",
        "--log-target=null",
        "-L",
        protocol.c_str(),
        "-L",
        "module-null-sink sink_name=ear rate=48000 sink_properties=device.description=Ear",
        "-L",
        "module-remap-source source_name=mouth master=ear.monitor "
        "source_properties=device.description=Mouth",
        nullptr};
    std::array<const char*, 4> environment{home.c_str(), runtime.c_str(), search.c_str(), nullptr};
    if (::posix_spawnp(&server_, "pulseaudio", nullptr, nullptr,
                       const_cast<char**>(arguments.data()),
                       const_cast<char**>(environment.data())) != 0) {
      server_ = 0;
      return;
    }
    for (int i = 0; i < 1000 && !is_up(); ++i) {
      int status = 0;
      if (::waitpid(server_, &status, WNOHANG) == server_) {
        server_ = 0;  // a pulseaudio without its modules
        return;
      }
      std::this_thread::sleep_for(10ms);
    }
  }
  void stop() {
    if (server_ != 0) {
      ::kill(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
      server_ = 0;
      fs::remove(socket());
    }
  }
  // Its socket exists before its devices do.
  bool is_up() const {
    return fs::exists(socket()) && id_of(DeviceKind::kMicrophone, "Mouth").has_value();
  }
  static std::optional<std::string> id_of(DeviceKind kind, const std::string& name) {
    for (const Device& device : DeviceWatch{}.list()) {
      if (device.kind == kind && device.name.find(name) != std::string::npos) {
        return device.id;
      }
    }
    return std::nullopt;
  }

  GstRuntime runtime_;
  DeviceClock clock_ = steady_clock();
  fs::path folder_;
  pid_t server_ = 0;
};

TEST_F(SoundServer, DevicesAreListedByNameWithoutMonitors) {
  EXPECT_EQ(id_of(DeviceKind::kSpeaker, "Ear"), "pulse:ear");
  EXPECT_EQ(id_of(DeviceKind::kMicrophone, "Mouth"), "pulse:mouth");
  EXPECT_FALSE(id_of(DeviceKind::kMicrophone, "Ear")) << "its monitor";
}

TEST_F(SoundServer, RoundTripThroughTheServerIsShort) {
  LiveSpeaker speaker{{.id = "pulse:ear"}, clock_};
  LiveMicrophone microphone{{.id = "pulse:mouth", .processing = {false, false, false}}, clock_};
  AudioFrame click{};
  click.fill(12'000);
  std::vector<Duration> delays;
  std::vector<Duration> ahead;
  TimePoint clicked = kNever;  // kNever: not since the last was heard
  TimePoint begin{};
  int played = 0;
  SpeakerStats before;
  while (played < 500) {
    ASSERT_TRUE(wait_for(speaker.ready_fd(), [&] {
      while (const auto event = speaker.poll_event()) {
        EXPECT_NE(event->kind, Kind::kLost) << event->words;
      }
      return speaker.wants_frame();
    }));
    ahead.push_back(speaker.delay());
    const bool clicks = played % 50 == 49;
    ASSERT_TRUE(speaker.play(clicks ? click : AudioFrame{}));
    if (clicks) {
      clicked = clock_();
    }
    if (++played == 25) {
      begin = clock_();  // a null sink takes two seconds to start
      before = speaker.stats();
    }
    while (const auto heard = microphone.poll_frame()) {
      if (clicked != kNever && heard->level.peak_dbfs > -20) {
        delays.push_back(heard->ended - clicked);
        clicked = kNever;
      }
    }
  }
  const SpeakerStats stats = speaker.stats();
  std::ranges::sort(delays);
  // For most frames: a server that the machine runs late is given more at once.
  std::ranges::sort(ahead);
  const Duration ahead_mostly = ahead[ahead.size() * 9 / 10];
  ASSERT_GE(delays.size(), 6U);
  const double seconds = to_seconds(clock_() - begin);
  std::cout << "given " << to_milliseconds(ahead_mostly) << " ms ahead mostly, heard back after "
            << to_milliseconds(delays[delays.size() / 2]) << " ms (most "
            << to_milliseconds(delays.back()) << "), " << stats.underruns - before.underruns
            << " underruns, 475 frames in " << seconds << " s\n";
  EXPECT_LT(delays[delays.size() / 2], 200ms);
  EXPECT_LE(ahead_mostly, 50ms);
  EXPECT_NEAR(seconds, 9.5, 0.5);
}

TEST_F(SoundServer, ServerCrashIsReportedAndAudioKeepsItsRate) {
  LiveSpeaker speaker{{.id = "pulse:ear"}, clock_};
  LiveMicrophone microphone{{.id = "pulse:mouth", .processing = {false, false, false}}, clock_};
  const auto serve = [&] {
    if (speaker.wants_frame()) {
      speaker.play(AudioFrame{});
    }
  };
  ASSERT_TRUE(event_of(speaker, Kind::kStarted, serve));
  ASSERT_TRUE(event_of(microphone, Kind::kStarted, [&] { microphone.poll_frame(); }));
  stop();
  const auto deaf = event_of(speaker, Kind::kLost, serve);
  const auto mute = event_of(microphone, Kind::kLost, [&] { microphone.poll_frame(); });
  ASSERT_TRUE(deaf);
  ASSERT_TRUE(mute);
  EXPECT_TRUE(deaf->words.starts_with("The speaker \"Ear\" is lost: ")) << deaf->words;
  EXPECT_TRUE(mute->words.starts_with("The microphone \"Mouth\" is lost: ")) << mute->words;
  const uint64_t played = speaker.stats().played;
  const TimePoint begin = clock_();
  while (speaker.stats().played < played + 25) {
    ASSERT_TRUE(wait_for(speaker.ready_fd(), [&] {
      serve();
      speaker.poll_event();
      return true;
    }));
  }
  EXPECT_GT(clock_() - begin, 400ms);
  start();
  ASSERT_NE(server_, 0);
  speaker.retry();
  microphone.retry();
  EXPECT_TRUE(event_of(speaker, Kind::kStarted, serve));
  EXPECT_TRUE(event_of(microphone, Kind::kStarted, [&] { microphone.poll_frame(); }));
}

}  // namespace
}  // namespace cress::media
