#include "relay/tunnel/tunnel.hh"

#include <algorithm>
#include <utility>

#include "transport/base/take_front.hh"
#include "transport/control/sprout/model.hh"
#include "transport/netns/packet.hh"

namespace cress::tunnel {
namespace {

// How long after the last packet the belief is kept up: programs pause for a round trip or two.
constexpr Duration kPadAfter = 1s;
// Less than this is not worth a message's or a datagram's header.
constexpr DataSize kSliceMin{64};

DataSize size_of(std::span<const std::byte> bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

Tunnel::Tunnel(TimePoint start, session::EndpointOptions options,
               std::unique_ptr<control::Control> control, bool fills_window)
    : queue_floor_(options.queue_floor),
      fills_window_(fills_window),
      now_(start),
      endpoint_(start, options, std::move(control)) {
  endpoint_.open_flow(session::kControlFlow,
                      {.priority = session::Priority::kControl, .report_outcomes = false});
  endpoint_.open_flow(session::kBulkFlow, {.priority = session::Priority::kBulk});
  endpoint_.open_flow(session::kPaddingFlow,
                      {.priority = session::Priority::kPadding, .report_outcomes = false});
  for (size_t slot = 0; slot < FlowSlots::kSlots; ++slot) {
    queues_.open(static_cast<session::FlowId>(slot), {.priority = session::Priority::kBulk});
  }
}

bool Tunnel::send(TimePoint now, std::span<const std::byte> packet) {
  const auto header = netns::parse_packet(packet);
  if (!header || !netns::is_routable(*header)) {
    ++stats_.packets_not_carried;
    return false;
  }
  if (gate_ && !gate_->lets_out(*header)) {
    ++stats_.packets_foreign;
    return false;
  }
  const auto whole = packet.first(static_cast<size_t>(header->length.bytes()));
  const session::FlowId flow =
      slots_.slot_of(now, header->flow, header->is_fragment,
                     [this](session::FlowId slot) { return queues_.size(slot) > DataSize{}; });
  ++stats_.packets_in;
  pad_until_ = now + kPadAfter;
  stats_.bytes_in += size_of(whole);
  queues_.push(flow, {whole.begin(), whole.end()});
  bound(now);
  drain(now);
  return true;
}

/// Packets beyond what the forecast promises are dropped from the head of the longest queue (paper
/// §4.3).
void Tunnel::bound(TimePoint now) {
  now_ = std::max(now, now_);
  while (!queues_.empty() &&
         queued() > std::max(endpoint_.control().forecast_total(), queue_floor_)) {
    (void)queues_.drop_from_longest();
    ++stats_.packets_dropped;
  }
}

/// Hands over what the window permits now, and no more: packets that wait here can still be
/// overtaken by another flow, or dropped. One more message waits in the endpoint, which knows when
/// to stop waiting because the window is too small for it.
void Tunnel::fill(TimePoint now) {
  while (!cutter_.is_empty() || !queues_.empty()) {
    if (cutter_.is_empty()) {
      cutter_.begin(std::move(queues_.pop().bytes));
    }
    const DataSize room = endpoint_.available_window(now) - endpoint_.control().message_overhead();
    DataSize size = std::min(cutter_.message_size(), endpoint_.message_max());
    if (size > room) {
      if (fills_window_ ? room < kSliceMin : endpoint_.queued(session::kBulkFlow) > DataSize{}) {
        pad_at_ = now + control::kTickLength;
        return;
      }
      size = fills_window_ ? room : size;
    }
    stats_.packets_cut += cutter_.is_whole() && size < cutter_.message_size() ? 1 : 0;
    endpoint_.send(now, session::kBulkFlow, cutter_.take(size));
    pad_at_ = now + control::kTickLength;
  }
  pad(now);
}

/// Nothing waits. A packet that arrives within a tick takes the rest of the window; otherwise
/// padding does.
void Tunnel::pad(TimePoint now) {
  const DataSize rest = std::min(endpoint_.available_window(now), endpoint_.message_max());
  if (!fills_window_ || now >= pad_until_) {
    pad_at_ = kNever;
  } else if (rest >= kSliceMin && now >= pad_at_) {
    endpoint_.send(now, session::kPaddingFlow,
                   std::vector<std::byte>(static_cast<size_t>(rest.bytes())));
    ++stats_.paddings_sent;
  } else if (rest < kSliceMin || pad_at_ == kNever) {
    pad_at_ = now + control::kTickLength;
  }
}

void Tunnel::send_note(TimePoint now, std::vector<std::byte> note) {
  endpoint_.send(now, session::kControlFlow, std::move(note), session::Leave::kNow);
  drain(now);
}

Result<Unit, wire::WireError> Tunnel::handle_datagram(TimePoint now,
                                                      std::span<const std::byte> datagram) {
  auto result = endpoint_.handle_datagram(now, datagram);
  drain(now);
  return result;
}

void Tunnel::handle_timeout(TimePoint now) {
  endpoint_.handle_timeout(now);
  drain(now);
}

void Tunnel::drain(TimePoint now) {
  while (auto message = endpoint_.poll_message()) {
    if (message->flow == session::kPaddingFlow) {
      continue;
    }
    if (message->flow == session::kControlFlow) {
      notes_.push_back(std::move(message->bytes));
      continue;
    }
    if (auto packet = assembler_.handle_message(now, std::move(message->bytes))) {
      if (!lets_in(*packet)) {
        ++stats_.packets_foreign;
        continue;
      }
      ++stats_.packets_out;
      stats_.bytes_out += size_of(*packet);
      packets_.push_back(*std::move(packet));
    }
  }
  while (const auto outcome = endpoint_.poll_outcome()) {
    switch (outcome->kind) {
      case session::MessageOutcome::Kind::kDelivered:
        ++stats_.messages_delivered;
        break;
      case session::MessageOutcome::Kind::kLost:
      case session::MessageOutcome::Kind::kDropped:
        ++stats_.messages_lost;
        break;
    }
  }
}

bool Tunnel::lets_in(std::span<const std::byte> packet) const {
  const auto header = gate_
                          ? netns::parse_packet(packet)
                          : Result<netns::PacketHeader, netns::PacketError>{netns::PacketHeader{}};
  return !gate_ || (header && gate_->lets_in(*header));
}

std::optional<std::vector<std::byte>> Tunnel::poll_transmit(TimePoint now) {
  bound(now);
  fill(now);
  auto datagram = endpoint_.poll_transmit(now);
  drain(now);
  return datagram;
}

TimePoint Tunnel::poll_timeout() const {
  // Packets waiting outside of the endpoint are sent when the window grows by itself.
  const bool waits = !cutter_.is_empty() || !queues_.empty();
  const TimePoint next = waits ? endpoint_.control().next_change(now_) : kNever;
  const TimePoint pads = fills_window_ ? std::max(pad_at_, now_) : kNever;
  return std::min({endpoint_.poll_timeout(), next, pads});
}

std::optional<std::vector<std::byte>> Tunnel::poll_packet() { return take_front(packets_); }
std::optional<std::vector<std::byte>> Tunnel::poll_note() { return take_front(notes_); }

}  // namespace cress::tunnel
