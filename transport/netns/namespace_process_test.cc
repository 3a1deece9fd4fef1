// Goal: a private network that works with and without root, and leaves nothing behind. Method: real
// namespaces, devices and processes; skipped where the machine allows none.

#include "transport/netns/namespace_process.hh"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "transport/base/rng.hh"
#include "transport/netns/packet.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::netns {
namespace {

namespace fs = std::filesystem;

Prefix prefix(const std::string& ip, int length) {
  const std::string text = ip.find(':') == std::string::npos ? ip + ":0" : "[" + ip + "]:0";
  return {*runtime::parse_address(text), length};
}

InterfaceOptions interface() {
  return {.name = "cress0",
          .mtu = DataSize{1500},
          .queue_packets = 1000,
          .addresses = {prefix("100.64.0.2", 30), prefix("fd63::2", 64)},
          .routes = {prefix("0.0.0.0", 0), prefix("::", 0)}};
}

NamespaceOptions command(std::vector<std::string> words) {
  NamespaceOptions options;
  options.command = std::move(words);
  return options;
}

/// The link /proc/PID/ns/net: which network a process is in. Empty when the process has gone.
std::string network_of(const std::string& process) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + process + "/ns/net", gone).string();
}

int processes_in(const std::string& network) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    count += network_of(entry.path().filename()) == network ? 1 : 0;
  }
  return count;
}

/// Sends one datagram of 100 bytes; the error is the exit code.
int send_one(const std::string& to) {
  const auto address = runtime::to_sockaddr(*runtime::parse_address(to), false);
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  const char bytes[100] = {};
  const auto sent = sendto(fd, bytes, sizeof bytes, 0,
                           reinterpret_cast<const sockaddr*>(&address->storage), address->size);
  return sent == sizeof bytes ? 0 : errno;
}

/// The next packet that is UDP.
std::optional<PacketHeader> next_udp(TunDevice& tun, std::vector<std::byte>& bytes) {
  for (int i = 0; i < 100; ++i) {
    pollfd waiting{tun.handle(), POLLIN, 0};
    if (poll(&waiting, 1, 2000) != 1) {
      return std::nullopt;
    }
    while (const auto packet = tun.read()) {
      const auto header = parse_packet(*packet);
      if (header && header->flow.protocol == IPPROTO_UDP) {
        bytes.assign(packet->begin(), packet->end());
        return *header;
      }
    }
  }
  return std::nullopt;
}

