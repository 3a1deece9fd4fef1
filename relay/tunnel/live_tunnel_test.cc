// Goal: any program's packets get through, with or without root; nothing is left behind; errors are
// one line. Method: the program itself, both ends on this machine, over real sockets and in real
// namespaces; skipped where the machine allows none.

#include "relay/tunnel/live_tunnel.hh"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "relay/tunnel/commands.hh"
#include "transport/netns/namespace_process.hh"
#include "transport/netns/tun_device.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::tunnel {
namespace {

namespace fs = std::filesystem;

constexpr size_t kStream = 3'000'000;
constexpr const char* kFar = "100.65.0.1:7000";

struct Socket {
  Socket(const char* text, int type)
      : address(*runtime::to_sockaddr(*runtime::parse_address(text), true)),
        fd(socket(AF_INET, type, 0)) {}
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address.storage); }
  runtime::SocketAddress address;
  runtime::FileDescriptor fd;
};

// Programs for the ends of a tunnel: this test program, run again with a filter.

TEST(TunnelPrograms, DISABLED_Sink) {
  const Socket here{"0.0.0.0:7000", SOCK_STREAM};
  ASSERT_EQ(bind(here.fd.get(), here.raw(), here.address.size), 0);
  ASSERT_EQ(listen(here.fd.get(), 1), 0);
  const runtime::FileDescriptor stream{accept(here.fd.get(), nullptr, nullptr)};
  std::vector<unsigned char> bytes(1 << 16);
  size_t count = 0;
  ssize_t size = 0;
  while ((size = recv(stream.get(), bytes.data(), bytes.size(), 0)) > 0) {
    for (ssize_t i = 0; i < size; ++i) {
      ASSERT_EQ(bytes[static_cast<size_t>(i)], (count + static_cast<size_t>(i)) % 251);
    }
    count += static_cast<size_t>(size);
  }
  EXPECT_EQ(size, 0) << "the other end said good-bye";
  EXPECT_EQ(count, kStream);
}

TEST(TunnelPrograms, DISABLED_Source) {
  const Socket there{kFar, SOCK_STREAM};
  int connected = -1;
  for (int i = 0; i < 50 && connected != 0; ++i) {
    connected = connect(there.fd.get(), there.raw(), there.address.size);
    std::this_thread::sleep_for(std::chrono::milliseconds{connected == 0 ? 0 : 100});
  }
  ASSERT_EQ(connected, 0);
  std::vector<unsigned char> bytes(kStream);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(i % 251);
  }
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t size = send(there.fd.get(), &bytes[sent], bytes.size() - sent, MSG_NOSIGNAL);
    ASSERT_GT(size, 0);
    sent += static_cast<size_t>(size);
  }
}

/// This program, with one of the above.
std::vector<std::string> self(const std::string& program) {
  return {fs::read_symlink("/proc/self/exe").string(),
          "--gtest_filter=TunnelPrograms.DISABLED_" + program, "--gtest_also_run_disabled_tests",
          "--gtest_brief=1"};
}

/// cress-tunnel, running.
class Running {
 public:
  explicit Running(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.begin(), std::string{CRESS_BIN} + "/cress-tunnel");
    words.insert(words.end(), more.begin(), more.end());
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      std::vector<char*> arguments;
      for (std::string& word : words) {
        arguments.push_back(word.data());
      }
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(126);
    }
    close(ends[1]);
    out_ = fdopen(ends[0], "r");
  }
  ~Running() {
    if (!code_) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    fclose(out_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  /// The next line that is a link.
  std::string link() {
    std::array<char, 4096> line{};
    while (fgets(line.data(), line.size(), out_) != nullptr) {
      const std::string text = line.data();
      if (text.starts_with("cress://")) {
        return text.substr(0, text.size() - 1);
      }
    }
    return "";
  }
  void send_signal(int number) const { kill(process_, number); }
  /// 128 + N when signal N ended it; nullopt after 20 s.
  std::optional<int> wait() {
    for (int i = 0; i < 2000 && !code_; ++i) {
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) == process_) {
        code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
      }
    }
    return code_;
  }

 private:
  pid_t process_ = -1;
  FILE* out_ = nullptr;
  std::optional<int> code_;
};

class TunnelsOfPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = netns::namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(TunnelsOfPrograms, StreamArrivesCompletelyUnderBothControls) {
  for (const char* control : {"cress", "sprout"}) {
    const fs::path stats = fs::path{testing::TempDir()} / (std::string{control} + "-tunnel.json");
    Running listener{{"--listen", "127.0.0.1:0", "--control", control, "--exec"}, self("Sink")};
    const std::string link = listener.link();
    ASSERT_FALSE(link.empty());
    Running joiner{{link, "--control", control, "--stats", stats.string(), "--exec"},
                   self("Source")};
    EXPECT_EQ(joiner.wait(), 0) << control;
    EXPECT_EQ(listener.wait(), 0) << control;
    std::ifstream file{stats};
    std::string line;
    ASSERT_TRUE(std::getline(file, line)) << "at least the line of its end";
    for (std::string next; std::getline(file, next); line = next) {
    }
    EXPECT_TRUE(nlohmann::json::parse(line).contains("connected"));
  }
}

TEST_F(TunnelsOfPrograms, NestedTunnelReturnsTheInnermostExitCode) {
  const std::string program = std::string{CRESS_BIN} + "/cress-tunnel";
  Running outer{{"--listen", "127.0.0.1:0", "--exec", program, "--listen", "0.0.0.0:4500", "--host",
                 "100.65.0.1", "--address", "10.9.0.1/30", "--exec", "sleep", "60"}};
  // Both links use the same output; the kernel decides which is first.
  std::string first = outer.link();
  std::string second = outer.link();
  if (first.find("100.65.0.1") != std::string::npos) {
    std::swap(first, second);
  }
  Running joiner{{first, "--exec", program, second, "--exec", "sh", "-c", "exit 7"}};
  EXPECT_EQ(joiner.wait(), 7);
  outer.send_signal(SIGTERM);
  EXPECT_EQ(outer.wait(), 0);
}

/// Processes, in whatever network, that sleep for this marker.
int sleepers(const std::string& marker) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    std::ifstream file{entry.path() / "cmdline"};
    const std::string words{std::istreambuf_iterator<char>{file}, {}};
    count += words.find(marker) != std::string::npos && words.starts_with("sleep") ? 1 : 0;
  }
  return count;
}

