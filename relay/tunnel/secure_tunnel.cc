#include "relay/tunnel/secure_tunnel.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "relay/tunnel/feedback_each_tick.hh"
#include "transport/base/take_front.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/control/sprout/sprout_control.hh"
#include "transport/secure/records/records.hh"

namespace cress::tunnel {
namespace {

// A lost greeting is repeated; most answers arrive before that.
constexpr Duration kGreetInterval = 250ms;

}  // namespace

struct ControlMaker::Tables {
  control::BeliefDynamics dynamics{control::SproutModel{}};
  control::ForecastTable table{dynamics};
};

ControlMaker::ControlMaker() = default;
ControlMaker::~ControlMaker() = default;

std::unique_ptr<control::Control> ControlMaker::make(ControlKind kind, DataSize tag) {
  if (kind == ControlKind::kCress) {
    control::CressControl::Options options;
    options.datagram_overhead += tag;
    return std::make_unique<control::CressControl>(options);
  }
  if (!tables_) {
    tables_ = std::make_unique<Tables>();
  }
  return std::make_unique<FeedbackEachTick>(std::make_unique<control::SproutControl>(
      std::make_unique<control::BayesianEstimator>(tables_->dynamics, tables_->table)));
}

SecureTunnel::SecureTunnel(TimePoint start, SecureTunnelOptions options)
    : options_(std::move(options)),
      is_listener_(options_.connection.role == secure::Role::kListener),
      connection_(start, options_.connection) {}

void SecureTunnel::handle_datagram(TimePoint now, const Address& from,
                                   std::span<const std::byte> bytes) {
  connection_.handle_datagram(now, from, bytes);
  drain(now);
}

void SecureTunnel::handle_timeout(TimePoint now) {
  connection_.handle_timeout(now);
  if (tunnel_ && tunnel_->poll_timeout() <= now) {
    tunnel_->handle_timeout(now);
  }
  drain(now);
  if (greet_at_ <= now) {
    greet(now);
  }
}

void SecureTunnel::handle_path_error(TimePoint now, const PathError& error) {
  connection_.handle_path_error(now, error);
  drain(now);
}

void SecureTunnel::greet(TimePoint now) {
  const auto note = build_greeting({.is_answer = false, .network = options_.network});
  tunnel_->send_note(now, {note.begin(), note.end()});
  greet_at_ = now + kGreetInterval;
}

void SecureTunnel::drain_events(TimePoint now) {
  while (auto event = connection_.poll_event()) {
    if (std::holds_alternative<secure::Connected>(*event)) {
      session::EndpointOptions endpoint;
      endpoint.datagram_max = connection_.datagram_max();
      tunnel_ = std::make_unique<Tunnel>(
          now, endpoint, controls_.make(options_.network.control, secure::kRecordOverhead),
          options_.network.control == ControlKind::kSprout);
      tunnel_->set_gate({});  // nothing passes before both ends know their addresses
      network_.reset();
      ++sessions_;
      if (is_listener_) {
        greet(now);
      }
    } else if (const auto* mtu = std::get_if<secure::MtuChanged>(&*event); mtu && tunnel_) {
      tunnel_->set_datagram_max(mtu->datagram_max);
    } else if (std::holds_alternative<secure::Closed>(*event)) {
      tunnel_.reset();
      network_.reset();
      greet_at_ = kNever;
    }
    events_.push_back(*event);
  }
}

void SecureTunnel::drain(TimePoint now) {
  drain_events(now);
  while (const auto datagram = connection_.poll_datagram()) {
    if (tunnel_) {
      (void)tunnel_->handle_datagram(now, *datagram);  // the endpoint counts bad ones itself
    }
  }
  while (tunnel_) {
    const auto note = tunnel_->poll_note();
    if (!note) {
      break;
    }
    handle_note(now, *note);
  }
}

void SecureTunnel::handle_note(TimePoint now, std::span<const std::byte> note) {
  const auto greeting = parse_greeting(note);
  if (!greeting || greeting->is_answer != is_listener_) {
    return;
  }
  if (is_listener_) {
    greet_at_ = kNever;
    network_ = options_.network;
    tunnel_->set_gate(gate_of(*network_, true, options_.reach));
    return;
  }
  if (greeting->network.control != options_.network.control) {
    disagreement_ = std::string{"the listener forecasts by --control "} +
                    name_of(greeting->network.control) + "; say the same here";
    return;
  }
  disagreement_ = refusal_of(greeting->network, options_.network.listener, options_.reach);
  if (!disagreement_.empty()) {
    return;
  }
  network_ = greeting->network;
  tunnel_->set_gate(gate_of(*network_, false, options_.reach));
  const auto answer = build_greeting({.is_answer = true, .network = *network_});
  tunnel_->send_note(now, {answer.begin(), answer.end()});
}

std::optional<Transmit> SecureTunnel::poll_transmit(TimePoint now) {
  for (;;) {
    if (auto transmit = connection_.poll_transmit(now)) {
      return transmit;
    }
    auto datagram = tunnel_ ? tunnel_->poll_transmit(now) : std::nullopt;
    if (!datagram) {
      return std::nullopt;
    }
    connection_.send(now, *std::move(datagram));
    drain_events(now);
  }
}

TimePoint SecureTunnel::poll_timeout() const {
  const TimePoint tunnel = tunnel_ ? tunnel_->poll_timeout() : kNever;
  return std::min({connection_.poll_timeout(), tunnel, greet_at_});
}

void SecureTunnel::send(TimePoint now, std::span<const std::byte> packet) {
  if (tunnel_) {
    tunnel_->send(now, packet);
  }
}

void SecureTunnel::handle_network_change(TimePoint now) {
  connection_.handle_network_change(now);
  drain(now);
}

void SecureTunnel::hang_up(TimePoint now) {
  connection_.hang_up(now);
  drain(now);
}

std::optional<std::vector<std::byte>> SecureTunnel::poll_packet() {
  return tunnel_ ? tunnel_->poll_packet() : std::nullopt;
}

std::optional<secure::Event> SecureTunnel::poll_event() { return take_front(events_); }

}  // namespace cress::tunnel
