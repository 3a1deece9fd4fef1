#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "traces/saturate/saturator.hh"
#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::traces {

/// One path of a saturator as a machine for a Driver. Only the link's side has time-outs. Threads:
/// the loop's.
class SaturatorWay final : public Machine {
 public:
  /// `saturator` is borrowed. `on_drained` is called after every change, from inside the driver.
  SaturatorWay(Saturator& saturator, SaturatePath path, std::function<void()> on_drained)
      : saturator_(saturator), path_(path), on_drained_(std::move(on_drained)) {}

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override {
    saturator_.handle_datagram(now, path_, from, bytes);
  }
  void handle_timeout(TimePoint now) override { saturator_.handle_timeout(now); }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    return saturator_.poll_transmit(now, path_);
  }
  TimePoint poll_timeout() const override {
    return path_ == SaturatePath::kLink ? saturator_.poll_timeout() : kNever;
  }
  bool drained(TimePoint /*now*/) override {
    on_drained_();
    return true;
  }
  void handle_path_error(TimePoint now, const PathError& error) override;

 private:
  Saturator& saturator_;
  SaturatePath path_;
  std::function<void()> on_drained_;
};

/// A saturator in real time: a socket for each path; each side is notified of the other's changes.
/// Errors: the constructor throws what UdpSocket's throws. Threads: the loop's.
class SaturateEnd {
 public:
  struct Parts {
    const runtime::MonotonicClock& clock;  ///< this and the loop are borrowed
    runtime::EventLoop& loop;
    Address bind{};                          ///< of the link's socket
    std::optional<Address> feedback_bind{};  ///< and of the feedback path's, if there is one
  };

  /// `on_end` is called once, from the loop, when it is finished.
  SaturateEnd(const Parts& parts, const SaturatorOptions& options, std::function<void()> on_end);
  ~SaturateEnd();

  const Saturator& saturator() const { return saturator_; }
  /// Ends measuring; the measured data is still collected.
  void finish();

  Address link_address() const { return link_socket_.local_address(); }
  std::optional<Address> feedback_address() const;
  /// Datagrams that reached this machine while its buffer was full: lost by us, not by the link.
  uint64_t dropped_by_kernel() const { return link_socket_.dropped_by_kernel(); }
  /// Datagrams that never left this machine.
  uint64_t unsent() const;

 private:
  void look_around();

  runtime::EventLoop& loop_;
  std::function<void()> on_end_;
  Saturator saturator_;
  runtime::UdpSocket link_socket_;
  std::optional<runtime::UdpSocket> feedback_socket_;
  SaturatorWay link_;
  std::optional<SaturatorWay> feedback_;
  std::unique_ptr<runtime::Driver> link_driver_;
  std::unique_ptr<runtime::Driver> feedback_driver_;
  // Lets posted work check whether this object still exists.
  std::shared_ptr<bool> alive_;
  bool link_woken_ = false;
  bool feedback_woken_ = false;
  bool ended_ = false;
};

}  // namespace cress::traces
