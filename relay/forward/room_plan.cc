// The periodic work of a room. Ten times a second: the speaker and key frame requests; five times:
// the plan of each leg; twice: the senders' rate limits. After a change of membership or speaker
// all of it at the next step.

#include <algorithm>
#include <utility>

#include "media/frame/frame_report.hh"
#include "relay/forward/member.hh"
#include "relay/forward/room.hh"
#include "relay/forward/slot_bits.hh"

namespace cress::relay {
namespace {

// A plan is recomputed every second step, the senders' limits every fifth.
constexpr uint64_t kStepsPerPlan = 2;
constexpr uint64_t kStepsPerRate = 5;
// The forecast is cautious, but smoothed over seconds: how far it follows up and down per step.
constexpr double kRise = 0.05;
constexpr double kFall = 0.2;
// Audio and video together may take this share of the smoothed forecast.
constexpr double kShare = 0.9;
// Audio alone may take this share.
constexpr double kSoundShare = 0.5;
// Factor applied to a leg's capacity if it discarded frames since its last plan.
constexpr double kOverrunCut = 0.85;
// A leg whose level was lowered gets more again only after this: restoring it costs a key frame.
constexpr Duration kRaiseAfter = 4s;
// Before the first forecast.
constexpr double kFirstCapacity = 300e3;
// A new member gets at least anchors of all others while nothing is known of its link.
constexpr Duration kStart = 2s;
// A sender asked for video that sends none for this long has no camera.
constexpr Duration kNoCamera = 3s;
// A sender whose complete frames cannot be decoded for this long, as they refer to frames that
// never came, believes that those are here.
constexpr Duration kUndecodableMax = 2s;
// How a sender's rate is divided while it is not measured: anchors, base, layers 1 and 2.
constexpr std::array<double, kFrameKinds> kUsualShares{0, 0.3, 0.3, 0.2, 0.2};
// A sender's limit is lowered only after a lower rate has been wanted for this long, so that it
// does not oscillate.
constexpr Duration kLowerAfter = 3s;
constexpr double kLowerBelow = 0.8;
constexpr double kRaiseAbove = 1.1;
constexpr DataRate kRateStep = DataRate::kilobits_per_second(50);
// If the video is requested at all: never less than this.
constexpr DataRate kRateMin = DataRate::kilobits_per_second(150);
// Bursts that an allowance must accept: a second and a half.
constexpr double kAllowanceSeconds = 1.5;

DataRate rounded(DataRate rate) {
  const int64_t steps = rate.bits_per_second() / kRateStep.bits_per_second();
  return DataRate::bits_per_second(steps * kRateStep.bits_per_second());
}

}  // namespace

void Room::step(TimePoint now) {
  speakers_.advance(now);
  notify_of_speaker();
  for (auto& slot : slots_) {
    if (!slot) {
      continue;
    }
    Member& member = *slot;
    if (member.is_gone || now >= member.farewell_until ||
        now - member.heard_at >= options_.lost_after) {
      member.reason = member.is_gone || member.farewell ? member.reason : room::LeaveReason::kLost;
      remove(member);
      continue;
    }
    member.source.cache.forget_aged(now);
    for (RateMeter& meter : member.source.video) {
      meter.step();
    }
    member.source.sound.step();
    member.leg.expire(now, sources_);
    if (member.is_in()) {
      follow_capacity(member);
      if (member.card_is_news && member.cards.take(now, 1)) {
        member.card_is_news = false;
        notify_all(room::MemberNews{member.number(), member.card}, &member);
      }
    }
    touch(member);
  }
  const bool is_new = steps_changed_;
  steps_changed_ = false;
  for (auto& member : slots_) {
    if (member && member->is_in() && now >= member->plan_from &&
        (is_new || steps_ % kStepsPerPlan == 0)) {
      plan(now, *member);
    }
  }
  if (is_new || steps_ % kStepsPerRate == 0) {
    limit_rates(now);
  }
  ask_for_key_frames(now);
  ++steps_;
}

void Room::notify_of_speaker() {
  if (speakers_.speaker() != speaker_) {
    speaker_ = speakers_.speaker();
    ++speaker_revision_;
    notify_all(room::SpeakerNews{speaker_revision_,
                                 speaker_ ? slots_.at(*speaker_)->number() : room::kNobody},
               nullptr);
    steps_changed_ = true;
  }
}

void Room::follow_capacity(Member& member) {
  const auto forecast = member.leg.endpoint().control().forecast_rate();
  if (!forecast) {
    return;
  }
  // The forecast is cautious; the rate carried by a leg that is always busy is known.
  const Leg::Carriage carriage = member.leg.step_carriage();
  const DataRate rate = carriage.is_all ? std::max(*forecast, carriage.rate) : *forecast;
  const auto bps = static_cast<double>(rate.bits_per_second());
  const double before = member.capacity_bps.value_or(bps);
  member.capacity_bps = before + (bps - before) * (bps > before ? kRise : kFall);
}

std::vector<size_t> Room::rank(const Member& member) const {
  std::vector<size_t> order;
  for (const auto& other : slots_) {
    if (other && other.get() != &member && other->is_in()) {
      order.push_back(other->slot());
    }
  }
  const Member* pinned = member.view ? find(member.view->pinned) : nullptr;
  const auto place_of = [&](size_t slot) {
    return pinned != nullptr && pinned->slot() == slot ? 0 : slot == speaker_ ? 1 : 2;
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    const int place_a = place_of(a);
    const int place_b = place_of(b);
    return place_a != place_b ? place_a < place_b
                              : speakers_.last_spoke(a) > speakers_.last_spoke(b);
  });
  return order;
}

