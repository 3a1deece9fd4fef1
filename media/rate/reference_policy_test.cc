#include "media/rate/reference_policy.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

// A decoder reduced to the essential: which frame is in each buffer. It decodes by the receivers'
// rule: a frame is decoded exactly when the one with `reference_id` was.
class Receiver {
 public:
  struct Frame {
    uint32_t id = 0;
    ReferenceChoice choice;
  };

  // True if decoded. The buffer's content must be what the encoder meant.
  bool handle_frame(const Frame& frame) {
    const ReferenceChoice& choice = frame.choice;
    if (!choice.key_frame && !decoded_.contains(choice.reference_id)) {
      return false;
    }
    if (choice.key_frame) {
      buffers_.fill(frame.id);
    } else {
      EXPECT_EQ(buffer(choice.reads), choice.reference_id) << "frame " << frame.id;
      const ReferencePlan plan = choice.plan();
      EXPECT_EQ(plan.read_last + plan.read_golden + plan.read_alternate, 1);
      EXPECT_FALSE(plan.update_entropy);
      replace(ReferenceBuffer::kLast, plan.replace_last, frame.id);
      replace(ReferenceBuffer::kGolden, plan.replace_golden, frame.id);
      replace(ReferenceBuffer::kAlternate, plan.replace_alternate, frame.id);
    }
    decoded_.insert(frame.id);
    return true;
  }

 private:
  uint32_t& buffer(ReferenceBuffer which) { return buffers_.at(static_cast<size_t>(which)); }
  void replace(ReferenceBuffer which, bool wanted, uint32_t id) {
    if (wanted) {
      buffer(which) = id;
    }
  }

  std::array<uint32_t, 3> buffers_{};
  std::set<uint32_t> decoded_;
};

struct Path {
  int layers = 1;
  int anchor_interval = 0;
  // Frames sent between a frame and its report.
  size_t delay_min = 1;
  size_t delay_max = 1;
  double loss = 0;
  double rejection = 0;
  // Reports of a decoded frame may be lost; reports of a loss never are.
  double silence = 0;
};

struct Outcome {
  int sent = 0;
  int anchors = 0;
  int undecodable = 0;  // arrived, but its reference had not
  int key_frames = 0;
  int recoveries = 0;
  size_t longest_freeze = 0;
};

// Receivers behind the one that reports, to which only some kinds of frames are forwarded: each
// must be able to decode everything it gets.
class Behind {
 public:
  void handle_frame(const Receiver::Frame& frame) {
    if (frame.choice.anchor) {
      EXPECT_TRUE(anchors_.handle_frame(frame)) << "frame " << frame.id << ", anchors only";
    }
    if (frame.choice.temporal_layer == 0) {
      EXPECT_TRUE(base_.handle_frame(frame)) << "frame " << frame.id << ", layer 0";
    }
    // One that takes what arrives, but misses much, and continues wherever the references allow.
    if (frame.choice.key_frame || frame.choice.anchor || !rng_.chance(0.3)) {
      patchy_.handle_frame(frame);
    }
  }

 private:
  Receiver anchors_;
  Receiver base_;
  Receiver patchy_;
  Rng rng_{11};
};

// `is_lost(i)` decides whether frame i is lost; the first frame always arrives.
template <class Fate>
Outcome run(const Path& path, int frames, Rng& rng, const Fate& is_lost) {
  struct News {
    size_t due = 0;
    uint32_t id = 0;
    bool decoded = false;
  };
  ReferencePolicy policy{{.temporal_layers = path.layers, .anchor_interval = path.anchor_interval}};
  Receiver receiver;
  Behind behind;
  std::vector<News> news;
  Outcome outcome;
  size_t freeze = 0;
  for (uint32_t id = 0; static_cast<int>(id) < frames; ++id) {
    std::erase_if(news, [&](const News& item) {
      if (item.due <= id && item.decoded) {
        policy.handle_decoded(item.id);
      } else if (item.due <= id) {
        policy.handle_lost(item.id);
      }
      return item.due <= id;
    });
    const ReferenceChoice choice = policy.next();
    if (!choice.key_frame && rng.chance(path.rejection)) {
      policy.handle_rejected(choice);
      continue;
    }
    policy.handle_sent(id, choice);
    ++outcome.sent;
    outcome.key_frames += choice.key_frame ? 1 : 0;
    outcome.recoveries += choice.reads != ReferenceBuffer::kLast ? 1 : 0;
    const bool lost = id > 0 && is_lost(id);
    const bool decoded = !lost && receiver.handle_frame({id, choice});
    if (decoded && path.anchor_interval > 0) {
      behind.handle_frame({id, choice});
    }
    outcome.anchors += choice.anchor ? 1 : 0;
    outcome.undecodable += !lost && !decoded ? 1 : 0;
    freeze = decoded ? 0 : freeze + 1;
    outcome.longest_freeze = std::max(outcome.longest_freeze, freeze);
    const size_t due = id + path.delay_min + rng.below(path.delay_max - path.delay_min + 1);
    // A frame that arrives but cannot be decoded is not reported: the sender knows the reason.
    if (lost || (decoded && !rng.chance(path.silence))) {
      news.push_back({due, id, decoded});
    }
  }
  return outcome;
}

