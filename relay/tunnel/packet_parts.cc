#include "relay/tunnel/packet_parts.hh"

#include <algorithm>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::tunnel {
namespace {

constexpr auto kHeader = static_cast<size_t>(kPartHeader.bytes());

DataSize size_of(std::span<const std::byte> bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

bool is_packet(std::span<const std::byte> message) {
  const auto version = std::to_integer<unsigned>(message[0]) >> 4U;
  return version == 4 || version == 6;
}

}  // namespace

void PacketCutter::begin(std::vector<std::byte> packet) {
  check(is_empty() && !packet.empty() && size_of(packet) <= kPacketMax, "PacketCutter: no packet");
  packet_ = std::move(packet);
  taken_ = 0;
  ++number_;
}

std::vector<std::byte> PacketCutter::take(DataSize size) {
  check(!is_empty(), "PacketCutter: nothing left");
  if (taken_ == 0 && size >= left()) {
    taken_ = packet_.size();
    return packet_;
  }
  check(size > kPartHeader, "PacketCutter: no room for a part");
  const DataSize body = std::min(left(), size - kPartHeader);
  std::vector<std::byte> part{kPartKind};
  for (const size_t word : {size_t{number_}, packet_.size(), taken_}) {
    append_number(word, 2, part);
  }
  const auto from = packet_.begin() + static_cast<ptrdiff_t>(taken_);
  part.insert(part.end(), from, from + body.bytes());
  taken_ += static_cast<size_t>(body.bytes());
  return part;
}

std::optional<std::vector<std::byte>> PacketAssembler::handle_message(
    TimePoint now, std::vector<std::byte> message) {
  while (!packets_.empty() && now - packets_.front().since > kPatience) {
    give_up(0);
  }
  if (message.empty() || (!is_packet(message) && message[0] != kPartKind)) {
    ++stats_.malformed;
    return std::nullopt;
  }
  return is_packet(message) ? std::optional{std::move(message)} : handle_part(now, message);
}

std::deque<PacketAssembler::Waiting>::iterator PacketAssembler::find(TimePoint now, uint16_t number,
                                                                     size_t size) {
  const auto found = std::ranges::find_if(
      packets_, [&](const Waiting& waiting) { return waiting.number == number; });
  if (found != packets_.end() && found->bytes.size() == size) {
    return found;
  }
  if (found != packets_.end()) {
    give_up(static_cast<size_t>(found - packets_.begin()));
  }
  const DataSize more{static_cast<int64_t>(size)};
  while (packets_.size() == kWaitingMax || waiting_ + more > kWaitingBytesMax) {
    give_up(0);
  }
  packets_.push_back({now, number, size, std::vector<std::byte>(size), {}});
  waiting_ += more;
  return packets_.end() - 1;
}

std::optional<std::vector<std::byte>> PacketAssembler::handle_part(
    TimePoint now, std::span<const std::byte> message) {
  const auto word = [&](size_t at) { return number_at(message, at, 2); };
  if (message.size() <= kHeader || word(5) + message.size() - kHeader > word(3)) {
    ++stats_.malformed;
    return std::nullopt;
  }
  const auto body = message.subspan(kHeader);
  const Part part{word(5), word(5) + body.size()};
  const auto packet = find(now, static_cast<uint16_t>(word(1)), word(3));
  const bool overlaps = std::ranges::any_of(packet->parts, [&](const Part& other) {
    return part.from < other.to && other.from < part.to;
  });
  if (overlaps || packet->parts.size() == kPartsMax) {
    return std::nullopt;  // a duplicate, or invalid
  }
  std::ranges::copy(body, packet->bytes.begin() + static_cast<ptrdiff_t>(part.from));
  packet->parts.push_back(part);
  packet->missing -= body.size();
  if (packet->missing > 0) {
    return std::nullopt;
  }
  std::vector<std::byte> whole = std::move(packet->bytes);
  waiting_ -= size_of(whole);
  packets_.erase(packet);
  if (!is_packet(whole)) {
    ++stats_.malformed;
    return std::nullopt;
  }
  return whole;
}

void PacketAssembler::give_up(size_t index) {
  const auto packet = packets_.begin() + static_cast<ptrdiff_t>(index);
  waiting_ -= size_of(packet->bytes);
  packets_.erase(packet);
  ++stats_.abandoned;
}

}  // namespace cress::tunnel
