#include "transport/secure/records/records.hh"

#include <algorithm>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"
#include "transport/wire/datagram.hh"

namespace cress::secure {
namespace {

constexpr size_t kHeader = static_cast<size_t>(wire::kHeaderSize.bytes());
constexpr size_t kPhaseOffset = 1;
constexpr size_t kSequenceOffset = 4;
static_assert(kHeader == 16);

wire::WireSeq sequence_of(std::span<const std::byte> datagram) {
  return wire::WireSeq{static_cast<uint32_t>(number_at(datagram, kSequenceOffset, 4))};
}

Secret next_of(const Secret& secret) { return expand(secret, "cress next"); }

}  // namespace

SealingKeys::SealingKeys(TimePoint start, Aead aead, const Secret& secret, KeyLimits limits)
    : aead_(aead),
      secret_(secret),
      limits_(limits),
      key_(aead, Use::kSeal, secret),
      since_(start) {}

AeadKey& SealingKeys::take(TimePoint now) {
  const bool is_due = sealed_ >= limits_.datagrams || now - since_ >= limits_.age;
  if (is_due && heard_since_update_) {
    secret_ = next_of(secret_);
    key_ = AeadKey{aead_, Use::kSeal, secret_};
    since_ = now;
    sealed_ = 0;
    ++phase_;
    heard_since_update_ = false;
  }
  ++sealed_;
  return key_;
}

OpeningKeys::OpeningKeys(Aead aead, const Secret& secret, KeyLimits limits)
    : aead_(aead),
      next_secret_(next_of(secret)),
      limits_(limits),
      current_(aead, Use::kOpen, secret),
      next_(aead, Use::kOpen, next_secret_) {}

AeadKey* OpeningKeys::find(TimePoint now, uint8_t phase) {
  handle_timeout(now);  // the owner's may be late
  if (phase == phase_) {
    return &current_;
  }
  if (phase == static_cast<uint8_t>(phase_ + 1)) {
    return &next_;
  }
  return previous_ && phase == static_cast<uint8_t>(phase_ - 1) ? &*previous_ : nullptr;
}

void OpeningKeys::handle_authentic(TimePoint now, uint8_t phase) {
  if (phase != static_cast<uint8_t>(phase_ + 1)) {
    return;
  }
  next_secret_ = next_of(next_secret_);
  previous_ = std::exchange(current_, std::exchange(next_, {aead_, Use::kOpen, next_secret_}));
  forget_previous_at_ = now + limits_.keep_previous + Duration{1};
  ++phase_;
}

void OpeningKeys::handle_timeout(TimePoint now) {
  if (now >= forget_previous_at_) {
    previous_.reset();
    forget_previous_at_ = kNever;
  }
}

Records::Records(TimePoint start, const DirectionSecrets& secrets, Aead aead, KeyLimits limits)
    : sealing_(start, aead, secrets.send, limits), opening_(aead, secrets.receive, limits) {}

std::vector<std::byte> Records::seal(TimePoint now, std::vector<std::byte> plain) {
  check(plain.size() >= kHeader && plain[0] == kPlainKind,
        "Records: seals an Endpoint's datagrams");
  const uint64_t sequence = sequence_of(plain).unwrap(last_sealed_.value_or(0));
  check(!last_sealed_ || sequence > *last_sealed_, "Records: a sequence is sealed once");
  last_sealed_ = sequence;
  AeadKey& key = sealing_.take(now);
  plain[0] = kRecordKind;
  plain[kPhaseOffset] = std::byte{sealing_.phase()};
  plain.resize(plain.size() + kTagSize);
  const std::span<std::byte> all{plain};
  key.seal(sequence, all.first(kHeader), all.subspan(kHeader, all.size() - kHeader - kTagSize),
           all.last<kTagSize>());
  return plain;
}

Result<OpenedRecord, OpenError> Records::open(TimePoint now, std::span<const std::byte> record,
                                              SpareBuffers* spare) {
  if (record.size() < kHeader + kTagSize) {
    return OpenError::kTruncated;
  }
  if (record[0] != kRecordKind) {
    return OpenError::kWrongKind;
  }
  const uint64_t sequence = sequence_of(record).unwrap(seen_.newest());
  if (!seen_.is_new(sequence)) {
    return OpenError::kReplayed;
  }
  const auto phase = std::to_integer<uint8_t>(record[kPhaseOffset]);
  AeadKey* key = opening_.find(now, phase);
  if (key == nullptr) {
    return OpenError::kUnknownKey;
  }
  OpenedRecord opened{.plain = take_buffer(spare, record.size())};
  opened.plain.assign(record.begin(), record.end() - kTagSize);
  if (!key->open(sequence, record.first(kHeader), std::span{opened.plain}.subspan(kHeader),
                 record.last<kTagSize>())) {
    give_buffer(spare, std::move(opened.plain));
    return OpenError::kBadTag;
  }
  opening_.handle_authentic(now, phase);
  sealing_.handle_heard();
  opened.newest = seen_.insert(sequence);
  opened.plain[0] = kPlainKind;
  opened.plain[kPhaseOffset] = std::byte{0};
  return opened;
}

}  // namespace cress::secure