TEST(ReferencePolicy, EveryPatternOfLossesOverTwelveFramesKeepsTheReceiverInStep) {
  constexpr int kFrames = 13;
  for (const int layers : {1, 2, 3}) {
    for (const size_t delay : {1U, 2U, 3U, 5U}) {
      for (uint32_t pattern = 0; pattern < 1U << (kFrames - 1); ++pattern) {
        SCOPED_TRACE("layers " + std::to_string(layers) + ", delay " + std::to_string(delay) +
                     ", pattern " + std::to_string(pattern));
        Rng rng{1};
        const Outcome outcome =
            run({.layers = layers, .delay_min = delay, .delay_max = delay}, kFrames, rng,
                [&](uint32_t id) { return (pattern >> (id - 1) & 1U) != 0; });
        ASSERT_EQ(outcome.key_frames, 1);
        ASSERT_FALSE(testing::Test::HasFailure());
      }
    }
  }
}

TEST(ReferencePolicy, AnchorsKeepAllReceiversInStepUnderAnyLosses) {
  constexpr int kFrames = 13;
  for (const int layers : {1, 3}) {
    for (const int interval : {1, 2, 4}) {
      for (const size_t delay : {1U, 3U, 5U}) {
        for (uint32_t pattern = 0; pattern < 1U << (kFrames - 1); ++pattern) {
          SCOPED_TRACE("layers " + std::to_string(layers) + ", interval " +
                       std::to_string(interval) + ", delay " + std::to_string(delay) +
                       ", pattern " + std::to_string(pattern));
          Rng rng{1};
          const Outcome outcome =
              run({.layers = layers,
                   .anchor_interval = interval,
                   .delay_min = delay,
                   .delay_max = delay},
                  kFrames, rng, [&](uint32_t id) { return (pattern >> (id - 1) & 1U) != 0; });
          ASSERT_EQ(outcome.key_frames, 1);
          ASSERT_FALSE(testing::Test::HasFailure());
        }
      }
    }
  }
}

TEST(ReferencePolicy, AnchorsComeAsOftenAsAskedAndReadTheNewestReportedOne) {
  constexpr uint32_t kDelay = 3;
  for (const int layers : {1, 2, 3}) {
    const int per_base = layers == 1 ? 1 : (layers == 2 ? 2 : 4);
    ReferencePolicy policy{{.temporal_layers = layers, .anchor_interval = 5}};
    std::vector<uint32_t> anchors;
    for (uint32_t id = 0; id < 600; ++id) {
      if (id >= kDelay) {
        policy.handle_decoded(id - kDelay);
      }
      const ReferenceChoice choice = policy.next();
      policy.handle_sent(id, choice);
      if (choice.anchor) {
        ASSERT_EQ(choice.temporal_layer, 0);
        ASSERT_TRUE(choice.key_frame || choice.reference_id == anchors.back());
        anchors.push_back(id);
      } else {
        ASSERT_EQ(choice.reads, ReferenceBuffer::kLast);
        ASSERT_FALSE(choice.candidate_for.has_value());
      }
    }
    EXPECT_EQ(anchors.size(), 600U / static_cast<size_t>(5 * per_base));
  }
}

