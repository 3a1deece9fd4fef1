#include "relay/daemon/daemon.hh"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "relay/daemon/json_log.hh"
#include "relay/daemon/late_rooms.hh"
#include "relay/daemon/metrics.hh"
#include "transport/base/check.hh"
#include "transport/base/token_bucket.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/runtime/worker.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/records/records.hh"

namespace cress::relay {
namespace {

// Imperceptible in a call; under load it saves a third or more of the processor time
// (docs/experiments/0008).
constexpr Duration kGather = 500us;
constexpr Duration kGatherBusy = 1ms;
// Farewells arrive within a second; a member that has not received one by then has gone.
constexpr Duration kDrainMax = 4s;
// Enough to see what goes wrong, and at most 100 MB of log a week.
constexpr TokenBucket::Options kRefusalsLogged{.per_second = 1, .burst = 20};

/// The relay's machine, with its datagrams' waiting time measured, and its events taken.
class WatchedMachine : public Machine {
 public:
  WatchedMachine(const runtime::MonotonicClock& clock, RelayMachine& relay,
                 std::function<void()> drained)
      : clock_(clock), relay_(relay), drained_(std::move(drained)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    wait_.add(std::max(clock_.now() - now, Duration{}));
    relay_.handle_datagram(now, from, bytes);
  }
  void handle_ecn(Ecn ecn) override { relay_.handle_ecn(ecn); }
  void handle_timeout(TimePoint now) override { relay_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return relay_.poll_transmit(now);
  }
  void take_back(std::vector<std::byte>&& sent) override { relay_.take_back(std::move(sent)); }
  TimePoint poll_timeout() const override { return relay_.poll_timeout(); }
  bool drained(TimePoint /*now*/) override {
    drained_();
    return true;
  }

  const DurationHistogram& wait() const { return wait_; }

 private:
  const runtime::MonotonicClock& clock_;
  RelayMachine& relay_;
  std::function<void()> drained_;
  DurationHistogram wait_;
};

runtime::UdpSocketOptions socket_options(const RelayConfig& config) {
  return {.bind = runtime::resolve(config.listen).front(),
          .receive_buffer = DataSize{16 << 20},
          .send_buffer = DataSize{8 << 20},
          .first_bytes = runtime::FirstBytes{secure::kRecordKind, secure::kLastKind},
          .takes_merged = true};
}

uint64_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  uint64_t all = 0;
  uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

const char* name_of(RelayEvent::Kind kind) {
  switch (kind) {
    case RelayEvent::Kind::kJoined:
      return "joined";
    case RelayEvent::Kind::kLeft:
      return "left";
    case RelayEvent::Kind::kRefused:
      return "refused";
    case RelayEvent::Kind::kPathChanged:
      return "moved";
  }
  return "";
}

}  // namespace

class Daemon::Impl {
 public:
  Impl(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, RelayConfig config,
       WallClock wall_clock, std::ostream& log)
      : clock_(clock),
        loop_(loop),
        config_(std::move(config)),
        wall_clock_(std::move(wall_clock)),
        log_(log, config_.log_addresses),
        store_(config_.rooms, RoomStore::Open::kForRelay),
        socket_(clock, socket_options(config_)),
        late_rooms_(config_.rooms, [&clock] { return clock.now(); }),
        relay_(clock.now(), machine_options()),
        worker_(loop, config_.machine.listener.pending_max),
        watched_(clock, relay_, [this] { take_outputs(); }),
        driver_({clock, loop, socket_, watched_}, {.gather = kGather, .gather_busy = kGatherBusy}),
        ticks_(loop, [this] { tick(); }) {
    if (!config_.metrics.empty()) {
      metrics_ = std::make_unique<MetricsServer>(config_.metrics);
    }
    store_.take_kicks();  // of members from an earlier run
    read_rooms();
    publish();
    log_.write("info", "listening",
               {{"address", runtime::format_address(socket_.local_address())},
                {"rooms", relay_.open_rooms()}});
    ticks_.arm(clock.now() + config_.tick);
  }

  Address local_address() const { return socket_.local_address(); }
  int metrics_port() const { return metrics_ ? metrics_->port() : 0; }

