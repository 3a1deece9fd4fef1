#include "media/rate/adaptive_encoder.hh"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "media/frame/scale_picture.hh"
#include "transport/base/check.hh"

namespace cress::media {
namespace {

// A step up is worth its key frame only if that reaches this quantizer or a finer one.
constexpr int kStepUpQuantizerMax = 52;

// The error of the scaling alone must be this much smaller than the current one before a step down:
// encoding adds to it.
constexpr double kStepDownGain = 1.4;
// And no worse than 30 dB: beyond, a moment's blur is better than a size that stays for seconds.
constexpr double kStepDownErrorMax = 65.0;

// With one attempt per frame, this share of the frames may exceed the budget, and is skipped. With
// a smaller share, more of the window would stay unused than the avoided skips are worth.
constexpr double kOnlyAttemptOverShare = 0.03;
// In log2 of bytes. The margin grows by (1 - kOnlyAttemptOverShare) steps after an attempt that is
// too large, and shrinks by kOnlyAttemptOverShare steps otherwise. Initial value and maximum
// follow.
constexpr double kMarginStep = 0.2;
constexpr double kMarginFirst = 0.4;
constexpr double kMarginMax = 2.0;

// A side in pixels at a rung of the ladder: (4 - rung) / 4 of `side`, rounded down to an even
// number, at least 2; at rung 0 unchanged.
int side_at(int side, int rung) {
  return rung == 0 ? side : std::max(2, side * (4 - rung) / 8 * 2);
}

// Blocks whose luma differs by no more than this on average count as unchanged, for a viewer who
// would otherwise see no update at all.
constexpr int kSameBlockDifference = 8;
constexpr int kBlock = 16;  // a macroblock

struct Block {
  int left;
  int top;
  int right;
  int bottom;
};

int64_t difference(const Picture& a, const Picture& b, const Block& block) {
  int64_t sum = 0;
  for (int y = block.top; y < block.bottom; ++y) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(y) * a.width;
    for (int x = block.left; x < block.right; ++x) {
      sum += std::abs(a.y()[row + x] - b.y()[row + x]);
    }
  }
  return sum;
}

void copy_block(const uint8_t* from, uint8_t* to, int width, const Block& block) {
  for (int y = block.top; y < block.bottom; ++y) {
    const ptrdiff_t row = static_cast<ptrdiff_t>(y) * width;
    std::copy(from + row + block.left, from + row + block.right, to + row + block.left);
  }
}

// The factor by which pixels are merged, for a frame that is `excess` times too large: of the size
// of a sharp picture at the coarsest quantizer, 2 leaves about three quarters, 4 a half, 8 a third.
int blur_for(double excess) { return excess < 1.25 ? 2 : (excess < 1.8 ? 4 : 8); }

// `picture` blurred where it differs from `reference`, and `reference` where it does not.
Picture reduce_picture(const Picture& picture, const Picture& reference, int blur) {
  const int width = picture.width;
  const int height = picture.height;
  Picture reduced = scale_picture(
      scale_picture(picture, std::max(1, width / blur), std::max(1, height / blur)), width, height);
  for (int top = 0; top < height; top += kBlock) {
    for (int left = 0; left < width; left += kBlock) {
      const Block block{left, top, std::min(left + kBlock, width), std::min(top + kBlock, height)};
      const int64_t pixels = int64_t{block.right - left} * (block.bottom - top);
      if (difference(picture, reference, block) > kSameBlockDifference * pixels) {
        continue;
      }
      copy_block(reference.y(), reduced.y(), width, block);
      const Block chroma{left / 2, top / 2, (block.right + 1) / 2, (block.bottom + 1) / 2};
      copy_block(reference.u(), reduced.u(), picture.chroma_width(), chroma);
      copy_block(reference.v(), reduced.v(), picture.chroma_width(), chroma);
    }
  }
  return reduced;
}

double mean_square(const Picture& a, const Picture& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const int64_t error = a.y()[i] - b.y()[i];
    sum += error * error;
  }
  return static_cast<double>(sum) / static_cast<double>(a.luma_size());
}

}  // namespace

AdaptiveEncoder::AdaptiveEncoder(const AdaptiveEncoderOptions& options)
    : options_(options),
      model_({.quantizer_min = options.quantizer_min,
              .quantizer_max = kQuantizerMax,
              .pixels = static_cast<double>(options.width) * options.height}),
      policy_(
          {.temporal_layers = options.temporal_layers, .anchor_interval = options.anchor_interval}),
      margin_(kMarginFirst) {
  check(options.attempts_max > 0, "AdaptiveEncoder: no attempts");
  encoder_ = std::make_unique<Vp8Encoder>(encoder_options(0, {}));
}
AdaptiveEncoder::~AdaptiveEncoder() = default;
AdaptiveEncoder::AdaptiveEncoder(AdaptiveEncoder&&) noexcept = default;
AdaptiveEncoder& AdaptiveEncoder::operator=(AdaptiveEncoder&&) noexcept = default;

