#include "traces/saturate_command.hh"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "traces/emulate/path_emulator.hh"
#include "traces/links.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::traces {
namespace {

/// The real program, in a folder of the test's own; its output goes to NAME.out and NAME.err.
class Program {
 public:
  Program(const std::filesystem::path& folder, const std::string& name,
          const std::vector<std::string>& arguments)
      : out_(folder / (name + ".out")), err_(folder / (name + ".err")) {
    std::vector<std::string> words{CRESS_BIN "/cress-trace", "saturate"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) {
      argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_.c_str(), kNew, 0644);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_.c_str(), kNew, 0644);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void interrupt() const { kill(pid_, SIGINT); }
  /// The exit code; -1 if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string out() const { return read(out_); }
  std::string err() const { return read(err_); }
  /// Waits until the messages contain a whole line with this text, and returns the word after it.
  std::string word_after(const std::string& before) const {
    for (int i = 0; i < 500; ++i) {
      const std::string text = err();
      const auto at = text.find(before);
      if (at != std::string::npos && text.find('\n', at) != std::string::npos) {
        const auto from = at + before.size();
        return text.substr(from, text.find_first_of(",; \n", from) - from);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    ADD_FAILURE() << "no \"" << before << "\" in " << err();
    return "";
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  pid_t pid_ = 0;
};

/// An emulated link in a thread of its own.
class LinkThread {
 public:
  LinkThread(const std::string& server, const sim::DeliveryTrace& up,
             const sim::DeliveryTrace& down)
      : socket_{clock_, {.bind = *runtime::parse_address("127.0.0.1:0")}},
        path_{clock_.now(),
              {.server = *runtime::parse_address(server),
               .forward = {.trace = std::make_shared<sim::DeliveryTrace>(up), .queue = nullptr},
               .reverse = {.trace = std::make_shared<sim::DeliveryTrace>(down), .queue = nullptr}}},
        driver_{{clock_, loop_, socket_, path_}},
        thread_{[this] { loop_.run(); }} {}
  ~LinkThread() {
    loop_.stop();
    thread_.join();
  }
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;
  std::string address() const { return runtime::format_address(socket_.local_address()); }

 private:
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  runtime::UdpSocket socket_;
  PathEmulator path_;
  runtime::Driver driver_;
  std::thread thread_;
};

class SaturateProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-saturate" / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(Program::read(folder_ / name));
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& why) const {
    Program program{folder_, "refused", arguments};
    EXPECT_EQ(program.wait(), 2);
    const std::string message = program.err();
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
    EXPECT_TRUE(message.starts_with("cress-trace: ")) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
    EXPECT_EQ(program.out(), "");
  }

  std::filesystem::path folder_;
};

TEST_F(SaturateProgram, RecordsALinkInBothDirectionsAtBothEnds) {
  Program listener{
      folder_,
      "listener",
      {"--listen", "127.0.0.1:0", "--feedback-listen", "127.0.0.1:0", "--out", in_folder("far")}};
  const std::string server = listener.word_after("listening on ");
  const std::string feedback = listener.word_after("feedback on ");
  const std::string token = listener.word_after("--token ");
  const LinkThread link{server, embedded_trace("3g", Direction::kUp),
                        embedded_trace("lte-slow", Direction::kDown)};
  Program connector{folder_,
                    "connector",
                    {"--connect", link.address(), "--feedback", feedback, "--token", token,
                     "--duration", "4s", "--json", "--out", in_folder("near")}};
  EXPECT_EQ(connector.wait(), 0) << connector.err();
  EXPECT_EQ(listener.wait(), 0) << listener.err();

  EXPECT_EQ(connector.out(), Program::read(folder_ / "near.json"));
  for (const std::string end : {"near", "far"}) {
    const nlohmann::json summary = json(end + ".json");
    EXPECT_EQ(summary["feedback"], "second path");
    ASSERT_EQ(summary["directions"].size(), 2U);
    for (const nlohmann::json& direction : summary["directions"]) {
      EXPECT_EQ(direction["complete"], true);
      EXPECT_EQ(direction["length_s"], 4.0);
      EXPECT_GE(direction["saturated_share"], 0.98);
      const sim::DeliveryTrace trace =
          sim::load_trace(folder_ / (end + "." + std::string{direction["direction"]}));
      EXPECT_EQ(trace.opportunities.size(), direction["opportunities"]);
      EXPECT_GT(trace.opportunities.size(), 30U);
      EXPECT_LE(trace.period(), 4s);
    }
  }
  // Both ends have the same, except for the window's edges: their estimate of the other's clock has
  // an error of half a round trip.
  for (const char* key : {"packets_arrived", "bytes"}) {
    for (const size_t i : {0, 1}) {
      EXPECT_NEAR(json("near.json")["directions"][i][key].get<double>() /
                      json("far.json")["directions"][i][key].get<double>(),
                  1, 0.1);
    }
  }
}

TEST_F(SaturateProgram, CtrlCKeepsWhatWasMeasuredAtBothEnds) {
  Program listener{
      folder_, "listener", {"--listen", "127.0.0.1:0", "--token", "t", "--out", in_folder("far")}};
  const LinkThread link{listener.word_after("listening on "),
                        embedded_trace("lte-slow", Direction::kUp),
                        embedded_trace("lte-slow", Direction::kDown)};
  Program connector{
      folder_,
      "connector",
      {"--connect", link.address(), "--token", "t", "--one-way", "--out", in_folder("near")}};
  std::this_thread::sleep_for(std::chrono::seconds{7});
  connector.interrupt();
  EXPECT_EQ(connector.wait(), 0) << connector.err();
  EXPECT_EQ(listener.wait(), 0) << listener.err();
  EXPECT_NE(connector.out().find("down  "), std::string::npos);
  for (const std::string end : {"near", "far"}) {
    EXPECT_GT(sim::load_trace(folder_ / (end + ".down")).opportunities.size(), 100U);
    const nlohmann::json down = json(end + ".down.json")["directions"][0];
    EXPECT_EQ(down["complete"], true);
    EXPECT_GT(down["length_s"], 0.5);
    EXPECT_LT(down["length_s"], 8);
    EXPECT_FALSE(std::filesystem::exists(folder_ / (end + ".up")));
  }
}

TEST_F(SaturateProgram, OneWayUpRecordsNoOtherDirection) {
  Program listener{folder_, "listener", {"--listen", "127.0.0.1:0", "--token", "t"}};
  const LinkThread link{listener.word_after("listening on "),
                        embedded_trace("lte-slow", Direction::kUp),
                        embedded_trace("lte-slow", Direction::kDown)};
  Program connector{folder_,
                    "connector",
                    {"--connect", link.address(), "--token", "t", "--one-way", "up", "--duration",
                     "1s", "--out", in_folder("near")}};
  EXPECT_EQ(connector.wait(), 0) << connector.err();
  EXPECT_EQ(connector.out().find("down  "), std::string::npos) << connector.out();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "near.up"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "near.down"));
}

