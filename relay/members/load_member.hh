#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/members/model_member.hh"
#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::relay {

struct LoadMemberOptions {
  secure::Secret access{};  ///< the room's
  Address relay{};
  ModelMemberOptions member{};
  uint64_t seed = 1;
};

/// A member of a room without codecs: connects, then sends frames and sounds of true patterns and
/// sizes, and takes what the others send, as long as it is there. Threads: none inside; one owner.
class LoadMember : public Machine {
 public:
  LoadMember(TimePoint start, LoadMemberOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_ecn(Ecn ecn) override { ecn_ = ecn; }
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  void hang_up(TimePoint now);
  /// `watcher` is called for each datagram received, with its size in bytes. Must not throw.
  void watch(std::function<void(TimePoint, size_t)> watcher) { watcher_ = std::move(watcher); }
  bool is_finished() const { return connection_.is_finished(); }
  /// Null before it is in.
  const ModelMember* member() const { return member_.get(); }
  ModelMember* member() { return member_.get(); }
  /// The member is gone, its connection stays.
  void drop_member() { member_.reset(); }
  secure::Connection& connection() { return connection_; }
  std::optional<secure::CloseReason> closed() const { return closed_; }

 private:
  void drain(TimePoint now);
  bool is_in() const { return member_ && !closed_; }

  LoadMemberOptions options_;
  Ecn ecn_ = Ecn::kNotEct;  // of the datagram that comes next
  secure::Connection connection_;
  std::unique_ptr<ModelMember> member_;
  std::optional<secure::CloseReason> closed_;
  std::function<void(TimePoint, size_t)> watcher_;
};

}  // namespace cress::relay
