#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/secure/path/identity.hh"
#include "transport/secure/records/control_record.hh"

namespace cress::secure {

/// A peer that has the link and a session, while another has its place: what it says is heard, its
/// media is not, and nothing is sent to it, since that would admit it. Threads: none inside; one
/// owner. `now` never goes back.
class Newcomer {
 public:
  Newcomer(TimePoint now, const SessionSecrets& session, IdentityCheck check)
      : control_(now, session.control),
        check_(std::move(check)),
        code_(session.code),
        last_heard_(now) {}

  /// A control record, perhaps with an id before it; false for all else. Nothing of it is stored or
  /// answered, and IdentityCheck bounds the cost of its signatures.
  bool handle_datagram(TimePoint now, std::span<const std::byte> bytes) {
    if (!bytes.empty() && bytes[0] == kRoutedKind) {
      bytes = bytes.subspan(std::min(bytes.size(), static_cast<size_t>(kRoutedOverhead.bytes())));
    }
    const auto opened = control_.open(now, bytes);  // refuses other kinds
    if (!opened) {
      return false;
    }
    last_heard_ = now;
    first_heard_ = first_heard_.value_or(now);
    if (const auto* proof = std::get_if<IdentityProof>(&opened->message)) {
      check_.handle(*proof);
    }
    has_left_ = has_left_ || std::holds_alternative<Close>(opened->message);
    return true;
  }

  /// The code of its session.
  const std::string& code() const { return code_; }
  const IdentityCheck& check() const { return check_; }
  /// nullopt: it may not know yet that it has a session.
  std::optional<TimePoint> first_heard() const { return first_heard_; }
  /// Initially the start.
  TimePoint last_heard() const { return last_heard_; }
  bool has_left() const { return has_left_; }

 private:
  // Opens only: a Peer of the same session counts what it seals from 0. Without handle_timeout: the
  // silence that a newcomer waits for is too short for its keys to change.
  ControlRecords control_;
  IdentityCheck check_;
  std::string code_;
  std::optional<TimePoint> first_heard_;
  TimePoint last_heard_;
  bool has_left_ = false;
};

}  // namespace cress::secure
