#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <iomanip>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "media/codec/versions.hh"
#include "media/rate/adaptive_encoder.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

/// A part of the golden scenario: budgets that vary between two limits, and losses.
struct GoldenPhase {
  int frames = 0;
  double low = 0;
  double high = 0;
  double loss = 0;
  double references_lost = 0;
};

constexpr std::initializer_list<GoldenPhase> kGoldenPhases{
    {60, 300, 6'000, 0.02, 0},     // varying
    {60, 60, 1'500, 0.15, 0},      // narrow, with losses
    {90, 25, 60, 0.02, 0},         // almost nothing: smaller pictures
    {50, 300, 900, 0.05, 0.05},    // the receiver sometimes loses everything
    {200, 5'000, 9'000, 0.01, 0},  // plenty: full size again
};

char buffer_name(ReferenceBuffer buffer) { return "lga"[static_cast<size_t>(buffer)]; }

/// Id, budget, size, quantizer, attempts, reference, anchor, layer.
std::string frame_text(const AdaptedFrame& coded) {
  std::ostringstream text;
  const EncodedFrame& frame = coded.frame;
  text << frame.id << " " << coded.budget.bytes() << " " << frame.size().bytes() << " q"
       << coded.quantizer << " x" << coded.attempts;
  if (!coded.skipped()) {
    text << (frame.key_frame ? " key" : " -" + std::to_string(frame.id - frame.reference_id))
         << (frame.anchor ? "A" : "") << (frame.temporal_layer > 0 ? "L" : "")
         << (frame.temporal_layer > 0 ? std::to_string(frame.temporal_layer) : "");
  }
  return text.str();
}

/// Collects the lines of consecutive frames: of each ten the first two literally, all of them in a
/// digest.
class Condensed {
 public:
  explicit Condensed(std::ostringstream& text) : text_(text) {}
  ~Condensed() { finish(); }
  Condensed(const Condensed&) = delete;
  Condensed& operator=(const Condensed&) = delete;

  void add(const std::string& frame) {
    block_ += frame + ", ";
    ++count_;
    text_ << (count_ <= 2 ? frame + ", " : "");
    if (count_ == 10) {
      finish();
    }
  }
  void finish() {
    if (count_ > 0) {
      text_ << golden_digest(block_) << "\n";
    }
    block_.clear();
    count_ = 0;
  }

 private:
  std::ostringstream& text_;
  std::string block_;
  int count_ = 0;
};

/// Encodes every phase; reports of a frame arrive some frames later.
void run_golden(std::ostringstream& text, const AdaptiveEncoderOptions& options, uint64_t seed) {
  SyntheticCamera camera{{.width = options.width, .height = options.height, .seed = seed}};
  AdaptiveEncoder encoder{options};
  Rng rng{seed};
  std::deque<std::pair<uint32_t, bool>> under_way;
  uint32_t id = 0;
  int width = 0;
  double log_budget = std::log(3'000);
  for (const GoldenPhase& phase : kGoldenPhases) {
    Condensed lines{text};
    for (int i = 0; i < phase.frames; ++i, ++id) {
      const TimePoint now = kTimeZero + FrameRate{}.time_of(id);
      log_budget += 0.2 * rng.normal();
      log_budget = std::clamp(log_budget, std::log(phase.low), std::log(phase.high));
      if (rng.chance(phase.references_lost)) {
        encoder.handle_references_lost(now);
        lines.add("references lost");
      }
      const AdaptedFrame coded = encoder.encode(
          now, id, camera.picture(id), DataSize{static_cast<int64_t>(std::exp(log_budget))});
      lines.add(frame_text(coded));
      if (coded.width != width) {
        width = coded.width;
        lines.add(std::to_string(coded.width) + "x" + std::to_string(coded.height));
      }
      if (!coded.skipped()) {
        under_way.emplace_back(id, rng.chance(phase.loss));
      }
      while (under_way.size() > 4) {
        const auto [old, lost] = under_way.front();
        under_way.pop_front();
        lost ? encoder.handle_lost(old) : encoder.handle_decoded(old);
      }
    }
    lines.finish();
    const AdaptiveEncoderStats& stats = encoder.stats();
    text << "= " << stats.frames << " frames, " << stats.skipped << " skipped, " << stats.attempts
         << " attempts, " << stats.key_frames << " key frames, " << stats.over_budget << " over, "
         << stats.resolution_steps << " steps\n";
  }
}

// With the codec's version in the first line, because it determines the sizes.
TEST(AdaptiveEncoder, EncodesVaryingBudgetsAsRecorded) {
  std::ostringstream text;
  text << codec_versions() << "\n";
  run_golden(text, {.width = 160, .height = 90, .quantizer_min = 8, .quantizer_min_of_plenty = 4},
             41);
  text << "three layers with anchors, two attempts\n";
  run_golden(
      text,
      {.width = 104, .height = 72, .attempts_max = 2, .temporal_layers = 3, .anchor_interval = 4},
      42);
  text << "two layers, one attempt\n";
  run_golden(text, {.width = 160, .height = 90, .attempts_max = 1, .temporal_layers = 2}, 43);
  if (!golden_begins("adaptive_encoder", codec_versions())) {
    GTEST_SKIP() << "recorded with other codecs than " << codec_versions();
  }
  expect_golden("adaptive_encoder", text.str());
}

// Frames whose sizes follow a changing law, with noise and outliers: the model's expectations and
// requests, and the search's result.
TEST(QuantizerModel, LearnsAsRecorded) {
  std::ostringstream text;
  for (const double over_share : {0.2, 0.05}) {
    Rng rng{44};
    QuantizerModel model{{.quantizer_min = 4,
                          .quantizer_max = 60,
                          .over_budget_share = over_share,
                          .pixels = 160 * 90}};
    Condensed lines{text};
    double level = 17;
    for (int i = 0; i < 240; ++i) {
      level = i == 80 ? 14 : (i == 160 ? 19 : level + 0.05 * rng.normal());
      const FrameType type = i % 60 == 0 ? FrameType::kKey : FrameType::kDelta;
      const std::optional<double> activity =
          i % 40 < 25 ? std::optional{rng.uniform(0, 12)} : std::nullopt;
      const DataSize budget{static_cast<int64_t>(std::exp(rng.uniform(4, 10)))};
      const int quantizer = model.quantizer_for(budget, type, activity);
      const double noise = 0.2 * rng.normal();
      const double outlier = rng.chance(0.03) ? 3 : 0;
      const double log_size = level + 0.1 * activity.value_or(5) -
                              1.1 * std::log2(quantizer_step(quantizer)) + noise + outlier;
      const DataSize size{1 + static_cast<int64_t>(std::exp2(log_size))};
      if (i % 3 == 2) {
        model.learn(quantizer,
                    {.type = type, .activity = activity, .reference_quantizer = quantizer / 2 + 9},
                    size);
      } else {
        model.observe(quantizer, type, size, i % 3 == 0 ? std::optional{budget} : std::nullopt,
                      activity);
      }
      if (i == 200) {
        model.handle_resize(0.5625);
      }
      std::ostringstream line;
      line << budget.bytes() << " q" << quantizer << " " << size.bytes() << " "
           << model.predict(30, FrameType::kDelta, activity).bytes() << " "
           << model.predict(30, FrameType::kKey).bytes() << " " << std::fixed
           << std::setprecision(3) << model.log_size(12, {.type = type, .reference_quantizer = 20});
      lines.add(line.str());
    }
  }
  expect_golden("quantizer_model", text.str());
}

TEST(QuantizerSearch, TriesQuantizersAsRecorded) {
  std::ostringstream text;
  Rng rng{45};
  for (int round = 0; round < 150; ++round) {
    QuantizerSearchOptions options;
    options.attempts_max = 1 + static_cast<int>(rng.below(4));
    options.quantizer_min = static_cast<int>(rng.below(20));
    options.quantizer_max = 45 + static_cast<int>(rng.below(19));
    QuantizerSearch::LogSizes expected{};
    const double level = rng.uniform(10, 18);
    for (int q = 0; q <= kQuantizerMax; ++q) {
      expected.at(static_cast<size_t>(q)) = level - 1.1 * std::log2(quantizer_step(q));
    }
    const DataSize budget{static_cast<int64_t>(std::exp(rng.uniform(4, 10)))};
    QuantizerSearch search{options, budget, expected};
    const double off = rng.normal();
    const double slope = rng.uniform(0.8, 1.4);
    text << budget.bytes() << ":";
    while (const std::optional<int> quantizer = search.next()) {
      const double log_size =
          level + off - slope * 1.1 * std::log2(quantizer_step(*quantizer)) + 0.1 * rng.normal();
      const DataSize size{1 + static_cast<int64_t>(std::exp2(log_size))};
      search.handle_attempt(*quantizer, size);
      text << " q" << *quantizer << " " << size.bytes();
    }
    const std::optional<size_t> best = search.best();
    text << (best ? " best " + std::to_string(*best) : " none") << (round % 3 == 2 ? "\n" : "; ");
  }
  expect_golden("quantizer_search", text.str());
}

TEST(ReferencePolicy, ChoosesReferencesAsRecorded) {
  std::ostringstream text;
  for (const ReferencePolicyOptions& options : {ReferencePolicyOptions{},
                                                {.temporal_layers = 2},
                                                {.temporal_layers = 3},
                                                {.temporal_layers = 1, .anchor_interval = 5},
                                                {.temporal_layers = 3, .anchor_interval = 3}}) {
    text << "layers " << options.temporal_layers << ", anchors " << options.anchor_interval;
    Rng rng{46};
    ReferencePolicy policy{options};
    std::deque<uint32_t> under_way;
    for (uint32_t id = 0; id < 400; ++id) {
      const ReferenceChoice choice = policy.next();
      text << (id % 25 == 0 ? "\n" : " ");
      if (rng.chance(0.1)) {
        policy.handle_rejected(choice);
        text << "x";
        continue;
      }
      text << (choice.key_frame ? "K" : "") << (choice.anchor ? "A" : "")
           << (choice.temporal_layer > 0 ? "^" : "");
      if (!choice.key_frame) {
        text << buffer_name(choice.reads) << id - choice.reference_id;
      }
      if (choice.candidate_for) {
        text << ">" << buffer_name(*choice.candidate_for);
      }
      policy.handle_sent(id, choice);
      under_way.push_back(id);
      // For a while nothing is reported: candidates become old.
      const bool silent = id >= 150 && id < 290;
      while (!silent && under_way.size() > 5) {
        const uint32_t old = under_way.front();
        under_way.pop_front();
        if (rng.chance(id < 100 ? 0.03 : 0.15)) {
          policy.handle_lost(old);
          text << "!" << id - old;
        } else if (rng.chance(0.8)) {
          policy.handle_decoded(old);
        }
        text << (policy.is_decoded(old) ? "" : "?");
      }
      if (rng.chance(0.004)) {
        policy.request_key_frame();
      }
    }
    text << "\n";
  }
  expect_golden("reference_policy", text.str());
}

TEST(ResolutionLadder, ClimbsAsRecorded) {
  std::ostringstream text;
  Rng rng{47};
  ResolutionLadder ladder;
  TimePoint now = kTimeZero;
  double quantizer = 30;
  for (int i = 0; i < 9'000; ++i) {
    now += 33ms;
    const double towards = i / 700 % 2 == 0 ? 20 : 62;
    quantizer += 0.02 * (towards - quantizer) + rng.normal();
    const bool skipped = quantizer > 55 && rng.chance(0.2);
    ladder.handle_frame(now, skipped, std::clamp(static_cast<int>(quantizer), 2, 63));
    if (ladder.wanted() == ladder.rung()) {
      continue;
    }
    if (now == ladder.wanted_since()) {
      text << i << ": " << ladder.rung() << " wants " << ladder.wanted() << "\n";
    }
    if (rng.chance(0.1)) {
      if (ladder.wanted() > ladder.rung() && rng.chance(0.3)) {
        ladder.handle_refusal();
        text << i << ": refused\n";
      } else {
        ladder.handle_step(now);
        text << i << ": now " << ladder.rung() << "\n";
      }
    }
  }
  expect_golden("resolution_ladder", text.str());
}

}  // namespace
}  // namespace cress::media
