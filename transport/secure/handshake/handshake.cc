#include "transport/secure/handshake/handshake.hh"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"
#include "transport/secure/crypto/comparison_code.hh"

namespace cress::secure {
namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
template <class T, auto kFree>
using Owned = std::unique_ptr<T, Free<kFree>>;

constexpr char kExporterLabel[] = "EXPORTER-cress-records";
constexpr int kMtu = 1200;
// RFC 6347 §4.1, §4.2.2
constexpr auto kHandshakeType = std::byte{22};
constexpr auto kAlertType = std::byte{21};
constexpr size_t kAlertSize = 15;
constexpr auto kHelloVerifyRequest = std::byte{3};
constexpr size_t kMessageTypeOffset = 13;
/// At most this many repetitions of our last flight; a joiner asks at most 12 times in 5 s.
constexpr int kAnswersMax = 16;
constexpr int kRefusalsMin = 2;
constexpr Duration kRefusalMin = 400ms;
/// A joiner whose repetition crossed our answer needs no second one.
constexpr Duration kAnswerSpacing = 20ms;

[[noreturn]] void fail(const char* what) {
  const unsigned long code = ERR_get_error();
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  throw std::runtime_error(std::string{"DTLS: OpenSSL cannot "} + what + " (" + text.data() +
                           "): OpenSSL 3.0 or newer with DTLS 1.2 and PSK is needed");
}

/// A lookup's argument; other texts name no key.
bool is_identity(std::string_view text) {
  return text.size() == kIdentitySize &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The identity in a joiner's ClientKeyExchange (RFC 5489 §2), the first message of RFC 6347's
/// flight 5, after the record and handshake headers. Empty if there is none that could name a key.
std::string_view identity_in(std::span<const std::byte> datagram) {
  constexpr auto kClientKeyExchange = std::byte{16};
  constexpr size_t kLengthOffset = kMessageTypeOffset + 12;
  constexpr size_t kTextOffset = kLengthOffset + 2;
  if (datagram.size() < kTextOffset + kIdentitySize || datagram[0] != kHandshakeType ||
      datagram[kMessageTypeOffset] != kClientKeyExchange ||
      number_at(datagram, kLengthOffset, 2) != kIdentitySize) {
    return {};
  }
  const auto text = datagram.subspan(kTextOffset, kIdentitySize);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  const std::string_view identity{reinterpret_cast<const char*>(text.data()), text.size()};
  return is_identity(identity) ? identity : std::string_view{};
}

}  // namespace

struct HandshakeContext::Impl {
  Owned<SSL_CTX, SSL_CTX_free> ssl;
  Owned<BIO_METHOD, BIO_meth_free> wire;
  Credential credential;  // of a call of two, at either end; empty at a relay
  PskLookup lookup;       // used by listeners; in a call of two it knows only `credential`
  PskLookup late;         // a relay's second lookup; may be empty
};

/// OpenSSL's objects of one handshake, and its network: one datagram in, a list of them out.
struct Handshake::Engine {
  const HandshakeContext::Impl* context = nullptr;
  Owned<SSL, SSL_free> ssl;
  std::span<const std::byte> in;  // of handle_datagram's caller, during the call
  std::vector<std::vector<std::byte>> out;
  std::string identity;  // named by a joiner, and the key exists
  std::string asked;     // the identity looked up last
  std::optional<Secret> found;
  int alert_told = -1;
  bool listened = false;

  static Engine& of(const SSL* ssl) { return *static_cast<Engine*>(SSL_get_app_data(ssl)); }

