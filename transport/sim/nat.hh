#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "transport/base/address.hh"
#include "transport/base/time.hh"

namespace cress::sim {

struct NatOptions {
  /// What an external port belongs to, and from where it can be reached (RFC 4787, §4.1 and §5).
  enum class Scope {
    kEndpoint,        ///< mapping: one for all peers; filtering: any sender is accepted (full cone)
    kAddress,         ///< one for each peer's IP; only IPs that were sent to are accepted
    kAddressAndPort,  ///< one for each peer's IP and port; only those are accepted
  };
  Address outside;  ///< the IP; ports are given from its port upwards
  Scope mapping = Scope::kEndpoint;
  Scope filtering = Scope::kAddressAndPort;
  Duration lifetime = 30s;  ///< a mapping without outgoing datagrams for this long is removed
};

/// Address translation between hosts inside and the rest of the network (RFC 4787's terms).
/// Symmetric: mapping and filtering by kAddressAndPort. Outgoing datagrams refresh a mapping.
/// Bounded: beyond 16384 mappings new ones are refused. Threads: none inside; one owner. `now`
/// never goes back.
class Nat {
 public:
  static constexpr size_t kMappingsMax = 16'384;

  explicit Nat(NatOptions options);

  /// The source address outside of a datagram from `inside` to `to`; nullopt: no mapping is left.
  std::optional<Address> translate_out(TimePoint now, const Address& inside, const Address& to);
  /// The host inside for a datagram that arrived at `outside` from `from`; nullopt: it is filtered.
  std::optional<Address> translate_in(TimePoint now, const Address& from,
                                      const Address& outside) const;
  /// The host that `outside` is mapped to, without filtering.
  std::optional<Address> inside_of(TimePoint now, const Address& outside) const;
  bool owns(const Address& address) const { return address.ip == options_.outside.ip; }

 private:
  struct Mapping {
    Address inside;
    uint16_t port = 0;
    TimePoint expires{};
    std::map<Address, TimePoint> permitted;  // keyed by the filter's scope, with its expiry
  };
  static Address scoped(NatOptions::Scope scope, const Address& peer);
  void expire(TimePoint now);

  NatOptions options_;
  uint16_t next_port_;
  std::map<std::pair<Address, Address>, Mapping>
      mappings_;  // keyed by the host inside and the mapping's scope
};

}  // namespace cress::sim
