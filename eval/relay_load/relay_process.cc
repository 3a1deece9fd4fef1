#include "eval/relay_load/relay_process.hh"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "eval/relay_load/probe.hh"
#include "relay/daemon/daemon.hh"
#include "transport/runtime/event_loop.hh"

namespace cress::relay_load {
namespace {

/// The child's message once it is up.
struct Ports {
  Address address{};
  int metrics = 0;
};

void be_relay(const relay::RelayConfig& config, int tell) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  std::ofstream log{config.rooms.parent_path() / "relay.log"};
  relay::Daemon daemon{clock, loop, config, [] { return relay::UnixSeconds{0}; }, log};
  loop.on_signals([&daemon](int /*signal*/) { daemon.drain(); });
  const Ports ports{daemon.local_address(), daemon.metrics_port()};
  if (write(tell, &ports, sizeof ports) != sizeof ports) {
    throw std::runtime_error("the relay cannot tell where it is");
  }
  close(tell);
  loop.run();
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "cress-relay-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("no temporary folder: " + std::generic_category().message(errno));
  }
  return name;
}

}  // namespace

RelayProcess::RelayProcess(const std::vector<relay::RoomDoor>& rooms, int members_max,
                           bool goes_first)
    : folder_(make_folder()) {
  relay::RelayConfig config;
  config.listen = "127.0.0.1:0";
  config.metrics = "127.0.0.1:0";
  config.rooms = folder_ / "rooms.db";
  config.machine.live_rooms_max = rooms.size();
  config.machine.listener.peers_max = static_cast<size_t>(members_max);
  {
    relay::RoomStore store{config.rooms};
    for (const relay::RoomDoor& door : rooms) {
      store.create({.door = door, .created = 0});
    }
  }
  std::array<int, 2> tell{};
  if (pipe(tell.data()) != 0) {
    throw std::runtime_error("no pipe: " + std::generic_category().message(errno));
  }
  process_.emplace([&] {
    close(tell[0]);
    if (goes_first) {
      go_first();
    }
    be_relay(config, tell[1]);
  });
  close(tell[1]);
  Ports ports;
  const bool is_up = read(tell[0], &ports, sizeof ports) == sizeof ports;
  close(tell[0]);
  if (!is_up) {
    throw std::runtime_error("the relay did not start");
  }
  address_ = ports.address;
  metrics_port_ = ports.metrics;
}

RelayProcess::~RelayProcess() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Duration RelayProcess::cpu() const { return cpu_of(process_->pid()); }

uint64_t RelayProcess::resident_bytes() const {
  std::ifstream file{"/proc/" + std::to_string(process_->pid()) + "/statm"};
  uint64_t all = 0;
  uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string RelayProcess::metrics() const {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(metrics_port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string text;
  const std::string question = "GET /metrics HTTP/1.0\r\n\r\n";
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      write(connection, question.data(), question.size()) ==
          static_cast<ssize_t>(question.size())) {
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = read(connection, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<size_t>(size));
    }
  }
  close(connection);
  return text;
}

Duration cpu_of(pid_t process) {
  int64_t sum = 0;
  const std::filesystem::path tasks{"/proc/" + std::to_string(process) + "/task"};
  for (const auto& task : std::filesystem::directory_iterator{tasks}) {
    std::ifstream file{task.path() / "schedstat"};
    int64_t on_cpu = 0;  // ns
    file >> on_cpu;
    sum += on_cpu;
  }
  return Duration{sum};
}

double metric(const std::string& text, const std::string& name) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + " ", 0) == 0) {
      return std::strtod(line.c_str() + name.size() + 1, nullptr);
    }
  }
  return 0;
}

}  // namespace cress::relay_load