  static int read(BIO* bio, char* to, int size) {
    auto& engine = *static_cast<Engine*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (engine.in.empty() || size <= 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    // Like a socket: the part of a datagram that does not fit is lost.
    const size_t length = std::min(engine.in.size(), static_cast<size_t>(size));
    std::memcpy(to, engine.in.data(), length);
    engine.in = {};
    return static_cast<int>(length);
  }
  static int write(BIO* bio, const char* from, int size) {
    const auto bytes = std::as_bytes(std::span{from, static_cast<size_t>(std::max(size, 0))});
    static_cast<Engine*>(BIO_get_data(bio))->out.emplace_back(bytes.begin(), bytes.end());
    BIO_clear_retry_flags(bio);
    return size;
  }
  static long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static unsigned client_psk(SSL* ssl, const char* /*hint*/, char* identity, unsigned identity_max,
                             unsigned char* psk, unsigned psk_max) {
    const Credential& credential = of(ssl).context->credential;
    if (credential.identity.size() >= identity_max || Secret::kSize > psk_max) {
      return 0;
    }
    std::memcpy(identity, credential.identity.c_str(), credential.identity.size() + 1);
    std::memcpy(psk, credential.psk.bytes().data(), Secret::kSize);
    return Secret::kSize;
  }
  static unsigned server_psk(SSL* ssl, const char* identity, unsigned char* psk, unsigned psk_max) {
    Engine& engine = of(ssl);
    if (identity == nullptr || Secret::kSize > psk_max || engine.asked != identity ||
        !engine.found) {
      return 0;
    }
    engine.identity = identity;
    std::memcpy(psk, engine.found->bytes().data(), Secret::kSize);
    return Secret::kSize;
  }
  static int make_cookie(SSL* /*ssl*/, unsigned char* /*cookie*/, unsigned* /*size*/) {
    return 0;  // the HelloGate makes them
  }
  static int accept_cookie(SSL* /*ssl*/, const unsigned char* /*cookie*/, unsigned /*size*/) {
    return 1;  // the HelloGate has
  }
  static void note_alert(const SSL* ssl, int where, int value) {
    if ((where & SSL_CB_WRITE_ALERT) == SSL_CB_WRITE_ALERT) {
      of(ssl).alert_told = value & 255;
    }
  }
  static unsigned never(SSL* /*ssl*/, unsigned /*before_us*/) {
    return 3'600'000'000U;  // an hour, in µs: the handshake is over long before
  }
};

HandshakeContext::HandshakeContext(Role role, std::span<const std::byte> link_secret)
    : HandshakeContext(role, link_credential(link_secret)) {}

HandshakeContext::HandshakeContext(Role role, Credential credential)
    : HandshakeContext(role, std::make_unique<Impl>()) {
  impl_->credential = std::move(credential);
  impl_->lookup = [&known = impl_->credential](std::string_view identity) {
    return known.identity == identity ? std::optional{known.psk} : std::nullopt;
  };
}

HandshakeContext::HandshakeContext(PskLookup lookup, PskLookup late)
    : HandshakeContext(Role::kListener, std::make_unique<Impl>()) {
  impl_->lookup = std::move(lookup);
  impl_->late = std::move(late);
}

HandshakeContext::HandshakeContext(Role role, std::unique_ptr<Impl> impl)
    : role_(role), impl_(std::move(impl)) {
  using Engine = Handshake::Engine;
  impl_->ssl.reset(SSL_CTX_new(DTLS_method()));
  impl_->wire.reset(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cress datagrams"));
  SSL_CTX* const ssl = impl_->ssl.get();
  BIO_METHOD* const wire = impl_->wire.get();
  if (ssl == nullptr || wire == nullptr) {
    fail("make a context");
  }
  if (BIO_meth_set_read(wire, &Engine::read) != 1 ||
      BIO_meth_set_write(wire, &Engine::write) != 1 ||
      BIO_meth_set_ctrl(wire, &Engine::control) != 1) {
    fail("take our datagrams");
  }
  if (SSL_CTX_set_min_proto_version(ssl, DTLS1_2_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(ssl, DTLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(ssl, "ECDHE-PSK-CHACHA20-POLY1305") != 1 ||
      SSL_CTX_set1_groups_list(ssl, "X25519") != 1) {
    fail("offer DTLS 1.2 with ECDHE-PSK-CHACHA20-POLY1305 on X25519");
  }
  SSL_CTX_set_options(ssl, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                               SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_info_callback(ssl, &Engine::note_alert);
  if (role == Role::kJoiner) {
    SSL_CTX_set_psk_client_callback(ssl, &Engine::client_psk);
  } else {
    SSL_CTX_set_psk_server_callback(ssl, &Engine::server_psk);
    SSL_CTX_set_cookie_generate_cb(ssl, &Engine::make_cookie);
    SSL_CTX_set_cookie_verify_cb(ssl, &Engine::accept_cookie);
  }
}

HandshakeContext::~HandshakeContext() = default;

Handshake::Handshake(TimePoint now, const HandshakeContext& context, Duration last_repeat)
    : role_(context.role()),
      began_(now),
      give_up_at_(now + kHandshakeMax),
      refused_at_(kNever),
      engine_(std::make_unique<Engine>()),
      last_repeat_(last_repeat),
      repeat_after_(kFirstRepeat),
      flight_left_at_(now),
      answers_left_(kAnswersMax) {
  engine_->context = context.impl_.get();
  engine_->ssl.reset(SSL_new(context.impl_->ssl.get()));
  SSL* const ssl = engine_->ssl.get();
  BIO* const bio = BIO_new(context.impl_->wire.get());
  if (ssl == nullptr || bio == nullptr) {
    fail("begin a handshake");
  }
  BIO_set_data(bio, engine_.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_app_data(ssl, engine_.get());
  SSL_set_mtu(ssl, kMtu);
  DTLS_set_timer_cb(ssl, &Engine::never);
  if (role_ == Role::kJoiner) {
    SSL_set_connect_state(ssl);
    step(now);
  } else {
    SSL_set_accept_state(ssl);
  }
}

Handshake::~Handshake() = default;

void Handshake::look_up(std::span<const std::byte> datagram) {
  if (engine_ == nullptr || role_ == Role::kJoiner) {
    return;
  }
  const std::string_view identity = identity_in(datagram);
  if (!identity.empty() && identity != engine_->asked) {
    engine_->asked = identity;
    engine_->found = engine_->context->lookup(identity);
  }
}

bool Handshake::handle_datagram(TimePoint now, std::span<const std::byte> datagram) {
  if (engine_ == nullptr) {
    // Complete here but not there: our last flight was lost, and only we can repeat it. The joiner
    // repeats on its own timer, so it must not answer, otherwise two repetitions would trigger each
    // other.
    if (role_ == Role::kJoiner || !std::ranges::equal(datagram, last_heard_)) {
      return false;
    }
    if (answers_left_ > 0 && now - flight_left_at_ >= kAnswerSpacing) {
      --answers_left_;
      repeat_flight(now);
    }
    return true;
  }
  if (datagram.size() > kMessageTypeOffset && datagram[0] == kAlertType) {
    return handle_alert(now, datagram);
  }
  if (role_ == Role::kJoiner && !was_verified_) {
    // A datagram without the listener's cookie belongs to an earlier attempt. OpenSSL would keep it
    // as an early message, and fail on it later.
    if (datagram.size() <= kMessageTypeOffset || datagram[0] != kHandshakeType ||
        datagram[kMessageTypeOffset] != kHelloVerifyRequest) {
      return false;
    }
    was_verified_ = true;
  }
  look_up(datagram);
  if (!engine_->found && !engine_->asked.empty() && engine_->context->late &&
      engine_->asked == identity_in(datagram)) {
    engine_->found = engine_->context->late(engine_->asked);
  }
  engine_->in = datagram;
  step(now);
  if (engine_ == nullptr) {
    last_heard_.assign(datagram.begin(), datagram.end());
  }
  return true;
}

bool Handshake::handle_alert(TimePoint now, std::span<const std::byte> datagram) {
  constexpr auto kUnknownIdentity = static_cast<std::byte>(SSL_AD_UNKNOWN_PSK_IDENTITY);
  if (role_ == Role::kListener || datagram.size() != kAlertSize ||
      datagram.back() != kUnknownIdentity) {
    return false;
  }
  if (refusals_++ == 0) {
    refused_at_ = now;
  }
  if (is_refused(now)) {
    finish(State::kWrongSecret);
  }
  return true;
}

bool Handshake::is_refused(TimePoint now) const {
  return refusals_ >= kRefusalsMin && now - refused_at_ >= kRefusalMin;
}

void Handshake::step(TimePoint now) {
  ERR_clear_error();
  SSL* const ssl = engine_->ssl.get();
  if (role_ == Role::kListener && !engine_->listened) {
    // Reads the hello, treats its cookie as accepted, and sets OpenSSL to continue from there.
    const Owned<BIO_ADDR, BIO_ADDR_free> nobody{BIO_ADDR_new()};
    engine_->listened = nobody != nullptr && DTLSv1_listen(ssl, nobody.get()) == 1;
    if (!engine_->listened) {
      finish(State::kFailed);
      return;
    }
  }
  const int done = SSL_do_handshake(ssl);
  const bool is_over = done != 1 && SSL_get_error(ssl, done) != SSL_ERROR_WANT_READ;
  if (!engine_->out.empty()) {
    flight_ = std::exchange(engine_->out, {});
    repeat_after_ = kFirstRepeat;
    repeat_flight(now);
    if (role_ == Role::kJoiner) {
      give_up_at_ = now + kHandshakeMax;
    }
  }
  if (done == 1) {
    export_secrets();
    finish(secrets_ ? State::kComplete : State::kFailed);
  } else if (is_over) {
    finish(engine_->alert_told == SSL_AD_UNKNOWN_PSK_IDENTITY ? State::kWrongSecret
                                                              : State::kFailed);
  }
  ERR_clear_error();
}

bool Handshake::may_be_complete_there() const {
  return state_ == State::kRunning && SSL_get_state(engine_->ssl.get()) == TLS_ST_CW_FINISHED;
}

void Handshake::export_secrets() {
  std::array<Secret, 4> keys;  // joiner's records, listener's, joiner's control, listener's
  std::array<unsigned char, 4 * Secret::kSize> bytes{};
  if (SSL_export_keying_material(engine_->ssl.get(), bytes.data(), bytes.size(), kExporterLabel,
                                 sizeof kExporterLabel - 1, nullptr, 0, 0) != 1) {
    return;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    std::memcpy(keys[i].bytes().data(), bytes.data() + i * Secret::kSize, Secret::kSize);
  }
  OPENSSL_cleanse(bytes.data(), bytes.size());
  const size_t ours = role_ == Role::kJoiner ? 0 : 1;
  secrets_ = SessionSecrets{{keys[ours], keys[1 - ours]},
                            {keys[2 + ours], keys[3 - ours]},
                            {},
                            role_,
                            comparison_code(expand(keys[2], "cress code").bytes()),
                            expand(keys[2], "cress binding")};
  const Secret id = expand(keys[2], "cress id");
  std::copy_n(id.bytes().begin(), secrets_->id.size(), secrets_->id.begin());
}

void Handshake::finish(State state) {
  state_ = state;
  repeat_at_ = kNever;
  identity_ = std::move(engine_->identity.empty() ? engine_->asked : engine_->identity);
  engine_.reset();
}

void Handshake::repeat_flight(TimePoint now) {
  out_.assign(flight_.begin(), flight_.end());
  flight_left_at_ = now;
  repeat_at_ = state_ == State::kRunning ? now + repeat_after_ : kNever;
}

void Handshake::handle_timeout(TimePoint now) {
  if (state_ != State::kRunning) {
    return;
  }
  if (is_refused(now)) {
    finish(State::kWrongSecret);
  } else if (now >= give_up_at_) {
    finish(State::kFailed);
  } else if (now >= repeat_at_) {
    repeat_after_ = std::min(2 * repeat_after_, last_repeat_);
    repeat_flight(now);
  }
}

std::optional<std::vector<std::byte>> Handshake::poll_transmit() {
  if (out_.empty()) {
    return std::nullopt;
  }
  auto datagram = std::move(out_.front());
  out_.pop_front();
  return datagram;
}

TimePoint Handshake::poll_timeout() const {
  if (state_ != State::kRunning) {
    return kNever;
  }
  const TimePoint refused = refusals_ >= kRefusalsMin ? refused_at_ + kRefusalMin : kNever;
  return std::min({repeat_at_, give_up_at_, refused});
}

const SessionSecrets& Handshake::secrets() const {
  check(secrets_.has_value() && state_ == State::kComplete, "Handshake: not complete");
  return *secrets_;
}

}  // namespace cress::secure
