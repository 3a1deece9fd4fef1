#include "transport/sim/nat.hh"

#include <algorithm>

namespace cress::sim {

Nat::Nat(NatOptions options) : options_(options), next_port_(options.outside.port) {}

Address Nat::scoped(NatOptions::Scope scope, const Address& peer) {
  Address key = peer;
  if (scope != NatOptions::Scope::kAddressAndPort) {
    key.port = 0;
  }
  if (scope == NatOptions::Scope::kEndpoint) {
    key.ip = {};
  }
  return key;
}

void Nat::expire(TimePoint now) {
  std::erase_if(mappings_, [now](const auto& entry) { return entry.second.expires <= now; });
}

std::optional<Address> Nat::translate_out(TimePoint now, const Address& inside, const Address& to) {
  const std::pair key{inside, scoped(options_.mapping, to)};
  auto found = mappings_.find(key);
  if (found == mappings_.end() || found->second.expires <= now) {
    expire(now);
    if (mappings_.size() == kMappingsMax) {
      return std::nullopt;
    }
    found =
        mappings_
            .insert_or_assign(key, Mapping{.inside = inside, .port = next_port_++, .permitted = {}})
            .first;
  }
  Mapping& mapping = found->second;
  mapping.expires = now + options_.lifetime;
  mapping.permitted[scoped(options_.filtering, to)] = mapping.expires;
  Address outside = options_.outside;
  outside.port = mapping.port;
  return outside;
}

std::optional<Address> Nat::inside_of(TimePoint now, const Address& outside) const {
  const auto found = std::ranges::find_if(mappings_, [&](const auto& entry) {
    return entry.second.port == outside.port && entry.second.expires > now;
  });
  return found == mappings_.end() ? std::nullopt : std::optional{found->second.inside};
}

std::optional<Address> Nat::translate_in(TimePoint now, const Address& from,
                                         const Address& outside) const {
  for (const auto& [key, mapping] : mappings_) {
    if (mapping.port != outside.port || mapping.expires <= now) {
      continue;
    }
    const auto permitted = mapping.permitted.find(scoped(options_.filtering, from));
    if (permitted != mapping.permitted.end() && permitted->second > now) {
      return mapping.inside;
    }
  }
  return std::nullopt;
}

}  // namespace cress::sim
