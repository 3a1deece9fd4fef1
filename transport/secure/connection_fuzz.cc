// Whatever strangers send at whatever moment, including forged senders and modified real bytes, two
// connections that are up keep their call and exchange datagrams again at most a second after the
// strangers stop; no check fails, and an address that has proven nothing gets little more than it
// sent. Input: 1 byte: even to let the call come up first; then a sequence of (1 byte: ms until
// then, 1 byte: the destination and the source, 1 byte: 255 to take the bytes as they are,
// otherwise which of the newest real datagrams they are XORed into, 1 byte: length, that many
// bytes).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/secure/secure_world_test_tools.hh"

namespace {

using namespace cress;
using namespace cress::secure;

constexpr size_t kSeenMax = 8;
constexpr int kInputsMax = 64;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Address left_at = test_address(1);
  const Address right_at = test_address(2);
  const Address stranger = test_address(3);
  SecureWorld network;
  Node& left = network.listen(left_at);
  Node& right = network.join(right_at, left_at);
  std::vector<std::vector<std::byte>> seen;
  network.watch = [&](const Flight& flight) {
    seen.push_back(flight.bytes);
    if (seen.size() > kSeenMax) {
      seen.erase(seen.begin());
    }
    return true;
  };
  uint64_t stranger_sent = 0;
  int inputs = 0;
  const bool is_up = size > 0 && data[0] % 2 == 0;
  network.run_for(is_up ? 300ms : 0ms);
  for (auto rest = std::span{data, size}.subspan(std::min<size_t>(size, 1));
       rest.size() >= 4 && inputs < kInputsMax; ++inputs) {
    network.run_for(std::chrono::milliseconds{rest[0] % 64});
    const bool to_left = (rest[1] & 1U) != 0;
    const Address from = (rest[1] & 2U) != 0 ? stranger : (to_left ? right_at : left_at);
    const size_t length = std::min<size_t>(rest[3], rest.size() - 4);
    const auto given = std::as_bytes(rest.subspan(4, length));
    std::vector<std::byte> bytes{given.begin(), given.end()};
    if (rest[2] != 255 && !seen.empty()) {
      bytes = seen[rest[2] % seen.size()];
      for (size_t i = 0; i < std::min(bytes.size(), given.size()); ++i) {
        bytes[i] ^= given[i];
      }
    }
    rest = rest.subspan(4 + length);
    stranger_sent += from == stranger ? bytes.size() : 0;
    network.inject(from, to_left ? left_at : right_at, bytes);
    const auto answered = network.sent_to.find(stranger);
    require(answered == network.sent_to.end() || answered->second.second <= 3 * stranger_sent);
  }
  require(left.connection->pending() <= Connection::kPendingMax);
  network.run_for(1s);
  if (is_up) {
    require(left.connection->is_connected() && right.connection->is_connected());
    const auto left_received = left.received.size();
    const auto right_received = right.received.size();
    network.run_for(500ms);
    require(left.received.size() > left_received && right.received.size() > right_received);
  }
  return 0;
}
