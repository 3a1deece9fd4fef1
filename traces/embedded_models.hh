#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "traces/link_model.hh"
#include "traces/links.hh"

namespace cress::traces {

/// One direction of an embedded link: the parameters it is generated from.
struct EmbeddedModel {
  std::string_view name;
  Direction direction = Direction::kDown;
  /// Chosen among the first few seeds so that kEmbeddedLength of it has the mean rate in the link's
  /// description.
  uint64_t seed = 1;
  /// Factor on the fitted mean and maximum rate, for a link with another rate than the fitted one.
  double scale = 1;
  LinkModelParameters fitted;
};

std::span<const EmbeddedModel> embedded_models();

}  // namespace cress::traces
