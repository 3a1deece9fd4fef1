#include "media/rate/frame_budget.hh"

#include <algorithm>

#include "media/frame/parity.hh"
#include "transport/base/check.hh"

namespace cress::media {

DataSize window_cost(DataSize frame_size, const FrameBudgetInput& input) {
  const int64_t data = fragment_count(frame_size, input.message_max);
  const int64_t parity = parity_for(narrow<int>(data), input.loss);
  const DataSize longest{(frame_size.bytes() + data - 1) / data};
  return frame_size + parity * longest +
         (data + parity) * (kFragmentHeaderSize + input.message_overhead);
}

std::optional<DataSize> frame_budget(const FrameBudgetInput& input) {
  check(input.message_max >= kFragmentMessageMin && input.message_overhead >= DataSize{0} &&
            input.minimum > DataSize{0} && input.maximum >= input.minimum,
        "frame_budget: input out of range");
  const int64_t room = (input.window - input.queued).bytes();
  const int64_t overhead = (kFragmentHeaderSize + input.message_overhead).bytes();
  const int64_t payload_max = (input.message_max - kFragmentHeaderSize).bytes();
  int64_t best = 0;
  // For each number of data fragments the largest frame that is cut into so many.
  for (int64_t data = 1; (data - 1) * (payload_max + overhead) < room; ++data) {
    if ((data - 1) * payload_max >= input.maximum.bytes()) {
      break;
    }
    const int64_t all = data + parity_for(narrow<int>(data), input.loss);
    // With parity all fragments count as long as the longest.
    const int64_t fits = all == data ? room - data * overhead : data * (room / all - overhead);
    const int64_t size = std::min(fits, data * payload_max);
    if (size > (data - 1) * payload_max) {
      best = std::max(best, size);
    }
  }
  const DataSize fits = std::min(DataSize{best}, input.maximum);
  return fits >= input.minimum ? std::optional{fits} : std::nullopt;
}

}  // namespace cress::media
