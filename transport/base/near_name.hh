#pragma once

#include <algorithm>
#include <string_view>

#include "transport/base/text.hh"

namespace cress {

/// Whether `name` is worth suggesting to somebody who typed `typed`: `typed` is part of it (three
/// letters or more), or their edit distance is at most 2, or at most a third of the shorter one's
/// length if that is more; with three letters at most 1, with fewer 0. Pure.
inline bool is_near(std::string_view typed, std::string_view name) {
  constexpr size_t kTypedMax = 100;
  const std::string_view text = typed.substr(0, kTypedMax);
  const size_t length = std::min(text.size(), name.size());
  const size_t wrong_max = length <= 3 ? length / 3 : std::max<size_t>(2, length / 3);
  const bool is_part = text.size() >= 3 && name.find(text) != std::string_view::npos;
  return is_part || edit_distance(text, name) <= wrong_max;
}

}  // namespace cress