AdaptedFrame AdaptiveEncoder::encode(TimePoint now, uint32_t frame_id, const PicturePtr& picture,
                                     DataSize budget, double need_weight) {
  check(
      picture != nullptr && picture->width == options_.width && picture->height == options_.height,
      "AdaptiveEncoder: no picture, or one of another size than the encoder's");
  check(now >= last_now_, "AdaptiveEncoder: time went back");
  last_now_ = now;
  AdaptedFrame out{.frame = {.id = frame_id, .reference_id = frame_id, .capture_time = now},
                   .budget = budget,
                   .quantizer = kQuantizerMax};
  bool sent = false;
  ReferenceChoice choice = policy_.next();
  if (budget > DataSize{0} && choice.key_frame) {
    key_frame_wanted_since_ = key_frame_wanted_since_.value_or(now);
    const bool must_go = now - *key_frame_wanted_since_ >= kKeyFrameWaitMax;
    sent = encode_key(picture, {.rung = ladder_.rung(), .must_go = must_go}, out);
  } else if (budget > DataSize{0}) {
    sent = step(now, picture, out);
    choice = sent ? ReferenceChoice{.key_frame = true} : choice;
    sent = sent || (out.attempts < options_.attempts_max &&
                    encode_delta(choice, at_rung(picture, ladder_.rung()), out));
  }
  ++stats_.frames;
  stats_.attempts += static_cast<uint64_t>(out.attempts);
  stats_.skipped += sent ? 0 : 1;
  if (sent) {
    out.frame.key_frame = choice.key_frame;
    out.frame.anchor = choice.anchor || (choice.key_frame && options_.anchor_interval > 0);
    out.frame.temporal_layer = choice.key_frame ? 0 : choice.temporal_layer;
    out.frame.reference_id = choice.key_frame ? frame_id : choice.reference_id;
    policy_.handle_sent(frame_id, choice);
    stats_.over_budget += out.frame.size() > budget ? 1 : 0;
  }
  if (sent && choice.key_frame) {
    ++stats_.key_frames;
    last_key_frame_at_ = now;
    key_frame_wanted_since_.reset();
  } else if (options_.resolution_steps && !choice.key_frame) {
    ladder_.handle_frame(now, !sent, out.quantizer, need_weight);
  }
  out.width = encoder_->width();
  out.height = encoder_->height();
  return out;
}

void AdaptiveEncoder::handle_references_lost(TimePoint now) {
  if (last_key_frame_at_ && now - *last_key_frame_at_ >= kKeyFrameIntervalMin) {
    policy_.request_key_frame();
  }
}

int AdaptiveEncoder::cpu_used(int pixels, DataSize budget) const {
  if (pixels > kSmallPixels) {
    return options_.cpu_used;
  }
  return budget > kScarceBudget ? options_.cpu_used_small : options_.cpu_used_scarce;
}

Vp8EncoderOptions AdaptiveEncoder::encoder_options(int rung, DataSize budget) const {
  const int width = side_at(options_.width, rung);
  const int height = side_at(options_.height, rung);
  return {.width = width,
          .height = height,
          .frame_rate = options_.frame_rate,
          .cpu_used = cpu_used(width * height, budget),
          // Otherwise libvpx replaces golden by itself every 40th frame (see ReferencePlan).
          .error_resilient = true,
          .rate_mode = RateMode::kQuantizer};
}

PicturePtr AdaptiveEncoder::at_rung(const PicturePtr& picture, int rung) const {
  if (rung == 0) {
    return picture;
  }
  return std::make_shared<const Picture>(
      scale_picture(*picture, side_at(options_.width, rung), side_at(options_.height, rung)));
}

FrameContext AdaptiveEncoder::context(const ReferenceChoice& choice, const Picture& picture) const {
  const Reference& reference = references_.at(static_cast<size_t>(choice.reads));
  check(reference.picture != nullptr, "AdaptiveEncoder: a reference without content");
  return {.type = FrameType::kDelta,
          .activity = picture_activity(picture, *reference.picture),
          .reference_quantizer = reference.quantizer};
}

int AdaptiveEncoder::finest_allowed(const FrameContext& frame, DataSize budget,
                                    const QuantizerSearch::LogSizes& expected) const {
  int finest = options_.quantizer_min;
  if (frame.type == FrameType::kKey) {
    return finest;
  }
  const double plenty = std::log2(options_.plenty_share * static_cast<double>(budget.bytes()));
  while (finest > options_.quantizer_min_of_plenty &&
         expected.at(static_cast<size_t>(finest) - 1) <= plenty) {
    --finest;
  }
  return finest;
}

