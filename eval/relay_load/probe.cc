#include "eval/relay_load/probe.hh"

#include <sched.h>

#include <cerrno>
#include <deque>
#include <stdexcept>
#include <system_error>

#include "eval/relay_load/caller.hh"
#include "eval/relay_load/loopback.hh"

namespace cress::relay_load {
namespace {

constexpr Duration kLook = 100ms;

void be_probe(const ProbeOptions& options, ProbeProcess::Shared& shared) {
  if (options.goes_first) {
    go_first();
  }
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  std::deque<Caller> callers;
  for (const secure::Secret& room : options.rooms) {
    for (int i = 0; i < ProbeProcess::kMembers; ++i) {
      const int number = static_cast<int>(callers.size());
      callers.emplace_back(clock, loop, 0, loopback_of(4000 + number),
                           relay::LoadMemberOptions{.access = room,
                                                    .relay = options.relay,
                                                    .member = {.has_camera = false, .speaks = true},
                                                    .seed = static_cast<uint64_t>(number)});
    }
  }
  std::vector<size_t> taken(callers.size());
  runtime::EventLoop::Timer* again = nullptr;
  runtime::EventLoop::Timer looks{
      loop, [&] {
        for (size_t i = 0; i < callers.size(); ++i) {
          const relay::ModelMember* member = callers[i].machine.member();
          for (; member != nullptr && taken[i] < member->heard().size(); ++taken[i]) {
            const relay::HeardSound& sound = member->heard()[taken[i]];
            if (shared.count < ProbeProcess::kSoundsMax) {
              shared.sounds.at(shared.count) = {sound.captured, sound.heard - sound.captured};
              ++shared.count;
            }
          }
        }
        again->arm(clock.now() + kLook);
      }};
  again = &looks;
  looks.arm(clock.now());
  loop.run();
}

}  // namespace

void go_first() {
  const sched_param first{.sched_priority = 10};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
    throw std::runtime_error("cannot go before others: " + std::generic_category().message(errno));
  }
}

ProbeProcess::ProbeProcess(const ProbeOptions& options)
    : process_(std::make_unique<ChildProcess>([&] { be_probe(options, *shared_); })) {}

std::vector<ProbedSound> ProbeProcess::sounds() const {
  return {shared_->sounds.begin(),
          shared_->sounds.begin() + static_cast<ptrdiff_t>(shared_->count.load())};
}

}  // namespace cress::relay_load
