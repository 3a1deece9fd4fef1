#include "media/rate/frame_budget.hh"

#include <algorithm>

#include "transport/base/check.hh"

namespace cress::media {

DataSize window_cost(DataSize frame_size, const FrameBudgetInput& input) {
  const int64_t messages = fragment_count(frame_size, input.message_max);
  return frame_size + messages * (kFragmentHeaderSize + input.message_overhead);
}

std::optional<DataSize> frame_budget(const FrameBudgetInput& input) {
  check(input.message_max >= kFragmentMessageMin && input.message_overhead >= DataSize{0} &&
            input.minimum > DataSize{0} && input.maximum >= input.minimum,
        "frame_budget: input out of range");
  const int64_t room = (input.window - input.queued).bytes();
  const int64_t overhead = (kFragmentHeaderSize + input.message_overhead).bytes();
  const int64_t message = (input.message_max + input.message_overhead).bytes();
  if (room <= overhead) {
    return std::nullopt;
  }
  // Whole messages first; what is left carries one more if it has room for more than its overhead.
  const int64_t whole = room / message;
  const int64_t rest = std::max<int64_t>(0, room % message - overhead);
  const DataSize fits = std::min(DataSize{whole * (message - overhead) + rest}, input.maximum);
  return fits >= input.minimum ? std::optional{fits} : std::nullopt;
}

}  // namespace cress::media
