#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/big_endian.hh"
#include "transport/base/duration_text.hh"
#include "transport/base/fifo.hh"
#include "transport/base/near_name.hh"
#include "transport/base/rng.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/take_front.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress {
namespace {

std::vector<int> integers(std::span<const std::byte> bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) {
    numbers.push_back(std::to_integer<int>(byte));
  }
  return numbers;
}

TEST(BigEndian, MostSignificantByteIsFirst) {
  std::vector<std::byte> bytes(6, std::byte{0xEE});
  put_number(bytes, 1, 3, 0x99'0102F3U);
  EXPECT_EQ(integers(bytes), (std::vector<int>{0xEE, 1, 2, 0xF3, 0xEE, 0xEE}));
  EXPECT_EQ(number_at(bytes, 1, 3), 0x0102F3U);
  EXPECT_EQ(number_at(bytes, 0, 2), 0xEE01U);
  append_number(0x8877'6655'4433'2211U, 8, bytes);
  EXPECT_EQ(integers(std::span{bytes}.subspan(6)),
            (std::vector<int>{0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11}));
  EXPECT_EQ(number_at(bytes, 6, 8), 0x8877'6655'4433'2211U);
  append_number(0x1234, 1, bytes);
  EXPECT_EQ(bytes.size(), 15U);
  EXPECT_EQ(number_at(bytes, 14, 1), 0x34U);
}

TEST(Address, Ipv4IsTheMappedForm) {
  Address address;
  EXPECT_FALSE(address.is_ipv4());
  address.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  EXPECT_TRUE(address.is_ipv4());
  for (size_t i = 0; i < 12; ++i) {
    Address other = address;
    other.ip.at(i) ^= 1;
    EXPECT_FALSE(other.is_ipv4()) << i;
  }
  EXPECT_EQ(Address{}.port, 0);
  EXPECT_EQ(Address{}.scope, 0U);
}

TEST(Address, DiffersByIpPortAndScope) {
  const Address address;
  Address port = address;
  port.port = 1;
  Address scope = address;
  scope.scope = 1;
  Address ip = address;
  ip.ip[15] = 1;
  EXPECT_EQ(address, Address{});
  EXPECT_LT(address, port);
  EXPECT_LT(address, scope);
  EXPECT_LT(port, ip) << "the address counts most";
}

TEST(Units, SizesAddAndCompare) {
  EXPECT_EQ(DataSize{}.bytes(), 0);
  EXPECT_EQ(DataSize{7}.bits(), 56);
  EXPECT_EQ(DataSize{7} + DataSize{5}, DataSize{12});
  EXPECT_EQ(DataSize{5} - DataSize{7}, DataSize{-2});
  EXPECT_EQ(DataSize{7} * 3, DataSize{21});
  EXPECT_EQ(3 * DataSize{7}, DataSize{21});
  DataSize size{7};
  size += DataSize{2};
  EXPECT_EQ(size, DataSize{9});
  size -= DataSize{4};
  EXPECT_EQ(size, DataSize{5});
  EXPECT_LT(DataSize{5}, DataSize{6});
}

TEST(Units, RatesAddAndConvert) {
  const DataRate rate = DataRate::bits_per_second(1'500'000);
  EXPECT_EQ(DataRate{}.bits_per_second(), 0);
  EXPECT_EQ(rate, DataRate::kilobits_per_second(1500));
  EXPECT_DOUBLE_EQ(DataRate::bits_per_second(1'234'567).kilobits_per_second(), 1234.567);
  EXPECT_EQ(rate + rate, DataRate::kilobits_per_second(3000));
  EXPECT_EQ(rate - DataRate::kilobits_per_second(500), DataRate::kilobits_per_second(1000));
  EXPECT_EQ(rate * 0.5, DataRate::kilobits_per_second(750));
  EXPECT_EQ(DataRate::from(DataSize{1}, 3s), DataRate::bits_per_second(3)) << "2.67, rounded";
  EXPECT_EQ(DataRate::bits_per_second(15) * Duration{1s}, DataSize{1}) << "1.9, rounded down";
}

TEST(Time, ConversionsNameTheirUnit) {
  EXPECT_DOUBLE_EQ(to_milliseconds(1500us), 1.5);
  EXPECT_DOUBLE_EQ(to_seconds(1500ms), 1.5);
  EXPECT_DOUBLE_EQ(to_milliseconds(kTimeZero + 1500us), 1.5);
  EXPECT_DOUBLE_EQ(to_seconds(kTimeZero + 1500ms), 1.5);
  EXPECT_EQ(kTimeZero.time_since_epoch(), Duration{});
  EXPECT_EQ(kNever, TimePoint::max());
}

TEST(Time, SecondsAreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(from_seconds(1.5), 1500ms);
  EXPECT_EQ(from_seconds(1.4e-9), 1ns);
  EXPECT_EQ(from_seconds(1.6e-9), 2ns);
  EXPECT_EQ(from_seconds(-1.4e-9), -1ns);
  EXPECT_EQ(from_seconds(-1.6e-9), -2ns);
  EXPECT_EQ(from_seconds(0), 0ns);
}

// The numbers of a seed are part of every recorded result.
TEST(Rng, NumbersOfEachKindStayTheSame) {
  Rng rng{1};
  // Computed with the published xoshiro256++ and splitmix64 in Python.
  EXPECT_DOUBLE_EQ(rng.uniform(),
                   static_cast<double>(14971601782005023387U >> 11U) / 9007199254740992.0);
  Rng again{1};
  EXPECT_EQ(again.below(10), 14971601782005023387U % 10);
  Rng third{1};
  const double u = 1 - static_cast<double>(14971601782005023387U >> 11U) / 9007199254740992.0;
  EXPECT_DOUBLE_EQ(third.exponential(2), -2 * std::log(u));
}

TEST(Rng, ForksAndLaterNumbersStayTheSame) {
  EXPECT_EQ(Rng{5}.fork(3).next(), 12332823397720338997U);
  Rng rng{1};
  for (int i = 1; i < 1000; ++i) {
    rng.next();
  }
  EXPECT_EQ(rng.next(), 10580399187652893197U);
}

TEST(Rng, NormalIsBoxAndMullers) {
  Rng rng{1};
  Rng numbers{1};
  const double u = 1 - numbers.uniform();
  const double v = numbers.uniform();
  EXPECT_DOUBLE_EQ(rng.normal(), std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

TEST(Rng, UniformStaysInItsRange) {
  Rng rng{6};
  Rng numbers{6};
  for (int i = 0; i < 1000; ++i) {
    const double drawn = rng.uniform(3, 5);
    EXPECT_GE(drawn, 3);
    EXPECT_LT(drawn, 5);
    EXPECT_DOUBLE_EQ(drawn, 3 + 2 * numbers.uniform());
  }
}

TEST(Rng, ChanceDrawsEvenWhereItIsCertain) {
  Rng rng{6};
  Rng numbers{6};
  rng.chance(0);
  rng.chance(1);
  numbers.next();
  numbers.next();
  EXPECT_EQ(rng.next(), numbers.next());
}

TEST(Rng, BelowRefusesAnEmptyRange) {
  Rng rng{1};
  EXPECT_EQ(rng.below(1), 0U);
  EXPECT_DEATH(rng.below(0), "empty range");
}

TEST(Rng, PoissonOfLargeAndSmallMeans) {
  Rng rng{3};
  EXPECT_EQ(rng.poisson(0), 0U);
  EXPECT_DEATH(rng.poisson(-1e-9), "negative mean");
  // 1000 is drawn in chunks, so that no exponential underflows.
  constexpr int kDraws = 4000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = static_cast<double>(rng.poisson(1000)) - 1000;
    sum += drawn;
    squares += drawn * drawn;
  }
  EXPECT_NEAR(sum / kDraws, 0, 2);
  EXPECT_NEAR(squares / kDraws, 1000, 100);
}

TEST(Rng, ChanceIsAProbability) {
  Rng rng{4};
  int hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_FALSE(rng.chance(0));
    EXPECT_TRUE(rng.chance(1));
    hits += rng.chance(0.3) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 3000, 200);
}

TEST(Fifo, ReleasesSpaceOnceHalfIsPopped) {
  Fifo<int> fifo;
  for (int i = 0; i < 100; ++i) {
    fifo.push_back(i);
  }
  const int* const last = &fifo.back();
  for (int i = 0; i < 49; ++i) {
    fifo.pop_front();
  }
  EXPECT_EQ(&fifo.back(), last) << "51 are left, 49 gone";
  fifo.pop_front();
  EXPECT_NE(&fifo.back(), last) << "as many gone as left: moved to the front";
  EXPECT_EQ(fifo.size(), 50U);
  EXPECT_EQ(fifo.front(), 50);
  EXPECT_EQ(fifo.back(), 99);
}

TEST(Fifo, MovesNothingWhileFewAreGone) {
  Fifo<int> fifo;
  for (int i = 0; i < 63; ++i) {
    fifo.push_back(i);
  }
  const int* const last = &fifo.back();
  for (int i = 0; i < 31; ++i) {
    fifo.pop_front();
  }
  EXPECT_EQ(&fifo.back(), last);
  fifo.pop_front();
  EXPECT_NE(&fifo.back(), last) << "32 gone, 31 left";
  EXPECT_EQ(fifo.front(), 32);
}

TEST(Fifo, BeginsAgainAtTheSamePlaceOnceEmpty) {
  Fifo<int> fifo;
  fifo.push_back(1);
  const int* const first = &fifo.front();
  for (int i = 0; i < 10; ++i) {
    fifo.pop_front();
    fifo.push_back(i);
    EXPECT_EQ(&fifo.front(), first);
  }
}

TEST(Fifo, InsertsInTheMiddle) {
  Fifo<int> fifo;
  for (const int i : {0, 1, 3}) {
    fifo.push_back(i);
  }
  fifo.pop_front();
  fifo.insert(fifo.begin() + 1, 2);
  EXPECT_EQ(std::vector<int>(fifo.begin(), fifo.end()), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(fifo.emplace_back(4), 4);
  EXPECT_EQ(fifo.size(), 4U);
  fifo.clear();
  EXPECT_TRUE(fifo.empty());
  fifo.push_back(9);
  EXPECT_EQ(fifo.front(), 9);
}

TEST(SpareBuffers, KeepsBuffersOfUpTo2048Bytes) {
  SpareBuffers spare;
  std::vector<std::byte> largest;
  largest.reserve(2048);
  spare.give(std::move(largest));
  EXPECT_EQ(spare.kept(), 1U);
  std::vector<std::byte> larger;
  larger.reserve(2049);
  spare.give(std::move(larger));
  EXPECT_EQ(spare.kept(), 1U);
  EXPECT_GE(spare.take(3000).capacity(), 3000U) << "grown where it was too small";
  EXPECT_EQ(SpareBuffers::kKeptMax, 256U);
}

TEST(SpareBuffers, WorkWithoutAnyToo) {
  EXPECT_GE(take_buffer(nullptr, 70).capacity(), 70U);
  EXPECT_TRUE(take_buffer(nullptr, 70).empty());
  give_buffer(nullptr, std::vector<std::byte>(5));
  SpareBuffers spare;
  give_buffer(&spare, std::vector<std::byte>(5));
  EXPECT_EQ(spare.kept(), 1U);
  EXPECT_GE(take_buffer(&spare, 70).capacity(), 70U);
  EXPECT_EQ(spare.kept(), 0U);
}

TEST(NearName, IsMisspeltAndNotAnother) {
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [typed, name] :
       {Pair{"sprotu", "sprout"}, Pair{"wfii", "wifi"}, Pair{"sede", "seed"}, Pair{"gco", "gcc"},
        Pair{"lte-fsat", "lte-fast"}, Pair{"att-lte-drvin", "att-lte-driving"},
        Pair{"facetime", "facetime-like"}}) {
    EXPECT_TRUE(is_near(typed, name)) << typed;
  }
  for (const auto& [typed, name] :
       {Pair{"xy", "3g"}, Pair{"", "3g"}, Pair{"x", "bbr"}, Pair{"gzz", "gcc"}, Pair{"gc", "gcc"},
        Pair{"carrot", "cubic"}, Pair{"lte-abcd", "lte-fast"}}) {
    EXPECT_FALSE(is_near(typed, name)) << typed;
  }
}

TEST(DurationText, IsANumberAndItsUnit) {
  EXPECT_EQ(parse_duration("20ms"), 20ms);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("2m"), 2min);
  EXPECT_EQ(parse_duration("12h"), 12h);
  EXPECT_EQ(parse_duration("7d"), 7 * 24h);
  EXPECT_EQ(parse_duration("2w"), 14 * 24h);
  EXPECT_EQ(parse_duration("0"), Duration{});
  EXPECT_EQ(parse_duration("0.0s"), Duration{});
  EXPECT_EQ(parse_duration("1e9s"), 1'000'000'000s);
}

TEST(DurationText, WithoutAUnitOrWithAnotherItIsRefused) {
  for (const char* text : {"", "s", "5", "1.5", "5S", "5sec", "5 s", " 5s", "5s ", "-1s", "nan",
                           "nans", "infs", "1e300s", "1000000001s", "0x5s", "+5s", "5ms5"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace cress