TEST_F(TunnelsOfPrograms, SigtermEndsCleanlyAndNothingIsLeft) {
  const std::string marker = std::to_string(70'000'000 + getpid());  // seconds, and ours alone
  Running listener{{"--listen", "127.0.0.1:0", "--exec", "sleep", marker}};
  const std::string link = listener.link();
  Running joiner{{link, "--exec", "sh", "-c", "(setsid sleep " + marker + " &) ; sleep " + marker}};
  for (int i = 0; i < 500 && sleepers(marker) < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  ASSERT_EQ(sleepers(marker), 3);
  joiner.send_signal(SIGTERM);
  EXPECT_EQ(joiner.wait(), 0);
  EXPECT_EQ(sleepers(marker), 1) << "the listener's";
  listener.send_signal(SIGTERM);
  EXPECT_EQ(listener.wait(), 0);
  EXPECT_EQ(sleepers(marker), 0);
}

TEST_F(TunnelsOfPrograms, EndsWithDifferentControlsOrLinksAreRejected) {
  Running listener{{"--listen", "127.0.0.1:0", "--exec", "sleep", "60"}};
  const std::string link = listener.link();
  Running other{{link, "--control", "sprout", "--exec", "true"}};
  EXPECT_EQ(other.wait(), 1);
  Running stranger{{link.substr(0, link.find('#')) + "#AAAAAAAAAAAAAAAAAAAAAA", "--exec", "true"}};
  EXPECT_EQ(stranger.wait(), 1);
  Running friendly{{link, "--exec", "sh", "-c", "exit 5"}};
  EXPECT_EQ(friendly.wait(), 5) << "the listener waits for the next one";
}

TEST_F(TunnelsOfPrograms, ANetworkThatOverlapsARouteIsRefused) {
  netns::NamespaceOptions options;
  options.work = [] {
    const netns::TunDevice other{"other0"};
    netns::RouteSocket{}.configure({.name = "other0",
                                    .mtu = DataSize{1500},
                                    .addresses = {{*runtime::parse_address("100.64.0.1:0"), 10}}});
    std::ostringstream out;
    std::ostringstream notes;
    try {
      return 10 + run_tunnel({.network = {.listener = *parse_tunnel_prefix("100.65.0.1/30")}}, out,
                             notes);
    } catch (const std::runtime_error& error) {
      return std::string{error.what()}.find("overlaps") != std::string::npos ? 7 : 1;
    }
  };
  EXPECT_EQ(netns::run_in_namespace(std::move(options)), 7);
}

struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

Said say(std::vector<const char*> words, const std::string& input = "") {
  words.insert(words.begin(), "cress-tunnel");
  std::istringstream in{input};
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_command_line(static_cast<int>(words.size()), words.data(), in, out, err);
  return {code, out.str(), err.str()};
}

TEST(TunnelCommands, LinkMayComeFromAFileOrStandardInput) {
  EXPECT_NE(say({"-", "--exec", "true"}, "cress://nowhere").err.find("port"), std::string::npos);
  EXPECT_NE(say({"-", "--exec", "true"}).err.find("standard input"), std::string::npos);
  EXPECT_NE(say({"--link-file", "/no/such/file.link", "--exec", "true"}).err.find("file.link"),
            std::string::npos);
}

TEST(TunnelCommands, WrongInputsExitTwoWithOneLineThatNamesThem) {
  const char* link = "cress://127.0.0.1:9/#AAAAAAAAAAAAAAAAAAAAAA";
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases{
      {{}, "--listen"},
      {{link, "--listen", "127.0.0.1:0", "--exec", "true"}, "both"},
      {{"cress://nowhere", "--exec", "true"}, "port"},
      {{"cress://h:1/kitchen#AAAAAAAAAAAAAAAAAAAAAA"}, "room"},
      {{link, "--address", "10.9.0.1/24"}, "--address"},
      {{link, "--internet"}, "--internet"},
      {{"--listen", "127.0.0.1:0", "--address", "10.9.0.1/24"}, "10.9.0.1/24"},
      {{"--listen", "127.0.0.1:0", "--mtu", "100"}, "--mtu"},
      {{"--listen", "127.0.0.1:0", "--control", "tcp"}, "--control tcp"},
      {{"--listen", "127.0.0.1:0", "--exec"}, "--exec"},
      {{"--listen", "127.0.0.1:0", "--route", "x/8"}, "--route x/8"},
      {{"--listen", "127.0.0.1:0", "--route", "10.0.0.0"}, "--route 10.0.0.0: not a network"},
      {{"--listen", "127.0.0.1:0", "--route", "10.0.0.0/"}, "--route 10.0.0.0/: not a network"},
      {{"--listen", "127.0.0.1:0", "--route", "10.0.0.0/8x"}, "/8x: not a network"},
      {{"--listen", "127.0.0.1:0", "--route", "10.0.0.0/0008"}, "/0008: not a network"},
      {{"--listen", "127.0.0.1:0", "--route", "10.0.0.0/33"}, "/33: not a network"},
      {{"--listen", "127.0.0.1:0", "--route", "2001:db8::/129"}, "/129: not a network"},
      {{"--listen", "127.0.0.1:0", "--internet", "--exec", "true"}, "--internet"},
      {{"--listen", "not an address", "--exec", "true"}, "not an address"},
      {{"--nonsense"}, "--nonsense"}};
  for (const auto& [words, named] : cases) {
    const Said said = say(words);
    EXPECT_EQ(said.code, 2) << named;
    EXPECT_NE(said.err.find(named), std::string::npos) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
    EXPECT_EQ(said.out, "");
  }
}

TEST(TunnelCommands, HelpHasExamplesAndTheVersionIsPrinted) {
  const Said help = say({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
  EXPECT_NE(help.out.find("--exec COMMAND"), std::string::npos);
  EXPECT_EQ(say({"--version"}).out.rfind("cress-tunnel ", 0), 0U);
}

TEST_F(TunnelsOfPrograms, UnrunnableCommandOrFileIsReported) {
  EXPECT_EQ(say({"--listen", "127.0.0.1:0", "--exec", "no-such-program-at-all"}).code, 2);
  const Said said =
      say({"--listen", "127.0.0.1:0", "--stats", "/no/such/folder/x", "--exec", "true"});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("/no/such/folder/x"), std::string::npos);
}

}  // namespace
}  // namespace cress::tunnel
