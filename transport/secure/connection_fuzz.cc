// Whatever strangers send at whatever moment, including forged senders and modified real bytes, two
// connections that are up keep their call and exchange datagrams again at most a second after the
// strangers stop; nobody is asked about them, no check fails, and an address that has proven
// nothing gets little more than it sent. Input: 1 byte: even to let the call come up first; then
// what Strangers reads.

#include <algorithm>
#include <cstdint>
#include <span>

#include "transport/secure/secure_world_test_tools.hh"
#include "transport/secure/stranger_test_tools.hh"

using namespace cress;
using namespace cress::secure;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Address left_at = test_address(1);
  const Address right_at = test_address(2);
  const Address stranger = test_address(3);
  SecureWorld network;
  Node& left = network.listen(left_at, {.replacement = Replacement::kAsk});
  Node& right = network.join(right_at, left_at, {.replacement = Replacement::kAsk});
  Strangers strangers{std::span{data, size}.subspan(std::min<size_t>(size, 1)), 8};
  network.watch = [&](const Flight& flight) {
    strangers.see(flight.bytes);
    return true;
  };
  uint64_t stranger_sent = 0;
  const bool is_up = size > 0 && data[0] % 2 == 0;
  network.run_for(is_up ? 300ms : 0ms);
  while (const auto step = strangers.next()) {
    network.run_for(step->wait);
    const bool to_left = (step->route & 1U) != 0;
    const Address from = (step->route & 2U) != 0 ? stranger : (to_left ? right_at : left_at);
    const auto bytes = strangers.datagram(*step);
    stranger_sent += from == stranger ? bytes.size() : 0;
    network.inject(from, to_left ? left_at : right_at, bytes);
    const auto answered = network.sent_to.find(stranger);
    require(answered == network.sent_to.end() || answered->second.second <= 3 * stranger_sent);
  }
  require(left.connection->pending() <= Connection::kPendingMax);
  network.run_for(1s);
  for (const Node* node : {&left, &right}) {
    require(node->count<NewcomerWaits>() == 0 && node->closed() != CloseReason::kReplaced);
    require(node->connection->stats().forged_identities == 0);
  }
  if (is_up) {
    require(left.connection->is_connected() && right.connection->is_connected());
    const auto left_received = left.received.size();
    const auto right_received = right.received.size();
    network.run_for(500ms);
    require(left.received.size() > left_received && right.received.size() > right_received);
  }
  return 0;
}
