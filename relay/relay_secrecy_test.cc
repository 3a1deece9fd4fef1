#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/call/call_sender.hh"
#include "app/call/control_message.hh"
#include "app/room/room_seal.hh"
#include "media/frame/assembler.hh"
#include "media/playout/audio_message.hh"
#include "media/source/wav.hh"
#include "relay/program_test_tools.hh"
#include "transport/base/leak_check.hh"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/room/media_head.hh"
#include "transport/room/outbox.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/group/room_keys.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/link/link.hh"
#include "transport/secure/records/records.hh"

// Searches for what a relay could know in its memory, and in everything that it received and sent.
// The members' data is known from one more member, who decrypts it as they do.

namespace cress::relay {
namespace {

/// Pieces of the members' data, and how often a text contains one. A piece is taken from a
/// distinctive place: no run of one byte, no header that all frames share.
class Needles {
 public:
  void add(std::span<const std::byte> said) {
    for (size_t at = 0; at + kSize <= said.size(); at += kStep) {
      add_piece(as_text(said.subspan(at, kSize)));
    }
  }
  size_t size() const { return pieces_.size(); }
  size_t count_in(std::string_view text) const {
    size_t found = 0;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at + kSize <= end; ++at) {
      uint64_t head = 0;
      std::memcpy(&head, at, sizeof head);
      if (heads_[head % kHeads] == 0) {
        continue;  // nearly always
      }
      const auto piece = pieces_.find(head);
      found += piece != pieces_.end() && piece->second == std::string_view{at, kSize} ? 1 : 0;
    }
    return found;
  }

 private:
  static constexpr size_t kSize = 24;
  static constexpr size_t kStep = 40;
  static constexpr size_t kHeads = size_t{1} << 20U;
  static constexpr size_t kDifferentMin = 14;

  void add_piece(std::string piece) {
    std::string different = piece;
    std::ranges::sort(different);
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.size() >= kDifferentMin) {
      uint64_t head = 0;
      std::memcpy(&head, piece.data(), sizeof head);
      heads_[head % kHeads] = 1;
      pieces_.emplace(head, std::move(piece));
    }
  }

  std::unique_ptr<uint8_t[]> heads_ = std::make_unique<uint8_t[]>(kHeads);  // what is looked up
  std::unordered_map<uint64_t, std::string> pieces_;
};

