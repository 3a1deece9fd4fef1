#include "app/commands.hh"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "app/desktop/run_desktop.hh"
#include "app/desktop/settings/settings.hh"
#include "app/headless/headless.hh"
#include "app/room_commands.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/base/text_file.hh"
#include "transport/process/command_line.hh"
#include "transport/process/hidden_text.hh"
#include "transport/process/own_secrets.hh"
#include "transport/runtime/address_text.hh"
#include "transport/secure/link/link.hh"

namespace cress::app {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-call                          a window: start a call and copy its link, or paste one
  cress-call 'cress://192.0.2.7:4433/#...'                   the same, joining at once
  cress-call 'cress://relay.example:4747/ROOM#...'           a room at a relay, in the same window
  cress-call --headless --listen 127.0.0.1:0 --video-in test --audio-in test
  cress-call --headless --video-in me.y4m --audio-in me.wav --video-out them.webm \
             --stats call.jsonl --duration 60s 'cress://192.0.2.7:4433/#...'
  cress-call --headless --video-in me.y4m --video-out seen/ 'cress://relay.example:4433/ROOM#...'
  cress-call --headless --listen --relay relay.example:4747 --video-in test   behind any NAT
  cress-call --link-file kitchen.link        the link is not seen by other users of this machine
  cress-call room new kitchen --relay relay.example:4747 --link-file kitchen.link
The link is in quotes because of its '#'. With "test" as input a test picture and a tone are sent.)";

struct Arguments {
  bool headless = false;
  bool listens = false;
  bool no_port_mapping = false;
  std::string size = "640x360";
  int frame_rate = 30;
  std::string prefer = "balanced";
  std::string replace = "same";
  headless::HeadlessOptions call{};
};

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("LINK", arguments.call.link,
                 "A cress:// link: join that call, or that room; - reads it from standard input");
  app.add_flag("--headless", arguments.headless, "Make the call without a screen");
  app.add_option("--listen", arguments.call.listen,
                 "Wait for a call at ADDR:PORT (port 0: any free one) and print its link; without "
                 "ADDR: at any address")
      ->expected(0, 1)
      ->type_name("ADDR");
  app.add_option(
         "--relay", arguments.call.relay,
         "With --listen or a window: calls begin at this relay's HOST:PORT, so that both ends "
         "may be behind NATs; datagrams take the direct path once there is one")
      ->type_name("HOST:PORT");
  app.add_flag("--no-port-mapping", arguments.no_port_mapping,
               "Do not ask the router for a port (PCP, NAT-PMP, UPnP), as is done in a call "
               "through a relay");
  app.add_option(
      "--link-file", arguments.call.link_file,
      "Read the link to join from this file, which only you may read. With --listen: keep "
      "the link there, so that it is the same after a restart");
  app.add_option("--replace", arguments.replace,
                 "With --headless: which end may take the place of one that has been silent for "
                 "2 s: the same one, which proves it, or anyone with the link")
      ->check(CLI::IsMember({"same", "anyone"}))
      ->type_name("WHICH")
      ->capture_default_str();
  app.add_option("--identity-file", arguments.call.identity_file,
                 "With --headless: keep in this file, which only you may read, what proves after a "
                 "restart that this is the same end")
      ->type_name("FILE");
  app.add_option("--name", arguments.call.name, "What the other person reads")
      ->capture_default_str();
  for (const char* device : {"--camera", "--microphone", "--speaker"}) {
    app.add_option(device, "With a window: a device's id, \"default\" or \"test\"")->expected(1);
  }
  app.add_option("--video-in", arguments.call.video_in, "Picture to send: a file, or \"test\"");
  app.add_option("--audio-in", arguments.call.audio_in, "Sound to send: a file, or \"test\"");
  app.add_option(
      "--video-out", arguments.call.video_out,
      "What was seen: .y4m, .ivf or .webm (with the sound); in a room who speaks, or, in "
      "a folder (DIR/), each member in a file of its own");
  app.add_option("--audio-out", arguments.call.audio_out,
                 "What was heard: .wav; in a room all others together");
  app.add_option("--stats", arguments.call.stats, "A line of JSON every second; - for the screen");
  app.add_option("--frames", arguments.call.frames,
                 "A line of CSV for each picture shown: when it was captured, when it was shown");
  app.add_option("--size", arguments.size, "Of the pictures sent, WIDTHxHEIGHT")
      ->capture_default_str();
  app.add_option("--fps", arguments.frame_rate, "Pictures a second, at most")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  app.add_option("--prefer", arguments.prefer,
                 "On a poor link: motion (smaller frames, displayed evenly), balanced, or sharp")
      ->check(CLI::IsMember({"motion", "balanced", "sharp"}))
      ->type_name("WHAT")
      ->capture_default_str();
  constexpr runtime::DurationRange kRange{100ms, 1'000'000s, "from 100ms to 1000000s"};
  runtime::add_duration(app, "--duration", arguments.call.duration,
                        "Hang up so long after the connection, such as 60s [never]", kRange);
  runtime::add_duration(app, "--wait", arguments.call.wait,
                        "Wait so long for the other end [30s to join, for ever to listen]", kRange);
}

