#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/forward/room_test_tools.hh"
#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/handshake/credential.hh"

namespace cress::relay_load {

struct LoadMemberOptions {
  secure::Secret access{};  ///< the room's
  Address relay{};
  relay::TestMemberOptions member{};
  uint64_t seed = 1;
};

/// On the loopback interface in a network (/24) of its own, with any port.
Address loopback_of(int network);

/// A member of a room without codecs: connects, then sends frames and audio with realistic patterns
/// and sizes, and receives what the others send, as long as it exists. Threads: none inside; one
/// owner.
class LoadMember : public Machine {
 public:
  LoadMember(TimePoint start, LoadMemberOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  void hang_up(TimePoint now);
  /// `watcher` is called for each datagram received, with its size in bytes. Must not throw.
  void watch(std::function<void(TimePoint, size_t)> watcher) { watcher_ = std::move(watcher); }
  bool is_finished() const { return connection_.is_finished(); }
  /// Null before it has joined.
  const relay::TestMember* member() const { return member_.get(); }
  std::optional<secure::CloseReason> closed() const { return closed_; }

 private:
  void drain(TimePoint now);
  bool is_in() const { return member_ && !closed_; }

  LoadMemberOptions options_;
  secure::Connection connection_;
  std::unique_ptr<relay::TestMember> member_;
  std::optional<secure::CloseReason> closed_;
  std::function<void(TimePoint, size_t)> watcher_;
};

}  // namespace cress::relay_load