/// A member that keeps what it receives, encrypted and decrypted.
class Witness final : public Machine {
 public:
  Witness(TimePoint start, const secure::Link& link, Address relay)
      : secrets_(secure::derive_room(link.secret)),
        connection_(start, {.role = secure::Role::kJoiner,
                            .credential = secure::room_credential(secrets_.access),
                            .listener = relay}) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    connection_.handle_datagram(now, from, bytes);
    drain(now);
  }
  void handle_timeout(TimePoint now) override {
    connection_.handle_timeout(now);
    if (endpoint_) {
      endpoint_->handle_timeout(now);
    }
    drain(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    for (;;) {
      if (auto transmit = connection_.poll_transmit(now)) {
        sent.push_back(transmit->bytes);
        return transmit;
      }
      auto plain = endpoint_ ? endpoint_->poll_transmit(now) : std::nullopt;
      if (!plain) {
        return std::nullopt;
      }
      connection_.send(now, *std::move(plain));
    }
  }
  TimePoint poll_timeout() const override {
    return std::min({connection_.poll_timeout(), endpoint_ ? endpoint_->poll_timeout() : kNever,
                     outbox_.poll_timeout()});
  }

  /// Bytes of encoded media, and of the same encrypted; the number of frames and audio messages.
  Needles coded_frames;
  Needles coded_sounds;
  Needles sealed_frames;
  std::map<room::MemberNumber, int> frames;
  std::map<room::MemberNumber, int> sounds;
  std::vector<std::vector<std::byte>> sent;  // datagrams

 private:
  void begin(TimePoint now) {
    endpoint_.emplace(now, session::EndpointOptions{},
                      std::make_unique<control::CressControl>(control::CressControl::Options{}));
    app::open_call_flows(*endpoint_, true);
    endpoint_->set_datagram_max(room::kLegDatagramMax - secure::kRecordOverhead);
  }
  void drain(TimePoint now) {
    while (const auto event = connection_.poll_event()) {
      if (std::holds_alternative<secure::Connected>(*event)) {
        begin(now);
      }
    }
    while (const auto datagram = connection_.poll_datagram()) {
      if (endpoint_) {
        (void)endpoint_->handle_datagram(now, *datagram);
      }
    }
    while (const auto message = endpoint_ ? endpoint_->poll_message() : std::nullopt) {
      handle_message(now, *message);
    }
    while (const auto outcome = endpoint_ ? endpoint_->poll_outcome() : std::nullopt) {
      outbox_.handle_outcome(now, *outcome);
    }
    if (keys_ && (card_revision_ == 0 || keys_->card_due())) {
      outbox_.put(room::Card{++card_revision_,
                             keys_->make_card(app::encode(app::PersonState{.name = "witness"}))});
    }
    if (endpoint_) {
      outbox_.flush(now, *endpoint_);
    }
  }
  void handle_message(TimePoint now, const session::MessageReceived& message) {
    if (message.flow == session::kControlFlow) {
      handle_control(now, message.bytes);
    } else if (const auto media = room::parse_member_message(message.bytes); media && keys_) {
      if (message.flow == session::kVideoFlow) {
        handle_fragment(now, *media);
      } else if (const auto sound = room::open_sound(now, *keys_, media->member, media->body)) {
        coded_sounds.add(media::parse_sound(*sound)->payload);
        ++sounds[media->member];
      }
    }
  }
  void handle_control(TimePoint now, std::span<const std::byte> bytes) {
    const auto message = room::parse_room_message(bytes);
    if (!message) {
      return;
    }
    if (const auto* welcome = std::get_if<room::Welcome>(&*message)) {
      if (!keys_) {
        keys_.emplace(secrets_.media, welcome->number);
      }
    } else if (const auto* share = std::get_if<room::MemberShare>(&*message);
               share != nullptr && keys_) {
      (void)keys_->handle_share(now, share->number, share->bytes);
    } else if (const auto* news = std::get_if<room::MemberNews>(&*message);
               news != nullptr && keys_) {
      (void)keys_->handle_card(news->number, news->card.sealed);
      if (keys_->is_live(news->number) && !std::ranges::count(verified_, news->number)) {
        verified_.push_back(news->number);
        outbox_.put(room::Audience{.revision = static_cast<uint32_t>(verified_.size()),
                                   .members = verified_});
      }
    }
  }
  void handle_fragment(TimePoint now, const room::MemberMessage& fragment) {
    const auto result = assemblers_[fragment.member].handle_fragment(now, fragment.body);
    if (!result || !result->has_value()) {
      return;
    }
    media::EncodedFrame frame = **result;
    const std::vector<std::byte> sealed = frame.data;
    if (room::open_frame(now, *keys_, fragment.member, frame)) {
      sealed_frames.add(sealed);
      coded_frames.add(frame.data);
      ++frames[fragment.member];
    }
  }

  secure::RoomSecrets secrets_;
  secure::Connection connection_;
  std::optional<session::Endpoint> endpoint_;
  room::Outbox outbox_;
  std::optional<secure::RoomKeys> keys_;
  std::vector<room::MemberNumber> verified_;
  uint32_t card_revision_ = 0;
  std::map<room::MemberNumber, media::Assembler> assemblers_;
};