TEST_F(SaturateProgram, StopBeforeAPeerCameIsReported) {
  Program listener{folder_, "listener", {"--listen", "127.0.0.1:0"}};
  listener.word_after("listening on ");
  listener.interrupt();
  EXPECT_EQ(listener.wait(), 2);
  EXPECT_NE(listener.err().find("cress-trace: stopped before anything was measured\n"),
            std::string::npos)
      << listener.err();
}

TEST_F(SaturateProgram, WrongTokenIsReportedAsNoAnswer) {
  Program listener{folder_, "listener", {"--listen", "127.0.0.1:0", "--token", "right"}};
  const std::string server = listener.word_after("listening on ");
  expect_refused({"--connect", server, "--token", "wrong", "--json"},
                 "nobody answered at " + server);
}

TEST_F(SaturateProgram, RefusesBadArgumentsInOneLine) {
  expect_refused({}, "either --listen or --connect");
  expect_refused({"--listen", "--connect", "127.0.0.1:1"}, "either --listen or --connect");
  expect_refused({"--connect", "127.0.0.1:1", "--json"}, "--token");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t"}, "--out PREFIX, or --json");
  expect_refused({"--connect", "127.0.0.1", "--token", "t", "--json"}, "127.0.0.1");
  expect_refused({"--listen", "here"}, "--listen here");
  expect_refused({"--listen", "127.0.0.1:0", "--one-way"}, "--one-way goes with --connect");
  expect_refused({"--listen", "127.0.0.1:0", "--feedback", "a:1"}, "go with --connect");
  const auto connecting = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--connect", "127.0.0.1:1", "--token", "t", "--json"});
    return more;
  };
  expect_refused({"--listen", "127.0.0.1:0", "--bind", "127.0.0.1:0"}, "go with --connect");
  expect_refused({"--listen", "127.0.0.1:0", "--feedback-bind", "127.0.0.1:0"},
                 "go with --connect");
  expect_refused(connecting({"--feedback-listen"}), "--feedback-listen goes with --listen");
  expect_refused(connecting({"--feedback-bind", "127.0.0.1:0"}),
                 "--feedback-bind goes with --feedback");
  expect_refused(connecting({"--bind", "123456"}), "--bind 123456: ");
  expect_refused(connecting({"--bind", "192.0.2.1:1"}), "cannot bind");
  expect_refused(connecting({"--feedback", "127.0.0.1:2", "--feedback-bind", "192.0.2.1:1"}),
                 "cannot bind");
  expect_refused({"--listen", "127.0.0.1:0", "--feedback-listen", "192.0.2.1:1"}, "cannot bind");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t", "--json", "--one-way", "sideways"},
                 "not sideways");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t", "--json", "--duration", "0s"},
                 "--duration");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t", "--json", "--duration", "nan"},
                 "--duration");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t", "--json", "--duration", "0.99s"},
                 "--duration");
  expect_refused({"--connect", "127.0.0.1:1", "--token", "t", "--duration", "1s"}, "--out PREFIX");
  expect_refused({"--listen", "127.0.0.1:0", "--packet-size", "1000"}, "--packet-size");
  expect_refused({"--listen", "127.0.0.1:0", "--out", in_folder("no/such")}, "is no folder");
  expect_refused({"--listen", "192.0.2.1:1"}, "cannot bind");
}

TEST_F(SaturateProgram, HelpShowsExamples) {
  Program program{folder_, "help", {"--help"}};
  EXPECT_EQ(program.wait(), 0);
  EXPECT_NE(program.out().find("Examples:"), std::string::npos);
  EXPECT_NE(program.out().find("--feedback-listen"), std::string::npos);
}

}  // namespace
}  // namespace cress::traces
