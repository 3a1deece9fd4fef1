#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "traces/link_model.hh"
#include "transport/base/result.hh"

namespace cress::traces {

/// A link model as a JSON object, one member per field of LinkModelParameters, with the unit at the
/// end of its name: {"mean_kbps": 5173.2, "outage_mean_s": 0.5, ...}.
std::string format_model(const LinkModelParameters& parameters);

/// The inverse: parse_model(format_model(p)) == p. Every member must be present, no other is
/// allowed, and `generate` must accept the values. Total: any text gives parameters or one
/// sentence.
Result<LinkModelParameters, std::string> parse_model(std::string_view text);

/// Throws std::runtime_error "PATH: what".
LinkModelParameters load_model(const std::filesystem::path& path);

}  // namespace cress::traces
