#include <benchmark/benchmark.h>

#include "transport/secure/group/room_keys.hh"
#include "transport/secure/secure_world_test_tools.hh"

namespace cress::secure {
namespace {

constexpr size_t kText = 1200 - kTagSize - 16;

/// A joiner whose side of the work is done in advance.
struct Talker {
  Address address;
  std::unique_ptr<Connection> connection;
  std::vector<std::vector<std::byte>> sealed;
  uint64_t sequence = 0;

  void prepare(TimePoint now, size_t count) {
    sealed.clear();
    for (size_t i = 0; i < count; ++i) {
      connection->send(now, plain_datagram(sequence, kText));
      sequence += kText + 50;
      while (auto transmit = connection->poll_transmit(now)) {
        if (transmit->bytes[0] == kRecordKind) {
          sealed.push_back(std::move(transmit->bytes));
        }
      }
    }
  }
};

Address bench_address(size_t i) {
  Address address = test_address(2);
  address.ip[13] = static_cast<uint8_t>(i >> 8U);
  address.ip[14] = static_cast<uint8_t>(i & 255U);
  return address;
}

template <class Machine>
void connect(Machine& machine, Talker& talker, const Address& at) {
  const TimePoint now = kTimeZero;
  while (!talker.connection->is_connected()) {
    while (const auto t = talker.connection->poll_transmit(now)) {
      machine.handle_datagram(now, talker.address, t->bytes);
    }
    while (const auto t = machine.poll_transmit(now)) {
      talker.connection->handle_datagram(now, at, t->bytes);
    }
  }
  while (machine.poll_event()) {
  }
}

constexpr size_t kRound = 20'000;

std::unique_ptr<Listener> make_listener(const Credential& credential) {
  ListenerOptions options{
      .lookup = [psk = credential.psk](std::string_view) { return std::optional{psk}; }};
  options.limits.handshakes =
      options.limits.handshakes_of_network = {.per_second = 1e6, .burst = 1e6};
  return std::make_unique<Listener>(kTimeZero, std::move(options));
}

std::vector<Talker> connect_all(Listener& listener, const Credential& credential, size_t peers) {
  const Address at = test_address(1);
  std::vector<Talker> talkers(peers);
  for (size_t i = 0; i < peers; ++i) {
    talkers[i].address = bench_address(i);
    talkers[i].connection = std::make_unique<Connection>(
        kTimeZero,
        ConnectionOptions{.role = Role::kJoiner, .credential = credential, .listener = at});
    connect(listener, talkers[i], at);
  }
  return talkers;
}

/// A full datagram from each of N peers in turn, and one back: a relay's normal work.
void BM_Listener(benchmark::State& state) {
  const auto peers = static_cast<size_t>(state.range(0));
  const Credential credential = room_credential(test_access(1));
  const auto machine = make_listener(credential);
  Listener& listener = *machine;
  std::vector<Talker> talkers = connect_all(listener, credential, peers);
  const size_t each = kRound / peers;
  std::vector<uint64_t> back(peers);
  size_t turn = kRound;
  TimePoint now = kTimeZero;
  for (auto _ : state) {
    if (turn >= each * peers) {
      state.PauseTiming();
      for (Talker& talker : talkers) {
        talker.prepare(kTimeZero, each);
      }
      turn = 0;
      state.ResumeTiming();
    }
    now += 10us;
    Talker& talker = talkers[turn % peers];
    listener.handle_datagram(now, talker.address, talker.sealed[turn / peers]);
    while (auto datagram = listener.poll_datagram()) {
      auto& sequence = back[turn % peers];
      listener.send(now, datagram->peer, plain_datagram(sequence, kText));
      sequence += kText + 50;
    }
    if (listener.poll_timeout() <= now) {
      listener.handle_timeout(now);
    }
    while (auto transmit = listener.poll_transmit(now)) {
      benchmark::DoNotOptimize(transmit->bytes.data());
    }
    ++turn;
  }
  check(listener.stats().bad_tag + listener.stats().replayed == 0 && listener.peers() == peers,
        "bench: something was refused");
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_Listener)->Arg(1)->Arg(100)->Arg(1000);

/// The same with the machine that has one peer.
void BM_Connection(benchmark::State& state) {
  const Address at = test_address(1);
  Connection machine{kTimeZero, {.secret = test_secret()}};
  Talker talker{.address = bench_address(0), .connection = {}, .sealed = {}};
  talker.connection = std::make_unique<Connection>(
      kTimeZero, ConnectionOptions{.role = Role::kJoiner, .secret = test_secret(), .listener = at});
  connect(machine, talker, at);
  uint64_t back = 0;
  size_t turn = kRound;
  TimePoint now = kTimeZero;
  for (auto _ : state) {
    if (turn == kRound) {
      state.PauseTiming();
      talker.prepare(kTimeZero, kRound);
      turn = 0;
      state.ResumeTiming();
    }
    now += 10us;
    machine.handle_datagram(now, talker.address, talker.sealed[turn]);
    while (auto datagram = machine.poll_datagram()) {
      machine.send(now, plain_datagram(back, kText));
      back += kText + 50;
    }
    if (machine.poll_timeout() <= now) {
      machine.handle_timeout(now);
    }
    while (auto transmit = machine.poll_transmit(now)) {
      benchmark::DoNotOptimize(transmit->bytes.data());
    }
    ++turn;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_Connection);

/// The cost of a stranger's record for a relay with a hundred peers.
void BM_StrangersRecord(benchmark::State& state) {
  const Credential credential = room_credential(test_access(1));
  const auto listener = make_listener(credential);
  const auto talkers = connect_all(*listener, credential, 100);
  auto forged = plain_datagram(1000, kText);
  forged[0] = kRecordKind;
  for (auto _ : state) {
    listener->handle_datagram(kTimeZero, bench_address(60'000), forged);
  }
}
BENCHMARK(BM_StrangersRecord);

/// A frame from member to member: encrypted once, decrypted once, and proven with 127 others.
void BM_RoomFrame(benchmark::State& state) {
  const Secret media = derive_room(test_secret()).media;
  RoomKeys sender{media, 1};
  RoomKeys receiver{media, 2};
  for (int round = 0; round < 2; ++round) {
    check(receiver.handle_card(1, sender.make_card({})).has_value() &&
              sender.handle_card(2, receiver.make_card({})).has_value(),
          "bench: a card was refused");
  }
  const auto share = sender.poll_share();
  check(share && receiver.handle_share(kTimeZero, 1, share->bytes), "bench: a share was refused");
  const std::vector<std::byte> metadata(16);
  const std::vector<std::byte> frame(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto opened = receiver.open(kTimeZero, 1, MediaKind::kVideo, metadata,
                                      sender.seal(kTimeZero, MediaKind::kVideo, metadata, frame));
    while (const auto proof = sender.poll_proof(kTimeZero)) {
      check(receiver.handle_proof(kTimeZero, 1, proof->bytes), "bench: a proof was refused");
    }
    check(opened.has_value(), "bench: did not open");
    benchmark::DoNotOptimize(opened->data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(BM_RoomFrame)->Arg(100)->Arg(4096);

}  // namespace
}  // namespace cress::secure
