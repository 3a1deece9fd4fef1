#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/time.hh"
#include "transport/mapping/mapping_message.hh"

namespace cress::mapping {

struct PortMapperOptions {
  /// Its inner address, with kRouterPort.
  Address router{};
  /// Ours, IPv4, with the port that is to be reachable. Requests must come from this address, and
  /// from a port of their own.
  Address client{};
  /// Random.
  MappingNonce nonce{};
};

/// The protocols; PortMapper does not speak UPnP: see router/upnp_mapper.hh.
enum class MappingProtocol : uint8_t { kPcp, kNatPmp, kUpnp };
const char* name_of(MappingProtocol protocol);

/// Asks the router for a port of its outer address, whose datagrams it then passes to our port: by
/// PCP, and by NAT-PMP if the router speaks no PCP. The mapping is for kLifetime, is asked for
/// again when half of its time is over, and at once when the router reports that it has forgotten
/// its mappings. An unanswered request is repeated after 250 ms, then after twice as long each
/// time; at most kAsksMax are sent (RFC 6886 §3.1). Only the router's address may answer, and a PCP
/// answer must repeat our nonce. No received datagram causes more than one request, and
/// announcements cause at most one per kAskSpacing.
/// Without I/O: see Machine. Threads: none inside; one owner. `now` never goes back.
class PortMapper final : public Machine {
 public:
  enum class State : uint8_t {
    kAsking,
    kMapped,   ///< perhaps being asked for again
    kRefused,  ///< is asked again later
    kSilent,   ///< no answer: only asked again after a change of network
    kRemoved,
  };

  PortMapper(TimePoint now, const PortMapperOptions& options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  /// Something changed between us and the router, or we have slept: asks again.
  void handle_network_change(TimePoint now);
  /// Tells the router, once, that the port is no longer needed.
  void remove();

  /// The address outside that leads to our port; nullopt: none.
  const std::optional<Address>& mapped() const { return mapped_; }
  State state() const { return state_; }
  MappingProtocol protocol() const { return protocol_; }

  /// `take` is called when something may have changed. Set before the first step.
  void on_drained(std::function<void()> take) { take_ = std::move(take); }
  bool drained(TimePoint now) override;

  /// What is asked for; a router may give another. A program that crashes leaves its mapping behind
  /// for so long.
  static constexpr Duration kLifetime = 5min;
  /// A longer time is not believed: the mapping is asked for again before.
  static constexpr Duration kLifetimeMax = 1h;
  static constexpr int kAsksMax = 9;
  /// RFC 6887 §11.2.1.
  static constexpr Duration kAskSpacing = 4s;
  /// After a refusal.
  static constexpr Duration kRefusedMin = 1min;
  static constexpr Duration kRefusedMax = 30min;

 private:
  void begin(TimePoint now);
  void ask(TimePoint now);
  void handle(TimePoint now, const PcpAnswer& answer);
  void handle(TimePoint now, const PcpAnnouncement& announcement);
  void handle(TimePoint now, const PmpAnswer& answer);
  void handle(TimePoint now, const PmpAddressAnswer& answer);
  void handle(TimePoint now, const UnsupportedVersion& answer);
  bool note_epoch(TimePoint now, uint32_t epoch_s);
  void accept(TimePoint now, const Address& outside, uint32_t lifetime_s);
  void refuse(TimePoint now, uint32_t lifetime_s);
  void send(std::vector<std::byte> bytes);

  PortMapperOptions options_;
  MappingProtocol protocol_ = MappingProtocol::kPcp;
  State state_ = State::kAsking;
  std::optional<Address> mapped_;
  TimePoint expires_at_ = kNever;
  // The request under way, or the next.
  bool is_asking_ = false;
  TimePoint asked_at_;
  TimePoint ask_at_;
  Duration interval_{};
  int asks_ = 0;
  /// NAT-PMP asks for the address first, then the port. Port 0.
  std::optional<Address> pmp_outside_;
  struct Epoch {
    TimePoint at;
    uint32_t seconds = 0;
  };
  std::optional<Epoch> epoch_;
  std::optional<Transmit> out_;  // drained after each call
  std::function<void()> take_;
};

}  // namespace cress::mapping