TEST(ReferencePolicy, ALostAnchorIsReplacedAtOnceAndALostBaseFrameCostsNone) {
  ReferencePolicy policy{{.anchor_interval = 10}};
  for (uint32_t id = 0; id <= 10; ++id) {
    policy.handle_sent(id, policy.next());
    policy.handle_decoded(id == 0 ? 0 : id - 1);
  }
  ReferencePolicy lost_anchor = policy;
  lost_anchor.handle_sent(11, lost_anchor.next());
  lost_anchor.handle_lost(10);
  EXPECT_TRUE(lost_anchor.next().anchor);
  EXPECT_EQ(lost_anchor.next().reference_id, 0U);
  policy.handle_decoded(10);
  policy.handle_sent(11, policy.next());
  policy.handle_lost(11);
  EXPECT_FALSE(policy.next().anchor);
  EXPECT_EQ(policy.next().reference_id, 10U);
}

TEST(ReferencePolicy, AnchorUnreportedForTwoIntervalsIsReplaced) {
  ReferencePolicy policy{{.anchor_interval = 5}};
  std::vector<uint32_t> anchors;
  for (uint32_t id = 0; id < 30; ++id) {
    const ReferenceChoice choice = policy.next();
    policy.handle_sent(id, choice);
    policy.handle_decoded(0);
    if (choice.anchor) {
      EXPECT_EQ(choice.reference_id, 0U) << "what everybody has";
      anchors.push_back(id);
    }
  }
  EXPECT_EQ(anchors, (std::vector<uint32_t>{0, 5, 15, 25}));
  policy.handle_decoded(15);
  EXPECT_FALSE(policy.next().anchor);
  policy.handle_decoded(25);
  EXPECT_EQ(policy.next().reference_id, 25U) << "it is time for one, and this is reported";
}

TEST(ReferencePolicy, FrameThatSkipsAnUnreportedAnchorReplacesIt) {
  // Otherwise a receiver that has this frame but not the anchor before it could never continue.
  ReferencePolicy policy{{.anchor_interval = 10}};
  for (uint32_t id = 0; id <= 10; ++id) {
    policy.handle_sent(id, policy.next());
    policy.handle_decoded(0);
  }
  policy.handle_sent(11, policy.next());
  policy.handle_lost(11);  // and 10, an anchor, is in transit
  const ReferenceChoice choice = policy.next();
  EXPECT_TRUE(choice.anchor);
  EXPECT_EQ(choice.reference_id, 0U);
  policy.handle_sent(12, choice);
  policy.handle_decoded(10);
  policy.handle_decoded(12);
  for (uint32_t id = 13; id < 40; ++id) {
    EXPECT_NE(policy.next().reference_id, 10U);
    policy.handle_sent(id, policy.next());
  }
}

TEST(ReferencePolicy, RandomPathsKeepTheReceiverInStepWithOneKeyFrame) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    Path path{.layers = 1 + static_cast<int>(rng.below(3)),
              .delay_min = 1 + rng.below(10),
              .loss = rng.uniform(0, 0.3),
              .rejection = rng.uniform(0, 0.3),
              .silence = rng.chance(0.3) ? rng.uniform(0, 0.9) : 0};
    path.delay_max = path.delay_min + rng.below(40);
    path.anchor_interval = seed % 2 == 0 ? 0 : static_cast<int>(1 + rng.below(12));
    const Outcome outcome = run(path, 1500, rng, [&](uint32_t) { return rng.chance(path.loss); });
    ASSERT_EQ(outcome.key_frames, 1);
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(ReferencePolicy, TheFirstFrameAfterTheNewsOfALossIsDecodable) {
  // One loss, then none: the freeze lasts until the report arrives.
  for (const size_t delay : {1U, 4U, 9U}) {
    for (uint32_t lost = 20; lost < 60; ++lost) {
      Rng rng{1};
      const Outcome outcome = run({.delay_min = delay, .delay_max = delay}, 100, rng,
                                  [&](uint32_t id) { return id == lost; });
      EXPECT_EQ(outcome.longest_freeze, delay);
      EXPECT_EQ(outcome.recoveries, 1);
    }
  }
}

TEST(ReferencePolicy, LossesOfUpperLayersAreIgnored) {
  for (const int layers : {2, 3}) {
    Rng rng{4};
    ReferencePolicy shape{{.temporal_layers = layers}};
    std::vector<int> layer_of;
    for (uint32_t id = 0; id < 500; ++id) {
      const ReferenceChoice choice = shape.next();
      shape.handle_sent(id, choice);
      shape.handle_decoded(id);
      layer_of.push_back(choice.temporal_layer);
    }
    EXPECT_EQ(std::vector<int>(layer_of.begin(), layer_of.begin() + 5),
              layers == 2 ? std::vector<int>({0, 1, 0, 1, 0}) : std::vector<int>({0, 2, 1, 2, 0}));
    const Outcome outcome = run({.layers = layers, .delay_min = 3, .delay_max = 8}, 500, rng,
                                [&](uint32_t id) { return layer_of[id] > 0; });
    EXPECT_EQ(outcome.undecodable, 0);
    EXPECT_EQ(outcome.recoveries, 0);
  }
}