/// A tapped wire: a port for members, behind which each of them has a port towards the relay. Keeps
/// every datagram of either direction.
class Tap {
 public:
  explicit Tap(const std::string& relay) : relay_(*runtime::parse_address(relay)), front_(open()) {
    thread_ = std::thread{[this] {
      while (!is_over_) {
        step();
      }
    }};
  }
  ~Tap() {
    stop();
    close(front_);
    for (const auto& [port, behind] : behind_) {
      close(behind);
    }
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

  uint16_t port() const { return port_of(front_); }
  /// Cuts the wire; returns all captured data.
  const std::string& stop() {
    is_over_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
    return captured_;
  }

 private:
  static sockaddr_in loopback(uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
  }
  static int open() {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const sockaddr_in any = loopback(0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    return fd;
  }
  static uint16_t port_of(int fd) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  // Takes a datagram from `fd`; returns the sender's port.
  uint16_t take(int fd) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t taken = recvfrom(fd, datagram_.data(), datagram_.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    size_ = taken > 0 ? static_cast<size_t>(taken) : 0;
    captured_.append(datagram_.data(), size_);
    return ntohs(from.sin_port);
  }
  void pass(int fd, uint16_t port) const {
    const sockaddr_in to = loopback(port);
    sendto(fd, datagram_.data(), size_, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  void step() {
    std::vector<pollfd> waiting{{.fd = front_, .events = POLLIN, .revents = 0}};
    std::vector<uint16_t> members;
    for (const auto& [member, fd] : behind_) {
      waiting.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      members.push_back(member);
    }
    poll(waiting.data(), waiting.size(), 20);
    for (size_t i = 0; i < members.size(); ++i) {
      if (waiting[i + 1].revents != 0) {
        take(waiting[i + 1].fd);
        pass(front_, members[i]);
      }
    }
    if (waiting[0].revents != 0) {
      const uint16_t member = take(front_);
      const auto known = behind_.find(member);
      pass(known != behind_.end() ? known->second : behind_[member] = open(), relay_.port);
    }
  }

  Address relay_;
  int front_;
  std::map<uint16_t, int> behind_;  // by the member's port
  std::array<char, 65'536> datagram_{};
  size_t size_ = 0;
  std::string captured_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// A distinctive picture, somewhat noisy, that moves slowly from left to right.
Needles write_picture(const fs::path& path) {
  constexpr int kWidth = 160;
  constexpr int kHeight = 96;
  constexpr int kPictures = 30;
  Rng rng{7};
  std::vector<std::byte> luma(size_t{2} * kWidth * kHeight);
  for (size_t i = 0; i < luma.size(); ++i) {
    luma[i] = static_cast<std::byte>(60 + i % (2 * kWidth) / 4 + rng.below(40));
  }
  std::ofstream file{path, std::ios::binary};
  file << "YUV4MPEG2 W" << kWidth << " H" << kHeight << " F30:1 Ip A1:1 C420\n";
  Needles rows;
  for (int picture = 0; picture < kPictures; ++picture) {
    file << "FRAME\n";
    for (int y = 0; y < kHeight; ++y) {
      const auto row =
          std::span{luma}.subspan(static_cast<size_t>(2 * kWidth * y + picture), kWidth);
      rows.add(row);
      file << as_text(row);
    }
    file << std::string(size_t{kWidth} * kHeight / 2, '\x80');
  }
  return rows;
}

// A tone of 440 Hz with room noise.
Needles write_tone(const fs::path& path) {
  Rng rng{8};
  media::WavWriter wav{path};
  Needles samples;
  for (int i = 0; i < 100; ++i) {
    media::AudioFrame frame{};
    for (size_t k = 0; k < frame.size(); ++k) {
      const double at = static_cast<double>(i) * frame.size() + static_cast<double>(k);
      frame[k] = static_cast<int16_t>(
          9000 * std::sin(2 * std::numbers::pi * 440 * at / media::kAudioSampleRate) +
          rng.uniform(-300, 300));
    }
    samples.add(std::as_bytes(std::span{frame}));
    wav.write(frame);
  }
  wav.finish();
  return samples;
}

std::string frozen_memory_of(const Program& program) {
  kill(program.pid(), SIGSTOP);
  const std::string memory = memory_of(program.pid());
  kill(program.pid(), SIGCONT);
  return memory;
}

TEST_F(RelayProgram, NeitherMemoryNorWireOfTheRelayHoldsMembersMedia) {
#ifdef CRESS_LEAK_CHECK
  GTEST_SKIP() << "a sanitizer's programs have gigabytes of their own to be searched";
#endif
  if (geteuid() != 0) {
    GTEST_SKIP() << "the programs let nobody but root read their memory";
  }
  const Needles pixels = write_picture(folder_ / "picture.y4m");
  const Needles samples = write_tone(folder_ / "tone.wav");
  auto link = *secure::parse_link(ask_relay({"room", "create", "cellar-of-secrets"}));
  const auto relay = start_relay("relay");
  const secure::RoomSecrets secrets = secure::derive_room(link.secret);
  std::string captured;
  std::string relay_memory;
  std::string member_memory;
  runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  std::optional<Witness> witness;
  {
    Tap tap{relay_address()};
    link.port = tap.port();
    const std::string tapped = secure::format_link(link);
    // Names are sent to members only: one more known text.
    const auto ann =
        start_member("Annabelle-Plaintext", tapped, folder_ / "picture.y4m", folder_ / "tone.wav");
    const auto bob = start_member("Bartholomew-Plaintext", tapped);
    runtime::UdpSocket socket{clock, {.bind = *runtime::parse_address("127.0.0.1:0")}};
    witness.emplace(clock.now(), link,
                    *runtime::parse_address("127.0.0.1:" + std::to_string(tap.port())));
    const runtime::Driver driver{{clock, loop, socket, *witness}};
    const auto two_of = [](const std::map<room::MemberNumber, int>& heard_of) {
      return std::ranges::count_if(heard_of, [](const auto& of) { return of.second > 60; }) == 2;
    };
    ASSERT_TRUE(runtime::run_until(
        clock, loop, [&] { return two_of(witness->frames) && two_of(witness->sounds); }))
        << relay->err() << ann->err() << witness->frames.size() << witness->sounds.size();
    relay_memory = frozen_memory_of(*relay);
    // The control: encoded audio is in a member's memory for moments only, so several are looked
    // at.
    constexpr int kMomentsMax = 20;
    for (int moment = 0; moment < kMomentsMax; ++moment) {
      member_memory = frozen_memory_of(*ann);
      runtime::run_until(
          clock, loop, [] { return false; }, 230ms);  // the witness receives it
      if (witness->coded_sounds.count_in(member_memory) > 0) {
        break;
      }
    }
    captured = tap.stop();
  }

  // The data sent: encoded frames and audio, the picture and the tone themselves, names, keys.
  const std::map<std::string, const Needles*> said{{"coded frames", &witness->coded_frames},
                                                   {"coded sounds", &witness->coded_sounds},
                                                   {"pixels", &pixels},
                                                   {"samples", &samples}};
  for (const auto& [what, needles] : said) {
    EXPECT_GT(needles->size(), 100U) << what;
    EXPECT_EQ(needles->count_in(relay_memory), 0U) << what << " in the relay's memory";
    EXPECT_EQ(needles->count_in(captured), 0U) << what << " on the wire";
    EXPECT_GT(needles->count_in(member_memory), 0U) << what << ": not even in a member's memory";
  }
  for (const std::string& text : {std::string{"Annabelle"}, std::string{"Bartholomew"},
                                  as_text(link.secret), as_text(secrets.media.bytes())}) {
    EXPECT_EQ(count(relay_memory, text), 0U);
    EXPECT_EQ(count(captured, text), 0U);
  }
  EXPECT_GT(count(member_memory, "Bartholomew-Plaintext"), 0U);

  // The searches do find data that is present: in the relay's memory the encrypted frames, the
  // room's name and its access key; on the wire every datagram of the witness.
  EXPECT_GT(witness->sealed_frames.count_in(relay_memory), 0U);
  EXPECT_EQ(witness->sealed_frames.count_in(captured), 0U);  // records encrypt them a second time
  EXPECT_GT(count(relay_memory, "cellar-of-secrets"), 0U);
  EXPECT_GT(count(relay_memory, as_text(secrets.access.bytes())), 0U);
  Needles sent;
  for (const auto& datagram : witness->sent) {
    sent.add(datagram);
  }
  EXPECT_GE(sent.count_in(captured), sent.size() * 9 / 10);
}

TEST_F(RelayProgram, NeitherEndOfACallKeepsItsLink) {
#ifdef CRESS_LEAK_CHECK
  GTEST_SKIP() << "with a sanitizer freed memory is kept as it was";
#endif
  if (geteuid() != 0) {
    GTEST_SKIP() << "the programs let nobody but root read their memory";
  }
  const std::vector<std::string> usual{"--headless", "--video-in", "test", "--audio-in", "test"};
  const auto start = [&](const std::string& label, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), usual.begin(), usual.end());
    arguments.insert(arguments.end(), {"--stats", (folder_ / (label + ".jsonl")).string()});
    return std::make_unique<Program>(folder_, label, "cress-call", arguments);
  };
  const auto listener = start("lea", {"--listen", relay_address()});
  ASSERT_TRUE(eventually([&] { return count(listener->out(), "\n") > 0; })) << listener->err();
  const std::string text = listener->out().substr(0, listener->out().find('\n'));
  const auto link = secure::parse_link(text);
  ASSERT_TRUE(link);
  const auto joiner = start("jo", {text});
  ASSERT_TRUE(eventually([&] { return count(stats("jo"), "\"connected\":true") > 1; }))
      << joiner->err() << stats("jo");
  for (const auto& [program, label] : {std::pair{listener.get(), "lea"}, {joiner.get(), "jo"}}) {
    const std::string memory = frozen_memory_of(*program);
    EXPECT_EQ(count(memory, as_text(link->secret)), 0U) << label;
    EXPECT_EQ(count(memory, text.substr(text.find('#') + 1)), 0U) << label;
    EXPECT_EQ(count(stats(label), text.substr(text.find('#') + 1)), 0U) << label;
    EXPECT_GT(count(memory, "connected"), 0U) << label << ": nothing was searched";
  }
}

TEST_F(RelayProgram, AMemberInARoomKeepsNoLink) {
#ifdef CRESS_LEAK_CHECK
  GTEST_SKIP() << "with a sanitizer freed memory is kept as it was";
#endif
  if (geteuid() != 0) {
    GTEST_SKIP() << "the programs let nobody but root read their memory";
  }
  const std::string text = ask_relay({"room", "create", "attic"});
  const auto link = secure::parse_link(text);
  ASSERT_TRUE(link);
  const auto relay = start_relay("relay");
  const auto ann = start_member("ann", text);
  const auto bob = start_member("bob", text);
  ASSERT_TRUE(eventually([&] { return others("ann").size() == 1 && others("bob").size() == 1; }))
      << ann->err() << stats("ann");
  for (const auto& [program, label] : {std::pair{ann.get(), "ann"}, {bob.get(), "bob"}}) {
    const std::string memory = frozen_memory_of(*program);
    EXPECT_EQ(count(memory, as_text(link->secret)), 0U) << label;
    EXPECT_EQ(count(memory, text.substr(text.find('#') + 1)), 0U) << label;
    EXPECT_EQ(count(stats(label), text.substr(text.find('#') + 1)), 0U) << label;
    EXPECT_GT(count(memory, "--stats"), 0U) << label << ": nothing was searched";
  }
}

/// What others can do to a running program.
struct Exposure {
  bool core_file = false;
  bool is_read = false;  ///< by other programs of its user
  friend bool operator==(const Exposure&, const Exposure&) = default;
};
Exposure exposure_of(const Program& program) {
  const std::string process = "/proc/" + std::to_string(program.pid());
  const std::string limits = Program::text(process + "/limits");
  // Linux gives root the files of a process whose memory is not to be read (proc(5)).
  struct stat files {};
  EXPECT_EQ(stat((process + "/mem").c_str(), &files), 0);
  return {.core_file = limits.find("Max core file size        0 ") == std::string::npos,
          .is_read = files.st_uid != 0};
}

TEST_F(RelayProgram, CallsAndRelaysHaveNoCoreFileAndNoReader) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can run a program as somebody else";
  }
#ifdef CRESS_LEAK_CHECK
  constexpr Exposure kWanted{.is_read = true};  // the sanitizer reads it
#else
  constexpr Exposure kWanted{};
#endif
  ASSERT_EQ(chown(folder_.c_str(), kNobodysId, kNobodysId), 0);
  const Program call{
      folder_,
      "call",
      "cress-call",
      {"--headless", "--video-in", "test", "--audio-in", "test", "--listen", "127.0.0.1:0"},
      RunAs::kNobody};
  const Program relay{folder_,
                      "relay",
                      "cress-relay",
                      {"--rooms", rooms(), "--listen", relay_address(), "--metrics", ""},
                      RunAs::kNobody};
  ASSERT_TRUE(eventually([&] { return count(call.out(), "cress://") > 0; })) << call.err();
  ASSERT_TRUE(eventually([&] { return count(relay.err(), "\"listening\"") > 0; })) << relay.err();
  EXPECT_EQ(exposure_of(call), kWanted);
  EXPECT_EQ(exposure_of(relay), kWanted);
  // The control: another program is read, and would leave a core file if this system allows any.
  const Program other{folder_, "other", "/bin/sleep", {"60"}, RunAs::kNobody};
  const std::string other_is = "/proc/" + std::to_string(other.pid()) + "/comm";
  ASSERT_TRUE(eventually([&] { return Program::text(other_is) == "sleep\n"; }));
  EXPECT_TRUE(exposure_of(other).is_read);
}

}  // namespace
}  // namespace cress::relay
