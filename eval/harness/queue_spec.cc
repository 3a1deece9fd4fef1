#include "eval/harness/queue_spec.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "transport/sim/queue_codel.hh"
#include "transport/sim/queue_dualpi2.hh"
#include "transport/sim/queue_fq_codel.hh"
#include "transport/sim/queue_pie.hh"
#include "transport/sim/queue_red.hh"

namespace cress::harness {
namespace {

constexpr DataSize kPacket{1500};
constexpr int64_t kPacketsMax = 700'000;  // a GiB

/// Those without numbers.
constexpr std::array<std::pair<std::string_view, QueueSpec::Kind>, 5> kPlainKinds{
    {{"infinite", QueueSpec::Kind::kInfinite},
     {"codel", QueueSpec::Kind::kCodel},
     {"fq-codel", QueueSpec::Kind::kFqCodel},
     {"pie", QueueSpec::Kind::kPie},
     {"dualpi2", QueueSpec::Kind::kDualPi2}}};

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(
      "--queue " + std::string{text} +
      ": not infinite, droptail:PACKETS, codel, fq-codel, pie, dualpi2 or red:MIN,MAX,P "
      "(whole packets of 1500 bytes, MIN < MAX, 0 < P <= 1)");
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',')) {
    parts.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

QueueSpec QueueSpec::parse(std::string_view text) {
  QueueSpec spec;
  constexpr std::string_view kDropTailPrefix = "droptail:";
  constexpr std::string_view kRedPrefix = "red:";
  for (const auto& [name, kind] : kPlainKinds) {
    if (text == name) {
      spec.kind = kind;
      return spec;
    }
  }
  if (text.starts_with(kDropTailPrefix)) {
    spec.kind = Kind::kDropTail;
    if (parse_number(text.substr(kDropTailPrefix.size()), spec.packets) && spec.packets > 0 &&
        spec.packets <= kPacketsMax) {
      return spec;
    }
  }
  if (text.starts_with(kRedPrefix)) {
    spec.kind = Kind::kRed;
    const auto parts = split(text.substr(kRedPrefix.size()));
    if (parts.size() == 3 && parse_number(parts[0], spec.red_min) &&
        parse_number(parts[1], spec.red_max) && parse_number(parts[2], spec.red_chance) &&
        0 < spec.red_min && spec.red_min < spec.red_max && spec.red_max <= kPacketsMax &&
        spec.red_chance > 0 && spec.red_chance <= 1) {
      return spec;
    }
  }
  refuse(text);
}

std::string QueueSpec::text() const {
  if (kind == Kind::kDropTail) {
    return fmt::format("droptail:{}", packets);
  }
  if (kind == Kind::kRed) {
    return fmt::format("red:{},{},{}", red_min, red_max, red_chance);
  }
  const auto* plain =
      std::ranges::find(kPlainKinds, kind, &std::pair<std::string_view, Kind>::second);
  return std::string{plain->first};
}

std::unique_ptr<sim::Queue> QueueSpec::make(const Rng& rng) const {
  switch (kind) {
    case Kind::kInfinite:
      return std::make_unique<sim::DropTailQueue>();
    case Kind::kDropTail:
      return std::make_unique<sim::DropTailQueue>(packets * kPacket);
    case Kind::kCodel:
      return std::make_unique<sim::CodelQueue>();
    case Kind::kRed:
      return std::make_unique<sim::RedQueue>(
          sim::RedOptions{.threshold_min = (red_min * kPacket).bytes(),
                          .threshold_max = (red_max * kPacket).bytes(),
                          .drop_chance_max = red_chance},
          rng);
    case Kind::kFqCodel:
      return std::make_unique<sim::FqCodelQueue>(
          sim::FqCodelQueue::Options{.seed = Rng{rng}.next()});
    case Kind::kPie:
      return std::make_unique<sim::PieQueue>(rng);
    case Kind::kDualPi2:
      return std::make_unique<sim::DualPi2Queue>();
  }
  return nullptr;
}

}  // namespace cress::harness
