#include "traces/saturate/wire.hh"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::traces {
namespace {

using Error = SaturateWireError;

constexpr std::array kMagic{std::byte{'C'}, std::byte{'S'}, std::byte{'a'}, std::byte{'t'}};
constexpr size_t kTagOffset = 10;
constexpr size_t kTagSize = 16;
constexpr size_t kHeaderSize = kTagOffset + kTagSize;
constexpr size_t kUpdateFieldsSize = 8 * 11 + 1 + 2;
// A record at its longest: two varints of ten bytes.
static_assert(kHeaderSize + kUpdateFieldsSize + 16 + 20 * (kUpdateRecordsMax - 1) <=
              kUpdateSizeMax);

enum class Type : uint8_t { kHello = 1, kChallenge = 2, kStart = 3, kUpdate = 4 };

// Ten years either way: sums of several such times do not overflow.
constexpr int64_t kMicrosecondsMax = int64_t{10} * 366 * 24 * 3600 * 1'000'000;

std::array<std::byte, 32> hmac(const SaturateKey& key,
                               std::initializer_list<std::span<const std::byte>> parts) {
  std::vector<std::byte> all;
  for (const auto part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::array<std::byte, 32> out{};
  unsigned size = 0;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(all.data()), all.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &size);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  check(done != nullptr && size == out.size(), "OpenSSL has no HMAC-SHA-256");
  return out;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

SaturateNonce front(const std::array<std::byte, 32>& digest) {
  SaturateNonce nonce;
  std::copy_n(digest.begin(), nonce.size(), nonce.begin());
  return nonce;
}

SaturateNonce tag_of(std::span<const std::byte> covered, const SaturateKey& key) {
  constexpr std::array<std::byte, kTagSize> kZero{};
  return front(hmac(key, {covered.first(kTagOffset), kZero, covered.subspan(kHeaderSize)}));
}

/// Reads fields from the front; after the first missing one, everything is 0 and `good` false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  uint64_t unsigned_of(size_t size) {
    if (rest_.size() < size) {
      fail(Error::kTruncated);
      rest_ = {};
      return 0;
    }
    const uint64_t value = number_at(rest_, 0, size);
    rest_ = rest_.subspan(size);
    return value;
  }
  uint8_t u8() { return static_cast<uint8_t>(unsigned_of(1)); }
  uint16_t u16() { return static_cast<uint16_t>(unsigned_of(2)); }
  /// A sequence or a number of records.
  uint64_t count() {
    const uint64_t value = unsigned_of(8);
    expect(value <= kSaturateDatagramsMax);
    return value;
  }
  TimePoint time() {
    const auto value = static_cast<int64_t>(unsigned_of(8));
    if (value > kMicrosecondsMax || value < -kMicrosecondsMax) {
      expect(false);
      return {};
    }
    return TimePoint{std::chrono::microseconds{value}};
  }
  SaturateNonce nonce() {
    SaturateNonce nonce{};
    if (rest_.size() < nonce.size()) {
      unsigned_of(nonce.size());  // which fails
      return nonce;
    }
    std::copy_n(rest_.begin(), nonce.size(), nonce.begin());
    rest_ = rest_.subspan(nonce.size());
    return nonce;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      if (shift == 63 && byte > 1) {
        break;
      }
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) {
        return value;
      }
    }
    expect(false);
    return 0;
  }
  void expect(bool sound) {
    if (!sound) {
      fail(Error::kBadField);
    }
  }
  bool has_failed() const { return failed_; }
  /// Of the first failure.
  Error error() const { return error_; }
  bool at_end() const { return rest_.empty(); }

 private:
  void fail(Error error) {
    error_ = failed_ ? error_ : error;
    failed_ = true;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
  Error error_ = Error::kTruncated;
};

