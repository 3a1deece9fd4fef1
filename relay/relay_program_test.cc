#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "transport/secure/credential.hh"
#include "transport/secure/link.hh"

namespace cress::relay {
namespace {

namespace fs = std::filesystem;

/// One of our programs in the background; what it says goes into files. Killed at the end.
class Program {
 public:
  Program(const fs::path& folder, const std::string& label, const std::string& program,
          const std::vector<std::string>& arguments)
      : out_(folder / (label + ".out")), err_(folder / (label + ".err")) {
    pid_ = fork();
    if (pid_ == 0) {
      (void)!freopen(out_.c_str(), "w", stdout);
      (void)!freopen(err_.c_str(), "w", stderr);
      std::string path = std::string{CRESS_BIN} + "/" + program;
      std::vector<char*> argv{path.data()};
      std::vector<std::string> copies = arguments;
      std::ranges::transform(copies, std::back_inserter(argv),
                             [](std::string& argument) { return argument.data(); });
      argv.push_back(nullptr);
      execv(path.c_str(), argv.data());
      _exit(127);
    }
  }
  ~Program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void terminate() const { kill(pid_, SIGTERM); }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return pid_; }
  std::string out() const { return text(out_); }
  std::string err() const { return text(err_); }
  static std::string text(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  fs::path out_;
  fs::path err_;
  pid_t pid_ = -1;
};

/// Whether `holds` comes true within half a minute: a busy machine may take long.
template <class Condition>
bool eventually(const Condition& holds) {
  for (int i = 0; i < 300; ++i) {
    if (holds()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
  }
  return false;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

class RelayProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{::testing::TempDir()} / "cress-relay-program" /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A port that is free now.
  std::string relay_address() {
    if (address_.empty()) {
      const int port = 20'000 + getpid() % 20'000 + 7 * static_cast<int>(folder_.string().size());
      address_ = "127.0.0.1:" + std::to_string(port);
    }
    return address_;
  }
  std::unique_ptr<Program> start_relay(const std::string& label) {
    auto relay = std::make_unique<Program>(folder_, label, "cress-relay", relay_arguments({}));
    EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"listening\"") > 0; }))
        << relay->err();
    return relay;
  }
  std::vector<std::string> relay_arguments(const std::vector<std::string>& more) {
    std::vector<std::string> all{"--rooms",   (folder_ / "rooms.db").string(),
                                 "--listen",  relay_address(),
                                 "--metrics", "",
                                 "--host",    "127.0.0.1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// What a command of the relay's says, when it has succeeded.
  std::string ask_relay(const std::vector<std::string>& command) {
    Program program{folder_, "command", "cress-relay", relay_arguments(command)};
    EXPECT_EQ(program.wait(), 0) << program.err();
    const std::string text = program.out();
    return text.substr(0, text.find('\n'));
  }
  std::unique_ptr<Program> start_member(const std::string& name, const std::string& link) {
    return std::make_unique<Program>(
        folder_, name, "cress-call",
        std::vector<std::string>{"--headless", "--name", name, "--size", "160x96", "--video-in",
                                 "test", "--audio-in", "test", "--stats",
                                 (folder_ / (name + ".jsonl")).string(), link});
  }
  std::string stats(const std::string& name) const {
    return Program::text(folder_ / (name + ".jsonl"));
  }
  /// The names of the others in the newest line of `name`'s statistics.
  std::vector<std::string> others(const std::string& name) const {
    std::vector<std::string> names;
    std::istringstream lines{stats(name)};
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_object() && json.contains("members")) {
        names.clear();
        for (const auto& member : json["members"]) {
          names.push_back(member.value("name", ""));
        }
      }
    }
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_;
  std::string address_;
};

