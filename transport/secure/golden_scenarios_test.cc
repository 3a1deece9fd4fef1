// Goal: notice what no single test expects. Method: connections and a listener on networks in
// virtual time go through typical events of calls; each event, each datagram that is not an
// ordinary record, and the counters are recorded and compared with the golden text.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "transport/base/golden_test_tools.hh"
#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

std::string words_of(const Event& event) {
  std::ostringstream text;
  if (const auto* connected = std::get_if<Connected>(&event)) {
    text << "connected to " << int{connected->peer.ip[14]};
  } else if (const auto* moved = std::get_if<PathChanged>(&event)) {
    text << "path is " << int{moved->peer.ip[14]};
  } else if (const auto* mtu = std::get_if<MtuChanged>(&event)) {
    text << "largest datagram " << mtu->datagram_max.bytes();
  } else if (const auto* closed = std::get_if<Closed>(&event)) {
    text << "closed: " << describe(closed->reason);
  } else {
    text << (std::holds_alternative<Unreachable>(event) ? "unreachable" : "reachable");
  }
  return text.str();
}

/// All counters, in the order of their declaration.
template <class Stats>
std::string numbers_of(const Stats& stats) {
  std::array<uint64_t, sizeof(Stats) / sizeof(uint64_t)> numbers{};
  std::memcpy(numbers.data(), &stats, sizeof stats);
  std::string text;
  for (const uint64_t number : numbers) {
    text += ' ' + std::to_string(number);
  }
  return text;
}

/// The traffic of a network, one line each; ordinary records are only counted.
class FlightLog {
 public:
  /// False: the datagram is lost.
  std::function<bool(const Flight&)> rule;

  bool note(const Flight& flight) {
    const bool passes = !rule || rule(flight);
    const std::string way =
        std::to_string(flight.from.ip[14]) + ">" + std::to_string(flight.to.ip[14]);
    if (flight.bytes[0] == kRecordKind) {
      ++records_[way + (passes ? "" : " lost")];
    } else {
      line(flight.sent_at) << way << " " << std::to_integer<int>(flight.bytes[0]) << " "
                           << flight.bytes.size() << (passes ? "\n" : " lost\n");
    }
    return passes;
  }
  std::ostream& line(TimePoint at) {
    text_ << std::fixed << std::setprecision(1) << to_milliseconds(at - kTimeZero) << " ";
    return text_;
  }
  void title(const std::string& words) { text_ << "== " << words << "\n"; }
  void end_phase(const std::string& numbers) {
    for (const auto& [way, count] : records_) {
      text_ << "records " << way << ": " << count << "\n";
    }
    records_.clear();
    text_ << numbers;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::map<std::string, uint64_t> records_;
};

const Address kListener = test_address(1);
const Address kJoiner = test_address(2, 6000);
const Address kThird = test_address(3, 7000);

/// A scenario of connections.
class Scenario {
 public:
  Scenario(FlightLog& log, const std::string& title, uint64_t seed = 1)
      : network(seed),
        left(network.listen(kListener)),
        right(network.join(kJoiner, kListener)),
        log_(log) {
    log_.title(title);
    log_.rule = nullptr;
    network.set_mtu(DataSize{1279});  // the search for more ends soon
    nodes_ = {&left, &right};
    network.watch = [this](const Flight& flight) { return log_.note(flight); };
  }
  Node& join(const Address& from, uint8_t secret = 7) {
    nodes_.push_back(&network.join(from, kListener, {.secret = test_secret(secret)}));
    return *nodes_.back();
  }
  Node& listen(uint8_t secret = 7) {
    nodes_.push_back(&network.listen(kListener, {.secret = test_secret(secret)}));
    return *nodes_.back();
  }
  void run_for(Duration length) {
    network.run_for(length);
    std::ostringstream numbers;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (; printed_[i] < nodes_[i]->events.size(); ++printed_[i]) {
        const auto& [at, event] = nodes_[i]->events[printed_[i]];
        numbers << "node " << i << " " << to_milliseconds(at - kTimeZero) << " " << words_of(event)
                << "\n";
      }
      numbers << "node " << i << numbers_of(nodes_[i]->connection->stats()) << "\n";
    }
    log_.end_phase(numbers.str());
  }

  SecureWorld network;
  Node& left;
  Node& right;

 private:
  FlightLog& log_;
  std::vector<Node*> nodes_;
  std::map<size_t, size_t> printed_;
};

bool is_handshake(const Flight& flight) {
  return flight.bytes[0] != kRecordKind && flight.bytes[0] != kControlKind &&
         flight.bytes[0] != kRoutedKind;
}

