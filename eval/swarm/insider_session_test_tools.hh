#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "app/call/call_sender.hh"
#include "eval/swarm/fuzz_input_test_tools.hh"
#include "relay/members/hostile_datagram.hh"
#include "transport/base/big_endian.hh"
#include "transport/base/machine.hh"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/secure/handshake/handshake.hh"
#include "transport/secure/records/control_record.hh"
#include "transport/secure/records/records.hh"
#include "transport/session/endpoint.hh"
#include "transport/wire/datagram.hh"

namespace cress::swarm {

/// A peer with the link that joins as it should, and from then on seals whatever it is given:
/// messages of any flow, control records of any kind, datagrams with any contents and sequence.
/// Threads: none inside; one owner.
class InsiderSession : public Machine {
 public:
  InsiderSession(TimePoint now, secure::Credential credential, const Address& other)
      : context_(secure::Role::kJoiner, std::move(credential)),
        handshake_(now, context_),
        other_(other) {}
  InsiderSession(TimePoint now, std::span<const std::byte> link_secret, const Address& other)
      : context_(secure::Role::kJoiner, link_secret), handshake_(now, context_), other_(other) {}

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    if (bytes.empty()) {
      return;
    }
    if (secure::is_handshake_kind(bytes[0])) {
      (void)handshake_.handle_datagram(now, bytes);
    } else if (endpoint_ && bytes[0] == secure::kControlKind) {
      handle_control_record(now, bytes);
    } else if (endpoint_) {
      if (const auto opened = records_->open(now, bytes)) {
        (void)endpoint_->handle_datagram(now, opened->plain);
      }
    }
    settle(now);
  }
  void handle_timeout(TimePoint now) override {
    if (handshake_.poll_timeout() <= now) {
      handshake_.handle_timeout(now);
    }
    if (endpoint_ && endpoint_->poll_timeout() <= now) {
      endpoint_->handle_timeout(now);
    }
    settle(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    if (auto flight = handshake_.poll_transmit()) {
      return Transmit{other_, *std::move(flight)};
    }
    if (auto plain = endpoint_ ? endpoint_->poll_transmit(now) : std::nullopt) {
      last_plain_ = *plain;
      out_.push_back(records_->seal(now, *std::move(plain)));
    }
    if (out_.empty()) {
      return std::nullopt;
    }
    Transmit transmit{other_, std::move(out_.front())};
    out_.pop_front();
    return transmit;
  }
  TimePoint poll_timeout() const override {
    return std::min(handshake_.poll_timeout(), endpoint_ ? endpoint_->poll_timeout() : kNever);
  }

  bool is_in() const { return endpoint_.has_value(); }
  /// Called with each message of the other end.
  void on_message(std::function<void(TimePoint, const session::MessageReceived&)> take) {
    take_ = std::move(take);
  }

  void send(TimePoint now, session::FlowId flow, std::vector<std::byte> message) {
    message.resize(std::min(message.size(), static_cast<size_t>(endpoint_->message_max().bytes())));
    (void)endpoint_->send(now, flow, std::move(message), session::Leave::kNow);
  }
  void send_control_record(TimePoint now, FuzzInput& input) {
    out_.push_back(control_->seal(now, control_message(input)));
  }
  /// Of the right key and any contents: changed bytes of the newest real one, or frames that no
  /// member makes. Its sequence may be any.
  void send_datagram(TimePoint now, FuzzInput& input) {
    std::vector<std::byte> plain = last_plain_;
    // Between the sequences of two real ones, which are at least 50 apart.
    uint64_t sequence = plain.empty() ? 1 : number_at(plain, kSequenceAt, 4) + 1 + input.below(48);
    if (input.one_in(2) || plain.empty()) {
      Rng rng{input.number(4)};
      plain = relay::hostile_datagram(rng, frame_id_, sequence);
    } else {
      put_number(plain, kSequenceAt, 4, sequence & UINT32_MAX);
    }
    // A sequence far ahead would make the other end take all that follows for too old.
    const bool is_any = input.one_in(16);
    for (size_t left = input.below(4); left > 0 && plain.size() > kHeader; --left) {
      const size_t at = is_any ? 1 + input.below(plain.size() - 1)
                               : kHeader + input.below(plain.size() - kHeader);
      plain[at] ^= static_cast<std::byte>(input.number(1));
    }
    // Records of its own: the sequence may be one that was sent already.
    secure::Records other{now, secrets_->records};
    out_.push_back(other.seal(now, std::move(plain)));
  }

 private:
  static constexpr size_t kHeader = static_cast<size_t>(wire::kHeaderSize.bytes());
  static constexpr size_t kSequenceAt = 4;

  void settle(TimePoint now) {
    if (!endpoint_ && handshake_.state() == secure::Handshake::State::kComplete) {
      secrets_ = handshake_.secrets();
      records_.emplace(now, secrets_->records);
      control_.emplace(now, secrets_->control);
      control::CressControl::Options control = control::call_control();
      control.datagram_overhead += secure::kRecordOverhead;
      endpoint_.emplace(
          now, session::EndpointOptions{.datagram_max = DataSize{1200} - secure::kRecordOverhead},
          std::make_unique<control::CressControl>(control));
      app::open_call_flows(*endpoint_);
      out_.push_back(control_->seal(now, secure::Ping{}));
    }
    while (auto message = endpoint_ ? endpoint_->poll_message() : std::nullopt) {
      if (take_) {
        take_(now, *message);
      }
    }
    while (endpoint_ && endpoint_->poll_outcome()) {
    }
  }
  void handle_control_record(TimePoint now, std::span<const std::byte> bytes) {
    const auto opened = control_->open(now, bytes);
    if (!opened) {
      return;
    }
    if (const auto* ping = std::get_if<secure::Ping>(&opened->message)) {
      out_.push_back(control_->seal(now, secure::Pong{.id = ping->id}));
    } else if (const auto* challenge = std::get_if<secure::PathChallenge>(&opened->message)) {
      out_.push_back(control_->seal(now, secure::PathResponse{challenge->token}));
    }
  }
  static secure::ControlMessage control_message(FuzzInput& input) {
    secure::PathToken token{};
    std::ranges::generate(token, [&] { return static_cast<std::byte>(input.number(1)); });
    switch (input.below(8)) {
      case 0:
        return secure::PathChallenge{token};
      case 1:
        return secure::PathResponse{token};
      case 2:
        // Ends the attack, so it is rare.
        return input.one_in(32) ? secure::ControlMessage{secure::Close{
                                      static_cast<secure::CloseCode>(1 + input.below(6))}}
                                : secure::UnknownControl{};
      case 3:
        return secure::MtuProbe{DataSize{static_cast<int64_t>(64 + input.below(1400))}};
      case 4:
        return secure::MtuAcknowledgement{DataSize{static_cast<int64_t>(input.number(2))}};
      case 5:
        return secure::Ping{static_cast<uint32_t>(input.number(4))};
      case 6:
        return secure::Pong{static_cast<uint32_t>(input.number(4)),
                            static_cast<uint32_t>(input.number(4))};
      default:
        return secure::UnknownControl{};
    }
  }

  secure::HandshakeContext context_;
  secure::Handshake handshake_;
  Address other_;
  std::optional<secure::SessionSecrets> secrets_;
  std::optional<secure::Records> records_;
  std::optional<secure::ControlRecords> control_;
  std::optional<session::Endpoint> endpoint_;
  std::deque<std::vector<std::byte>> out_;
  std::vector<std::byte> last_plain_;
  uint32_t frame_id_ = 1000;
  std::function<void(TimePoint, const session::MessageReceived&)> take_;
};

}  // namespace cress::swarm
