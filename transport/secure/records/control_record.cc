#include "transport/secure/records/control_record.hh"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::secure {
namespace {

constexpr size_t kHeader = 10;
constexpr size_t kCounterOffset = 2;
constexpr DataSize kProbeMin{64};
static_assert(kControlOverhead == DataSize{kHeader + kTagSize});

enum class Type : uint8_t {
  kPathChallenge = 1,
  kPathResponse = 2,
  kClose = 3,
  kMtuProbe = 4,
  kMtuAcknowledgement = 5,
  kPing = 6,
  kPong = 7,
  kPathCandidates = 8,
  kCandidatesAcknowledgement = 9,
  kPathProbe = 10,
  kPathProbeAnswer = 11,
  kIdentityProof = 12,
  kIdentityAcknowledgement = 13,
};

constexpr size_t kAddressSize = 16 + 2;  // an IPv6 address, IPv4 as ::ffff:a.b.c.d, and a port

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out) {}
  void type(Type type) { out_.push_back(static_cast<std::byte>(type)); }
  void token(const PathToken& token) { bytes(token); }
  void bytes(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void number(T value) {
    append_number(value, sizeof(T), out_);
  }
  void address(const Address& at) {
    for (const uint8_t byte : at.ip) {
      number(byte);
    }
    number(at.port);
  }
  void pad_to(DataSize size) { out_.resize(static_cast<size_t>(size.bytes())); }

  void operator()(const PathChallenge& m) {
    type(Type::kPathChallenge);
    token(m.token);
  }
  void operator()(const PathResponse& m) {
    type(Type::kPathResponse);
    token(m.token);
  }
  void operator()(const Close& m) {
    type(Type::kClose);
    number(static_cast<uint8_t>(m.code));
  }
  void operator()(const MtuProbe& m) {
    check(m.size >= kProbeMin, "MtuProbe: too small to be one");
    type(Type::kMtuProbe);
    pad_to(m.size - DataSize{kTagSize});
  }
  void operator()(const MtuAcknowledgement& m) {
    type(Type::kMtuAcknowledgement);
    number(narrow<uint16_t>(m.size.bytes()));
  }
  void operator()(const Ping& m) {
    type(Type::kPing);
    number(m.id);
  }
  void operator()(const Pong& m) {
    type(Type::kPong);
    number(m.id);
    number(m.large_received);
  }
  void operator()(const PathCandidates& m) {
    check(m.addresses.size() <= PathCandidates::kMax, "PathCandidates: too many");
    type(Type::kPathCandidates);
    number(m.revision);
    for (const Address& at : m.addresses) {
      address(at);
    }
  }
  void operator()(const CandidatesAcknowledgement& m) {
    type(Type::kCandidatesAcknowledgement);
    number(m.revision);
  }
  void operator()(const PathProbe& m) {
    type(Type::kPathProbe);
    token(m.token);
    address(m.to);
  }
  void operator()(const PathProbeAnswer& m) {
    type(Type::kPathProbeAnswer);
    token(m.token);
  }
  void operator()(const IdentityProof& m) {
    type(Type::kIdentityProof);
    bytes(m.key);
    bytes(m.signature);
  }
  void operator()(const IdentityAcknowledgement& /*m*/) { type(Type::kIdentityAcknowledgement); }
  void operator()(const UnknownControl& /*m*/) { number(uint8_t{255}); }

 private:
  std::vector<std::byte>& out_;
};

PathToken token_of(std::span<const std::byte> body) {
  PathToken token{};
  std::copy_n(body.begin(), token.size(), token.begin());
  return token;
}

IdentityProof identity_of(std::span<const std::byte> body) {
  IdentityProof proof;
  std::ranges::copy(body.first<sizeof(PublicKey)>(), proof.key.begin());
  std::ranges::copy(body.subspan<sizeof(PublicKey), sizeof(Signature)>(), proof.signature.begin());
  return proof;
}

Address address_at(std::span<const std::byte> body, size_t offset) {
  Address address;
  std::ranges::transform(body.subspan(offset, address.ip.size()), address.ip.begin(),
                         [](std::byte byte) { return std::to_integer<uint8_t>(byte); });
  address.port = static_cast<uint16_t>(number_at(body, offset + address.ip.size(), 2));
  return address;
}

std::optional<PathCandidates> parse_candidates(std::span<const std::byte> body) {
  constexpr size_t kFixed = sizeof(uint32_t);
  if (body.size() < kFixed || (body.size() - kFixed) % kAddressSize != 0 ||
      body.size() > kFixed + PathCandidates::kMax * kAddressSize) {
    return std::nullopt;
  }
  PathCandidates candidates{.revision = static_cast<uint32_t>(number_at(body, 0, kFixed))};
  for (size_t at = kFixed; at < body.size(); at += kAddressSize) {
    candidates.addresses.push_back(address_at(body, at));
  }
  return candidates;
}

