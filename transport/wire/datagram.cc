#include "transport/wire/datagram.hh"

#include <algorithm>
#include <string>
#include <utility>

#include "forecast.pb.h"
#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::wire {
namespace {

constexpr uint8_t kForecastFrame = 1;
constexpr uint8_t kDataFrame = 2;

template <class T>
T get(std::span<const std::byte> bytes, size_t at) {
  return static_cast<T>(number_at(bytes, at, sizeof(T)));
}

size_t to_size(DataSize size) { return static_cast<size_t>(size.bytes()); }

Header parse_header(std::span<const std::byte> bytes) {
  return {.protection = Protection::kPlain,
          .time_to_next_ms = get<uint16_t>(bytes, 2),
          .sequence = WireSeq{get<uint32_t>(bytes, 4)},
          .throwaway = get<uint32_t>(bytes, 8),
          .timestamp_ms = get<uint16_t>(bytes, 12),
          .timestamp_reply_ms = get<uint16_t>(bytes, 14)};
}

/// The ranges of `lost`, ascending; nullopt if a pair does not fit below the one before.
std::optional<std::vector<LostRange>> parse_lost(const proto::DeliveryForecast& message,
                                                 uint64_t complete_from, uint64_t decided_before) {
  if (message.lost_size() % 2 != 0 || message.lost_size() > static_cast<int>(2 * kLostRangesMax)) {
    return std::nullopt;
  }
  std::vector<LostRange> ranges;
  uint64_t above = decided_before;
  for (int i = 0; i < message.lost_size(); i += 2) {
    const uint64_t down = message.lost(i);
    const uint64_t length = message.lost(i + 1);
    if (down > above - complete_from || length == 0 || length > above - down - complete_from) {
      return std::nullopt;
    }
    ranges.push_back({above - down - length, above - down});
    above = ranges.back().from;
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

/// Sets `marked` in `arrivals`, which are the newest first; false if a place does not exist or
/// comes twice.
bool parse_marked(const proto::DeliveryForecast& message, std::vector<ArrivalStamp>& arrivals) {
  size_t next = 0;
  for (const uint32_t down : message.marked()) {
    if (down >= arrivals.size() - next) {
      return false;
    }
    arrivals[next + down].marked = true;
    next += down + 1;
  }
  return true;
}

/// The arrivals, ascending; nullopt if one is below 0 or after the report, or a mark is of none.
std::optional<std::vector<ArrivalStamp>> parse_arrivals(const proto::DeliveryForecast& message) {
  if (message.arrivals_size() % 2 != 0 ||
      message.arrivals_size() > static_cast<int>(2 * kArrivalsMax)) {
    return std::nullopt;
  }
  std::vector<ArrivalStamp> arrivals;
  arrivals.reserve(static_cast<size_t>(message.arrivals_size()) / 2);
  uint64_t above = message.newest_arrival();
  for (int i = 0; i < message.arrivals_size(); i += 2) {
    const uint64_t down = message.arrivals(i);
    const uint64_t age_100us = message.arrivals(i + 1);
    if (down > above || age_100us > message.time_100us() || (down == 0 && i > 0)) {
      return std::nullopt;
    }
    above -= down;
    arrivals.push_back({.sequence = above, .time_100us = message.time_100us() - age_100us});
  }
  if (!parse_marked(message, arrivals)) {
    return std::nullopt;
  }
  std::reverse(arrivals.begin(), arrivals.end());
  return arrivals;
}

std::optional<ForecastFrame> parse_forecast(std::span<const std::byte> body) {
  proto::DeliveryForecast message;
  message.mutable_arrivals()->Reserve(kArrivalsMax / 2);  // the usual number
  if (!message.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return std::nullopt;
  }
  const auto& counts = message.counts();
  const bool counts_are_good = counts.size() <= static_cast<int>(kForecastCountsMax) &&
                               std::is_sorted(counts.begin(), counts.end()) &&
                               (counts.empty() || *counts.rbegin() <= kForecastCountMax);
  if (!counts_are_good || message.decided_lag() > message.received_or_lost()) {
    return std::nullopt;
  }
  ForecastFrame frame{.received_or_lost = message.received_or_lost(),
                      .time_100us = message.time_100us(),
                      .counts = {counts.begin(), counts.end()},
                      .arrivals = {},
                      .decided_before = message.received_or_lost() - message.decided_lag(),
                      .lost_complete_from = 0,
                      .lost = {},
                      .sees_ecn = message.sees_ecn()};
  if (message.complete_lag() > frame.decided_before) {
    return std::nullopt;
  }
  frame.lost_complete_from = frame.decided_before - message.complete_lag();
  auto lost = parse_lost(message, frame.lost_complete_from, frame.decided_before);
  if (!lost) {
    return std::nullopt;
  }
  frame.lost = *std::move(lost);
  auto arrivals = parse_arrivals(message);
  if (!arrivals) {
    return std::nullopt;
  }
  frame.arrivals = *std::move(arrivals);
  return frame;
}

std::string encode_forecast(const ForecastFrame& forecast) {
  check(forecast.decided_before <= forecast.received_or_lost &&
            forecast.lost_complete_from <= forecast.decided_before,
        "encode_forecast: points out of order");
  proto::DeliveryForecast message;
  message.set_received_or_lost(forecast.received_or_lost);
  message.set_time_100us(forecast.time_100us);
  message.mutable_counts()->Add(forecast.counts.begin(), forecast.counts.end());
  message.set_decided_lag(forecast.received_or_lost - forecast.decided_before);
  message.set_complete_lag(forecast.decided_before - forecast.lost_complete_from);
  uint64_t above = forecast.decided_before;
  for (auto range = forecast.lost.rbegin(); range != forecast.lost.rend(); ++range) {
    check(range->from < range->to && range->to <= above, "encode_forecast: ranges out of order");
    message.add_lost(above - range->to);
    message.add_lost(range->to - range->from);
    above = range->from;
  }
  message.mutable_arrivals()->Reserve(static_cast<int>(2 * forecast.arrivals.size()));
  above = forecast.arrivals.empty() ? 0 : forecast.arrivals.back().sequence;
  message.set_newest_arrival(above);
  uint32_t unmarked = 0;  // since the last that is marked
  for (auto stamp = forecast.arrivals.rbegin(); stamp != forecast.arrivals.rend(); ++stamp) {
    check(stamp->sequence <= above && stamp->time_100us <= forecast.time_100us,
          "encode_forecast: arrivals out of order");
    message.add_arrivals(above - stamp->sequence);
    message.add_arrivals(forecast.time_100us - stamp->time_100us);
    above = stamp->sequence;
    if (stamp->marked) {
      message.add_marked(unmarked);
    }
    unmarked = stamp->marked ? 0 : unmarked + 1;
  }
  message.set_sees_ecn(forecast.sees_ecn);
  return message.SerializeAsString();
}

}  // namespace

Result<ParsedDatagram, WireError> parse_datagram(std::span<const std::byte> bytes) {
  const size_t header_size = to_size(kHeaderSize);
  const size_t frame_header_size = to_size(kFrameHeaderSize);
  if (bytes.size() > to_size(kDatagramMax)) {
    return WireError::kTooLong;
  }
  if (bytes.size() < header_size) {
    return WireError::kTruncated;
  }
  if (std::to_integer<int>(bytes[0]) >> 4 != kVersion) {
    return WireError::kBadVersion;
  }
  if ((bytes[0] & std::byte{0x0F}) != static_cast<std::byte>(Protection::kPlain)) {
    return WireError::kUnsupportedProtection;
  }
  ParsedDatagram datagram{
      .header = parse_header(bytes), .forecast = {}, .messages = {}, .payload = {}};
  datagram.payload = DataSize{static_cast<int64_t>(bytes.size() - header_size)};
  for (auto rest = bytes.subspan(header_size); !rest.empty();) {
    if (rest.size() < frame_header_size) {
      return WireError::kTruncated;
    }
    const uint8_t type = get<uint8_t>(rest, 0);
    const size_t length = get<uint16_t>(rest, 1);
    if (length > rest.size() - frame_header_size) {
      return WireError::kTruncated;
    }
    const auto body = rest.subspan(frame_header_size, length);
    rest = rest.subspan(frame_header_size + length);
    if (type == kDataFrame) {
      if (body.empty()) {
        return WireError::kBadFrame;
      }
      datagram.messages.push_back({get<uint8_t>(body, 0), body.subspan(1)});
    } else if (type == kForecastFrame && !datagram.forecast) {
      datagram.forecast = parse_forecast(body);
      if (!datagram.forecast) {
        return WireError::kBadForecast;
      }
    }
  }
  return datagram;
}

DatagramBuilder::DatagramBuilder(DataSize size_max, std::vector<std::byte> buffer)
    : payload_max_(size_max - kHeaderSize), bytes_(std::move(buffer)) {
  check(size_max >= kHeaderSize && size_max <= kDatagramMax, "DatagramBuilder: size out of range");
  bytes_.reserve(to_size(size_max + kTagSize));  // encrypted in place
  bytes_.assign(to_size(kHeaderSize), std::byte{0});
}

DataSize DatagramBuilder::payload() const {
  return DataSize{static_cast<int64_t>(bytes_.size())} - kHeaderSize;
}

bool DatagramBuilder::add_frame(uint8_t type, std::span<const std::byte> prefix,
                                std::span<const std::byte> body) {
  const size_t length = prefix.size() + body.size();
  const DataSize size = kFrameHeaderSize + DataSize{static_cast<int64_t>(length)};
  if (payload() + size > payload_max_) {
    return false;
  }
  append_number(type, 1, bytes_);
  append_number(narrow<uint16_t>(length), 2, bytes_);
  bytes_.insert(bytes_.end(), prefix.begin(), prefix.end());
  bytes_.insert(bytes_.end(), body.begin(), body.end());
  return true;
}

bool DatagramBuilder::add_forecast(const ForecastFrame& forecast) {
  const std::string body = encode_forecast(forecast);
  return add_frame(kForecastFrame, {}, std::as_bytes(std::span{body}));
}

bool DatagramBuilder::add_message(uint8_t flow, std::span<const std::byte> bytes) {
  const std::byte prefix{flow};
  return add_frame(kDataFrame, std::span{&prefix, 1}, bytes);
}

std::vector<std::byte> DatagramBuilder::finish(const Header& header) {
  static_assert(kHeaderSize.bytes() == 16 && kFrameHeaderSize.bytes() == 3 &&
                kMessageOverhead == kFrameHeaderSize + DataSize{1});
  put_number(bytes_, 0, 1,
             static_cast<uint8_t>(kVersion << 4 | static_cast<int>(header.protection)));
  // Byte 1 is reserved, and 0 since the constructor.
  put_number(bytes_, 2, 2, header.time_to_next_ms);
  put_number(bytes_, 4, 4, header.sequence.raw());
  put_number(bytes_, 8, 4, header.throwaway);
  put_number(bytes_, 12, 2, header.timestamp_ms);
  put_number(bytes_, 14, 2, header.timestamp_reply_ms);
  return std::move(bytes_);
}

}  // namespace cress::wire
