#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/link_model.hh"
#include "transport/base/time.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"

namespace cress::traces {

enum class Direction { kDown, kUp };

/// A link that comes with the program: made by the link model from a few fitted numbers and a seed.
/// Nothing recorded is inside.
struct EmbeddedLink {
  std::string_view name;
  std::string_view description;  ///< one line
};

inline constexpr Duration kEmbeddedLength = 120s;

std::span<const EmbeddedLink> embedded_links();
bool is_embedded(std::string_view name);
/// Throws std::runtime_error naming the embedded links when `name` is none of them; so do the two
/// below.
LinkModelParameters embedded_model(std::string_view name, Direction direction);
/// The seed of embedded_trace.
uint64_t embedded_seed(std::string_view name, Direction direction);
/// generate(embedded_model, kEmbeddedLength, embedded_seed): the same on every call, in a few
/// milliseconds.
sim::DeliveryTrace embedded_trace(std::string_view name, Direction direction);

/// Queue, jitter and losses of a link, the same in both directions.
struct LinkPath {
  std::string_view queue = "infinite";  ///< as --queue (eval/harness/queue_spec.hh)
  Duration jitter{};
  sim::BurstLoss burst_loss{};
};

/// Both directions of a link, to run a call over.
struct NamedLink {
  std::string name;
  std::string description;
  sim::DeliveryTrace down;
  sim::DeliveryTrace up;
  LinkPath path{};  ///< of those that people have (traces/everyday_links.hh)
};

/// An embedded link, one of a given rate (constant_link), or the recorded pair NAME.down and
/// NAME.up in `data_folder`/traces/cellular or `data_folder`/traces (in this order; names are
/// case-sensitive). A link recorded in one direction only uses it for both and says so in its
/// description. Throws std::runtime_error: no such link (with the names most like it), or a file
/// that cannot be read.
NamedLink resolve_link(std::string_view name, const std::filesystem::path& data_folder);

struct LinkSummary {
  std::string name;
  std::string description;
  bool embedded = false;
  friend bool operator==(const LinkSummary&, const LinkSummary&) = default;
};

/// The embedded links in their order, those that people have, then the recorded ones of
/// `data_folder` by name. A folder that is not there holds none.
std::vector<LinkSummary> list_links(const std::filesystem::path& data_folder);

}  // namespace cress::traces
