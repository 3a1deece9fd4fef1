#include "transport/secure/rendezvous/rendezvous_message.hh"

#include <algorithm>

#include "transport/base/big_endian.hh"

namespace cress::secure {
namespace {

enum class Type : uint8_t { kRegistration = 1, kCookie = 2, kStatus = 3 };

constexpr size_t kHeader = 2;  // kind and type
constexpr size_t kNumber = sizeof(uint64_t);
constexpr size_t kAddress = 16 + 2;
constexpr size_t kSignedSize = kHeader + 1 + kNumber + sizeof(RendezvousCookie) +
                               sizeof(PublicKey) + sizeof(Registration::party);
constexpr size_t kRegistrationSize = kSignedSize + sizeof(Signature);
constexpr size_t kCookieSize = kHeader + kNumber + sizeof(RendezvousCookie);
constexpr size_t kStatusSize = kHeader + kNumber + 1 + kAddress;
// A forged sender's address is sent no more than the forger spent.
static_assert(kCookieSize <= kRegistrationSize && kStatusSize <= kRegistrationSize);

std::vector<std::byte> begin(Type type, size_t size) {
  std::vector<std::byte> out;
  out.reserve(size);
  out.push_back(kRendezvousKind);
  out.push_back(static_cast<std::byte>(type));
  return out;
}

void append(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

bool is(std::span<const std::byte> bytes, Type type, size_t size) {
  return bytes.size() == size && bytes[0] == kRendezvousKind &&
         bytes[1] == static_cast<std::byte>(type);
}

/// Takes one field after the other.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes.subspan(kHeader)) {}
  uint64_t number(size_t size) {
    const uint64_t value = number_at(rest_, 0, size);
    rest_ = rest_.subspan(size);
    return value;
  }
  template <size_t size>
  void read(std::array<std::byte, size>& out) {
    std::copy_n(rest_.begin(), size, out.begin());
    rest_ = rest_.subspan(size);
  }

 private:
  std::span<const std::byte> rest_;
};

std::vector<std::byte> signed_part(const Registration& registration) {
  auto out = begin(Type::kRegistration, kRegistrationSize);
  append_number(static_cast<uint8_t>(registration.role), 1, out);
  append_number(registration.transaction, kNumber, out);
  append(registration.cookie, out);
  append(registration.call, out);
  append(registration.party, out);
  return out;
}

std::vector<std::byte> message_of(const Registration& registration) {
  return labelled("cress call registration 1", {signed_part(registration)});
}

}  // namespace

SigningKey rendezvous_key(std::span<const std::byte> link_secret) {
  return SigningKey{expand(extract(link_secret), "cress call registration")};
}

void sign(Registration& registration, const SigningKey& key) {
  registration.signature = key.sign(message_of(registration));
}

bool is_signed(const Registration& registration) {
  return is_signed_by(registration.call, message_of(registration), registration.signature);
}

std::vector<std::byte> serialize(const Registration& registration) {
  auto out = signed_part(registration);
  append(registration.signature, out);
  return out;
}

std::vector<std::byte> serialize(const CookieAnswer& answer) {
  auto out = begin(Type::kCookie, kCookieSize);
  append_number(answer.transaction, kNumber, out);
  append(answer.cookie, out);
  return out;
}

std::vector<std::byte> serialize(const StatusAnswer& answer) {
  auto out = begin(Type::kStatus, kStatusSize);
  append_number(answer.transaction, kNumber, out);
  append_number(static_cast<uint8_t>(answer.status), 1, out);
  append(std::as_bytes(std::span{answer.seen.ip}), out);
  append_number(answer.seen.port, 2, out);
  return out;
}

std::optional<Registration> parse_registration(std::span<const std::byte> bytes) {
  if (!is(bytes, Type::kRegistration, kRegistrationSize)) {
    return std::nullopt;
  }
  Reader reader{bytes};
  const uint64_t role = reader.number(1);
  if (role > static_cast<uint8_t>(Role::kJoiner)) {
    return std::nullopt;
  }
  Registration registration;
  registration.role = static_cast<Role>(role);
  registration.transaction = reader.number(kNumber);
  reader.read(registration.cookie);
  reader.read(registration.call);
  reader.read(registration.party);
  reader.read(registration.signature);
  return registration;
}

std::optional<CookieAnswer> parse_cookie_answer(std::span<const std::byte> bytes) {
  if (!is(bytes, Type::kCookie, kCookieSize)) {
    return std::nullopt;
  }
  Reader reader{bytes};
  CookieAnswer answer;
  answer.transaction = reader.number(kNumber);
  reader.read(answer.cookie);
  return answer;
}

std::optional<StatusAnswer> parse_status_answer(std::span<const std::byte> bytes) {
  if (!is(bytes, Type::kStatus, kStatusSize)) {
    return std::nullopt;
  }
  Reader reader{bytes};
  StatusAnswer answer;
  answer.transaction = reader.number(kNumber);
  const uint64_t status = reader.number(1);
  if (status < static_cast<uint8_t>(RendezvousStatus::kAlone) ||
      status > static_cast<uint8_t>(RendezvousStatus::kOver)) {
    return std::nullopt;
  }
  answer.status = static_cast<RendezvousStatus>(status);
  std::array<std::byte, 16> ip{};
  reader.read(ip);
  std::ranges::transform(ip, answer.seen.ip.begin(),
                         [](std::byte byte) { return std::to_integer<uint8_t>(byte); });
  answer.seen.port = static_cast<uint16_t>(reader.number(2));
  return answer;
}

}  // namespace cress::secure
