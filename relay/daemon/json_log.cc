#include "relay/daemon/json_log.hh"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "transport/runtime/address_text.hh"

namespace cress::relay {

JsonLog::JsonLog(std::ostream& out, bool whole_addresses) : whole_addresses_(whole_addresses) {
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(out, true);
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})", spdlog::pattern_time_type::utc));
  logger_ = std::make_unique<spdlog::logger>("relay", std::move(sink));
}
JsonLog::~JsonLog() = default;

void JsonLog::write(const char* level, const char* event, const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json all{{"event", event}};
  all.update(fields);
  // Whatever a name contains, the line is one line of valid JSON.
  const std::string object =
      all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  logger_->log(spdlog::level::from_str(level), "{}",
               std::string_view{object}.substr(1, object.size() - 2));
}

std::string JsonLog::shown(const Address& address) const {
  if (whole_addresses_) {
    return runtime::format_address(address);
  }
  Address masked = address;
  const auto hidden = masked.is_ipv4() ? 1 : 10;
  std::fill(masked.ip.end() - hidden, masked.ip.end(), uint8_t{0});
  masked.port = 0;
  masked.scope = 0;
  const std::string text = runtime::format_address(masked);
  return text.substr(0, text.rfind(':'));
}

}  // namespace cress::relay
