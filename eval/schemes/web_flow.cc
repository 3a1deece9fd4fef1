#include "eval/schemes/web_flow.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "eval/schemes/congestion/cubic.hh"

namespace cress::schemes {
namespace {

constexpr size_t kNumberBytes = 4;

Transmit with_number(Transmit transmit, uint32_t number) {
  std::vector<std::byte> bytes(kNumberBytes);
  for (size_t i = 0; i < kNumberBytes; ++i) {
    bytes[i] = static_cast<std::byte>(number >> (8 * i));
  }
  bytes.insert(bytes.end(), transmit.bytes.begin(), transmit.bytes.end());
  transmit.bytes = std::move(bytes);
  return transmit;  // the link is charged for the segment alone: a port would say the same
}

std::optional<uint32_t> number_of(std::span<const std::byte> bytes) {
  if (bytes.size() < kNumberBytes) {
    return std::nullopt;
  }
  uint32_t number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) {
    number |= std::to_integer<uint32_t>(bytes[i]) << (8 * i);
  }
  return number;
}

DataSize draw_object(Rng& rng, const WebUser& user) {
  const double share = std::pow(1 - rng.uniform(), -1 / user.tail_exponent);
  const auto bytes = std::min(static_cast<double>(user.object_min.bytes()) * share,
                              static_cast<double>(user.object_max.bytes()));
  return DataSize{std::llround(bytes)};
}

}  // namespace

void WebSender::begin_object(TimePoint now) {
  ++number_;
  tcp_ = std::make_unique<TcpSender>(std::make_unique<Cubic>(),
                                     TcpSender::Options{.data = draw_object(rng_, user_)});
  tcp_->handle_timeout(now);
}

void WebSender::finish_object(TimePoint now) {
  if (tcp_ && tcp_->finished()) {
    tcp_.reset();
    const Duration silence = from_seconds(rng_.exponential(to_seconds(user_.silence_mean)));
    next_object_ = now + std::min(silence, user_.silence_max);
  }
}

void WebSender::handle_datagram(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes) {
  if (tcp_ && number_of(bytes) == number_) {
    tcp_->handle_datagram(now, from, bytes.subspan(kNumberBytes));
    finish_object(now);
  }
}

void WebSender::handle_timeout(TimePoint now) {
  if (tcp_) {
    tcp_->handle_timeout(now);
  } else if (now >= next_object_) {
    begin_object(now);
  }
}

std::optional<Transmit> WebSender::poll_transmit(TimePoint now) {
  auto transmit = tcp_ ? tcp_->poll_transmit(now) : std::nullopt;
  return transmit ? std::optional{with_number(*std::move(transmit), number_)} : std::nullopt;
}

TimePoint WebSender::poll_timeout() const { return tcp_ ? tcp_->poll_timeout() : next_object_; }

void WebReceiver::handle_datagram(TimePoint now, const Address& from,
                                  std::span<const std::byte> bytes) {
  const auto number = number_of(bytes);
  if (!number || *number < number_) {
    return;  // a late repetition of an object that is complete
  }
  if (*number > number_) {
    before_ = delivered();
    number_ = *number;
    tcp_ = std::make_unique<TcpReceiver>();
  }
  if (tcp_) {
    tcp_->handle_datagram(now, from, bytes.subspan(kNumberBytes));
  }
}

void WebReceiver::handle_timeout(TimePoint now) {
  if (tcp_) {
    tcp_->handle_timeout(now);
  }
}

std::optional<Transmit> WebReceiver::poll_transmit(TimePoint now) {
  auto transmit = tcp_ ? tcp_->poll_transmit(now) : std::nullopt;
  return transmit ? std::optional{with_number(*std::move(transmit), number_)} : std::nullopt;
}

DataSize WebReceiver::delivered() const { return before_ + (tcp_ ? tcp_->received() : DataSize{}); }

}  // namespace cress::schemes
