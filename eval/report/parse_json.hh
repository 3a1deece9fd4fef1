#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "eval/report/run_files.hh"
#include "transport/base/result.hh"

namespace cress::report {

/// Total: any bytes give a value of at most kJsonDepthMax levels or one error.
template <class Json>
Result<Json, ParseError> parse_json(std::string_view text) {
  bool too_deep = false;
  try {
    Json root = Json::parse(text, [&](int depth, typename Json::parse_event_t, Json&) {
      too_deep = too_deep || depth > kJsonDepthMax;
      return depth <= kJsonDepthMax;  // what lies deeper is not kept
    });
    if (too_deep) {
      return ParseError{0, "is nested too deeply"};
    }
    return root;
  } catch (const typename Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    return ParseError{1 + static_cast<size_t>(std::ranges::count(before, '\n')), "is not JSON"};
  } catch (const typename Json::exception&) {  // a number beyond double's range
    return ParseError{0, "holds a number that is out of range"};
  }
}

}  // namespace cress::report