  void drain() {
    if (not_ready_until_ || drain_until_) {
      loop_.stop();
      return;
    }
    // Without /readyz nobody could notice, so there is nothing to wait for.
    not_ready_until_ = clock_.now() + (metrics_ ? config_.not_ready : Duration{});
    log_.write("info", "not_ready", {{"members", relay_.members()}});
    publish();
    ticks_.arm(clock_.now());
  }

 private:
  void tick() {
    const TimePoint now = clock_.now();
    ticks_.arm(now + config_.tick);
    if (not_ready_until_ && !drain_until_) {
      if (now >= *not_ready_until_) {
        drain_members();
      } else {
        ticks_.arm(std::min(now + config_.tick, *not_ready_until_));
      }
    }
    if (!drain_until_) {
      look_at_store();
    }
    note_unlogged();
    give_back_memory();
    publish();
    if (drain_until_ && clock_.now() >= *drain_until_) {
      loop_.stop();
    }
  }

  void drain_members() {
    drain_until_ = clock_.now() + kDrainMax;
    log_.write("info", "draining", {{"members", relay_.members()}});
    driver_.wake([this](TimePoint now) { relay_.drain_members(now, config_.drain_again_in); });
  }

  // Strangers decide how many refusals there are, so they do not decide how long the log is.
  bool may_log(const RelayEvent& event) {
    const bool may =
        event.kind != RelayEvent::Kind::kRefused || refusals_logged_.take(clock_.now());
    unlogged_ += may ? 0 : 1;
    return may;
  }
  void note_unlogged() {
    if (unlogged_ > 0 && refusals_logged_.take(clock_.now())) {
      log_.write("warning", "refused", {{"more", std::exchange(unlogged_, 0)}});
    }
  }

  // When all members have left, their memory is returned to the system: otherwise the allocator
  // keeps it, fragmented between what stays.
  void give_back_memory() {
    const bool is_empty = relay_.members() == 0 && relay_.live_rooms() == 0;
    if (is_empty && std::exchange(was_used_, false)) {
      malloc_trim(0);
    }
    was_used_ = was_used_ || !is_empty;
  }

  RelayMachineOptions machine_options() {
    RelayMachineOptions options = config_.machine;
    options.listener.late_lookup = [this](std::string_view identity) {
      return late_rooms_.look_up(identity);
    };
    options.listener.hands_out_work = true;
    return options;
  }

  // A peer asked for a room that was not open, and the worker has read the file.
  void open_new_rooms(const LateRooms::Found& found) {
    if (!found.error.empty()) {
      log_.write("error", "rooms", {{"words", found.error}});
    }
    for (const StoredRoom& room : found.rooms) {
      const bool is_over = room.expires && *room.expires <= wall_clock_();
      if (!drain_until_ && !is_over && !open_.contains(room.door.name) && relay_.open(room.door)) {
        open_.insert(room.door.name);
      }
    }
  }

  // The rooms may have been changed, or one may have expired.
  void look_at_store() {
    try {
      const int64_t version = store_.version();
      const bool has_expired = wall_clock_() >= next_expiry_;
      if (version == version_ && !has_expired) {
        return;
      }
      read_rooms();
      for (const auto& [name, member] : store_.take_kicks()) {
        driver_.wake([&](TimePoint now) {
          log_.write(
              "info", "kick",
              {{"room", name}, {"member", member}, {"there", relay_.kick(now, name, member)}});
        });
      }
      version_ = version;
    } catch (const std::exception& error) {
      log_.write("error", "rooms", {{"words", error.what()}});
    }
  }

  void read_rooms() {
    const UnixSeconds now = wall_clock_();
    next_expiry_ = std::numeric_limits<UnixSeconds>::max();
    std::set<std::string> gone = std::exchange(open_, {});
    for (const StoredRoom& room : store_.rooms()) {
      if (room.expires && *room.expires <= now) {
        close_room(room.door.name, room::FarewellReason::kExpired);
        store_.remove(room.door.name);
      } else {
        next_expiry_ = std::min(next_expiry_, room.expires.value_or(next_expiry_));
        open_room(room.door);
        open_.insert(room.door.name);
      }
      gone.erase(room.door.name);
    }
    for (const std::string& name : gone) {
      close_room(name, room::FarewellReason::kClosed);
    }
  }
  void open_room(const RoomDoor& door) {
    if (!relay_.open(door)) {  // another room of the same name
      close_room(door.name, room::FarewellReason::kClosed);
      relay_.open(door);
    }
  }
  void close_room(const std::string& name, room::FarewellReason reason) {
    driver_.wake([&](TimePoint now) {
      if (relay_.close(now, name, reason)) {
        log_.write("info", reason == room::FarewellReason::kExpired ? "expired" : "closed",
                   {{"room", name}});
      }
    });
  }