TEST(ReferencePolicy, TheSpareReferenceIsNeverOlderThanTwoRoundTrips) {
  ReferencePolicy policy;
  constexpr uint32_t kDelay = 6;
  for (uint32_t id = 0; id < 400; ++id) {
    if (id >= kDelay) {
      policy.handle_decoded(id - kDelay);
    }
    policy.handle_sent(id, policy.next());
    if (id > 20) {
      ReferencePolicy lossy = policy;
      lossy.handle_lost(id);
      lossy.handle_lost(id - kDelay + 1);  // the oldest whose outcome is unknown
      const ReferenceChoice choice = lossy.next();
      ASSERT_FALSE(choice.key_frame);
      EXPECT_NE(choice.reads, ReferenceBuffer::kLast);
      EXPECT_LE(id - choice.reference_id, 2 * kDelay + 1);
    }
  }
}

TEST(ReferencePolicy, AKeyFrameGoesWhenNothingElseIsLeftOrOnRequest) {
  ReferencePolicy policy;
  EXPECT_TRUE(policy.next().key_frame);
  policy.handle_sent(0, policy.next());
  policy.handle_sent(1, policy.next());
  policy.handle_lost(0);
  EXPECT_TRUE(policy.next().key_frame) << "the first frame was lost, and all depends on it";
  policy.handle_sent(2, policy.next());
  EXPECT_FALSE(policy.next().key_frame);
  policy.handle_lost(1);
  EXPECT_FALSE(policy.next().key_frame) << "a loss from before the key frame is history";
  policy.handle_decoded(2);
  policy.handle_lost(2);
  EXPECT_FALSE(policy.next().key_frame) << "what was decoded was not lost";
  policy.request_key_frame();
  EXPECT_TRUE(policy.next().key_frame);
}

TEST(ReferencePolicy, LossOlderThanItsMemoryUsesKnownFrames) {
  ReferencePolicy policy;
  uint32_t id = 0;
  for (; id < 10; ++id) {
    policy.handle_sent(id, policy.next());
  }
  policy.handle_decoded(1);  // frame 1 is the first candidate
  for (; id < 10 + ReferencePolicy::kFramesMax + 50; ++id) {
    policy.handle_sent(id, policy.next());
  }
  policy.handle_lost(20);
  const ReferenceChoice choice = policy.next();
  EXPECT_FALSE(choice.key_frame);
  EXPECT_NE(choice.reads, ReferenceBuffer::kLast);
  EXPECT_EQ(choice.reference_id, 1U);
}

TEST(ReferencePolicy, BuffersOfARejectedAttemptAreNeverRead) {
  ReferencePolicy policy;
  policy.handle_sent(0, policy.next());
  const ReferenceChoice candidate = policy.next();
  ASSERT_TRUE(candidate.candidate_for.has_value());
  policy.handle_rejected(candidate);
  policy.handle_decoded(0);  // both buffers would now be known, if there had been no attempt
  policy.handle_sent(2, policy.next());
  policy.handle_lost(2);
  const ReferenceChoice choice = policy.next();
  ASSERT_FALSE(choice.key_frame);
  EXPECT_EQ(choice.reference_id, 0U);
  EXPECT_NE(choice.reads, *candidate.candidate_for);
}

TEST(ReferencePolicy, ACandidateWithoutReportMakesRoomAfter120Frames) {
  for (const bool reported : {false, true}) {
    ReferencePolicy policy;
    std::vector<uint32_t> candidates;
    for (uint32_t id = 0; id < 130; ++id) {
      const ReferenceChoice choice = policy.next();
      if (choice.candidate_for) {
        candidates.push_back(id);
      }
      policy.handle_sent(id, choice);
      if (id == 0 && reported) {
        policy.handle_decoded(0);
      }
    }
    // The key frame's copy is replaced by frame 1 at once. Then, of two without a report, the older
    // is replaced first.
    EXPECT_EQ(candidates,
              reported ? (std::vector<uint32_t>{1, 122}) : (std::vector<uint32_t>{1, 121, 122}));
  }
}

