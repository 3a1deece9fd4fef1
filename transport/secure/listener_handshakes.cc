#include <algorithm>
#include <stdexcept>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/secure/listener.hh"

namespace cress::secure {
namespace {

constexpr Duration kLastFlightKept = 10s;
constexpr Duration kRefusalKept = 1s;

}  // namespace

void Listener::handle_handshake(TimePoint now, const Address& from,
                                std::span<const std::byte> bytes) {
  if (is_stopped_) {
    ++stats_.bad_handshake;
    return;
  }
  const auto hello = door_.judge(now, from, bytes);
  if (!hello) {
    return;
  }
  if (hello->verdict != HelloGate::Verdict::kNoHello) {
    // Ignore a repeated hello: our own timer repeats the answer.
    if (!is_repeat(from, hello->random) && door_.allow_handshake(now, from) && may_work()) {
      begin_handshake(now, from, hello->random, bytes);
    }
    return;
  }
  if (const auto known = pending_by_address_.find(from); known != pending_by_address_.end()) {
    // What comes while we compute is a repeat, or will be repeated.
    if (pending_[known->second].handshake != nullptr && may_work()) {
      work_on(now, known->second, bytes);
    }
    return;
  }
  const auto present = by_address_.find(from);
  Handshake* const last =
      present != by_address_.end() ? slots_[present->second].last_flight.get() : nullptr;
  if (last == nullptr || !last->handle_datagram(now, bytes)) {
    ++stats_.bad_handshake;
    return;
  }
  door_.drain(*last, from);
}

bool Listener::is_repeat(const Address& from, const HelloGate::HelloRandom& random) const {
  if (const auto known = pending_by_address_.find(from);
      known != pending_by_address_.end() && pending_[known->second].random == random) {
    return true;
  }
  const auto present = by_address_.find(from);
  return present != by_address_.end() && slots_[present->second].last_flight != nullptr &&
         slots_[present->second].random == random;
}

void Listener::begin_handshake(TimePoint now, const Address& from,
                               const HelloGate::HelloRandom& random,
                               std::span<const std::byte> bytes) {
  // The same address again with another hello: a new attempt, the one before is forgotten.
  if (const auto known = pending_by_address_.find(from); known != pending_by_address_.end()) {
    forget_pending(known->second);
  }
  if (free_pending_.empty()) {
    ++stats_.handshakes_failed;
    forget_pending(pending_order_.front());
  }
  const size_t index = free_pending_.back();
  free_pending_.pop_back();
  ++stats_.handshakes_begun;
  pending_[index] = {.from = from,
                     .random = random,
                     .number = stats_.handshakes_begun,
                     .handshake = nullptr,
                     .forget_at = {}};
  pending_order_.push_back(index);
  pending_by_address_.insert_or_assign(from, index);
  work_on(now, index, bytes);
}

bool Listener::may_work() {
  const bool may = work_out_ < options_.pending_max;
  stats_.rate_limited += may ? 0 : 1;
  return may;
}

/// The costly part of a datagram of a handshake: here and now, or elsewhere and soon.
void Listener::work_on(TimePoint now, size_t index, std::span<const std::byte> bytes) {
  Pending& pending = pending_[index];
  HandshakeWork work;
  work.context_ = &context_;
  work.now_ = now;
  work.index_ = index;
  work.number_ = pending.number;
  work.handshake_ = std::move(pending.handshake);
  work.datagram_.assign(bytes.begin(), bytes.end());
  if (work.handshake_ != nullptr) {
    work.handshake_->look_up(bytes);
  }
  ++work_out_;
  if (options_.hands_out_work) {
    timers_.set(slots_.size() + index, kNever);
    work_.push_back(std::move(work));
  } else {
    work.run();
    handle_work(now, std::move(work));
  }
}

void HandshakeWork::run() {
  try {
    if (handshake_ == nullptr) {
      handshake_ = std::make_unique<Handshake>(now_, *context_);
    }
    handshake_accepted_ = handshake_->handle_datagram(now_, datagram_);
  } catch (const std::runtime_error&) {
    handshake_.reset();
  }
}

void Listener::handle_work(TimePoint now, HandshakeWork work) {
  check(now >= last_now_ && work_out_ > 0,
        "Listener: work comes back once, and not before it went");
  last_now_ = now;
  --work_out_;
  Pending& pending = pending_[work.index_];
  if (pending.number != work.number_) {
    return;  // given up meanwhile
  }
  pending.handshake = std::move(work.handshake_);
  if (pending.handshake == nullptr) {
    ++stats_.handshakes_failed;
    forget_pending(work.index_);
    return;
  }
  stats_.bad_handshake += work.handshake_accepted_ ? 0 : 1;
  settle_pending(now, work.index_);
}

std::optional<HandshakeWork> Listener::poll_work() {
  while (auto work = take_front(work_)) {
    if (pending_[work->index_].number == work->number_) {
      return work;
    }
    --work_out_;  // given up before anybody began
  }
  return std::nullopt;
}

void Listener::settle_pending(TimePoint now, size_t index) {
  Pending& pending = pending_[index];
  door_.drain(*pending.handshake, pending.from);
  if (pending.forget_at && now >= *pending.forget_at) {
    forget_pending(index);
    return;
  }
  if (!pending.forget_at) {
    switch (pending.handshake->state()) {
      case Handshake::State::kRunning:
        break;
      case Handshake::State::kComplete:
        let_in(now, index);
        return;
      case Handshake::State::kWrongSecret:
        ++stats_.unknown_identity;
        if (options_.refused) {
          options_.refused(pending.handshake->identity(), pending.from);
        }
        pending.forget_at = now + kRefusalKept;
        break;
      case Handshake::State::kFailed:
        ++stats_.handshakes_failed;
        forget_pending(index);
        return;
    }
  }
  timers_.set(slots_.size() + index,
              std::min(pending.handshake->poll_timeout(), pending.forget_at.value_or(kNever)));
}

void Listener::let_in(TimePoint now, size_t index) {
  Pending pending = std::exchange(pending_[index], {});
  pending_[index].from = pending.from;
  forget_pending(index);
  const bool is_full = peers_ == options_.peers_max;
  const size_t slot = take_slot();
  Slot& at = slots_[slot];
  at.peer = std::make_unique<Peer>(now, pending.handshake->secrets(), pending.from, options_.peer);
  at.identity = pending.handshake->identity();
  at.random = pending.random;
  at.control = TokenBucket{options_.control};
  at.elsewhere = TokenBucket{options_.elsewhere};
  at.last_flight = std::move(pending.handshake);
  at.flight_until = now + kLastFlightKept;
  lead_here(slot, pending.from, true);
  by_id_.try_emplace(number_at(at.peer->id(), 0, sizeof(uint64_t)), slot);
  if (is_full) {
    ++stats_.full;
    begin_leaving(now, slot, CloseCode::kFull);
    return;
  }
  ++peers_;
  ++stats_.joined;
  events_.push_back({id_of(slot), at.identity, Connected{pending.from}});
  at.peer->handle_timeout(now);  // its first ping tells the joiner that it is in
  settle(now, slot);
}

void Listener::forget_pending(size_t index) {
  pending_by_address_.erase(pending_[index].from);
  std::erase(pending_order_, index);
  pending_[index] = {};
  free_pending_.push_back(index);
  timers_.set(slots_.size() + index, kNever);
}

}  // namespace cress::secure