media::PictureSize parse_size(const std::string& text) {
  int width = 0;
  int height = 0;
  char rest = 0;
  const int read = std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest);
  constexpr int kSideMin = 16;
  constexpr int kSideMax = 4096;
  if (read != 2 || std::min(width, height) < kSideMin || std::max(width, height) > kSideMax) {
    throw std::runtime_error("--size " + text + ": not WIDTHxHEIGHT, such as 1280x720");
  }
  return {width, height};
}

int execute_desktop(CLI::App& app, Arguments& arguments, std::ostream& out) {
  runtime::refuse_given(app,
                        {"--video-in", "--audio-in", "--video-out", "--audio-out", "--stats",
                         "--frames", "--duration", "--wait", "--replace", "--identity-file"},
                        "only with --headless");
  desktop::DesktopOptions options;
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread begins
  options.call.settings_path =
      desktop::settings_path(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  options.call.reports_path = desktop::reports_path(std::getenv("HOME"));
  const char* const session = std::getenv("XDG_SESSION_TYPE");
  // NOLINTEND(concurrency-mt-unsafe)
  options.call.local_time = [] {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    return fmt::format("{:%Y-%m-%d %H:%M:%S}", *::localtime_r(&now, &parts));
  };
  options.call.join = arguments.call.link;
  runtime::wipe_text(arguments.call.link);
  app.get_option("LINK")->clear();  // it keeps what it read
  options.call.on_wayland = session != nullptr && std::string_view{session} == "wayland";
  if (app.count("--name") > 0) {
    options.call.name = arguments.call.name;
  }
  const auto given = [&app](const char* option, std::optional<std::string>& into) {
    if (app.count(option) > 0) {
      into = app.get_option(option)->as<std::string>();
    }
  };
  given("--camera", options.call.camera);
  given("--microphone", options.call.microphone);
  given("--speaker", options.call.speaker);
  if (arguments.listens) {
    options.call.listen =
        arguments.call.listen.empty() ? Address{} : runtime::resolve(arguments.call.listen).front();
  }
  options.call.link_file = arguments.call.link_file;
  given("--relay", options.call.relay);
  options.call.asks_router = !arguments.no_port_mapping;
  if (app.count("--size") > 0) {
    options.call.camera_size = parse_size(arguments.size);
  }
  options.call.camera_rate = {arguments.frame_rate, 1};
  options.call.prefer = parse_preference(arguments.prefer).value();
  return desktop::run_desktop(options, out);
}

/// So that no file is replaced by another of the same call.
void require_different_files(const headless::HeadlessOptions& call) {
  const std::array<std::pair<const char*, std::filesystem::path>, 8> files{
      {{"--video-in", call.video_in},
       {"--audio-in", call.audio_in},
       {"--video-out", call.video_out},
       {"--audio-out", call.audio_out},
       {"--stats", call.stats},
       {"--frames", call.frames},
       {"--link-file", call.link_file},
       {"--identity-file", call.identity_file}}};
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = std::max<size_t>(i + 1, 2); j < files.size(); ++j) {  // one movie has both
      const bool given = !files[i].second.empty() && files[i].second != "-";
      if (given && is_same_file(files[i].second, files[j].second)) {
        throw std::runtime_error(std::string{files[j].first} + " " + files[j].second.string() +
                                 ": the same file as " + files[i].first);
      }
    }
  }
}

