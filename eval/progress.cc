#include "eval/progress.hh"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <numeric>

namespace cress::eval {
namespace {

constexpr auto kQuietFor = std::chrono::seconds{2};
constexpr auto kRedrawEvery = std::chrono::milliseconds{200};
constexpr int kWidth = 30;

}  // namespace

Progress::Progress(size_t tasks)
    : is_terminal_(isatty(STDERR_FILENO) == 1),
      shares_(tasks, 0.0),
      started_(Clock::now()),
      shown_(started_) {}

Progress::~Progress() {
  if (visible_) {
    std::fputs("\r\033[K", stderr);
  }
}

std::string Progress::line(double share, Clock::duration elapsed) const {
  const int filled = static_cast<int>(share * kWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kWidth, '.');
  const double elapsed_s = std::chrono::duration<double>(elapsed).count();
  const std::string left =
      share > 0.01 ? fmt::format(", {:.0f} s left", elapsed_s * (1 - share) / share) : "";
  return fmt::format("\r\033[K[{}] {:3.0f} %{}", bar, share * 100, left);
}

void Progress::report(size_t task, double share) {
  const std::scoped_lock lock{mutex_};
  shares_.at(task) = share;
  const auto now = Clock::now();
  if (!is_terminal_ || now - started_ < kQuietFor || now - shown_ < kRedrawEvery) {
    return;
  }
  shown_ = now;
  visible_ = true;
  const double total = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  std::fputs(line(total / static_cast<double>(shares_.size()), now - started_).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace cress::eval
