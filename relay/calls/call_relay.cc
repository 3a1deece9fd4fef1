#include "relay/calls/call_relay.hh"

#include <algorithm>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/take_front.hh"

namespace cress::relay {
namespace {

using secure::Registration;
using secure::RendezvousCookie;
using secure::RendezvousStatus;

constexpr Duration kCookiePeriod = 60s;
constexpr Duration kSweep = 1s;

size_t index_of(secure::Role role) { return static_cast<size_t>(role); }

/// A burst of half a second, for a key frame.
TokenBucket::Options bucket_options(DataRate rate) {
  const double bytes_per_second = static_cast<double>(rate.bits_per_second()) / 8;
  return {.per_second = bytes_per_second, .burst = bytes_per_second / 2};
}

}  // namespace

CallRelay::CallRelay(const CallRelayOptions& options, SpareBuffers* spare)
    : options_(options),
      spare_(spare),
      limits_(options_.limits),
      first_(secure::KeyedHash::random()),
      second_(secure::KeyedHash::random()),
      calls_(0, CallHash{secure::KeyedHash::random()}),
      by_address_(0, secure::KeyedHash::random()) {}

bool CallRelay::handle_datagram(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes, Ecn ecn) {
  if (!bytes.empty() && bytes[0] == secure::kRendezvousKind) {
    handle_request(now, from, bytes);
    return true;
  }
  if (by_address_.empty()) {
    return false;
  }
  const auto known = by_address_.find(from);
  if (known == by_address_.end()) {
    return false;
  }
  forward(now, known->second, bytes, ecn);
  return true;
}

void CallRelay::forward(TimePoint now, const Place& place, std::span<const std::byte> bytes,
                        Ecn ecn) {
  Call& call = calls_.at(place.call);
  call.ends.at(index_of(place.role))->heard = now;
  const auto& other = call.ends.at(1 - index_of(place.role));
  if (!other) {
    ++stats_.without_other;
    return;
  }
  if (now >= call.began + options_.length_max) {
    ++stats_.over_time;  // the next registration of its ends is answered kOver
    return;
  }
  if (!call.bucket.take(now, static_cast<double>(bytes.size()))) {
    ++stats_.over_rate;
    return;
  }
  auto copy = take_buffer(spare_, bytes.size());
  copy.assign(bytes.begin(), bytes.end());
  ++stats_.datagrams;
  stats_.bytes += bytes.size();
  send(other->address, std::move(copy), ecn);
}

void CallRelay::handle_request(TimePoint now, const Address& from,
                               std::span<const std::byte> bytes) {
  if (!limits_.allow_hello(now)) {
    ++stats_.rate_limited;
    return;
  }
  const auto request = secure::parse_registration(bytes);
  if (!request) {
    ++stats_.malformed;
    return;
  }
  if (is_refresh(from, *request)) {
    place(now, from, *request);
    return;
  }
  if (options_.calls_max == 0) {
    if (limits_.allow_answer(now)) {
      answer(from, request->transaction, RendezvousStatus::kNotOffered);
    }
    return;
  }
  if (!has_cookie(now, from, *request)) {
    if (limits_.allow_answer(now)) {
      send(from, secure::serialize(secure::CookieAnswer{
                     request->transaction, cookie(now.time_since_epoch() / kCookiePeriod, from)}));
    } else {
      ++stats_.rate_limited;
    }
    return;
  }
  if (!limits_.allow_handshake(now, from)) {
    ++stats_.rate_limited;
  } else if (!secure::is_signed(*request)) {
    ++stats_.bad_signature;
  } else {
    place(now, from, *request);
  }
}

/// From a registered end at its address. Only that end and the relay know the transaction.
bool CallRelay::is_refresh(const Address& from, const Registration& request) const {
  const auto known = by_address_.find(from);
  if (known == by_address_.end() || known->second.call != request.call ||
      known->second.role != request.role) {
    return false;
  }
  const auto& end = calls_.at(request.call).ends.at(index_of(request.role));
  return end->transaction == request.transaction && end->party == request.party;
}

RendezvousCookie CallRelay::cookie(int64_t period, const Address& from) const {
  std::vector<std::byte> message;
  append_number(static_cast<uint64_t>(period), sizeof period, message);
  const auto address = secure::KeyedHash::bytes_of(from);
  message.insert(message.end(), address.begin(), address.end());
  RendezvousCookie out{};
  put_number(out, 0, sizeof(uint64_t), first_(message));
  put_number(out, sizeof(uint64_t), sizeof(uint64_t), second_(message));
  return out;
}

bool CallRelay::has_cookie(TimePoint now, const Address& from, const Registration& request) const {
  const int64_t period = now.time_since_epoch() / kCookiePeriod;
  return secure::equal_in_constant_time(request.cookie, cookie(period, from)) ||
         secure::equal_in_constant_time(request.cookie, cookie(period - 1, from));
}

void CallRelay::place(TimePoint now, const Address& from, const Registration& request) {
  auto found = calls_.find(request.call);
  if (found != calls_.end() && now >= found->second.began + options_.length_max) {
    answer(from, request.transaction, RendezvousStatus::kOver);
    return;
  }
  if (found == calls_.end()) {
    if (calls_.size() >= options_.calls_max) {
      ++stats_.refused_full;
      answer(from, request.transaction, RendezvousStatus::kFull);
      return;
    }
    sweep_at_ = calls_.empty() ? now + kSweep : sweep_at_;
    found =
        calls_
            .emplace(request.call, Call{.ends = {},
                                        .began = now,
                                        .bucket = TokenBucket{bucket_options(options_.rate_max)}})
            .first;
  }
  Call& call = found->second;
  auto& end = call.ends.at(index_of(request.role));
  if (end && end->party != request.party && now < end->heard + options_.replace_after) {
    ++stats_.refused_busy;
    answer(from, request.transaction, RendezvousStatus::kBusy);
    return;
  }
  const bool is_news = !end || end->address != from || end->party != request.party;
  if (is_news) {
    // An address belongs to one call: the one that proved it last.
    if (const auto known = by_address_.find(from); known != by_address_.end()) {
      calls_.at(known->second.call).ends.at(index_of(known->second.role)).reset();
    }
    forget(end);
    by_address_.insert_or_assign(from, Place{request.call, request.role});
  }
  end = End{from, request.party, request.transaction, now};
  if (is_news && call.ends[0] && call.ends[1]) {
    stats_.begun += std::exchange(call.has_begun, true) ? 0 : 1;
    notify_both(call);
  } else {
    answer(from, request.transaction,
           call.ends[0] && call.ends[1] ? RendezvousStatus::kTogether : RendezvousStatus::kAlone);
  }
}

void CallRelay::notify_both(const Call& call) {
  for (const auto& end : call.ends) {
    answer(end->address, end->transaction, RendezvousStatus::kTogether);
  }
}

void CallRelay::answer(const Address& to, uint64_t transaction, RendezvousStatus status) {
  send(to, secure::serialize(secure::StatusAnswer{transaction, status, to}));
}

void CallRelay::forget(const std::optional<End>& end) {
  if (end) {
    by_address_.erase(end->address);
  }
}

void CallRelay::send(const Address& to, std::vector<std::byte> bytes, Ecn ecn) {
  if (out_.size() < kOutMax) {
    out_.push_back({.to = to, .bytes = std::move(bytes), .wire_size = {}, .ecn = ecn});
  }
}

void CallRelay::handle_timeout(TimePoint now) {
  if (now < sweep_at_) {
    return;
  }
  sweep_at_ = now + kSweep;
  for (auto at = calls_.begin(); at != calls_.end();) {
    for (auto& end : at->second.ends) {
      if (end && now >= end->heard + options_.silence_max) {
        forget(end);
        end.reset();
      }
    }
    at = at->second.ends[0] || at->second.ends[1] ? std::next(at) : calls_.erase(at);
  }
}

std::optional<Transmit> CallRelay::poll_transmit() { return take_front(out_); }

}  // namespace cress::relay