int execute_headless(CLI::App& app, Arguments& arguments, std::ostream& out, std::ostream& err) {
  runtime::refuse_given(app, {"--camera", "--microphone", "--speaker"},
                        "only with a window; with --headless it is --video-in, --audio-in and "
                        "--audio-out");
  headless::HeadlessOptions& call = arguments.call;
  if (call.video_in.empty()) {
    runtime::refuse_given(app, {"--fps"}, "needs --video-in");
  }
  if (call.video_in.empty() && call.video_out.empty()) {
    runtime::refuse_given(app, {"--size"}, "needs --video-in or --video-out");
  }
  require_different_files(call);
  call.size = parse_size(arguments.size);
  call.rate = {arguments.frame_rate, 1};
  call.prefer = parse_preference(arguments.prefer).value();
  call.asks_router = !arguments.no_port_mapping;
  call.replaced_by_anyone = arguments.replace == "anyone";
  call.progress = isatty(STDERR_FILENO) != 0;
  app.get_option("LINK")->clear();  // it keeps what it read
  return headless::run_headless(std::exchange(call, {}), out, err);
}

/// A command ignores what is only for a call, so it does not accept it.
void refuse_call_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) {
      throw std::runtime_error(option->get_name() + ": is for a call, not for `cress-call room`");
    }
  }
}

int execute(CLI::App& app, Arguments& arguments, std::istream& in, std::ostream& out,
            std::ostream& err) {
  arguments.listens = app.count("--listen") > 0;
  headless::HeadlessOptions& call = arguments.call;
  if (!call.link.empty() && arguments.listens) {
    throw std::runtime_error("either a link to join or --listen, not both");
  }
  const bool joins = !call.link.empty() || (!call.link_file.empty() && !arguments.listens);
  if (!call.relay.empty() && (joins || (arguments.headless && !arguments.listens))) {
    throw std::runtime_error("--relay: only with --listen; a link to join names its relay");
  }
  if (!call.link.empty() && !call.link_file.empty()) {
    throw std::runtime_error("either a link to join or --link-file, not both");
  }
  if (!arguments.listens && !call.link_file.empty()) {
    call.link = runtime::read_secret(call.link_file, secure::kLinkLengthMax);
    call.link_file.clear();
  } else if (call.link == "-") {
    call.link = runtime::read_secret(in, secure::kLinkLengthMax);
  }
  if (arguments.headless) {
    // Not with a window: the desktop's portals look at a program's files to see which it is.
    (void)runtime::refuse_inspection();
  }
  const media::GstRuntime gstreamer;
  return arguments.headless ? execute_headless(app, arguments, out, err)
                            : execute_desktop(app, arguments, out);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, std::istream& in, std::ostream& out,
                     std::ostream& err, const std::function<void()>& was_read) {
  CLI::App app{
      "A video call that stays live on mobile links whose rate changes from second to second."};
  app.footer(kExamples);
  app.set_version_flag("--version", "cress-call " CRESS_VERSION);
  Arguments arguments;
  add_options(app, arguments);
  RoomArguments room;
  const RoomCommands commands = add_room_commands(app, room);
  return runtime::run_command_line(app, "cress-call", out, err, [&] {
    runtime::parse(app, {argv + 1, argv + argc});
    was_read();
    if (commands.room->parsed()) {
      refuse_call_options(app);
      return execute_room_command(commands, room, in, out, err);
    }
    return execute(app, arguments, in, out, err);
  });
}

}  // namespace cress::app
