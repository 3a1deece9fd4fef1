// Whatever strangers send to a listener with two members, from wherever, including modified real
// bytes and stolen ids: the members are received and answered afterwards, no stranger is admitted,
// and an address that has proven nothing gets little more than it sent. Input: a sequence of (1
// byte: ms until then, 1 byte: the source, and whether a member's id is put before it, 1 byte: 255
// to take the bytes as they are, otherwise which of the newest real datagrams they are XORed into,
// 1 byte: length, that many bytes).

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
  const Address stranger = test_address(3);
  ListenerWorld relay{{.peers_max = 3, .pending_max = 2, .leaving_max = 1}};
  relay.open_room(1);
  std::vector<std::vector<std::byte>> seen;
  std::vector<std::byte> id(8);
  relay.watch = [&](const Flight& flight) {
    if (flight.to == relay.address()) {
      if (flight.bytes[0] == kRoutedKind) {
        std::copy_n(flight.bytes.begin() + 1, id.size(), id.begin());
      }
      seen.push_back(flight.bytes);
      if (seen.size() > kSeenMax) {
        seen.erase(seen.begin());
      }
    }
    return true;
  };
  Node& one = relay.join(test_address(5), 1);
  Node& two = relay.join(test_address(6), 1);
  relay.run_for(300ms);
  uint64_t stranger_sent = 0;
  int inputs = 0;
  for (std::span rest{data, size}; rest.size() >= 4 && inputs < kInputsMax; ++inputs) {
    relay.run_for(std::chrono::milliseconds{rest[0] % 64});
    const Address from = (rest[1] & 1U) != 0 ? stranger : one.address;
    const size_t length = std::min<size_t>(rest[3], rest.size() - 4);
    const auto given = std::as_bytes(rest.subspan(4, length));
    std::vector<std::byte> bytes{given.begin(), given.end()};
    if (rest[2] != 255 && !seen.empty()) {
      bytes = seen[rest[2] % seen.size()];
      for (size_t i = 0; i < std::min(bytes.size(), given.size()); ++i) {
        bytes[i] ^= given[i];
      }
    }
    if ((rest[1] & 2U) != 0) {
      bytes.insert(bytes.begin(), id.begin(), id.end());
      bytes.insert(bytes.begin(), kRoutedKind);
    }
    rest = rest.subspan(4 + length);
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
