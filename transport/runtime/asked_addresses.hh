#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "transport/base/address.hh"

namespace cress::runtime {

/// Which of our addresses each peer last sent to: a hash table of fixed size, indexed by the peer's
/// address, in which a collision overwrites the older entry. So a flood of forged senders costs
/// neither memory nor time, and an overwritten peer is entered again by its next datagram. Threads:
/// none inside; one owner.
class AskedAddresses {
 public:
  void note(const Address& peer, const IpBytes& own) {
    places_.resize(kPlaces);  // where nobody is noted this costs nothing
    places_[place_of(peer)] = {peer, own};
  }
  /// Null: not known.
  const IpBytes* find(const Address& peer) const {
    return !places_.empty() && places_[place_of(peer)].peer == peer ? &places_[place_of(peer)].own
                                                                    : nullptr;
  }
  void forget(const Address& peer) {
    if (find(peer) != nullptr) {
      places_[place_of(peer)] = {};
    }
  }
  void clear() { places_.clear(); }

 private:
  struct Asked {
    Address peer;
    IpBytes own{};
  };
  static constexpr int kPlacesBits = 12;
  static constexpr size_t kPlaces = size_t{1} << kPlacesBits;

  static size_t place_of(const Address& address) {
    uint64_t high = 0;
    uint64_t low = 0;
    std::memcpy(&high, address.ip.data(), sizeof high);
    std::memcpy(&low, address.ip.data() + sizeof high, sizeof low);
    constexpr uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;  // the golden ratio's bits spread well
    const uint64_t mixed = (high * kOdd ^ low) * kOdd ^ (uint64_t{address.port} << 16U);
    return static_cast<size_t>((mixed * kOdd) >> (64 - kPlacesBits));
  }

  std::vector<Asked> places_;  // kPlaces, or none
};

}  // namespace cress::runtime
