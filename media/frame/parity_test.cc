#include "media/frame/parity.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::media {
namespace {

using Bytes = std::vector<std::byte>;

// Data of `count` fragments as `fragment` cuts them: the first some are of `length`, the others a
// byte shorter.
std::vector<Bytes> random_data(Rng& rng, int count, size_t length) {
  std::vector<Bytes> data;
  const uint64_t longer = 1 + rng.below(static_cast<uint64_t>(count));
  for (int i = 0; i < count; ++i) {
    Bytes& bytes = data.emplace_back(static_cast<uint64_t>(i) < longer ? length : length - 1);
    for (std::byte& b : bytes) {
      b = static_cast<std::byte>(rng.next());
    }
  }
  return data;
}

// Appends `parity` fragments to the data.
std::vector<Bytes> with_parity(std::vector<Bytes> fragments, int parity) {
  const int count = static_cast<int>(fragments.size());
  fragments.resize(fragments.size() + static_cast<size_t>(parity), Bytes(fragments[0].size()));
  std::vector<CodedFragment> have;
  std::vector<WantedFragment> wanted;
  for (int i = 0; i < count + parity; ++i) {
    Bytes& bytes = fragments[static_cast<size_t>(i)];
    if (i < count) {
      have.push_back({i, bytes});
    } else {
      wanted.push_back({i, bytes});
    }
  }
  derive_fragments(count, have, wanted);
  return fragments;
}

// Derives all fragments that are not in `kept`, including parity, and compares them with the
// originals.
void expect_derived(const std::vector<Bytes>& fragments, int count, const std::vector<int>& kept) {
  std::vector<CodedFragment> have;
  have.reserve(kept.size());
  for (const int index : kept) {
    have.push_back({index, fragments[static_cast<size_t>(index)]});
  }
  std::vector<Bytes> derived = fragments;
  std::vector<WantedFragment> wanted;
  for (int i = 0; i < static_cast<int>(fragments.size()); ++i) {
    if (std::ranges::find(kept, i) == kept.end()) {
      Bytes& room = derived[static_cast<size_t>(i)];
      std::ranges::fill(room, std::byte{0xEE});
      wanted.push_back({i, room});
    }
  }
  derive_fragments(count, have, wanted);
  ASSERT_EQ(derived, fragments);
}

// The slow twin of the field: schoolbook multiplication, the inverse by trying all.
unsigned slow_product(unsigned a, unsigned b) {
  unsigned product = 0;
  for (; b != 0; b >>= 1U) {
    product ^= (b & 1U) != 0 ? a : 0;
    a = (a << 1U) ^ ((a & 0x80U) != 0 ? 0x11DU : 0);
  }
  return product;
}

unsigned slow_inverse(unsigned a) {
  unsigned inverse = 1;
  while (slow_product(a, inverse) != 1) {
    ++inverse;
  }
  return inverse;
}

TEST(Parity, IsTheDocumentedFormula) {
  Rng rng{1};
  for (const auto& [count, parity] : {std::pair{1, 3}, {2, 2}, {17, 9}, {100, 155}, {254, 1}}) {
    SCOPED_TRACE(std::to_string(count) + " and " + std::to_string(parity));
    const std::vector<Bytes> fragments = with_parity(random_data(rng, count, 5), parity);
    for (int i = 0; i < parity; ++i) {
      const Bytes& bytes = fragments[static_cast<size_t>(count) + static_cast<size_t>(i)];
      for (size_t at = 0; at < bytes.size(); ++at) {
        unsigned sum = 0;
        for (int j = 0; j < count; ++j) {
          const Bytes& part = fragments[static_cast<size_t>(j)];
          const unsigned byte = at < part.size() ? std::to_integer<unsigned>(part[at]) : 0;
          const auto x = static_cast<unsigned>(255 - i);
          const auto y = static_cast<unsigned>(j);
          sum ^= slow_product(byte, slow_product(255U ^ y, slow_inverse(x ^ y)));
        }
        ASSERT_EQ(std::to_integer<unsigned>(bytes[at]), sum) << "parity " << i << " at " << at;
      }
    }
  }
}

TEST(Parity, FirstIsTheExclusiveOr) {
  Rng rng{2};
  const std::vector<Bytes> fragments = with_parity(random_data(rng, 30, 100), 1);
  Bytes sum(100);
  for (size_t i = 0; i < 30; ++i) {
    for (size_t at = 0; at < fragments[i].size(); ++at) {
      sum[at] ^= fragments[i][at];
    }
  }
  EXPECT_EQ(fragments[30], sum);
}

TEST(Parity, AnyChoiceOfAsManyAsDataGivesAllTheOthers) {
  Rng rng{3};
  for (int count = 1; count <= 7; ++count) {
    for (int parity = 1; parity <= 5; ++parity) {
      const std::vector<Bytes> fragments = with_parity(random_data(rng, count, 21), parity);
      for (unsigned choice = 0; choice < 1U << static_cast<unsigned>(count + parity); ++choice) {
        std::vector<int> kept;
        for (int i = 0; i < count + parity; ++i) {
          if ((choice >> static_cast<unsigned>(i) & 1U) != 0) {
            kept.push_back(i);
          }
        }
        if (static_cast<int>(kept.size()) == count) {
          SCOPED_TRACE(std::to_string(count) + " and " + std::to_string(parity) + ", choice " +
                       std::to_string(choice));
          expect_derived(fragments, count, kept);
        }
      }
    }
  }
}

TEST(Parity, RandomChoicesOfManyGiveAllTheOthersInAnyOrder) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng{seed};
    const int count = 1 + static_cast<int>(rng.below(254));
    const bool full = rng.chance(0.3);
    const int most = kCodedFragmentsMax - count;
    const int parity = full ? most : 1 + static_cast<int>(rng.below(static_cast<uint64_t>(most)));
    const std::vector<Bytes> fragments = with_parity(random_data(rng, count, 9), parity);
    std::vector<int> order(fragments.size());
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int>(i);
      std::swap(order[i], order[rng.below(i + 1)]);
    }
    order.resize(static_cast<size_t>(count));
    expect_derived(fragments, count, order);
  }
}