// With the attempts left for the picture, except for the reserved ones: at least one.
QuantizerSearch AdaptiveEncoder::make_search(const FrameContext& frame, const AdaptedFrame& out,
                                             int attempts_kept) const {
  QuantizerSearch::LogSizes expected{};
  for (int quantizer = 0; quantizer <= kQuantizerMax; ++quantizer) {
    expected.at(static_cast<size_t>(quantizer)) = model_.log_size(quantizer, frame);
  }
  QuantizerSearchOptions search;
  search.quantizer_min = finest_allowed(frame, out.budget, expected);
  search.attempts_max = std::max(1, options_.attempts_max - out.attempts - attempts_kept);
  search.first_aim = options_.attempts_max == 1 ? std::exp2(-margin_) : search.first_aim;
  return {search, out.budget, expected};
}

// A running quantile: it is stationary where kOnlyAttemptOverShare of the attempts are too large.
void AdaptiveEncoder::learn_margin(bool fitted) {
  margin_ += kMarginStep * (fitted ? -kOnlyAttemptOverShare : 1 - kOnlyAttemptOverShare);
  margin_ = std::clamp(margin_, 0.0, kMarginMax);
}

// True if a frame is in `out`: the encoder's buffers are then those of that frame.
bool AdaptiveEncoder::encode_delta(const ReferenceChoice& choice, const PicturePtr& picture,
                                   AdaptedFrame& out) {
  const FrameContext frame = context(choice, *picture);
  QuantizerSearch search = make_search(frame, out);
  encoder_->set_cpu_used(cpu_used(encoder_->width() * encoder_->height(), out.budget));
  const bool writes = choice.temporal_layer == 0;
  if (writes) {
    encoder_->save_reference(ReferenceBuffer::kLast, before_);
  }
  std::vector<std::byte> best;
  std::optional<size_t> best_index;
  for (size_t index = 0; const std::optional<int> quantizer = search.next(); ++index) {
    if (writes && index > 0) {
      if (best_index && *best_index + 1 == index) {
        encoder_->save_reference(ReferenceBuffer::kLast, kept_);
      }
      encoder_->restore_reference(ReferenceBuffer::kLast, before_);
    }
    CodedPicture coded =
        encoder_->encode(*picture, {.quantizer = *quantizer, .references = choice.plan()});
    search.handle_attempt(*quantizer, coded.size());
    model_.learn(*quantizer, frame, coded.size());
    if (search.best() != best_index) {
      best_index = search.best();
      best = std::move(coded.data);
    }
  }
  // Beyond the coarsest quantizer no margin helps.
  if (best_index || search.attempts().back().quantizer != kQuantizerMax) {
    learn_margin(best_index.has_value());
  }
  const size_t last_index = search.attempts().size() - 1;
  out.attempts += static_cast<int>(search.attempts().size());
  out.quantizer = search.attempts()[best_index.value_or(last_index)].quantizer;
  if (writes && best_index != last_index) {
    encoder_->restore_reference(ReferenceBuffer::kLast, best_index ? kept_ : before_);
  }
  const double excess = static_cast<double>(search.attempts()[last_index].size.bytes()) /
                        static_cast<double>(out.budget.bytes());
  if (!best_index && !encode_reduced(choice, *picture, excess, out)) {
    policy_.handle_rejected(choice);
    return false;
  }
  if (best_index) {
    out.frame.data = std::move(best);
  }
  remember(choice, picture, out.quantizer);
  return true;
}

// The last resort before a skip, when not even the coarsest quantizer fits: less detail. Unchanged
// blocks stay as they are, which costs nothing; the others are blurred. The next frames restore the
// detail, as far as their budgets allow.
bool AdaptiveEncoder::encode_reduced(const ReferenceChoice& choice, const Picture& picture,
                                     double excess, AdaptedFrame& out) {
  if (out.quantizer != kQuantizerMax || out.attempts >= options_.attempts_max) {
    return false;
  }
  const Picture reduced =
      reduce_picture(picture, encoder_->reference(choice.reads), blur_for(excess));
  CodedPicture coded =
      encoder_->encode(reduced, {.quantizer = kQuantizerMax, .references = choice.plan()});
  ++out.attempts;
  if (coded.size() > out.budget) {
    if (choice.temporal_layer == 0) {
      encoder_->restore_reference(ReferenceBuffer::kLast, before_);
    }
    return false;
  }
  out.frame.data = std::move(coded.data);
  return true;
}

