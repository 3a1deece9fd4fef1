#include <benchmark/benchmark.h>

#include <array>

#include "transport/secure/connection.hh"
#include "transport/secure/crypto/aead_cipher.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/records/control_record.hh"
#include "transport/secure/records/records.hh"
#include "transport/secure/secure_test_tools.hh"

namespace cress::secure {
namespace {

constexpr size_t kPlain = 1200 - kTagSize;
constexpr size_t kHeaderSize = 16;

/// What one core does for a call: encrypt at one end, decrypt at the other, full datagrams.
void seal_and_open(benchmark::State& state, Aead aead) {
  const Secret one = extract(std::as_bytes(std::span{"one"}));
  const Secret two = extract(std::as_bytes(std::span{"two"}));
  Records sender{kTimeZero, {one, two}, aead};
  Records receiver{kTimeZero, {two, one}, aead};
  const auto base = plain_datagram(0, kPlain - kHeaderSize);
  uint32_t sequence = 0;
  for (auto _ : state) {
    auto plain = base;
    for (size_t i = 0; i < 4; ++i) {
      plain[4 + i] = static_cast<std::byte>((sequence >> (8 * (3 - i))) & 255U);
    }
    sequence += 1234;
    const auto opened = receiver.open(kTimeZero, sender.seal(kTimeZero, std::move(plain)));
    check(opened.has_value(), "bench: did not open");
    benchmark::DoNotOptimize(opened->plain.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * 1200);
  state.counters["gbit_per_s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 1200 * 8 / 1e9, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(seal_and_open, aes_128_gcm, Aead::kAes128Gcm);
BENCHMARK_CAPTURE(seal_and_open, chacha20_poly1305, Aead::kChaCha20Poly1305);

/// The size of an audio message and of a full datagram,
void seal_bytes(benchmark::State& state) {
  const Secret secret = extract(std::as_bytes(std::span{"one"}));
  AeadKey key{kRecordAead, Use::kSeal, secret.bytes().first<16>(),
              secret.bytes().last<kNonceSize>()};
  std::vector<std::byte> text(static_cast<size_t>(state.range(0)));
  std::array<std::byte, kHeaderSize> header{};
  std::array<std::byte, kTagSize> tag{};
  uint64_t sequence = 0;
  for (auto _ : state) {
    key.seal(++sequence, header, text, tag);
    benchmark::DoNotOptimize(tag.data());
  }
}
BENCHMARK(seal_bytes)->Arg(100)->Arg(1168);

/// and the same by OpenSSL's own interface, for comparison with AeadKey.
void seal_bytes_by_evp(benchmark::State& state) {
  const Secret secret = extract(std::as_bytes(std::span{"one"}));
  const auto cipher = make_evp_cipher(kRecordAead, Use::kSeal, secret.bytes().first<16>());
  std::vector<std::byte> text(static_cast<size_t>(state.range(0)));
  std::array<std::byte, kHeaderSize> header{};
  std::array<std::byte, kTagSize> tag{};
  std::array<unsigned char, kNonceSize> nonce{};
  for (auto _ : state) {
    ++nonce.back();
    cipher->seal(nonce, header, {}, text, tag);
    benchmark::DoNotOptimize(tag.data());
  }
}
BENCHMARK(seal_bytes_by_evp)->Arg(100)->Arg(1168);

/// A forged record: the cost of each in a flood.
void refuse_a_forgery(benchmark::State& state) {
  const Secret one = extract(std::as_bytes(std::span{"one"}));
  Records receiver{kTimeZero, {one, one}};
  auto forged = plain_datagram(1000, kPlain);
  forged[0] = kRecordKind;
  for (auto _ : state) {
    benchmark::DoNotOptimize(receiver.open(kTimeZero, forged).has_value());
  }
}
BENCHMARK(refuse_a_forgery);

/// The stateless answer to a hello from any address.
void answer_a_hello(benchmark::State& state) {
  const Address listener = test_address(1);
  Connection joiner{kTimeZero,
                    {.role = Role::kJoiner, .secret = test_secret(), .listener = listener}};
  const auto hello = joiner.poll_transmit(kTimeZero)->bytes;
  const HelloGate gate;
  const auto from = plain_datagram(0, 6);
  for (auto _ : state) {
    benchmark::DoNotOptimize(gate.judge(kTimeZero, from, hello).answer.data());
  }
}
BENCHMARK(answer_a_hello);

/// Both ends' work of one handshake.
void handshake(benchmark::State& state) {
  const Address left = test_address(1);
  const Address right = test_address(2);
  for (auto _ : state) {
    Connection listener{kTimeZero, {.secret = test_secret()}};
    Connection joiner{kTimeZero,
                      {.role = Role::kJoiner, .secret = test_secret(), .listener = left}};
    while (!joiner.is_connected()) {
      while (const auto t = joiner.poll_transmit(kTimeZero)) {
        listener.handle_datagram(kTimeZero, right, t->bytes);
      }
      while (const auto t = listener.poll_transmit(kTimeZero)) {
        joiner.handle_datagram(kTimeZero, left, t->bytes);
      }
    }
  }
}
BENCHMARK(handshake)->Unit(benchmark::kMicrosecond);

/// A listener's share of a join: its computation at the hello (0), at the proof (1), and for only
/// creating and destroying (2).
void listeners_step(benchmark::State& state) {
  const HandshakeContext listener{Role::kListener, test_secret()};
  const HandshakeContext joiner{Role::kJoiner, test_secret()};
  const HelloGate gate;
  for (auto _ : state) {
    state.PauseTiming();
    Handshake left{kTimeZero, joiner};
    const auto first = *left.poll_transmit();
    left.handle_datagram(kTimeZero, gate.judge(kTimeZero, first, first).answer);
    const auto hello = *left.poll_transmit();
    std::optional<Handshake> right;
    if (state.range(0) != 2) {
      state.range(0) == 0 ? state.ResumeTiming() : void();
      right.emplace(kTimeZero, listener);
      right->handle_datagram(kTimeZero, hello);
      state.range(0) == 0 ? state.PauseTiming() : void();
      left.handle_datagram(kTimeZero, *right->poll_transmit());
    }
    const auto proof = left.poll_transmit().value_or(std::vector<std::byte>{});
    state.ResumeTiming();
    if (state.range(0) == 1) {
      right->handle_datagram(kTimeZero, proof);
      check(right->state() == Handshake::State::kComplete, "bench: not let in");
    } else if (state.range(0) == 2) {
      const Handshake begun{kTimeZero, listener};
    }
  }
}
BENCHMARK(listeners_step)->DenseRange(0, 2)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cress::secure