/// Of the messages about paths: exact lengths.
ControlMessage parse_path_message(Type type, std::span<const std::byte> body) {
  switch (type) {
    case Type::kPathChallenge:
      if (body.size() == sizeof(PathToken)) {
        return PathChallenge{token_of(body)};
      }
      break;
    case Type::kPathResponse:
      if (body.size() == sizeof(PathToken)) {
        return PathResponse{token_of(body)};
      }
      break;
    case Type::kPathCandidates:
      if (auto candidates = parse_candidates(body)) {
        return *std::move(candidates);
      }
      break;
    case Type::kCandidatesAcknowledgement:
      if (body.size() == 4) {
        return CandidatesAcknowledgement{static_cast<uint32_t>(number_at(body, 0, 4))};
      }
      break;
    case Type::kPathProbe:
      if (body.size() == sizeof(PathToken) + kAddressSize) {
        return PathProbe{token_of(body), address_at(body, sizeof(PathToken))};
      }
      break;
    case Type::kPathProbeAnswer:
      if (body.size() == sizeof(PathToken)) {
        return PathProbeAnswer{token_of(body)};
      }
      break;
    default:
      break;
  }
  return UnknownControl{};
}

/// Exact lengths, except for a probe, whose size is that of its record.
ControlMessage parse_message(std::span<const std::byte> text, DataSize record_size) {
  if (text.empty()) {
    return UnknownControl{};
  }
  const auto type = static_cast<Type>(text[0]);
  const auto body = text.subspan(1);
  switch (type) {
    case Type::kClose:
      if (body.size() == 1 && body[0] >= std::byte{1} &&
          body[0] <= static_cast<std::byte>(kLastCloseCode)) {
        return Close{static_cast<CloseCode>(body[0])};
      }
      break;
    case Type::kMtuProbe:
      return MtuProbe{record_size};
    case Type::kMtuAcknowledgement:
      if (body.size() == 2) {
        return MtuAcknowledgement{DataSize{static_cast<int64_t>(number_at(body, 0, 2))}};
      }
      break;
    case Type::kPing:
      if (body.size() == 4) {
        return Ping{static_cast<uint32_t>(number_at(body, 0, 4))};
      }
      break;
    case Type::kPong:
      if (body.size() == 8) {
        return Pong{static_cast<uint32_t>(number_at(body, 0, 4)),
                    static_cast<uint32_t>(number_at(body, 4, 4))};
      }
      break;
    case Type::kIdentityProof:
      if (body.size() == sizeof(PublicKey) + sizeof(Signature)) {
        return identity_of(body);
      }
      break;
    case Type::kIdentityAcknowledgement:
      if (body.empty()) {
        return IdentityAcknowledgement{};
      }
      break;
    default:
      return parse_path_message(type, body);
  }
  return UnknownControl{};
}

}  // namespace

ControlRecords::ControlRecords(TimePoint start, const DirectionSecrets& secrets, KeyLimits limits)
    : sealing_(start, kRecordAead, secrets.send, limits),
      opening_(kRecordAead, secrets.receive, limits) {}

std::vector<std::byte> ControlRecords::seal(TimePoint now, const ControlMessage& message) {
  AeadKey& key = sealing_.take(now);
  const uint64_t counter = next_counter_++;
  std::vector<std::byte> record;
  record.push_back(kControlKind);
  record.push_back(std::byte{sealing_.phase()});
  Writer writer{record};
  writer.number(counter);
  std::visit(writer, message);
  record.resize(record.size() + kTagSize);
  const std::span<std::byte> all{record};
  key.seal(counter, all.first(kHeader), all.subspan(kHeader, all.size() - kHeader - kTagSize),
           all.last<kTagSize>());
  return record;
}

Result<OpenedControl, OpenError> ControlRecords::open(TimePoint now,
                                                      std::span<const std::byte> record) {
  if (record.size() < kHeader + kTagSize) {
    return OpenError::kTruncated;
  }
  if (record[0] != kControlKind) {
    return OpenError::kWrongKind;
  }
  const auto counter = number_at(record, kCounterOffset, 8);
  if (!seen_.is_new(counter)) {
    return OpenError::kReplayed;
  }
  const auto phase = std::to_integer<uint8_t>(record[1]);
  AeadKey* key = opening_.find(now, phase);
  if (key == nullptr) {
    return OpenError::kUnknownKey;
  }
  std::vector<std::byte> text{record.begin() + kHeader, record.end() - kTagSize};
  if (!key->open(counter, record.first(kHeader), text, record.last<kTagSize>())) {
    return OpenError::kBadTag;
  }
  opening_.handle_authentic(now, phase);
  sealing_.handle_heard();
  OpenedControl opened;
  opened.newest = seen_.insert(counter);
  opened.message = parse_message(text, DataSize{static_cast<int64_t>(record.size())});
  return opened;
}

}  // namespace cress::secure