  void take_outputs() {
    tell_events();
    while (auto work = relay_.poll_work()) {
      // The machine bounds the work that is out, so there is a place for it.
      struct Job {
        secure::HandshakeWork work;
        std::optional<LateRooms::Found> found;  // by the worker, while it had the file
      };
      const auto shared = std::make_shared<Job>(Job{*std::move(work), {}});
      check(worker_.add(
                [this, shared] {
                  shared->work.run();
                  shared->found = late_rooms_.take();
                },
                [this, shared] {
                  if (shared->found) {
                    open_new_rooms(*shared->found);
                  }
                  driver_.wake([this, &shared](TimePoint now) {
                    relay_.handle_work(now, std::move(shared->work));
                  });
                }),
            "Daemon: more handshakes at work than the machine allows");
    }
  }

  void tell_events() {
    while (const auto event = relay_.poll_event()) {
      if (!may_log(*event)) {
        continue;
      }
      nlohmann::ordered_json fields = nlohmann::ordered_json::object();
      if (!event->room.empty()) {
        fields["room"] = event->room;
      }
      if (event->member != room::kNobody) {
        fields["member"] = event->member;
      }
      if (event->address != Address{}) {
        fields["address"] = log_.shown(event->address);
      }
      if (*event->words != '\0') {
        fields["words"] = event->words;
      }
      log_.write(event->kind == RelayEvent::Kind::kRefused ? "warning" : "info",
                 name_of(event->kind), fields);
    }
    if (drain_until_ && relay_.is_finished()) {
      loop_.stop();
    }
  }

  void publish() {
    if (metrics_) {
      metrics_->publish({.members = relay_.members(),
                         .live_rooms = relay_.live_rooms(),
                         .open_rooms = relay_.open_rooms(),
                         .calls = relay_.calls(),
                         .is_draining = not_ready_until_.has_value(),
                         .resident_bytes = resident_bytes(),
                         .rooms = relay_.room_stats(),
                         .door = relay_.listener_stats(),
                         .joins_refused = relay_.joins_refused(),
                         .call_stats = relay_.call_stats(),
                         .network = driver_.stats(),
                         .wait = watched_.wait()});
    }
  }

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  RelayConfig config_;
  WallClock wall_clock_;
  JsonLog log_;
  RoomStore store_;
  int64_t version_ = -1;
  UnixSeconds next_expiry_ = 0;
  std::set<std::string> open_;  // rooms that the machine knows
  runtime::UdpSocket socket_;
  LateRooms late_rooms_;  // of the worker
  RelayMachine relay_;
  runtime::Worker worker_;  // ends before the machine does
  WatchedMachine watched_;
  std::unique_ptr<MetricsServer> metrics_;
  std::optional<TimePoint> not_ready_until_;
  std::optional<TimePoint> drain_until_;
  TokenBucket refusals_logged_{kRefusalsLogged};
  uint64_t unlogged_ = 0;  // refusals since the last line about them
  bool was_used_ = false;  // since memory was last returned
  runtime::Driver driver_;
  runtime::EventLoop::Timer ticks_;
};

Daemon::Daemon(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, RelayConfig config,
               WallClock wall_clock, std::ostream& log)
    : impl_(std::make_unique<Impl>(clock, loop, std::move(config), std::move(wall_clock), log)) {}
Daemon::~Daemon() = default;
Address Daemon::local_address() const { return impl_->local_address(); }
int Daemon::metrics_port() const { return impl_->metrics_port(); }
void Daemon::drain() { impl_->drain(); }

int run_daemon(const RelayConfig& config, const WallClock& wall_clock, std::ostream& log) {
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  Daemon daemon{clock, loop, config, wall_clock, log};
  loop.on_signals([&daemon](int /*signal*/) { daemon.drain(); });
  loop.run();
  return 0;
}

}  // namespace cress::relay
