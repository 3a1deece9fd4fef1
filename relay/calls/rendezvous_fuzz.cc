// Whatever strangers send at whatever moment to the ends of a call and to the relay between them,
// with forged senders and modified real bytes, datagrams pass between the ends again at most 3 s
// after the strangers stop; no check fails. Input: 1 byte: bit 0: both ends are behind symmetric
// NATs, so that the call stays at the relay; then a sequence of (1 byte: ms until then, 1 byte: the
// destination and the source, 1 byte: 255 to take the bytes as they are, otherwise which of the
// newest real datagrams they are XORed into, 1 byte: length, that many bytes).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <vector>

#include "relay/calls/rendezvous_world_test_tools.hh"

namespace {

using namespace cress;
using namespace cress::relay;

constexpr size_t kSeenMax = 16;
constexpr int kInputsMax = 64;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  RendezvousWorld world;
  const Door door = size > 0 && data[0] % 2 == 1 ? Door::kSymmetric : Door::kFullCone;
  std::deque<std::vector<std::byte>> seen;
  std::vector<Address> places{RendezvousWorld::relay_address(), secure::test_address(250, 6666)};
  world.watch = [&](const secure::Flight& flight) {
    seen.push_back(flight.bytes);
    if (seen.size() > kSeenMax) {
      seen.pop_front();
    }
    if (places.size() < 8 && std::ranges::find(places, flight.from) == places.end()) {
      places.push_back(flight.from);
    }
    return true;
  };
  const secure::Node& listener = world.add(secure::Role::kListener, 1, door);
  const secure::Node& joiner = world.add(secure::Role::kJoiner, 2, door);
  world.run_for(600ms);
  require(joiner.connection->is_connected());
  int inputs = 0;
  for (auto rest = std::span{data, size}.subspan(std::min<size_t>(size, 1));
       rest.size() >= 4 && inputs < kInputsMax; ++inputs) {
    world.run_for(std::chrono::milliseconds{rest[0] % 64});
    const Address to = places[rest[1] % places.size()];
    const Address from = places[rest[1] / 16 % places.size()];
    const size_t length = std::min<size_t>(rest[3], rest.size() - 4);
    const auto given = std::as_bytes(rest.subspan(4, length));
    std::vector<std::byte> bytes{given.begin(), given.end()};
    if (rest[2] != 255 && !seen.empty()) {
      bytes = seen[rest[2] % seen.size()];
      for (size_t i = 0; i < std::min(given.size(), bytes.size()); ++i) {
        bytes[i] ^= given[i];
      }
    }
    rest = rest.subspan(4 + length);
    world.world().inject(from, to, bytes);
  }
  world.run_for(3s);
  const auto count = [&] { return std::pair{listener.received.size(), joiner.received.size()}; };
  const auto before = count();
  world.run_for(1s);
  require(count().first > before.first + 10 && count().second > before.second + 10);
  require(joiner.connection->code() == listener.connection->code());
  require(joiner.count<secure::Connected>() == 1 && world.relay().calls() == 1);
  return 0;
}