void Room::plan(TimePoint now, Member& member) {
  const double cut = member.leg.take_overruns() > 0 ? kOverrunCut : 1;
  member.capacity_bps = member.capacity_bps.value_or(kFirstCapacity) * cut;
  const DataRate capacity =
      DataRate::bits_per_second(static_cast<int64_t>(*member.capacity_bps * kShare));
  const DataRate sound = limit_sounds(member, capacity);
  std::vector<PlannedSender> senders;
  std::vector<Leg::Place> shown;
  uint32_t pictures = member.view ? member.view->pictures : options_.pictures_default;
  for (const size_t slot : rank(member)) {
    const Source& source = slots_.at(slot)->source;
    const bool is_new = now - std::max(source.began, member.source.began) < kStart;
    if (!is_new && !slots_[slot]->may_reach(member.slot())) {
      continue;  // one of the two is unidentified: takes no part of the link
    }
    const bool is_silent = now - source.last_fragment > kNoCamera;
    const bool has_camera = !is_silent || now - source.asked_since < kNoCamera;
    if (has_camera && pictures == 0) {
      break;
    }
    pictures -= has_camera ? 1 : 0;
    PlannedSender sender{
        .rates = {}, .level = member.planned.at(slot), .ceiling = FrameKind::kLayer2};
    if (now - member.leg.lowered_at(slot) < kRaiseAfter) {
      sender.ceiling = sender.level;
    }
    for (size_t kind = 1; kind < kFrameKinds; ++kind) {
      sender.rates.at(kind) = is_silent && has_camera ? source.cap * kUsualShares.at(kind)
                                                      : source.video.at(kind).rate();
    }
    senders.push_back(sender);
    shown.push_back({slot, FrameKind::kNone});
  }
  const LegPlan planned = plan_leg(senders, capacity - sound, options_.plan);
  const bool is_starting = now - member.source.began < kStart;
  const auto before = std::exchange(member.planned, {});
  for (size_t i = 0; i < shown.size(); ++i) {
    const FrameKind level =
        is_starting ? std::max(planned.levels[i], FrameKind::kAnchor) : planned.levels[i];
    const size_t slot = shown[i].slot;
    member.planned.at(slot) = level;
    if (!slots_.at(slot)->may_reach(member.slot())) {
      // Requested and cached, so that it is here when both have verified each other. Until then
      // nothing shows what the link carries: the first plan stands.
      member.planned.at(slot) = std::max(level, before.at(slot));
      continue;
    }
    shown[i].level = level;
    shown[i].is_sparse = i == 0 && planned.is_sparse;
  }
  member.shown = std::move(shown);
  member.leg.set_plan(now, member.shown, sources_);
}

