// Goal: `cress-eval cellsim` behaves correctly for its user: exit codes, signals, one line for each
// wrong argument, and nothing left behind whenever it is killed. Method: runs the program itself.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "eval/command_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::eval {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int exit_code = -1;
  std::string output;  // standard output
  std::string notes;   // standard error
};

void sleep_milliseconds(uint64_t time) {
  std::this_thread::sleep_for(std::chrono::milliseconds{time});
}

/// The program, with its output in files.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments) {
    folder_ = fs::path{testing::TempDir()} / ("cellsim-command-" + std::to_string(getpid()));
    fs::remove_all(folder_);  // the output of an earlier one
    fs::create_directories(folder_);
    process_ = fork();
    if (process_ == 0) {
      redirect("output", STDOUT_FILENO);
      redirect("notes", STDERR_FILENO);
      const std::string program = std::string{CRESS_BIN} + "/cress-eval";
      std::vector<char*> words{const_cast<char*>(program.c_str()), const_cast<char*>("cellsim")};
      for (const std::string& argument : arguments) {
        words.push_back(const_cast<char*>(argument.c_str()));
      }
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(126);
    }
  }

  ~Program() {
    if (process_ > 0) {  // the test was aborted
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void send_signal(int number) const { kill(process_, number); }
  std::string output() const { return bytes_of(folder_ / "output"); }
  std::string notes() const { return bytes_of(folder_ / "notes"); }
  /// Waits until the output has this many lines; false if that takes over ten seconds.
  bool has_said(long lines) const {
    for (int i = 0; i < 1000; ++i) {
      const std::string text = output();
      if (std::count(text.begin(), text.end(), '\n') >= lines) {
        return true;
      }
      sleep_milliseconds(10);
    }
    return false;
  }
  Ended wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), output(), notes()};
  }

 private:
  void redirect(const char* name, int to) const {
    const int fd = open((folder_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(fd, to);
  }

  fs::path folder_;
  pid_t process_ = -1;
};

Ended cellsim(const std::vector<std::string>& arguments) { return Program{arguments}.wait(); }

/// A network's number, as printed by a command inside: "net:[4026532...]".
const char* const kTellNetwork = "readlink /proc/self/ns/net; ";

int processes_in(const std::string& network) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    std::error_code gone;
    count += fs::read_symlink(entry.path() / "ns/net", gone).string() == network ? 1 : 0;
  }
  return count;
}

std::vector<std::string> interfaces() {
  std::vector<std::string> names;
  struct if_nameindex* all = if_nameindex();
  for (const struct if_nameindex* one = all; one != nullptr && one->if_name != nullptr; ++one) {
    if (std::string{one->if_name}.starts_with("cress")) {
      names.emplace_back(one->if_name);
    }
  }
  if_freenameindex(all);
  return names;
}

TEST(CellsimArguments, WrongArgumentsAreOneLineAndExitTwo) {
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } cases[] = {
      {{"--link", "no-such-link", "--", "true"}, "no-such-link"},
      {{"--link", "3g"}, "COMMAND"},
      {{"--link", "3g", "--"}, "COMMAND"},
      {{"--link", "3g", "--down", "a", "--up", "b", "--", "true"}, "not both"},
      {{"--", "true"}, "--link"},
      {{"--link", "3g", "--loss", "2", "--", "true"}, "--loss"},
      {{"--link", "3g", "--queue", "codle", "--", "true"}, "codle"},
      {{"--link", "3g", "--rate", "1Mbit/s", "--", "true"}, "not both"},
      {{"--rate", "1MB", "--", "true"}, "constant:12Mbit/s"},
      {{"--link", "3g", "--jitter", "x", "--", "true"}, "--jitter"},
      {{"--link", "3g", "--burst-loss", "1", "--", "true"}, "--burst-loss"},
      {{"--link", "3g", "--duplicate", "1", "--", "true"}, "--duplicate"},
      {{"--link", "3g", "--cross", "reno", "--", "true"}, "--cross"},
      {{"--link", "3g", "--cross", "gcc@1s", "--", "true"}, "kernel's TCP"},
      {{"--link", "3g", "--proxy", "127.0.0.1:0", "--to", "127.0.0.1:9", "--cross", "reno@1s"},
       "--proxy"},
      {{"--link", "3g", "--delay", "5parsecs", "--", "true"}, "--delay"},
      {{"--link", "3g", "--far", "moon", "--", "true"}, "--far"},
      {{"--link", "3g", "--far", "host", "--peer", "true", "--", "true"}, "--peer"},
      {{"--link", "3g", "--far", "private", "--internet", "--", "true"}, "--internet"},
      {{"--link", "3g", "--duration", "3s", "--", "true"}, "--proxy"},
      {{"--link", "3g", "--proxy", "127.0.0.1:0"}, "--to"},
      {{"--link", "3g", "--proxy", "127.0.0.1:0", "--to", "127.0.0.1:9", "--", "true"}, "COMMAND"},
      {{"--link", "3g", "--proxy", "nonsense", "--to", "127.0.0.1:9"}, "nonsense"},
      {{"--frobnicate", "--", "true"}, "--frobnicate"},
  };
  for (const auto& c : cases) {
    const Ended ran = cellsim(c.arguments);
    EXPECT_EQ(ran.exit_code, 2) << c.says << ran.notes;
    EXPECT_EQ(std::count(ran.notes.begin(), ran.notes.end(), '\n'), 1) << ran.notes;
    EXPECT_NE(ran.notes.find(c.says), std::string::npos) << ran.notes;
    EXPECT_TRUE(ran.output.empty()) << ran.output;
  }
}