class Writer {
 public:
  void unsigned_of(uint64_t value, size_t size) { append_number(value, size, bytes_); }
  void time(TimePoint t) {
    const auto us = std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
    unsigned_of(static_cast<uint64_t>(us), 8);
  }
  void nonce(const SaturateNonce& nonce) {
    bytes_.insert(bytes_.end(), nonce.begin(), nonce.end());
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      unsigned_of((value & 0x7f) | 0x80, 1);
    }
    unsigned_of(value, 1);
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

int64_t microseconds(TimePoint t) {
  return std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
}

std::vector<SaturateRecord> read_records(Reader& reader, size_t count) {
  std::vector<SaturateRecord> records;
  records.reserve(count);
  for (size_t i = 0; i < count && !reader.has_failed(); ++i) {
    if (i == 0) {
      const uint64_t sequence = reader.count();
      records.push_back({sequence, reader.time()});
      continue;
    }
    const int64_t step = unzigzag(reader.varint());
    const uint64_t wait_us = reader.varint();
    const auto limit = static_cast<int64_t>(kSaturateDatagramsMax);
    const auto last = static_cast<int64_t>(records.back().sequence);
    const int64_t last_us = microseconds(records.back().arrived);
    if (step < -limit || step > limit || last + step + 1 < 0 || last + step + 1 > limit ||
        wait_us > static_cast<uint64_t>(kMicrosecondsMax - last_us)) {
      reader.expect(false);
      break;
    }
    records.push_back(
        {static_cast<uint64_t>(last + step + 1),
         TimePoint{std::chrono::microseconds{last_us + static_cast<int64_t>(wait_us)}}});
  }
  return records;
}

SaturateUpdate read_update(Reader& reader) {
  SaturateUpdate update;
  update.sequence = reader.count();
  update.sent = reader.time();
  update.newest = reader.count();
  update.newest_sent = reader.time();
  update.newest_arrived = reader.time();
  update.records_total = reader.count();
  update.records_from = reader.count();
  update.stopped_at = reader.count();
  update.measured_from = reader.time();
  update.measured_to = reader.time();
  const uint8_t state = reader.u8();
  reader.expect((state & 3) <= 2 && state < 32);
  update.phase = static_cast<SaturatePhase>(std::min(state & 3, 2));
  update.closed = (state & 4) != 0;
  update.wants_end = (state & 8) != 0;
  update.filled = (state & 16) != 0;
  update.first_record = reader.count();
  const size_t count = reader.u16();
  reader.expect(count <= kUpdateRecordsMax && update.first_record + count <= kSaturateDatagramsMax);
  if (!reader.has_failed()) {
    update.records = read_records(reader, count);
  }
  return update;
}

void write_update(Writer& writer, const SaturateUpdate& update) {
  check(update.records.size() <= kUpdateRecordsMax, "saturate: more records than an update holds");
  writer.unsigned_of(update.sequence, 8);
  writer.time(update.sent);
  writer.unsigned_of(update.newest, 8);
  writer.time(update.newest_sent);
  writer.time(update.newest_arrived);
  writer.unsigned_of(update.records_total, 8);
  writer.unsigned_of(update.records_from, 8);
  writer.unsigned_of(update.stopped_at, 8);
  writer.time(update.measured_from);
  writer.time(update.measured_to);
  writer.unsigned_of(static_cast<uint64_t>(update.phase) | (update.closed ? 4U : 0U) |
                         (update.wants_end ? 8U : 0U) | (update.filled ? 16U : 0U),
                     1);
  writer.unsigned_of(update.first_record, 8);
  writer.unsigned_of(update.records.size(), 2);
  const SaturateRecord* last = nullptr;
  for (const SaturateRecord& record : update.records) {
    if (last == nullptr) {
      writer.unsigned_of(record.sequence, 8);
      writer.time(record.arrived);
    } else {
      writer.varint(
          zigzag(static_cast<int64_t>(record.sequence) - static_cast<int64_t>(last->sequence) - 1));
      writer.varint(
          static_cast<uint64_t>(microseconds(record.arrived) - microseconds(last->arrived)));
    }
    last = &record;
  }
}

SaturateBody read_body(Type type, Reader& reader) {
  switch (type) {
    case Type::kHello:
      return SaturateHello{reader.nonce()};
    case Type::kChallenge: {
      SaturateChallenge challenge;
      challenge.connector = reader.nonce();
      challenge.listener = reader.nonce();
      challenge.cookie = reader.nonce();
      return challenge;
    }
    case Type::kStart: {
      SaturateStart start;
      start.connector = reader.nonce();
      start.cookie = reader.nonce();
      const uint8_t settings = reader.u8();
      reader.expect(settings < 8 && (settings & 3) != 0);
      start.up = (settings & 1) != 0;
      start.down = (settings & 2) != 0;
      start.feedback = (settings & 4) != 0;
      return start;
    }
    case Type::kUpdate:
      break;
  }
  return read_update(reader);
}

struct BodyWriter {
  Writer& writer;
  Type operator()(const SaturateHello& hello) const {
    writer.nonce(hello.connector);
    writer.bytes().resize(kHelloSize);
    return Type::kHello;
  }
  Type operator()(const SaturateChallenge& challenge) const {
    writer.nonce(challenge.connector);
    writer.nonce(challenge.listener);
    writer.nonce(challenge.cookie);
    return Type::kChallenge;
  }
  Type operator()(const SaturateStart& start) const {
    writer.nonce(start.connector);
    writer.nonce(start.cookie);
    writer.unsigned_of((start.up ? 1U : 0U) | (start.down ? 2U : 0U) | (start.feedback ? 4U : 0U),
                       1);
    return Type::kStart;
  }
  Type operator()(const SaturateUpdate& update) const {
    write_update(writer, update);
    return Type::kUpdate;
  }
};

}  // namespace

