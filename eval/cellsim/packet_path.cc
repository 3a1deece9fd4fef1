#include "eval/cellsim/packet_path.hh"

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/netns/packet.hh"

namespace cress::cellsim {
namespace {

// One end that floods still leaves the other its turn.
constexpr int kReadsMax = 64;

}  // namespace

PacketPath::PacketPath(const Parts& parts, Options options)
    : parts_(parts),
      start_(parts.clock.now()),
      up_(std::move(options.up)),
      down_(std::move(options.down)),
      timer_(parts.loop, [this] { catch_up(); }) {
  parts_.loop.on_readable(parts_.near.handle(), [this] { read(parts_.near, up_); });
  parts_.loop.on_readable(parts_.far.handle(), [this] { read(parts_.far, down_); });
}

PacketPath::~PacketPath() {
  parts_.loop.forget(parts_.near.handle());
  parts_.loop.forget(parts_.far.handle());
}

void PacketPath::read(netns::TunDevice& from, sim::Link& link) {
  for (int i = 0; i < kReadsMax; ++i) {
    const auto packet = from.read();
    if (!packet) {
      break;
    }
    const auto header = netns::parse_packet(*packet);
    if (!header || !netns::is_routable(*header)) {
      continue;
    }
    const TimePoint time = now();
    link.handle_timeout(time);  // opportunities that passed before it came are not its
    link.push(time, {.bytes = {packet->begin(), packet->end()},
                     .wire_size = DataSize{static_cast<int64_t>(packet->size())},
                     .from = header->flow.source,
                     .to = header->flow.destination,
                     .ecn = Ecn{header->ecn}});
  }
  catch_up();
}

void PacketPath::deliver(sim::Link& link, netns::TunDevice& to) {
  TimePoint time = now();
  link.handle_timeout(time);
  // Uses up the opportunities until `time`: what is due now is a delivery.
  for (TimePoint due = link.poll_timeout(); due <= time; due = link.poll_timeout()) {
    auto packet = link.poll_delivered(time);
    if (!packet) {
      break;
    }
    if (packet->ecn == Ecn::kCe) {
      netns::mark_congestion(packet->bytes);
    }
    (void)to.write(packet->bytes);  // a device that is full or gone loses it, as a network does
    time = now();
    lateness_.add(time - due);
    link.handle_timeout(time);
  }
}

void PacketPath::catch_up() {
  deliver(up_, parts_.far);
  deliver(down_, parts_.near);
  const TimePoint next = std::min(up_.poll_timeout(), down_.poll_timeout());
  timer_.arm(next == kNever ? kNever : start_ + (next - kTimeZero));
}

}  // namespace cress::cellsim
