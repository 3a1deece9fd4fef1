#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/live/live_machine.hh"
#include "app/live/secure_call.hh"
#include "app/room/secure_room.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/machine.hh"

namespace cress::swarm {

/// The newest frame of another person that was displayed, and how many were.
struct Sight {
  TimePoint captured{};  ///< of the newest picture displayed, on the sender's clock
  TimePoint shown{};     ///< when it was displayed, on the viewer's clock
  uint64_t frames = 0;
};

/// What a person's camera and microphone record. The newest pictures are kept: several viewers
/// compare theirs with them. Threads: none inside; one owner.
class Film {
 public:
  explicit Film(uint64_t seed);
  media::PicturePtr picture(uint64_t index);
  media::FrameRate frame_rate() const { return camera_.frame_rate(); }
  media::AudioFrame sound(uint64_t index) { return voice_.frame(index); }

 private:
  static constexpr size_t kKeptMax = 256;
  media::SyntheticCamera camera_;
  media::SyntheticVoice voice_;
  std::map<uint64_t, media::PicturePtr> kept_;  // at most kKeptMax
};

/// A participant in a call or in a room: the machine of the live program with a synthetic camera, a
/// synthetic voice and a loudspeaker that takes 20 ms every 20 ms. Every displayed frame is
/// compared with the other person's camera. Threads: none inside; one owner.
class Person final : public Machine {
 public:
  static constexpr int kWidth = 112;
  static constexpr int kHeight = 80;

  /// `film`: that of this seed, if there is one already.
  Person(TimePoint start, std::string name, live::SecureCallOptions options, uint64_t seed,
         std::shared_ptr<Film> film = {});
  Person(TimePoint start, std::string name, room::SecureRoomOptions options, uint64_t seed,
         std::shared_ptr<Film> film = {});

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;
  bool drained(TimePoint now) override;

  void hang_up(TimePoint now) { machine_->hang_up(now); }
  /// So it says; its microphone stays on.
  void say_muted(TimePoint now) { machine_->set_person(now, {.name = name_, .muted = true}); }
  void handle_network_change(TimePoint now) { machine_->handle_network_change(now); }
  void set_local_addresses(TimePoint now, const std::vector<Address>& addresses) {
    machine_->set_local_addresses(now, addresses);
  }

  const std::string& name() const { return name_; }
  uint64_t seed() const { return seed_; }
  bool is_finished() const { return machine_->is_finished(); }
  /// In a call: its datagrams pass through the relay.
  bool is_relayed() const { return machine_->connection().is_relayed(); }
  /// Names of the others in this member's list; empty in a call.
  std::set<std::string> others() const;
  /// By the other's name; in a call the key is "".
  const std::map<std::string, Sight>& sights() const { return sights_; }
  /// Frames of 20 ms of received audio that were played; concealed ones and silence do not count.
  uint64_t speech_played() const { return speech_played_; }
  uint64_t pictures_captured() const { return captured_; }
  uint64_t pictures_accounted() const { return accounted_; }
  const session::Endpoint* endpoint() const { return machine_->endpoint(); }
  /// Null in a call, and while not connected to the relay.
  const room::RoomMember* member() const { return room_ != nullptr ? room_->member() : nullptr; }
  /// That member may call itself as it likes: what it sends is compared with no camera.
  void add_stranger(room::MemberNumber number) { strangers_.insert(number); }
  /// Violated invariants, each once.
  const std::set<std::string>& broken() const { return broken_; }
  /// From now on frames displayed for `name` are compared with the camera of `other`. In a call
  /// `name` is "".
  void expect_camera(const std::string& name, const Person& other) {
    cameras_.insert_or_assign(name, Camera{other.film_, other.start_});
  }

 private:
  struct Camera {
    std::shared_ptr<Film> film;
    TimePoint start{};  // on its owner's clock
  };
  void handle_shown(const std::string& from, const app::ShownFrame& frame);
  void handle_played(const app::PlayedAudio& played);
  void take_room();
  TimePoint next_picture() const;
  TimePoint next_sound() const;

  std::string name_;
  uint64_t seed_;
  TimePoint start_;
  live::SecureCall* call_ = nullptr;  // one of them is machine_
  room::SecureRoom* room_ = nullptr;
  std::unique_ptr<live::LiveMachine> machine_;
  std::shared_ptr<Film> film_;  // shared: viewers compare with it, even after its owner has gone
  std::map<std::string, Camera> cameras_;
  uint64_t captured_ = 0;
  uint64_t accounted_ = 0;
  uint64_t sounds_ = 0;
  uint64_t speech_played_ = 0;
  std::map<room::MemberNumber, std::string> names_;
  std::set<room::MemberNumber> strangers_;
  std::map<std::string, Sight> sights_;
  std::set<std::string> broken_;
};

}  // namespace cress::swarm
