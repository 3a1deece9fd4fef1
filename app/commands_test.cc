#include "app/commands.hh"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "transport/secure/handshake/credential.hh"
#include "transport/secure/link/link.hh"

namespace cress::app {
namespace {

namespace fs = std::filesystem;

/// The program's reaction to arguments with which no call starts.
struct Answer {
  int status = 0;
  std::string out;
  std::string err;
};
Answer answer(std::vector<const char*> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), "cress-call");
  std::istringstream in{input};
  std::ostringstream out;
  std::ostringstream err;
  const int status =
      run_command_line(static_cast<int>(arguments.size()), arguments.data(), in, out, err);
  return {status, out.str(), err.str()};
}

/// The real program, in the background until destroyed; its standard output can be read.
class Program {
 public:
  explicit Program(const std::string& arguments)
      : pipe_(popen((CRESS_BIN "/cress-call " + arguments).c_str(), "r")) {}
  ~Program() {
    if (pipe_ != nullptr) {
      pclose(pipe_);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string line() {
    std::array<char, 4096> text{};
    return fgets(text.data(), text.size(), pipe_) == nullptr ? "" : text.data();
  }
  int wait() {
    const int status = pclose(std::exchange(pipe_, nullptr));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  FILE* pipe_;
};

std::string without_end(std::string line) {
  while (!line.empty() && line.back() == '\n') {
    line.pop_back();
  }
  return line;
}

TEST(CommandLine, HelpHasExamplesAndVersionIsOneLine) {
  const Answer help = answer({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
  EXPECT_EQ(answer({"--version"}).out, "cress-call " CRESS_VERSION "\n");
}

TEST(CommandLine, WrongArgumentsAreOneClearLineAndStatusTwo) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases{
      {{"--headless", "--bogus"}, "--bogus"},
      {{"--headless", "http://example.org"}, "cress://"},
      {{"--headless", "cress://host:1/"}, "has no secret"},
      {{"--headless", "--listen", "--video-in", "test", "--size", "big"}, "--size big"},
      {{"--headless", "--listen", "--video-in", "test", "--size", "3x"}, "--size 3x"},
      {{"--headless", "--listen", "--fps", "0"}, "--fps"},
      {{"--headless", "--listen", "--video-in", "/no/such/clip.y4m"}, "/no/such/clip.y4m"},
      {{"--headless", "--listen", "127.0.0.1:0", "--video-out", "/no/such/folder/a.y4m"},
       "/no/such/folder/a.y4m"},
      {{"--headless", "--listen", "not an address"}, "not an address"},
      {{"--headless", "--link-file", "/tmp/x", "cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA"},
       "--link-file"},
      {{"--headless", "--link-file", "/no/such/file.link"}, "/no/such/file.link"},
      {{"--headless", "--listen", "127.0.0.1:0", "--link-file", "/no/such/folder/a.link"},
       "/no/such/folder/a.link"},
      {{"--headless", "--listen", "127.0.0.1:0", "cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA"}, "both"}};
  for (const auto& [arguments, word] : cases) {
    const Answer result = answer(arguments);
    EXPECT_EQ(result.status, 2) << word;
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(CommandLine, LinkToJoinMayComeFromAFileOrStandardInput) {
  // Each is damaged in a way of its own, which shows what was read.
  EXPECT_NE(answer({"--headless", "-"}, "http://of.input\n").err.find("not a Cress link"),
            std::string::npos);
  EXPECT_NE(answer({"--headless", "-"}).err.find("standard input"), std::string::npos);
  const std::string file = ::testing::TempDir() + "joiner.link";
  fs::remove(file);
  EXPECT_EQ(answer({"--headless", "--link-file", file.c_str()}).status, 2) << "there is none";
  std::ofstream{file} << "cress://of.file:1/\n";
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_NE(answer({"--headless", "--link-file", file.c_str()}).err.find("has no secret"),
            std::string::npos);
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_NE(answer({"--headless", "--link-file", file.c_str()}).err.find("chmod 600"),
            std::string::npos);
}

TEST(CommandLine, ARoomIsMadeAndItsAccessTellsNoSecret) {
  const Answer made = answer({"room", "new", "kitchen", "--relay", "relay.example:4747"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("cress://relay.example:4747/kitchen#")) << made.out;
  EXPECT_NE(answer({"room", "new", "kitchen", "--relay", "relay.example:4747"}).out, made.out);
  const Answer access = answer({"room", "access", "-"}, made.out);
  ASSERT_EQ(access.status, 0) << access.err;
  const auto link = secure::parse_link(without_end(made.out));
  ASSERT_TRUE(link);
  EXPECT_EQ(secure::parse_room_access(without_end(access.out)),
            (secure::RoomAccess{"kitchen", secure::derive_room(link->secret).access}));
  EXPECT_EQ(answer({"room", "access", without_end(made.out).c_str()}).out, access.out);
}

TEST(CommandLine, ARoomsLinkFileIsItsOwnersAloneAndNeverReplaced) {
  const std::string file = ::testing::TempDir() + "room.link";
  fs::remove(file);
  const std::vector<const char*> make{"room",    "new",         "kitchen",   "--relay",
                                      "[::1]:1", "--link-file", file.c_str()};
  ASSERT_EQ(answer(make).status, 0) << answer(make).err;
  EXPECT_EQ(answer(make).status, 2) << "it would lose a room's key";
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(answer({"room", "access", "--link-file", file.c_str()})
                  .out.starts_with("cress-access://kitchen#"));
}

TEST(CommandLine, WrongRoomsAreOneClearLine) {
  const char* const two = "cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA";
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases{
      {{"room"}, "subcommand"},
      {{"room", "close", "x"}, "no command \"close\""},
      {{"room", "new", "kitchen"}, "--relay"},
      {{"room", "new", "kitchen", "--relay", "relay.example"}, "--relay relay.example"},
      {{"room", "new", "kitchen", "--relay", "h:1/x#AAAAAAAAAAAAAAAAAAAAAA"}, "--relay h:1/x#"},
      {{"room", "new", "kit chen", "--relay", "h:1"}, "kit chen"},
      {{"room", "new", "kitchen", "--relay", "h:1", "--link-file", "/no/such/a"}, "/no/such/a"},
      {{"--name", "jo", "room", "new", "kitchen", "--relay", "h:1"}, "--name"},
      {{"room", "access"}, "--link-file"},
      {{"room", "access", two}, "a call of two"},
      {{"room", "access", "cress://h:1/x"}, "has no secret"}};
  for (const auto& [arguments, word] : cases) {
    const Answer result = answer(arguments);
    EXPECT_EQ(result.status, 2) << word;
    EXPECT_EQ(result.out, "") << word;
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(CommandLine, OthersDoNotSeeTheLinkOfARunningCall) {
  const int marker = 4999;  // nobody is there; the call waits
  Program call{"--headless --wait 3s 'cress://127.0.0.1:" + std::to_string(marker) +
               "/#AAAAAAAAAAAAAAAAAAAAAA' 2>&1 & sleep 1; tr '\\0' ' ' < /proc/$!/cmdline; "
               "grep 'Max core file size' /proc/$!/limits; wait"};
  const std::string command = call.line();
  EXPECT_NE(command.find("--headless --wait 3s xxxx"), std::string::npos) << command;
  EXPECT_EQ(command.find("AAAA"), std::string::npos) << command;
}

/// Whether these arguments of a headless call are accepted: the error is then a later one.
bool are_taken(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "--headless");
  arguments.insert(arguments.end(), {"--listen", "127.0.0.1:0", "--video-in", "/no/such/clip.y4m"});
  const Answer result = answer(arguments);
  EXPECT_EQ(result.status, 2);
  return result.err.find("/no/such/clip.y4m") != std::string::npos;
}

TEST(CommandLine, SizesAndNumbersHaveLimits) {
  for (const char* size : {"16x16", "4096x16", "16x4096", "4096x4096", "640x360"}) {
    EXPECT_TRUE(are_taken({"--size", size})) << size;
  }
  for (const char* size : {"15x16", "16x15", "4097x16", "16x4097", "640x360x", "640x", "640",
                           "x360", "-640x360", "", "640x360 "}) {
    EXPECT_FALSE(are_taken({"--size", size})) << size;
  }
  const std::vector<std::pair<const char*, std::vector<const char*>>> taken{
      {"--fps", {"1", "60"}},
      {"--duration", {"100ms", "1000000s"}},
      {"--wait", {"0.1s", "1000000s"}}};
  for (const auto& [option, values] : taken) {
    for (const char* value : values) {
      EXPECT_TRUE(are_taken({option, value})) << option << " " << value;
    }
  }
  const std::vector<std::pair<const char*, std::vector<const char*>>> refused{
      {"--fps", {"0", "61", "2.5", "many"}},
      {"--duration", {"90ms", "1000001s", "-1s", "1"}},
      {"--wait", {"90ms", "1000001s", "0s", "30"}}};
  for (const auto& [option, values] : refused) {
    for (const char* value : values) {
      EXPECT_FALSE(are_taken({option, value})) << option << " " << value;
    }
  }
}

TEST(CommandLine, HeadlessOptionsAreRejectedWithAWindow) {
  for (const char* option : {"--video-in", "--audio-in", "--video-out", "--audio-out", "--stats",
                             "--frames", "--duration", "--wait"}) {
    const Answer result = answer({option, "5s"});
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.err, std::string{"cress-call: "} + option + ": only with --headless\n");
  }
}

TEST(CommandLine, AReasonOfTwoLinesIsPrintedAsOne) {
  const Answer result =
      answer({"--headless", "--listen", "127.0.0.1:0", "--video-in", "/no\nclip"});
  EXPECT_EQ(result.err.find("cress-call: --video-in /no clip: "), 0U) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

/// The program with a window of SDL's dummy driver, which needs no screen.
struct WindowProgram {
  explicit WindowProgram(const std::string& arguments) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    pipe = popen(
        ("echo $$; export SDL_VIDEODRIVER=dummy HOME=" + folder.string() +
         " XDG_CONFIG_HOME=" + folder.string() + "; exec " CRESS_BIN "/cress-call " + arguments)
            .c_str(),
        "r");
    pid = std::stoi(line());
  }
  ~WindowProgram() {
    end();
    fs::remove_all(folder);
  }
  WindowProgram(const WindowProgram&) = delete;
  WindowProgram& operator=(const WindowProgram&) = delete;

  std::string line() {
    std::array<char, 4096> text{};
    return fgets(text.data(), text.size(), pipe) == nullptr ? "" : without_end(text.data());
  }
  int end() {
    if (pipe == nullptr) {
      return -1;
    }
    kill(pid, SIGTERM);
    const int status = pclose(std::exchange(pipe, nullptr));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const fs::path folder = fs::path{testing::TempDir()} / "cress-window";
  FILE* pipe = nullptr;
  pid_t pid = 0;
};

TEST(CommandLine, AWindowListensWithTheDevicesItWasGiven) {
  WindowProgram window{
      "--listen 127.0.0.1:0 --name Lea --camera test --microphone test --speaker none "
      "--size 160x90 --fps 10 --link-file " +
      (fs::path{testing::TempDir()} / "cress-window.link").string()};
  const std::string link = window.line();
  ASSERT_TRUE(link.starts_with("cress://127.0.0.1:")) << link;
  std::ifstream kept{fs::path{testing::TempDir()} / "cress-window.link"};
  std::string text;
  std::getline(kept, text);
  EXPECT_EQ(text, link);
  Program joiner{"--headless --video-in test --size 160x90 --duration 2.5s --stats - '" + link +
                 "'"};
  nlohmann::json last;
  for (std::string line = joiner.line(); !line.empty(); line = joiner.line()) {
    const auto json = nlohmann::json::parse(line);
    last = json.contains("frames_shown") ? json : last;
  }
  EXPECT_EQ(joiner.wait(), 0);
  EXPECT_GT(last.at("frames_shown"), 5);
  EXPECT_LT(last.at("frames_shown"), 50) << "10 a second, not 30";
  EXPECT_GT(last.at("sound_played"), 0);
  EXPECT_EQ(window.end(), 0);
  fs::remove(fs::path{testing::TempDir()} / "cress-window.link");
}

TEST(CommandLine, AWindowJoinsALinkAtOnce) {
  Program listener{"--headless --listen 127.0.0.1:0 --video-in test --size 160x90 --duration 1s"};
  const std::string link = without_end(listener.line());
  WindowProgram window{"--camera test --microphone test --speaker none '" + link + "'"};
  EXPECT_EQ(listener.wait(), 0) << "somebody came";
  EXPECT_EQ(window.end(), 0);
}

TEST(CommandLine, TwoProgramsMakeACallAndRecordIt) {
  const fs::path folder = fs::path{testing::TempDir()} / "cress-headless";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string in = folder.string();
  Program listener{
      "--headless --listen 127.0.0.1:0 --name Lea --video-in test --audio-in test "
      "--size 320x180 --video-out " +
      in + "/lea.webm --stats " + in + "/lea.jsonl"};
  const std::string link = without_end(listener.line());
  ASSERT_TRUE(link.starts_with("cress://127.0.0.1:")) << link;
  Program joiner{
      "--headless --name Jo --video-in test --audio-in test --size 320x180 --duration 4s "
      "--video-out " +
      in + "/jo.y4m --audio-out " + in + "/jo.wav --stats - '" + link + "'"};
  std::vector<nlohmann::json> lines;
  for (std::string line = joiner.line(); !line.empty(); line = joiner.line()) {
    lines.push_back(nlohmann::json::parse(line));
  }
  EXPECT_EQ(joiner.wait(), 0);
  EXPECT_EQ(listener.wait(), 0) << "the other end hung up: no failure";

  ASSERT_GE(lines.size(), 5U);
  EXPECT_EQ(lines.front().at("event"), "connected");
  EXPECT_GT(lines.back().at("frames_shown"), 30);
  EXPECT_EQ(lines.back().at("key_frames"), 1);
  EXPECT_GT(lines.back().at("sound_played"), 10);
  EXPECT_GT(fs::file_size(folder / "jo.y4m"), 320U * 180U * 3U / 2U * 60U) << "over 60 pictures";
  EXPECT_GT(fs::file_size(folder / "jo.wav"), 2U * 48'000U * 2U) << "over 2 s";
  EXPECT_GT(fs::file_size(folder / "lea.webm"), 10'000U);
  fs::remove_all(folder);
}

TEST(CommandLine, KilledListenerKeepsItsLinkAndItsJoinerReturns) {
  const fs::path folder = fs::path{testing::TempDir()} / "cress-link-file";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string listen = "--headless --listen 127.0.0.1:0 --video-in test --size 160x90 " +
                             std::string{"--link-file "} + (folder / "door.link").string() +
                             " --identity-file " + (folder / "door.identity").string();
  // The shell's own process number becomes the program's.
  const std::string killable = "echo $$; exec " CRESS_BIN "/cress-call " + listen;
  FILE* const first = popen(killable.c_str(), "r");
  ASSERT_NE(first, nullptr);
  std::array<char, 4096> text{};
  ASSERT_NE(fgets(text.data(), text.size(), first), nullptr);
  const pid_t pid = std::stoi(text.data());
  ASSERT_NE(fgets(text.data(), text.size(), first), nullptr);
  const std::string link = without_end(text.data());
  Program joiner{"--headless --name Jo --video-in test --size 160x90 --stats - '" + link + "'"};
  const auto wait_for = [&joiner](const std::string& event) {
    for (std::string line = joiner.line(); !line.empty(); line = joiner.line()) {
      if (nlohmann::json::parse(line).value("event", "") == event) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(wait_for("connected"));
  kill(pid, SIGKILL);
  pclose(first);
  Program again{listen + " --duration 1s"};
  EXPECT_EQ(without_end(again.line()), link);
  EXPECT_TRUE(wait_for("connected")) << "a second time";
  EXPECT_TRUE(wait_for("ended"));
  EXPECT_FALSE(wait_for("anything")) << "nothing comes after the end";
  EXPECT_EQ(joiner.wait(), 0) << "the listener hung up, in its own time";
  EXPECT_EQ(again.wait(), 0);
  fs::remove_all(folder);
}

TEST(CommandLine, AHostOfSeveralAddressesIsFoundAtTheOneWhereItListens) {
  // "localhost" is ::1 and 127.0.0.1 where the machine has both.
  Program listener{"--headless --listen 127.0.0.1:0 --video-in test --size 160x90"};
  std::string link = without_end(listener.line());
  ASSERT_NE(link.find("127.0.0.1"), std::string::npos) << link;
  link.replace(link.find("127.0.0.1"), 9, "localhost");
  Program joiner{"--headless --video-in test --size 160x90 --duration 1s '" + link + "'"};
  EXPECT_EQ(joiner.wait(), 0);
  EXPECT_EQ(listener.wait(), 0);
}

TEST(CommandLine, UnreachablePeerIsStatusOneWithTheReason) {
  const fs::path errors = fs::path{testing::TempDir()} / "cress-nobody.txt";
  Program joiner{"--headless --wait 1s 'cress://127.0.0.1:9/#AAAAAAAAAAAAAAAAAAAAAA' 2>" +
                 errors.string()};
  EXPECT_EQ(joiner.wait(), 1);
  std::ifstream file{errors};
  std::string line;
  std::getline(file, line);
  EXPECT_NE(line.find("nobody answers"), std::string::npos) << line;
}

}  // namespace
}  // namespace cress::app
