#pragma once

#include <algorithm>
#include <string_view>

#include "transport/base/text.hh"

namespace cress {

/// Whether `name` is worth suggesting to somebody who typed `typed`: a part of it, or with two
/// wrong letters (which may have changed places), or a third of a long name; one of a name so short
/// that two would be most of it. Pure.
inline bool is_near(std::string_view typed, std::string_view name) {
  constexpr size_t kTypedMax = 100;
  const std::string_view text = typed.substr(0, kTypedMax);
  const size_t length = std::min(text.size(), name.size());
  const size_t wrong_max = length <= 3 ? length / 3 : std::max<size_t>(2, length / 3);
  const bool is_part = text.size() >= 3 && name.find(text) != std::string_view::npos;
  return is_part || edit_distance(text, name) <= wrong_max;
}

}  // namespace cress