TEST(Golden, ConnectionsBehaveAsTheyDid) {
  FlightLog log;
  {
    Scenario calm{log, "a call grows to its path, which shrinks; a second person is refused"};
    calm.left.heartbeat_size = calm.right.heartbeat_size = 1300;
    calm.network.set_mtu(DataSize{1400});
    calm.run_for(6s);
    calm.network.set_mtu(DataSize{1350});
    calm.run_for(4s);
    calm.join(kThird);
    calm.run_for(5s);
    calm.right.connection->hang_up(calm.network.now());
    calm.run_for(4s);
  }
  {
    Scenario back{log, "a listener is back after a crash, then with another link"};
    back.run_for(1s);
    back.network.stop(back.left);
    back.run_for(2s);
    Node& again = back.listen();
    back.run_for(2s);
    back.network.stop(again);
    back.listen(8);
    back.run_for(4s);
  }
  {
    Scenario mute{log, "records from the listener do not arrive, handshakes do"};
    mute.run_for(1s);
    log.rule = [](const Flight& flight) {
      return flight.from != kListener || is_handshake(flight);
    };
    mute.run_for(14s);
    log.rule = nullptr;
    mute.run_for(2s);
  }
  {
    Scenario dark{log, "replaced while in the dark"};
    dark.run_for(1s);
    log.rule = [](const Flight& flight) { return flight.from != kJoiner && flight.to != kJoiner; };
    dark.run_for(3s);
    dark.join(kThird);
    dark.run_for(1s);
    log.rule = nullptr;
    dark.run_for(2s);
  }
  {
    Scenario moving{log, "the joiner moves, first unnoticed, then noticed; then the listener"};
    moving.run_for(1s);
    moving.network.move(moving.right, kThird);
    moving.run_for(3s);
    moving.network.move(moving.right, test_address(4));
    moving.network.notice(moving.right);
    moving.run_for(2s);
    moving.network.move(moving.left, test_address(5));
    moving.network.notice(moving.left);
    moving.run_for(2s);
  }
  {
    Scenario bad{log, "loss, reordering, duplicates", 5};
    bad.network.set_conditions({.jitter = 30ms, .loss = 0.2, .duplicate = 0.1});
    bad.join(kThird, 8);
    bad.run_for(5s);
    bad.left.connection->hang_up(bad.network.now());
    bad.run_for(4s);
  }
  {
    Scenario alone{log, "a listener that is never there"};
    alone.network.stop(alone.left);
    alone.run_for(31s);
  }
  expect_golden("connections", log.text());
}

TEST(Golden, AListenerBehavesAsItDid) {
  FlightLog log;
  const auto address = [](uint8_t last) { return test_address(last, 6000); };
  for (const bool hands_out : {false, true}) {
    ListenerWorld relay{
        {.peers_max = 4, .pending_max = 3, .hands_out_work = hands_out, .leaving_max = 2}};
    log.title(hands_out ? "work is handed out" : "work is done at once");
    relay.set_works(true);
    relay.watch = [&](const Flight& flight) { return log.note(flight); };
    size_t printed = 0;
    const auto run_for = [&](Duration length) {
      relay.run_for(length);
      std::ostringstream numbers;
      for (; printed < relay.events().size(); ++printed) {
        const auto& [at, event] = relay.events()[printed];
        numbers << "peer " << event.peer.value << " " << to_milliseconds(at - kTimeZero) << " "
                << words_of(event.event) << "\n";
      }
      numbers << "listener" << numbers_of(relay.listener->stats()) << ", "
              << relay.listener->peers() << " peers, " << relay.listener->pending() << " pending\n";
      log.end_phase(numbers.str());
    };
    relay.open_room(1);
    Node& one = relay.join(address(11), 1);
    Node& two = relay.join(address(12), 1);
    Node& three = relay.join(address(13), 1);
    relay.join(address(14), 2);  // a room that is not open
    run_for(2s);
    relay.move(one, address(21));
    relay.notice(one);
    run_for(1s);
    relay.move(two, address(22));
    run_for(2s);
    relay.join(address(15), 1);
    relay.join(address(16), 1);  // one too many
    run_for(1s);
    relay.move(one, address(30));
    relay.move(two, address(21));
    relay.move(one, address(22));
    run_for(2s);
    three.connection->hang_up(relay.now());
    run_for(1s);
    log.rule = [&](const Flight& flight) { return flight.to != two.address; };
    run_for(4s);
    log.rule = nullptr;
    relay.listener->stop(relay.now(), CloseCode::kGoingAway);
    run_for(4s);
  }
  expect_golden("listener", log.text());
}

}  // namespace
}  // namespace cress::secure
