#include "eval/cellsim/cross_flows.hh"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "eval/cellsim/tcp_ends.hh"
#include "transport/base/check.hh"
#include "transport/base/rng.hh"

namespace cress::cellsim {
namespace {

constexpr const char* kWebTraffic = "web";
// What most servers use; where the kernel has none, its default.
constexpr const char* kWebCongestionControl = "cubic";
constexpr uint16_t kPortFirst = 5300;
constexpr size_t kFlowsMax = 100;

/// Those that the kernel has loaded. What it does not allow everybody it allows our processes,
/// which have CAP_NET_ADMIN in the emulated networks.
std::vector<std::string> available_controls() {
  std::ifstream file{"/proc/sys/net/ipv4/tcp_available_congestion_control"};
  std::vector<std::string> names;
  for (std::string name; file >> name;) {
    names.push_back(name);
  }
  return names;
}

std::string control_of(const CrossFlow& flow) {
  if (flow.kind != kWebTraffic) {
    return flow.kind;
  }
  const std::vector<std::string> available = available_controls();
  const bool has_it = std::ranges::find(available, kWebCongestionControl) != available.end();
  return has_it ? kWebCongestionControl : "";
}

/// Enters the network that `process` is in. Where that has a user namespace of its own, its maker's
/// uid may enter it.
void enter_network_of(pid_t process) {
  const runtime::FileDescriptor pidfd{static_cast<int>(syscall(SYS_pidfd_open, process, 0))};
  if (setns(pidfd.get(), CLONE_NEWUSER | CLONE_NEWNET) != 0 &&
      setns(pidfd.get(), CLONE_NEWNET) != 0) {
    throw std::runtime_error("cannot enter a private network: " +
                             std::system_category().message(errno));
  }
}

std::vector<CrossFlow> one_each(const std::vector<CrossFlow>& flows) {
  std::vector<CrossFlow> all;
  for (const CrossFlow& flow : flows) {
    check_cross_kind(flow.kind);
    for (size_t i = 0; i < flow.count; ++i) {
      all.push_back(flow);
      all.back().count = 1;
    }
  }
  if (all.size() > kFlowsMax) {
    throw std::invalid_argument("--cross: more than 100 flows in all");
  }
  return all;
}

Address with_port(Address address, size_t flow) {
  address.port = narrow<uint16_t>(kPortFirst + flow);
  return address;
}

}  // namespace

/// A cache line each, so that processes do not share one.
struct alignas(64) CrossFlows::Arrived {
  std::atomic<uint64_t> bytes{0};
};

void check_cross_kind(const std::string& kind) {
  const std::vector<std::string> available = available_controls();
  if (kind == kWebTraffic || std::ranges::find(available, kind) != available.end()) {
    return;
  }
  std::string all;
  for (const std::string& name : available) {
    all += name + ", ";
  }
  throw std::invalid_argument("--cross " + kind +
                              ": here it is the kernel's TCP, of which this machine has " + all +
                              "or web");
}

CrossFlows::CrossFlows(const std::vector<CrossFlow>& flows, const Sides& sides, uint64_t seed,
                       const runtime::MonotonicClock& clock)
    : flows_(one_each(flows)) {
  if (flows_.empty()) {
    return;
  }
  void* const shared = mmap(nullptr, flows_.size() * sizeof(Arrived), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> pipe{};
  if (shared == MAP_FAILED || pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make other traffic: " + std::system_category().message(errno));
  }
  arrived_ = static_cast<Arrived*>(shared);
  std::uninitialized_value_construct_n(arrived_, flows_.size());
  const runtime::FileDescriptor come{pipe[0]};
  go_.emplace(pipe[1]);
  const Rng rng{seed};
  for (size_t i = 0; i < flows_.size(); ++i) {
    const CrossFlow& flow = flows_[i];
    const Side& source = flow.up ? sides.near : sides.far;
    const Side& sink = flow.up ? sides.far : sides.near;
    const Address at = with_port(sink.address, i);
    start_process(sink, [this, at, i] { receive_tcp(at, arrived_[i].bytes); });
    start_process(source, [&, at, i] {
      TimePoint begin{};
      go_.reset();  // so that this process does not keep it from ending
      if (read(come.get(), &begin, sizeof begin) != static_cast<ssize_t>(sizeof begin)) {
        return;
      }
      const TimePoint start = begin + flow.start;
      const bool is_web = flow.kind == kWebTraffic;
      const TcpSource tcp{.to = at,
                          .congestion_control = control_of(flow),
                          .start = start,
                          .end = flow.length ? start + *flow.length : kNever};
      if (is_web) {
        send_web(tcp, rng.fork(i).next(), clock);
      } else {
        send_tcp(tcp, clock);
      }
    });
  }
}

void CrossFlows::start_process(const Side& side, auto work) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) {
    throw std::runtime_error("cannot make other traffic: " + std::system_category().message(errno));
  }
  if (process > 0) {
    processes_.push_back(process);
    return;
  }
  int code = 1;
  try {
    prctl(PR_SET_NAME, "cress-cross");
    if (side.process) {
      enter_network_of(*side.process);
    }
    // Last: entering another user namespace takes it back.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
      work();
      code = 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cellsim: %s\n", error.what());
  }
  _exit(code);
}

CrossFlows::~CrossFlows() {
  for (const pid_t process : processes_) {
    kill(process, SIGKILL);
  }
  for (const pid_t process : processes_) {
    while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (arrived_ != nullptr) {
    munmap(arrived_, flows_.size() * sizeof(Arrived));
  }
}

void CrossFlows::begin(TimePoint begin) {
  for (size_t i = 0; i < flows_.size(); ++i) {
    // One message for each source, atomic: smaller than PIPE_BUF.
    check(write(go_->get(), &begin, sizeof begin) == static_cast<ssize_t>(sizeof begin),
          "CrossFlows: a pipe with room");
  }
}

std::vector<CrossReport> CrossFlows::report(Duration length) const {
  std::vector<CrossReport> reports;
  for (size_t i = 0; i < flows_.size(); ++i) {
    const CrossFlow& flow = flows_[i];
    const Duration end = flow.length ? std::min(length, flow.start + *flow.length) : length;
    CrossReport report{.kind = flow.kind,
                       .direction = flow.up ? "uplink" : "downlink",
                       .start = flow.start,
                       .end = std::max(end, flow.start)};
    if (end > flow.start) {
      report.goodput_kbps =
          DataRate::from(DataSize{narrow<int64_t>(arrived_[i].bytes.load())}, end - flow.start)
              .kilobits_per_second();
    }
    reports.push_back(report);
  }
  return reports;
}

}  // namespace cress::cellsim
