// No bytes open as a record, a control record or a datagram unless they were encrypted: whatever
// arrives, the next real one still opens. Input: a sequence of (1 byte: first byte of the datagram
// or 0 for as it is, 1 byte: ms until then, 1 byte: length, that many bytes).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "transport/secure/records/control_record.hh"
#include "transport/secure/records/records.hh"
#include "transport/secure/secure_test_tools.hh"

namespace {

using namespace cress;
using namespace cress::secure;

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Secret one = extract(std::as_bytes(std::span{"one"}));
  const Secret two = extract(std::as_bytes(std::span{"two"}));
  Records sender{kTimeZero, {one, two}};
  Records receiver{kTimeZero, {two, one}};
  ControlRecords control_sender{kTimeZero, {one, two}};
  ControlRecords control_receiver{kTimeZero, {two, one}};
  TimePoint now = kTimeZero;
  uint64_t sequence = 0;
  for (std::span<const uint8_t> rest{data, size}; rest.size() >= 3;) {
    now += std::chrono::milliseconds{rest[1]};
    const size_t length = std::min<size_t>(rest[2], rest.size() - 3);
    const auto given = std::as_bytes(rest.subspan(3, length));
    std::vector<std::byte> bytes{given.begin(), given.end()};
    if (rest[0] != 0 && !bytes.empty()) {
      bytes[0] = std::byte{rest[0]};
    }
    rest = rest.subspan(3 + length);
    require(!receiver.open(now, bytes));
    require(!control_receiver.open(now, bytes));
    sequence += 50 + 20;
    require(receiver.open(now, sender.seal(now, plain_datagram(sequence, 20))).has_value());
    require(control_receiver.open(now, control_sender.seal(now, Ping{1})).has_value());
  }
  return 0;
}