TEST_F(RelayProgram, MembersMeetAndComeBackWhenTheRelayIsReplaced) {
  const std::string link = ask_relay({"room", "create", "kitchen"});
  auto relay = start_relay("first");
  const auto ann = start_member("ann", link);
  const auto bob = start_member("bob", link);
  const auto together = [&] {
    return others("ann") == std::vector<std::string>{"bob"} &&
           others("bob") == std::vector<std::string>{"ann"};
  };
  ASSERT_TRUE(eventually(together)) << stats("ann") << ann->err() << relay->err();

  relay->terminate();
  EXPECT_EQ(relay->wait(), 0);
  EXPECT_EQ(count(relay->err(), "\"draining\""), 1U);
  EXPECT_EQ(count(relay->err(), "the relay is going away"), 2U) << relay->err();
  relay = start_relay("second");
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"joined\"") == 2; })) << relay->err();
  EXPECT_TRUE(eventually(together)) << stats("ann");
}

TEST_F(RelayProgram, ARunningRelayOpensKicksAndClosesAsItIsTold) {
  const auto relay = start_relay("relay");
  const std::string link = ask_relay({"room", "create", "attic"});
  const auto ann = start_member("ann", link);
  const auto bob = start_member("bob", link);
  ASSERT_TRUE(eventually([&] { return others("bob") == std::vector<std::string>{"ann"}; }))
      << relay->err() << ann->err();
  ask_relay({"room", "kick", "attic", "1"});
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "was removed") == 1; })) << relay->err();
  ask_relay({"room", "close", "attic"});
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"closed\"") == 1; })) << relay->err();
  EXPECT_TRUE(eventually([&] { return count(relay->err(), "the room was closed") >= 1; }))
      << relay->err();
}

/// All memory of a child that can be read.
std::string memory_of(pid_t pid) {
  std::ifstream maps{"/proc/" + std::to_string(pid) + "/maps"};
  std::ifstream memory{"/proc/" + std::to_string(pid) + "/mem", std::ios::binary};
  std::string all;
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    std::array<char, 5> rights{};
    // Writable memory only: what came in is there, and not in the program's text.
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights.data()) != 3 ||
        rights[1] != 'w') {
      continue;
    }
    // A sanitizer's own maps are of terabytes.
    constexpr unsigned long kLargest = 1UL << 32U;
    if (to - from > kLargest) {
      continue;
    }
    std::string part(to - from, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(from));
    memory.read(part.data(), static_cast<std::streamsize>(part.size()));
    part.resize(static_cast<size_t>(memory.gcount()));
    all += part;
  }
  return all;
}
std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(RelayProgram, TheRelaysMemoryHoldsNothingThatMembersSay) {
  const std::string text = ask_relay({"room", "create", "cellar-of-secrets"});
  const auto link = secure::parse_link(text);
  ASSERT_TRUE(link);
  const auto relay = start_relay("relay");
  // Names are told to members only: a plain text that is known.
  const auto ann = start_member("Annabelle-Plaintext", text);
  const auto bob = start_member("Bartholomew-Plaintext", text);
  ASSERT_TRUE(eventually([&] {
    return others("Annabelle-Plaintext") == std::vector<std::string>{"Bartholomew-Plaintext"};
  })) << relay->err();
  std::this_thread::sleep_for(std::chrono::seconds{2});
  kill(relay->pid(), SIGSTOP);
  const std::string memory = memory_of(relay->pid());
  kill(relay->pid(), SIGCONT);

  const secure::RoomSecrets secrets = secure::derive_room(link->secret);
  // That the search would find it, if it were there:
  EXPECT_GT(count(memory, "cellar-of-secrets"), 0U);
  EXPECT_GT(count(memory, as_text(secrets.access.bytes())), 0U);
  EXPECT_EQ(count(memory, as_text(link->secret)), 0U);
  EXPECT_EQ(count(memory, as_text(secrets.media.bytes())), 0U);
  EXPECT_EQ(count(memory, "Annabelle"), 0U);
  EXPECT_EQ(count(memory, "Bartholomew"), 0U);
  // And a member's own memory does hold them.
  EXPECT_GT(count(memory_of(ann->pid()), "Bartholomew-Plaintext"), 0U);
}

}  // namespace
}  // namespace cress::relay
