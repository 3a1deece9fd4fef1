#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cress::sweep {

/// A part of a plan for one machine: one of every `count` runs. Runs are assigned round-robin, so
/// that slow links and schemes are spread over all shards.
struct Shard {
  size_t number = 1;  ///< 1..count
  size_t count = 1;

  /// "I/N"; throws std::invalid_argument with one clear line.
  static Shard parse(std::string_view text);
  bool holds(size_t run) const { return run % count == number - 1; }
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// `text` quoted as one word of a POSIX shell, whatever it contains.
std::string shell_word(std::string_view text);

}  // namespace cress::sweep
