// Whatever strangers send to a listener with two members, from wherever, including modified real
// bytes and stolen ids: the members are received and answered afterwards, no stranger is admitted,
// and an address that has proven nothing gets little more than it sent. Input: what
// Strangers reads; bit 0 of a route is the source, bit 1 puts a member's id before the bytes.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/secure/secure_world_test_tools.hh"
#include "transport/secure/stranger_test_tools.hh"

using namespace cress;
using namespace cress::secure;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Address stranger = test_address(3);
  ListenerWorld relay{{.peers_max = 3, .pending_max = 2, .leaving_max = 1}};
  relay.open_room(1);
  Strangers strangers{{data, size}, 8};
  std::vector<std::byte> id(8);
  relay.watch = [&](const Flight& flight) {
    if (flight.to == relay.address()) {
      if (flight.bytes[0] == kRoutedKind) {
        std::copy_n(flight.bytes.begin() + 1, id.size(), id.begin());
      }
      strangers.see(flight.bytes);
    }
    return true;
  };
  Node& one = relay.join(test_address(5), 1);
  Node& two = relay.join(test_address(6), 1);
  relay.run_for(300ms);
  uint64_t stranger_sent = 0;
  while (const auto step = strangers.next()) {
    relay.run_for(step->wait);
    const Address from = (step->route & 1U) != 0 ? stranger : one.address;
    auto bytes = strangers.datagram(*step);
    if ((step->route & 2U) != 0) {
      bytes.insert(bytes.begin(), id.begin(), id.end());
      bytes.insert(bytes.begin(), kRoutedKind);
    }
    stranger_sent += from == stranger ? bytes.size() : 0;
    relay.inject(from, bytes);
    const auto answered = relay.sent_to.find(stranger);
    require(answered == relay.sent_to.end() || answered->second.second <= 3 * stranger_sent);
    require(relay.listener->pending() <= 2);
  }
  relay.run_for(1s);
  require(relay.listener->peers() == 2);
  const auto one_heard = one.received.size();
  const auto two_heard = two.received.size();
  relay.run_for(500ms);
  require(one.received.size() > one_heard && two.received.size() > two_heard);
  return 0;
}