TEST(CellsimArguments, HelpHasExamples) {
  const Ended ran = cellsim({"--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.output.find("Examples:"), std::string::npos);
  EXPECT_NE(ran.output.find("CRESS_FAR"), std::string::npos);
}

class CellsimCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    const Ended ran = cellsim({"--link", "3g", "--far", "private", "--", "true"});
    if (ran.exit_code != 0) {
      GTEST_SKIP() << ran.notes;
    }
  }
  static std::vector<std::string> shell(const std::string& line,
                                        std::vector<std::string> options = {}) {
    std::vector<std::string> all{"--link", "3g", "--far", "private"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", line});
    return all;
  }
};

TEST_F(CellsimCommand, OutputAndExitCodeAreCommandsAndTheSummaryIsOnStderr) {
  const Ended ran = cellsim(shell("echo here $CRESS_NEAR $CRESS_FAR; exit 23"));
  EXPECT_EQ(ran.exit_code, 23);
  EXPECT_EQ(ran.output, "here 100.64.0.2 100.64.0.1\n");
  EXPECT_NE(ran.notes.find("uplink"), std::string::npos);
  EXPECT_NE(ran.notes.find("downlink"), std::string::npos);
  EXPECT_TRUE(cellsim(shell("true", {"--quiet"})).notes.empty());
  EXPECT_EQ(cellsim(shell("kill -KILL $$")).exit_code, 128 + SIGKILL);
}

TEST_F(CellsimCommand, MissingProgramIsOneLineAndExitTwo) {
  const Ended ran =
      cellsim({"--link", "3g", "--far", "private", "--quiet", "--", "no-such-program"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.notes.find("no such program: no-such-program"), std::string::npos) << ran.notes;
}

TEST_F(CellsimCommand, ArgumentsAfterTheDashesBelongToCommand) {
  const Ended ran = cellsim(
      {"--link", "3g", "--far", "private", "--quiet", "--", "printf", "%s.", "--link", "--", "-x"});
  EXPECT_EQ(ran.output, "--link.--.-x.");
}

TEST_F(CellsimCommand, JsonIsTheLastThingPrinted) {
  const Ended ran = cellsim(shell("exit 3", {"--json", "--queue", "codel", "--seed", "7"}));
  const auto json = nlohmann::json::parse(ran.output);
  EXPECT_EQ(json["exit_code"], 3);
  EXPECT_EQ(json["queue"], "codel");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["directions"].size(), 2U);
}

TEST_F(CellsimCommand, TerminateInterruptAndHangUpReachCommand) {
  for (const auto& [number, name] :
       {std::pair{SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGHUP, "HUP"}}) {
    std::signal(number, SIG_DFL);  // a shell cannot trap what it inherits as ignored (nohup, &)
    Program program{shell("trap 'echo got; exit 5' " + std::string{name} +
                          "; echo ready; while :; do sleep 0.02; done")};
    ASSERT_TRUE(program.has_said(1)) << program.notes();
    program.send_signal(number);
    const Ended ran = program.wait();
    EXPECT_EQ(ran.exit_code, 5) << name;
    EXPECT_EQ(ran.output, "ready\ngot\n") << name;
    EXPECT_NE(ran.notes.find("uplink"), std::string::npos) << name;
  }
}

TEST_F(CellsimCommand, FullDiskIsReportedAndCommandContinues) {
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  const fs::path folder = fs::path{testing::TempDir()} / "cellsim-full";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_symlink("/dev/full", folder / "uplink.log");
  const Ended ran = cellsim(shell("echo done", {"--log", folder.string()}));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.output, "done\n");
  EXPECT_NE(ran.notes.find("uplink.log"), std::string::npos) << ran.notes;
  EXPECT_GT(fs::file_size(folder / "downlink.log"), 100U);
  EXPECT_NE(
      bytes_of(folder / "downlink.log").find("# command line: " CRESS_BIN "/cress-eval cellsim "),
      std::string::npos);
  EXPECT_EQ(cellsim(shell("true", {"--log", "/proc/no/such"})).exit_code, 2);
}