SaturateKey key_of_token(std::string_view token) {
  return hmac(SaturateKey{}, {bytes_of("cress saturate token 1"), bytes_of(token)});
}

SaturateKey session_key(const SaturateKey& token, const SaturateNonce& connector,
                        const SaturateNonce& listener) {
  return hmac(token, {bytes_of("session"), connector, listener});
}

SaturateNonce path_cookie(const SaturateKey& secret, const Address& address, SaturatePath path,
                          const SaturateNonce& connector) {
  Writer where;
  for (const uint8_t byte : address.ip) {
    where.unsigned_of(byte, 1);
  }
  where.unsigned_of(address.port, 2);
  where.unsigned_of(address.scope, 4);
  where.unsigned_of(static_cast<uint64_t>(path), 1);
  return front(hmac(secret, {bytes_of("cookie"), where.bytes(), connector}));
}

bool same_nonce(const SaturateNonce& a, const SaturateNonce& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<SaturateDatagram, SaturateWireError> parse_saturate(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderSize) {
    return Error::kTruncated;
  }
  if (!std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return Error::kNotOurs;
  }
  if (std::to_integer<uint8_t>(bytes[4]) != kSaturateVersion) {
    return Error::kBadVersion;
  }
  const auto type = std::to_integer<uint8_t>(bytes[5]);
  if (type < static_cast<uint8_t>(Type::kHello) || type > static_cast<uint8_t>(Type::kUpdate)) {
    return Error::kBadType;
  }
  const size_t covered = covered_size(bytes);
  if (covered > bytes.size()) {
    return Error::kTruncated;
  }
  const auto flags = std::to_integer<uint8_t>(bytes[6]);
  if (covered < kHeaderSize || flags > 3 || bytes[7] != std::byte{0}) {
    return Error::kBadField;
  }
  Reader reader{bytes.first(covered).subspan(kHeaderSize)};
  SaturateDatagram datagram{.path = static_cast<SaturatePath>(flags & 1),
                            .from_connector = (flags & 2) != 0,
                            .body = read_body(static_cast<Type>(type), reader)};
  if (type != static_cast<uint8_t>(Type::kHello)) {
    reader.expect(reader.at_end());
  } else if (covered != kHelloSize) {
    return Error::kBadField;
  }
  if (reader.has_failed()) {
    return reader.error();
  }
  return datagram;
}

std::vector<std::byte> encode_saturate(const SaturateDatagram& datagram, const SaturateKey& key,
                                       size_t size) {
  Writer writer;
  writer.bytes().reserve(std::max<size_t>(size, 256));
  writer.bytes().assign(kMagic.begin(), kMagic.end());
  writer.bytes().resize(kHeaderSize);
  const Type type = std::visit(BodyWriter{writer}, datagram.body);
  std::vector<std::byte>& bytes = writer.bytes();
  const size_t covered = bytes.size();
  bytes[4] = std::byte{kSaturateVersion};
  bytes[5] = static_cast<std::byte>(type);
  bytes[6] = static_cast<std::byte>(static_cast<unsigned>(datagram.path) |
                                    (datagram.from_connector ? 2U : 0U));
  put_number(bytes, 8, 2, covered);
  std::ranges::copy(tag_of(bytes, key), bytes.begin() + kTagOffset);
  if (bytes.size() < size) {
    bytes.resize(size);
  }
  return std::move(bytes);
}

size_t covered_size(std::span<const std::byte> bytes) { return number_at(bytes, 8, 2); }

bool tag_is_good(std::span<const std::byte> bytes, const SaturateKey& key) {
  check(bytes.size() >= kHeaderSize && covered_size(bytes) >= kHeaderSize &&
            covered_size(bytes) <= bytes.size(),
        "saturate: the tag of a datagram that was not parsed");
  SaturateNonce tag;
  std::copy_n(bytes.begin() + kTagOffset, tag.size(), tag.begin());
  return same_nonce(tag, tag_of(bytes.first(covered_size(bytes)), key));
}

}  // namespace cress::traces