// Key frames are tried in encoders of their own, so that the old one continues unchanged if none of
// them is sent, and the best of them is available if a later one was worse.
bool AdaptiveEncoder::encode_key(const PicturePtr& picture, const KeyFrameWish& wish,
                                 AdaptedFrame& out) {
  const PicturePtr scaled = at_rung(picture, wish.rung);
  QuantizerModel model = model_;
  if (wish.rung != ladder_.rung()) {
    model_.handle_resize(static_cast<double>(scaled->luma_size()) /
                         (static_cast<double>(encoder_->width()) * encoder_->height()));
  }
  const FrameContext frame{.type = FrameType::kKey};
  QuantizerSearch search = make_search(frame, out, wish.attempts_kept);
  std::unique_ptr<Vp8Encoder> best;
  std::vector<std::byte> data;
  const auto attempt = [&](int quantizer) {
    auto fresh = std::make_unique<Vp8Encoder>(encoder_options(wish.rung, out.budget));
    CodedPicture coded = fresh->encode(*scaled, {.quantizer = quantizer, .key_frame = true});
    const std::optional<size_t> best_before = search.best();
    search.handle_attempt(quantizer, coded.size());
    model_.learn(quantizer, frame, coded.size());
    if (search.best() != best_before || !search.best()) {
      best = std::move(fresh);
      data = std::move(coded.data);
      out.quantizer = quantizer;
    }
  };
  while (const std::optional<int> quantizer = search.next()) {
    // The last attempt at a frame that must be sent is as small as possible, unless something fits
    // already.
    const bool is_last = std::ssize(search.attempts()) + 1 == search.attempts_max();
    attempt(wish.must_go && is_last && !search.best() ? kQuantizerMax : *quantizer);
  }
  out.attempts += static_cast<int>(search.attempts().size());
  if (!search.best() && !wish.must_go) {
    if (wish.rung != ladder_.rung()) {
      model_ = model;
    }
    return false;
  }
  encoder_ = std::move(best);
  out.frame.data = std::move(data);
  remember({.key_frame = true}, scaled, out.quantizer);
  return true;
}

bool AdaptiveEncoder::key_frame_may_fit(int rung, DataSize budget) const {
  const double ratio = static_cast<double>(side_at(options_.width, rung)) *
                       side_at(options_.height, rung) /
                       (static_cast<double>(encoder_->width()) * encoder_->height());
  QuantizerModel model = model_;
  model.handle_resize(ratio);
  const int quantizer = rung < ladder_.rung() ? kStepUpQuantizerMax : kQuantizerMax;
  return model.log_size(quantizer, {.type = FrameType::kKey}) <=
         std::log2(static_cast<double>(budget.bytes()));
}

// Text and fine patterns lose more by a smaller size than by the coarsest quantizer.
bool AdaptiveEncoder::step_down_shows_more(const PicturePtr& picture, int rung) const {
  const PicturePtr now = at_rung(picture, ladder_.rung());
  const Picture smaller = scale_picture(*at_rung(picture, rung), now->width, now->height);
  const double error = mean_square(smaller, *now);
  return error <= kStepDownErrorMax &&
         kStepDownGain * error < mean_square(encoder_->reference(ReferenceBuffer::kLast), *now);
}

// A change of size, if one is wanted and its key frame fits, or it has waited long enough.
bool AdaptiveEncoder::step(TimePoint now, const PicturePtr& picture, AdaptedFrame& out) {
  const int wanted = ladder_.wanted();
  if (wanted == ladder_.rung()) {
    return false;
  }
  if (wanted > ladder_.rung() && !step_down_shows_more(picture, wanted)) {
    ladder_.handle_refusal();
    return false;
  }
  const bool must_go = wanted > ladder_.rung() && now - ladder_.wanted_since() >= kStepWaitMax;
  if (!must_go && !key_frame_may_fit(wanted, out.budget)) {
    return false;
  }
  if (!encode_key(picture, {.rung = wanted, .must_go = must_go, .attempts_kept = 1}, out)) {
    return false;
  }
  ladder_.handle_step(now);
  ++stats_.resolution_steps;
  return true;
}

void AdaptiveEncoder::remember(const ReferenceChoice& choice, const PicturePtr& picture,
                               int quantizer) {
  const Reference reference{picture, quantizer};
  if (choice.key_frame) {
    references_.fill(reference);
  } else if (choice.temporal_layer == 0) {
    references_.at(static_cast<size_t>(ReferenceBuffer::kLast)) = reference;
    if (choice.candidate_for) {
      references_.at(static_cast<size_t>(*choice.candidate_for)) = reference;
    }
  }
}

}  // namespace cress::media