TEST(ReferencePolicy, AReportOfAFrameIsOneOfItsAncestors) {
  ReferencePolicy policy;
  for (uint32_t id = 0; id < 4; ++id) {
    policy.handle_sent(id, policy.next());
  }
  EXPECT_FALSE(policy.is_decoded(0));
  policy.handle_decoded(9);  // unknown
  policy.handle_decoded(2);
  EXPECT_TRUE(policy.is_decoded(0) && policy.is_decoded(1) && policy.is_decoded(2));
  EXPECT_FALSE(policy.is_decoded(3));
  EXPECT_FALSE(policy.is_decoded(9));
  policy.handle_lost(3);
  policy.handle_decoded(3);
  EXPECT_FALSE(policy.is_decoded(3)) << "what was lost does not come back";
}

TEST(ReferencePolicy, WithoutReportsTheNewerOfTwoCandidatesIsRead) {
  ReferencePolicy policy;
  for (uint32_t id = 0; id < 3; ++id) {
    const ReferenceChoice choice = policy.next();
    EXPECT_EQ(choice.key_frame || choice.candidate_for, id < 2) << id;
    policy.handle_sent(id, choice);
  }
  policy.handle_lost(2);
  EXPECT_EQ(policy.next().reference_id, 1U) << "and not the key frame";
}

TEST(ReferencePolicy, InDoubtAFrameReadsTheNewestKnownOneThatIsKept) {
  for (const int anchor_interval : {0, 3}) {
    ReferencePolicy policy{{.anchor_interval = anchor_interval}};
    policy.handle_sent(0, policy.next());
    policy.refer_to_known();
    EXPECT_EQ(policy.next().reads, ReferenceBuffer::kLast) << "nothing is known";
    for (uint32_t id = 1; id < 10; ++id) {
      policy.handle_sent(id, policy.next());
      policy.handle_decoded(std::min(id, 4U));
    }
    policy.refer_to_known();
    const ReferenceChoice choice = policy.next();
    if (anchor_interval == 0) {
      EXPECT_NE(choice.reads, ReferenceBuffer::kLast);
      EXPECT_EQ(choice.reference_id, 4U);
    } else {
      EXPECT_EQ(choice.reference_id, 9U) << "anchors descend from each other";
    }
    policy.handle_sent(10, choice);
    EXPECT_EQ(policy.next().reference_id, 10U) << "once";
  }
}

TEST(ReferencePolicy, APlanReadsOneBufferAndWritesWhatTheChoiceSays) {
  ReferenceChoice choice{.reads = ReferenceBuffer::kGolden,
                         .candidate_for = ReferenceBuffer::kAlternate};
  EXPECT_FALSE(choice.plan().read_last);
  EXPECT_TRUE(choice.plan().read_golden);
  EXPECT_FALSE(choice.plan().read_alternate);
  EXPECT_TRUE(choice.plan().replace_last);
  EXPECT_FALSE(choice.plan().replace_golden);
  EXPECT_TRUE(choice.plan().replace_alternate);
  choice = {.temporal_layer = 1, .reads = ReferenceBuffer::kAlternate};
  EXPECT_TRUE(choice.plan().read_alternate);
  EXPECT_FALSE(choice.plan().replace_last) << "upper layers write nothing";
  EXPECT_FALSE(choice.plan().replace_alternate);
}

TEST(ReferencePolicy, ItRemembersFiveHundredAndTwelveFrames) {
  for (const size_t later : {ReferencePolicy::kFramesMax - 1, ReferencePolicy::kFramesMax}) {
    ReferencePolicy policy;
    policy.handle_sent(0, policy.next());
    for (uint32_t id = 1; id <= later; ++id) {
      policy.handle_sent(id, policy.next());
    }
    policy.handle_decoded(0);
    EXPECT_EQ(policy.is_decoded(0), later < ReferencePolicy::kFramesMax);
  }
}

TEST(ReferencePolicy, MisuseIsOurBug) {
  EXPECT_DEATH(ReferencePolicy{{.temporal_layers = 0}}, "layers");
  EXPECT_DEATH(ReferencePolicy{{.temporal_layers = 4}}, "layers");
  EXPECT_DEATH(ReferencePolicy{{.anchor_interval = -1}}, "interval");
  ReferencePolicy policy;
  policy.handle_sent(5, policy.next());
  EXPECT_DEATH(policy.handle_sent(5, policy.next()), "grow");
}

}  // namespace
}  // namespace cress::media
