#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/call/call.hh"
#include "app/live/live_machine.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/secure/connection.hh"

namespace cress::live {

struct SecureCallOptions {
  secure::ConnectionOptions connection;
  app::CallOptions call;
  control::CressControl::Options control = control::call_control();
  app::PersonState person;
};

/// One end of a call behind its link: a peer that proves to have the link gets a Call, and each new
/// peer a new Call.
class SecureCall final : public LiveMachine {
 public:
  SecureCall(TimePoint start, SecureCallOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  void capture(TimePoint now, const media::PicturePtr& picture) override;
  void capture_sound(TimePoint now, const media::AudioFrame& samples) override;
  app::PlayedAudio play(TimePoint now) override;
  void set_person(TimePoint now, app::PersonState person) override;
  bool send_chat(TimePoint now, std::string_view text) override;
  size_t chat_waiting() const override { return call_ ? call_->chat_waiting() : 0; }
  void set_local_addresses(TimePoint now, const std::vector<Address>& addresses) override;
  void handle_network_change(TimePoint now) override;
  void hang_up(TimePoint now) override;
  /// The answer to secure::NewcomerWaits.
  void admit(TimePoint now, std::string_view code);
  void refuse(TimePoint now);

  std::optional<secure::Event> poll_event();
  std::optional<app::ShownFrame> poll_shown();
  /// A line of the other person's.
  std::optional<std::string> poll_chat();
  std::optional<app::CodedVideo> poll_coded() override;
  std::shared_ptr<app::EncodeWork> poll_encode_work() override;
  void handle_encoded(TimePoint now, app::EncodeWork& work) override;
  std::shared_ptr<app::DecodeWork> poll_decode_work() override;
  void handle_decoded(TimePoint now, const app::DecodeWork& work) override;

  /// Null while no peer is connected.
  const app::Call* call() const { return call_.get(); }
  const secure::Connection& connection() const override { return connection_; }
  std::string code() const override { return connection_.code(); }
  bool is_finished() const override { return connection_.is_finished(); }
  const session::Endpoint* endpoint() const override {
    return call_ ? &call_->endpoint() : nullptr;
  }
  double loss() const override { return call_ ? call_->loss() : 0; }
  std::optional<app::LinkReport> peer_link() const override {
    return call_ ? call_->peer_link() : std::nullopt;
  }
  /// Incremented with each peer.
  uint64_t calls() const { return calls_; }

 private:
  void drain(TimePoint now);
  void drain_events(TimePoint now);

  SecureCallOptions options_;
  secure::Connection connection_;
  std::unique_ptr<app::Call> call_;
  uint64_t calls_ = 0;
  std::deque<secure::Event> events_;  // few: drained after each call
};

}  // namespace cress::live