TEST_F(CellsimCommand, KilledTwentyTimesAtAnyMomentNothingIsLeft) {
  Rng rng{17};
  const std::vector<std::string> before = interfaces();
  int told = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string far = round % 2 == 0 ? "private" : "host";
    std::vector<std::string> arguments{"--link", "3g"};
    if (far == "private") {
      const std::string peer = std::string{kTellNetwork} + "(setsid sleep 1000 &); sleep 1000";
      arguments.insert(arguments.end(), {"--head-start", "20ms", "--peer", peer});
    }
    const std::string line = std::string{kTellNetwork} + "(setsid sleep 1000 &); sleep 1000";
    arguments.insert(arguments.end(), {"--", "sh", "-c", line});
    Program program{arguments};
    if (round % 4 < 2) {
      ASSERT_TRUE(program.has_said(1)) << program.notes();
    }
    sleep_milliseconds(rng.below(100));
    program.send_signal(SIGKILL);
    EXPECT_EQ(program.wait().exit_code, 128 + SIGKILL);
    std::istringstream networks{program.output()};
    for (std::string network; std::getline(networks, network);) {
      ++told;
      for (int i = 0; i < 500 && processes_in(network) > 0; ++i) {
        sleep_milliseconds(10);
      }
      EXPECT_EQ(processes_in(network), 0) << network << " in round " << round;
    }
  }
  EXPECT_GE(told, 10) << "most were killed before they did anything";
  for (int i = 0; i < 500 && interfaces() != before; ++i) {
    sleep_milliseconds(10);
  }
  EXPECT_EQ(interfaces(), before);
}

TEST(CellsimProxy, CarriesDatagramsBothWaysAndEndsOnASignal) {
  const runtime::MonotonicClock clock;
  const auto any = *runtime::parse_address("127.0.0.1:0");
  runtime::UdpSocket server{clock, {.bind = any}};
  runtime::UdpSocket client{clock, {.bind = any}};
  Program program{{"--link", "wifi", "--delay", "30ms", "--json", "--proxy", "127.0.0.1:0", "--to",
                   runtime::format_address(server.local_address())}};
  const std::string listening = "listening on ";
  for (int i = 0; i < 500 && program.notes().find('\n') == std::string::npos; ++i) {
    sleep_milliseconds(10);
  }
  const std::string notes = program.notes();
  const size_t at = notes.find(listening) + listening.size();
  const auto proxy = runtime::parse_address(notes.substr(at, notes.find(',', at) - at));
  ASSERT_TRUE(proxy.has_value()) << notes;
  const TimePoint sent = clock.now();
  const Transmit question{*proxy, std::vector<std::byte>(200)};
  client.send_batch(std::span{&question, 1});
  std::optional<TimePoint> answered;
  for (int i = 0; i < 2000 && !answered; ++i) {
    sleep_milliseconds(1);
    for (const auto& datagram : server.receive_batch().datagrams) {
      const Transmit answer{datagram.from, {datagram.bytes.begin(), datagram.bytes.end()}};
      server.send_batch(std::span{&answer, 1});
    }
    if (!client.receive_batch().datagrams.empty()) {
      answered = clock.now();
    }
  }
  ASSERT_TRUE(answered.has_value());
  EXPECT_GE(*answered - sent, 60ms);
  program.send_signal(SIGTERM);
  const Ended ran = program.wait();
  EXPECT_EQ(ran.exit_code, 0) << ran.notes;
  const auto json = nlohmann::json::parse(ran.output);
  for (const auto& direction : json["directions"]) {
    EXPECT_EQ(direction["packets_delivered"], 1) << direction;
  }
}

TEST(CellsimProxy, EndsInTime) {
  const Ended ran = cellsim({"--link", "wifi", "--proxy", "127.0.0.1:0", "--to", "127.0.0.1:9",
                             "--duration", "500ms", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.notes;
  EXPECT_GE(nlohmann::json::parse(ran.output)["length_s"].get<double>(), 0.5);
}

}  // namespace
}  // namespace cress::eval
