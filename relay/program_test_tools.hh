#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace cress::relay {

// The real programs, as a user runs them: a relay, its members, and the contents of their memory.

namespace fs = std::filesystem;

/// The user of the test, or one without any rights.
enum class RunAs : uint8_t { kOurselves, kNobody };
inline constexpr uid_t kNobodysId = 65534;

/// One of our programs, or one with a whole path, in the background; its output goes to files.
/// Killed at the end.
class Program {
 public:
  Program(const fs::path& folder, const std::string& label, const std::string& program,
          const std::vector<std::string>& arguments, RunAs user = RunAs::kOurselves)
      : out_(folder / (label + ".out")), err_(folder / (label + ".err")) {
    pid_ = fork();
    if (pid_ == 0) {
      (void)!freopen(out_.c_str(), "w", stdout);
      (void)!freopen(err_.c_str(), "w", stderr);
      std::string path = (fs::path{CRESS_BIN} / program).string();
      std::vector<char*> argv{path.data()};
      std::vector<std::string> copies = arguments;
      std::ranges::transform(copies, std::back_inserter(argv),
                             [](std::string& argument) { return argument.data(); });
      argv.push_back(nullptr);
      const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);  // another user may not reach it
      if (user == RunAs::kNobody && !become_nobody()) {
        _exit(127);
      }
      fexecve(file, argv.data(), environ);
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
  /// With as large core files as may be.
  static bool become_nobody() {
    rlimit core{};
    getrlimit(RLIMIT_CORE, &core);
    core.rlim_cur = core.rlim_max;
    return setrlimit(RLIMIT_CORE, &core) == 0 && setgroups(0, nullptr) == 0 &&
           setgid(kNobodysId) == 0 && setuid(kNobodysId) == 0;
  }

  fs::path out_;
  fs::path err_;
  pid_t pid_ = -1;
};

/// Whether `holds` becomes true within half a minute: a busy machine may take long.
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

inline size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

/// A file of /proc about a process, to be read by place.
class ProcFile {
 public:
  ProcFile(pid_t pid, const char* name)
      : file_(open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ProcFile() { close(file_); }
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;
  bool read(unsigned long at, void* to, size_t size) const {
    return pread(file_, to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  }

 private:
  int file_;
};

/// All readable memory of a child, except files mapped unchanged from disk and a sanitizer's own.
/// Pages that were never touched hold nothing and are left out: reading one would make it.
inline std::string memory_of(pid_t pid) {
  std::ifstream maps{"/proc/" + std::to_string(pid) + "/maps"};
  const ProcFile pagemap{pid, "pagemap"};
  const ProcFile memory{pid, "mem"};
  const auto page = static_cast<unsigned long>(sysconf(_SC_PAGESIZE));
  constexpr uint64_t kInMemoryOrSwapped = uint64_t{3} << 62U;  // proc_pid_pagemap(5)
  std::string all;
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    std::array<char, 5> rights{};
    // A sanitizer's own maps are terabytes large.
    constexpr unsigned long kLargest = 1UL << 32U;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights.data()) != 3 ||
        rights[0] != 'r' || (rights[1] != 'w' && line.find('/') != std::string::npos) ||
        to - from > kLargest) {
      continue;
    }
    std::vector<uint64_t> states((to - from) / page, kInMemoryOrSwapped);
    (void)pagemap.read(from / page * sizeof(uint64_t), states.data(),
                       states.size() * sizeof(uint64_t));
    for (size_t i = 0; i < states.size(); ++i) {
      if ((states[i] & kInMemoryOrSwapped) != 0) {
        const size_t size = all.size();
        all.resize(size + page);
        if (!memory.read(from + i * page, &all[size], page)) {
          all.resize(size);  // unmapped meanwhile
        }
      }
    }
  }
  return all;
}
inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A folder and a relay of its own for each test.
class RelayProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path{::testing::TempDir()} / "cress-relay-program" /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A port that is currently free.
  std::string relay_address() {
    if (address_.empty()) {
      const int port = 20'000 + getpid() % 20'000 + 7 * static_cast<int>(folder_.string().size());
      address_ = "127.0.0.1:" + std::to_string(port);
    }
    return address_;
  }
  std::unique_ptr<Program> start_relay(const std::string& label) {
    auto relay = std::make_unique<Program>(
        folder_, label, "cress-relay",
        std::vector<std::string>{"--rooms", rooms(), "--listen", relay_address(), "--metrics", ""});
    EXPECT_TRUE(eventually([&] { return count(relay->err(), "\"listening\"") > 0; }))
        << relay->err();
    return relay;
  }
  std::string rooms() const { return (folder_ / "rooms.db").string(); }
  /// The output of a command of the relay, which must succeed.
  std::string ask_relay(const std::vector<std::string>& command) {
    std::vector<std::string> arguments{"--rooms", rooms()};
    if (command.at(1) == "create") {  // only its link has an address
      arguments.insert(arguments.end(), {"--listen", relay_address(), "--host", "127.0.0.1"});
    }
    arguments.insert(arguments.end(), command.begin(), command.end());
    Program program{folder_, "command", "cress-relay", arguments};
    EXPECT_EQ(program.wait(), 0) << program.err();
    const std::string text = program.out();
    return text.substr(0, text.find('\n'));
  }
  /// `picture` and `sound`: files, or "test".
  std::unique_ptr<Program> start_member(const std::string& name, const std::string& link,
                                        const std::string& picture = "test",
                                        const std::string& sound = "test") {
    return std::make_unique<Program>(
        folder_, name, "cress-call",
        std::vector<std::string>{"--headless", "--name", name, "--size", "160x96", "--video-in",
                                 picture, "--audio-in", sound, "--stats",
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

}  // namespace cress::relay
