#include "eval/sweep/shard.hh"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <system_error>

namespace cress::sweep {
namespace {

constexpr size_t kShardsMax = 1'000'000;

bool read_number(std::string_view text, size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Shard Shard::parse(std::string_view text) {
  Shard shard;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || !read_number(text.substr(0, slash), shard.number) ||
      !read_number(text.substr(slash + 1), shard.count)) {
    throw std::invalid_argument(
        fmt::format("--shard {}: not I/N, as in 3/8: the third of eight parts", text));
  }
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
