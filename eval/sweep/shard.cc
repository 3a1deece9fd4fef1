#include "eval/sweep/shard.hh"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "transport/base/text.hh"

namespace cress::sweep {
namespace {

constexpr size_t kShardsMax = 1'000'000;

}  // namespace

Shard Shard::parse(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto number = parse_number<size_t>(text.substr(0, slash));
  const auto count = parse_number<size_t>(text.substr(std::min(slash + 1, text.size())));
  if (!number || !count) {
    throw std::invalid_argument(
        fmt::format("--shard {}: not I/N, as in 3/8: the third of eight parts", text));
  }
  const Shard shard{*number, *count};
  if (shard.number < 1 || shard.number > shard.count || shard.count > kShardsMax) {
    throw std::invalid_argument(
        fmt::format("--shard {}: I/N counts from 1 to N (a Slurm array: --array=1-N)", text));
  }
  return shard;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string{text};
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? std::string{"'\\''"} : std::string{c};
  }
  return word + "'";
}

}  // namespace cress::sweep