// The loudest first, as many as half the link carries, and one in any case.
DataRate Room::limit_sounds(Member& member, DataRate capacity) {
  std::vector<size_t> loudest;
  for (const auto& other : slots_) {
    if (other && other.get() != &member && other->is_in()) {
      loudest.push_back(other->slot());
    }
  }
  std::ranges::stable_sort(loudest, std::greater{},
                           [this](size_t slot) { return speakers_.loudness(slot); });
  DataRate total;
  member.hears = ~uint64_t{0};
  for (size_t i = 0; i < loudest.size(); ++i) {
    const DataRate rate = slots_.at(loudest[i])->source.sound.rate();
    if (i > 0 && total + rate > capacity * kSoundShare) {
      member.hears &= ~bit(loudest[i]);
      continue;
    }
    total = total + rate;
  }
  return total;
}

DataRate Room::wanted_rate(const Member& sender) const {
  DataRate wanted;
  for (const auto& member : slots_) {
    if (!member || member.get() == &sender || !member->is_in()) {
      continue;
    }
    const size_t shown = member->shown.size();
    for (size_t rank = 0; rank < shown; ++rank) {
      if (member->shown[rank].slot != sender.slot()) {
        continue;
      }
      const uint32_t height = member->view ? member->view->height : 0;
      const bool is_large = (rank == 0 || shown <= 2) && (height == 0 || height > 180);
      const DataRate desired = is_large ? options_.video_rate_max : options_.thumbnail_rate;
      const double share = rank == 0 ? 1.0 : 1.0 / static_cast<double>(shown);
      const DataRate carried = DataRate::bits_per_second(
          static_cast<int64_t>(member->capacity_bps.value_or(kFirstCapacity) * kShare * share));
      wanted = std::max({wanted, std::min(desired, carried), kRateMin});
    }
  }
  return wanted > DataRate{} ? std::max(rounded(wanted), kRateMin) : wanted;
}

void Room::limit_rates(TimePoint now) {
  for (auto& slot : slots_) {
    if (!slot || !slot->is_in()) {
      continue;
    }
    Source& source = slot->source;
    const DataRate wanted = wanted_rate(*slot);
    const bool is_first = source.cap_revision == 0;
    const bool is_raised = wanted > source.cap * kRaiseAbove;
    if (wanted >= source.cap * kLowerBelow) {
      source.cap_lower_since = now;
    }
    if (!is_first && !is_raised && now - source.cap_lower_since < kLowerAfter) {
      continue;
    }
    if (source.cap == DataRate{} && wanted > DataRate{}) {
      source.asked_since = now;
    }
    source.cap = wanted;
    source.cap_lower_since = now;
    notify(*slot, room::VideoRate{.revision = ++source.cap_revision, .rate = wanted});
    const double bytes =
        static_cast<double>(std::max(wanted, options_.thumbnail_rate).bits_per_second()) / 8 *
        options_.video_excess;
    source.allowance.set_options(
        now, {.per_second = bytes,
              .burst = std::max(bytes * kAllowanceSeconds,
                                static_cast<double>(options_.cache.frame_max.bytes()))});
  }
}

void Room::ask_for_key_frames(TimePoint now) {
  for (auto& member : slots_) {
    if (!member || !member->is_in()) {
      continue;
    }
    for (size_t slot = 0; slot < kLegsMax; ++slot) {
      if ((member->leg.wants_key_frame() & bit(slot)) == 0 || sources_.at(slot) == nullptr) {
        continue;
      }
      Source& source = *sources_[slot];
      member->leg.resume(now, source);
      if ((member->leg.wants_key_frame() & bit(slot)) != 0 && source.key_frames.is_due(now) &&
          member->key_frame_wishes.take(now, 1)) {
        ask_for_key_frame(now, *slots_.at(slot));
      }
    }
    // Legs ask for what they miss of forwarded frames only, and these are not forwarded.
    Source& own = member->source;
    if (own.watchers != 0 && own.decodable_at &&
        own.whole_at - *own.decodable_at > kUndecodableMax && own.key_frames.is_due(now)) {
      ask_for_key_frame(now, *member);
    }
  }
}

void Room::ask_for_key_frame(TimePoint now, Member& sender) {
  sender.source.key_frames.handle_asked(now);
  sender.key_frame_request = sender.leg.endpoint().send(
      now, session::kControlFlow, media::build_message(media::KeyFrameRequest{}));
  ++stats_.key_frame_requests;
  touch(sender);
}

}  // namespace cress::relay
