#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "transport/base/address.hh"

namespace spdlog {
class logger;
}

namespace cress::relay {

/// Lines of JSON: {"time": ..., "level": ..., "event": ..., and further fields}. Never contains a
/// room's secret. Threads: one owner.
class JsonLog {
 public:
  /// `out` is borrowed. Without `whole_addresses` the end of an address, which would identify a
  /// household, is logged as zeros, and its port is left out.
  JsonLog(std::ostream& out, bool whole_addresses);
  ~JsonLog();

  /// `level`: "info", "warning" or "error"; `fields`: a JSON object.
  void write(const char* level, const char* event, const nlohmann::ordered_json& fields);
  /// The form of an address that may be logged.
  std::string shown(const Address& address) const;

 private:
  std::unique_ptr<spdlog::logger> logger_;
  bool whole_addresses_;
};

}  // namespace cress::relay
