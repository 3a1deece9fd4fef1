// Whatever strangers send at whatever moment to the ends of a call and to the relay between them,
// with forged senders and modified real bytes, datagrams pass between the ends again at most 3 s
// after the strangers stop; no check fails. Input: 1 byte: bit 0: both ends are behind symmetric
// NATs, so that the call stays at the relay; then what Strangers reads.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "relay/calls/rendezvous_world_test_tools.hh"
#include "transport/secure/stranger_test_tools.hh"

using namespace cress;
using namespace cress::relay;
using cress::secure::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  RendezvousWorld world;
  const Door door = size > 0 && data[0] % 2 == 1 ? Door::kSymmetric : Door::kFullCone;
  secure::Strangers strangers{std::span{data, size}.subspan(std::min<size_t>(size, 1)), 16};
  std::vector<Address> places{RendezvousWorld::relay_address(), secure::test_address(250, 6666)};
  world.watch = [&](const secure::Flight& flight) {
    strangers.see(flight.bytes);
    if (places.size() < 8 && std::ranges::find(places, flight.from) == places.end()) {
      places.push_back(flight.from);
    }
    return true;
  };
  const secure::Node& listener = world.add(secure::Role::kListener, 1, door);
  const secure::Node& joiner = world.add(secure::Role::kJoiner, 2, door);
  world.run_for(600ms);
  require(joiner.connection->is_connected());
  while (const auto step = strangers.next()) {
    world.run_for(step->wait);
    const Address to = places[step->route % places.size()];
    const Address from = places[step->route / 16 % places.size()];
    const auto bytes = strangers.datagram(*step);
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