// The slow twin of parity_for: the binomial distribution, fragment by fragment.
double frame_loss(int fragments, int parity, double loss) {
  std::vector<double> lost(static_cast<size_t>(fragments + parity) + 1);
  lost[0] = 1;
  for (int sent = 0; sent < fragments + parity; ++sent) {
    for (size_t l = static_cast<size_t>(sent) + 1; l > 0; --l) {
      lost[l] = lost[l] * (1 - loss) + lost[l - 1] * loss;
    }
    lost[0] *= 1 - loss;
  }
  double sum = 0;
  for (size_t l = static_cast<size_t>(parity) + 1; l < lost.size(); ++l) {
    sum += lost[l];
  }
  return sum;
}

TEST(ParityFor, IsTheFewestThatReachTheTarget) {
  for (const int fragments : {1, 2, 3, 5, 8, 17, 40, 100}) {
    for (const double loss : {0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3}) {
      for (const double target : {0.1, 0.01, 0.001, 1e-6}) {
        SCOPED_TRACE(std::to_string(fragments) + " at " + std::to_string(loss) + " for " +
                     std::to_string(target));
        const int parity = parity_for(fragments, loss, target);
        ASSERT_LT(fragments + parity, kCodedFragmentsMax);
        EXPECT_LE(frame_loss(fragments, parity, loss), target + 1e-12);
        if (parity > 0) {
          EXPECT_GT(frame_loss(fragments, parity - 1, loss), target);
        }
      }
    }
  }
}

TEST(ParityFor, ATargetThatIsReachedExactlyIsReached) {
  EXPECT_EQ(parity_for(1, 0.1, 0.01), 1);
  EXPECT_EQ(parity_for(1, 0.1, 0.001), 2);
  EXPECT_EQ(parity_for(1, 0.1, 1e-6), 5);
  EXPECT_EQ(parity_for(1, 0.01, 0.01), 0);
}

TEST(ParityFor, SmallLossNeedsNone) {
  EXPECT_EQ(parity_for(20, 0), 0);
  EXPECT_EQ(parity_for(20, 0.0029), 0);
  EXPECT_EQ(parity_for(20, 0.003), 1);
  EXPECT_EQ(parity_for(1, 0.009), 0) << "the frame is whole often enough as it is";
}

TEST(ParityFor, StaysWithinWhatIsAllowedAndWhatTheCodeCan) {
  EXPECT_EQ(parity_for(20, 0.2, 0.01, 3), 3);
  EXPECT_EQ(parity_for(20, 0.2, 0.01, 0), 0);
  EXPECT_EQ(parity_for(200, 0.9), 55);
  EXPECT_EQ(parity_for(200, 1), 55);
  EXPECT_EQ(parity_for(255, 0.1), 0);
  EXPECT_EQ(parity_for(5000, 0.1), 0);
  EXPECT_EQ(parity_for(20, 0.2, 1), 0) << "any loss is fine";
}

TEST(ParityFor, NeverFallsAsLossGrows) {
  for (const int fragments : {1, 6, 33, 150}) {
    int before = 0;
    for (int permille = 0; permille <= 1000; ++permille) {
      const int parity = parity_for(fragments, permille / 1000.0);
      EXPECT_GE(parity, before) << fragments << " at " << permille;
      before = parity;
    }
  }
}

}  // namespace
}  // namespace cress::media
