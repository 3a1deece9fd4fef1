#include "media/frame/parity.hh"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <vector>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

// GF(256) as polynomials modulo x^8 + x^4 + x^3 + x^2 + 1, with x = 2 as a generator.
constexpr unsigned kModulus = 0x11D;
// The powers of the generator repeat after this many; logarithms count modulo it.
constexpr int kOrder = 255;

struct Tables {
  std::array<uint8_t, kOrder> power{};
  std::array<uint8_t, kOrder + 1> logarithm{};  // of 0: none, never read
};

constexpr Tables make_tables() {
  Tables tables;
  unsigned value = 1;
  for (unsigned i = 0; i < kOrder; ++i) {
    tables.power[i] = static_cast<uint8_t>(value);
    tables.logarithm[value] = static_cast<uint8_t>(i);
    value <<= 1U;
    if (value > 0xFF) {
      value ^= kModulus;
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();
static_assert(kTables.power[kOrder - 1] == 0x8E, "the inverse of 2: the powers close their circle");

// Each fragment has a point of the field: data from 0 upwards, parity from 255 downwards. They do
// not meet while there are at most kCodedFragmentsMax.
constexpr int kFirstParityPoint = 255;

int point_of(int index, int count) {
  return index < count ? index : kFirstParityPoint - (index - count);
}

int log_of_difference(int a, int b) { return kTables.logarithm[static_cast<size_t>(a ^ b)]; }

// Available and missing fragments, as points.
struct Pattern {
  std::vector<int> lost;    // missing data fragments
  std::vector<int> parity;  // the parity fragments that replace them: the same number
};

// Cauchy's matrix has 1 / (x + y) between parity point x and data point y; column y is multiplied
// by 255 - y. That is a polynomial through the data, read at other points: Lagrange's formula gives
// any fragment d from any `count` fragments a as the sum of weight(a) / (weight(d) · (a - d)) · a,
// with the weights below, after cancelling common factors.
int log_weight(int point, bool is_parity, const Pattern& pattern) {
  int sum = is_parity ? 0 : log_of_difference(kFirstParityPoint, point);
  for (const int lost : pattern.lost) {
    sum += lost == point ? 0 : log_of_difference(lost, point);
  }
  for (const int parity : pattern.parity) {
    sum += parity == point ? 0 : kOrder - log_of_difference(parity, point);
  }
  return sum % kOrder;
}

void add_to(std::span<std::byte> sum, std::span<const std::byte> bytes) {
  const size_t size = std::min(sum.size(), bytes.size());
  for (size_t i = 0; i < size; ++i) {
    sum[i] ^= bytes[i];
  }
}

void double_each(std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) {
    const auto value = std::to_integer<uint8_t>(byte);
    const auto carry = static_cast<uint8_t>((value & 0x80U) != 0 ? kModulus & 0xFFU : 0U);
    byte = static_cast<std::byte>(static_cast<uint8_t>(value << 1U) ^ carry);
  }
}

// The sum of each fragment times its factor. Bit by bit of the factors, highest first, doubling the
// sum in between: no table is read, everything is exclusive or over whole fragments, which
// compilers vectorize; and doublings are 7 per sum, not 7 per fragment.
void sum_up(std::span<const uint8_t> factors, std::span<const CodedFragment> fragments,
            std::span<std::byte> sum) {
  std::ranges::fill(sum, std::byte{0});
  unsigned used = 0;
  for (const uint8_t factor : factors) {
    used |= factor;
  }
  for (int bit = static_cast<int>(std::bit_width(used)) - 1; bit >= 0; --bit) {
    double_each(sum);
    for (size_t i = 0; i < fragments.size(); ++i) {
      if ((factors[i] >> static_cast<unsigned>(bit) & 1U) != 0) {
        add_to(sum, fragments[i].bytes);
      }
    }
  }
}

Pattern pattern_of(int count, std::span<const CodedFragment> have,
                   std::span<const WantedFragment> wanted) {
  check(0 < count && count <= kCodedFragmentsMax && have.size() == static_cast<size_t>(count),
        "derive_fragments: not as many fragments as data");
  std::bitset<kCodedFragmentsMax> seen;
  Pattern pattern;
  const auto note = [&seen](int index) {
    check(0 <= index && index < kCodedFragmentsMax && !seen[static_cast<size_t>(index)],
          "derive_fragments: index out of range or twice");
    seen[static_cast<size_t>(index)] = true;
  };
  for (const CodedFragment& fragment : have) {
    note(fragment.index);
    if (fragment.index >= count) {
      pattern.parity.push_back(point_of(fragment.index, count));
    }
  }
  for (int index = 0; index < count; ++index) {
    if (!seen[static_cast<size_t>(index)]) {
      pattern.lost.push_back(index);
    }
  }
  for (const WantedFragment& fragment : wanted) {
    note(fragment.index);
  }
  return pattern;
}

// Below this, parity on every frame costs more than the retransmissions it avoids: of frames of
// five fragments, one in 67 would need the fifth part that is added to all.
constexpr double kWorthwhileLoss = 0.003;

// A target that is reached exactly (one fragment and one parity, 1 % for 10 % loss) must not take
// one more because of rounding: a sum of up to 255 doubles is off by less than this.
constexpr double kRounding = 1e-12;

}  // namespace

void derive_fragments(int count, std::span<const CodedFragment> have,
                      std::span<const WantedFragment> wanted) {
  const Pattern pattern = pattern_of(count, have, wanted);
  std::vector<int> log_weights;
  log_weights.reserve(have.size());
  for (const CodedFragment& fragment : have) {
    log_weights.push_back(
        log_weight(point_of(fragment.index, count), fragment.index >= count, pattern));
  }
  std::vector<uint8_t> factors(have.size());
  for (const WantedFragment& fragment : wanted) {
    const int point = point_of(fragment.index, count);
    const int log_own = log_weight(point, fragment.index >= count, pattern);
    for (size_t i = 0; i < have.size(); ++i) {
      const int log_difference = log_of_difference(point_of(have[i].index, count), point);
      const int log_factor = log_weights[i] + 2 * kOrder - log_own - log_difference;
      factors[i] = kTables.power[static_cast<size_t>(log_factor % kOrder)];
    }
    sum_up(factors, have, fragment.bytes);
  }
}

int parity_for(int fragments, double loss, double frame_loss_target, int parity_max) {
  check(fragments > 0 && parity_max >= 0, "parity_for: counts out of range");
  check(0 <= loss && loss <= 1 && 1e-9 <= frame_loss_target && frame_loss_target <= 1,
        "parity_for: probabilities out of range");
  const int most = std::min(parity_max, kCodedFragmentsMax - fragments);
  if (loss < kWorthwhileLoss || most <= 0) {
    return 0;
  }
  // The probability that `fragments` have arrived when exactly `parity` were lost in transit.
  // Summed up, it is the binomial probability that at most that many of all are lost, but adding a
  // fragment does not restart the sum. Basic arithmetic only: the mathematical library differs
  // between machines.
  double exactly = 1;
  for (int i = 0; i < fragments; ++i) {
    exactly *= 1 - loss;
  }
  double rebuilt = exactly;
  int parity = 0;
  while (parity < most && 1 - rebuilt > frame_loss_target + kRounding) {
    exactly *= loss * (fragments + parity) / (parity + 1);
    rebuilt += exactly;
    ++parity;
  }
  return parity;
}

}  // namespace cress::media