class Namespaces : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = namespaces_forbidden();
    if (!why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(Namespaces, ExitCodeOfWorkOrCommandIsReturned) {
  NamespaceOptions work;
  work.work = [] { return 7; };
  EXPECT_EQ(run_in_namespace(std::move(work)), 7);
  EXPECT_EQ(run_in_namespace(command({"sh", "-c", "exit 9"})), 9);
  EXPECT_EQ(run_in_namespace(command({"sh", "-c", "kill -TERM $$"})), 128 + SIGTERM);
}

/// What making a network, and starting what is in it, complains about.
std::string complaint(NamespaceOptions options) {
  try {
    NamespaceProcess{std::move(options)}.start();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(Namespaces, UnrunnableCommandIsReported) {
  EXPECT_EQ(complaint(command({"no-such-program-at-all"})),
            "no such program: no-such-program-at-all");
  EXPECT_EQ(complaint(command({"/proc"})), "cannot run /proc: Permission denied");
}

TEST(RequireProgram, FindsWhatAShellWouldFind) {
  EXPECT_NO_THROW(require_program("sh", "/nowhere::/bin"));
  EXPECT_NO_THROW(require_program("/bin/sh", ""));
  EXPECT_THROW(require_program("sh", ""), std::runtime_error);
  EXPECT_THROW(require_program("sh", "/nowhere"), std::runtime_error);
  EXPECT_THROW(require_program("/no/such", "/bin"), std::runtime_error);
  EXPECT_THROW(require_program("", "/bin:/usr/bin/no"), std::runtime_error);
}

TEST_F(Namespaces, SignalsThatAreBlockedHereReachTheCommand) {
  sigset_t one{};
  sigaddset(&one, SIGUSR1);
  sigset_t before{};
  pthread_sigmask(SIG_BLOCK, &one, &before);
  EXPECT_EQ(run_in_namespace(command({"sh", "-c", "kill -USR1 $$; exit 3"})), 128 + SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(Namespaces, Ipv6IsThereWhereTheMachineHasIt) {
  NamespaceOptions options = command({"true"});
  options.interface = interface();
  EXPECT_EQ(NamespaceProcess{std::move(options)}.has_ipv6(), fs::exists("/proc/net/if_inet6"));
}

TEST_F(Namespaces, WhatCannotBeSetIsSaid) {
  NamespaceOptions options = command({"true"});
  options.settings = {{"net/no/such", "1"}};
  EXPECT_EQ(complaint(std::move(options)),
            "cannot set net/no/such to \"1\": No such file or directory");
}

TEST_F(Namespaces, CommandKeepsItsUserAndSeesOnlyItsNetwork) {
  NamespaceOptions options = command(
      {"sh", "-c",
       "[ $(id -u) = $WAS ] && [ \"$WORD\" = word ] && ! [ -e /proc/sys/net/ipv4/conf/eth0 ]"});
  options.environment = {{"WORD", "word"}, {"WAS", std::to_string(geteuid())}};
  EXPECT_EQ(run_in_namespace(std::move(options)), 0);
}

TEST_F(Namespaces, SettingsAreOfTheNetworkInsideAlone) {
  NamespaceOptions options =
      command({"sh", "-c", "[ $(cat /proc/sys/net/ipv4/tcp_congestion_control) = reno ]"});
  options.settings = {{"net/ipv4/tcp_congestion_control", "reno"}, {"net/no/such", "1", false}};
  EXPECT_EQ(run_in_namespace(std::move(options)), 0);
  NamespaceOptions wrong = command({"true"});
  wrong.settings = {{"net/no/such", "1"}};
  EXPECT_THROW(NamespaceProcess{std::move(wrong)}, std::runtime_error);
}

TEST_F(Namespaces, PacketsOfBothFamiliesComeOutOfTheDeviceAndGoIn) {
  for (const std::string to : {"198.51.100.7:53", "[2001:db8::7]:53"}) {
    NamespaceOptions options;
    options.interface = interface();
    // Sends hello, and waits for the answer.
    options.work = [to] {
      const auto address = runtime::to_sockaddr(*runtime::parse_address(to), false);
      const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
      const timeval patience{3, 0};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      char bytes[100] = {};
      if (sendto(fd, bytes, sizeof bytes, 0, reinterpret_cast<const sockaddr*>(&address->storage),
                 address->size) != sizeof bytes) {
        return errno;
      }
      return recv(fd, bytes, sizeof bytes, 0) == sizeof bytes ? 0 : 1;
    };
    NamespaceProcess process{std::move(options)};
    if (to[0] == '[' && !process.has_ipv6()) {
      GTEST_SKIP() << "no IPv6 on this machine";
    }
    process.start();
    std::vector<std::byte> bytes;
    const auto header = next_udp(process.tun(), bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->flow.destination, *runtime::parse_address(to));
    EXPECT_EQ(header->length.bytes(), static_cast<int64_t>(bytes.size()));
    EXPECT_EQ(bytes.size(), to[0] == '[' ? 148U : 128U);
    // Returned with both ends exchanged; the checksums stay valid.
    const size_t size = to[0] == '[' ? 16 : 4;
    const auto source = bytes.begin() + (to[0] == '[' ? 8 : 12);
    std::swap_ranges(source, source + static_cast<ptrdiff_t>(size),
                     source + static_cast<ptrdiff_t>(size));
    const auto ports = bytes.begin() + header->transport_offset.bytes();
    std::swap_ranges(ports, ports + 2, ports + 2);
    // Sent three times: a kernel that is busy with other packets may drop an incoming one.
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(process.tun().write(bytes));
      std::this_thread::sleep_for(100ms);
    }
    EXPECT_EQ(process.wait(), 0);
  }
}

TEST_F(Namespaces, ADatagramLargerThanTheMtuIsRefusedOrFragmentedNeverPassed) {
  NamespaceOptions options;
  options.interface = interface();
  options.work = [] {
    const auto address = runtime::to_sockaddr(*runtime::parse_address("198.51.100.7:9"), true);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const std::vector<char> bytes(4000);
    return sendto(fd, bytes.data(), bytes.size(), 0,
                  reinterpret_cast<const sockaddr*>(&address->storage), address->size) == 4000
               ? 0
               : 1;
  };
  NamespaceProcess process{std::move(options)};
  process.start();
  EXPECT_EQ(process.wait(), 0);
  int fragments = 0;
  while (const auto packet = process.tun().read()) {
    const auto header = parse_packet(*packet);
    ASSERT_TRUE(header.has_value());
    EXPECT_LE(packet->size(), 1500U);
    fragments += header->is_fragment ? 1 : 0;
  }
  EXPECT_EQ(fragments, 3);
}

TEST_F(Namespaces, CountersIncludeDropsOfTheDevice) {
  NamespaceOptions options;
  options.interface = interface();
  options.interface->queue_packets = 5;
  options.work = [] {
    for (int i = 0; i < 50; ++i) {
      send_one("198.51.100.7:9");
    }
    return 0;
  };
  NamespaceProcess process{std::move(options)};
  process.start();
  EXPECT_EQ(process.wait(), 0);
  const InterfaceCounters counters = process.routes().counters("cress0");
  EXPECT_GE(counters.sent_dropped, 40U);
  EXPECT_EQ(process.routes().addresses().size(), process.has_ipv6() ? 4U : 2U) << "with loopback";
}

// Not 65534, which is what a namespace calls a user that it does not know.
constexpr uid_t kSomebody = 54'321;
constexpr int kCannot = 77;

/// Changes from root to an ordinary user on a machine whose TUN is open to all, as most are. False
/// if that fails.
bool become_somebody() {
  const bool has_tun = unshare(CLONE_NEWNS) == 0 &&
                       mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       mount("none", "/dev/net", "tmpfs", 0, nullptr) == 0 &&
                       mknod("/dev/net/tun", S_IFCHR | 0666, makedev(10, 200)) == 0 &&
                       chmod("/dev/net/tun", 0666) == 0;
  return has_tun && setgroups(0, nullptr) == 0 && setgid(kSomebody) == 0 &&
         setuid(kSomebody) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

TEST_F(Namespaces, RootStaysRootOfTheWholeMachine) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "all tests are a plain user's here";
  }
  std::ifstream outside{"/proc/self/uid_map"};
  const std::string users{std::istreambuf_iterator<char>{outside}, {}};
  EXPECT_EQ(run_in_namespace(command({"sh", "-c", "[ \"$(cat /proc/self/uid_map)\" = \"$0\" ]",
                                      users.substr(0, users.size() - 1)})),
            0);
}

TEST_F(Namespaces, WorkForAnOrdinaryUser) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "all tests are a plain user's here";
  }
  const pid_t child = fork();
  if (child == 0) {
    if (!become_somebody()) {
      _exit(kCannot);
    }
    int code = 99;
    try {
      NamespaceOptions options = command({"sh", "-c", "[ $(id -u) = 54321 ] && [ $$ -lt 10 ]"});
      options.interface = interface();
      options.settings = {{"net/ipv4/tcp_congestion_control", "reno"}};
      code = run_in_namespace(std::move(options));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == kCannot) {
    GTEST_SKIP() << "not allowed to become a plain user with a TUN device";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Namespaces, ASignalReachesTheCommandAndItsExitCodeComesBack) {
  NamespaceProcess process{command({"sleep", "100"})};
  process.start();
  EXPECT_FALSE(process.poll_exit().has_value());
  process.send_signal(SIGTERM);
  EXPECT_EQ(process.wait(), 128 + SIGTERM);
}

TEST_F(Namespaces, ProcessesLeftBehindByTheCommandEndWithIt) {
  NamespaceProcess process{
      command({"sh", "-c", "(setsid sleep 1000 &) ; (sleep 1000 &) ; exit 3"})};
  const std::string network = network_of(std::to_string(process.process_id()));
  ASSERT_FALSE(network.empty());
  process.start();
  EXPECT_EQ(process.wait(), 3);
  for (int i = 0; i < 500 && processes_in(network) > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  EXPECT_EQ(processes_in(network), 0);
}

TEST_F(Namespaces, KilledAtAnyMomentNothingIsLeft) {
  Rng rng{11};
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> names{};
    ASSERT_EQ(pipe2(names.data(), O_CLOEXEC), 0);
    const pid_t maker = fork();
    if (maker == 0) {
      NamespaceOptions options = command({"sh", "-c", "(setsid sleep 1000 &); sleep 1000"});
      options.interface = interface();
      try {
        while (true) {
          NamespaceProcess process{options};
          const std::string network = network_of(std::to_string(process.process_id()));
          (void)!write(names[1], network.c_str(), network.size() + 1);
          process.start();
        }
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      _exit(1);
    }
    close(names[1]);
    std::this_thread::sleep_for(std::chrono::microseconds{rng.below(40'000)});
    kill(maker, SIGKILL);
    waitpid(maker, nullptr, 0);
    std::string told;
    std::array<char, 4096> buffer{};
    ssize_t size = 0;
    while ((size = read(names[0], buffer.data(), buffer.size())) > 0) {
      told.append(buffer.data(), static_cast<size_t>(size));
    }
    close(names[0]);
    for (size_t at = 0; at < told.size(); at += std::string{told.c_str() + at}.size() + 1) {
      const std::string network = told.c_str() + at;
      for (int i = 0; i < 500 && processes_in(network) > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
      }
      EXPECT_EQ(processes_in(network), 0) << network << " in round " << round;
    }
  }
}

}  // namespace
}  // namespace cress::netns
