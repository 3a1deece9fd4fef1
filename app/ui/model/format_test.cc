#include "app/ui/model/format.hh"

#include <gtest/gtest.h>

#include <string>

namespace cress::ui {
namespace {

DataRate kbps(int64_t n) { return DataRate::kilobits_per_second(n); }

TEST(Format, RatesKeepTwoDigits) {
  EXPECT_EQ(format_rate(kbps(0)), "0 kbit/s");
  EXPECT_EQ(format_rate(kbps(7)), "7 kbit/s");
  EXPECT_EQ(format_rate(kbps(64)), "64 kbit/s");
  EXPECT_EQ(format_rate(kbps(213)), "210 kbit/s");
  EXPECT_EQ(format_rate(kbps(996)), "1.0 Mbit/s");
  EXPECT_EQ(format_rate(kbps(2437)), "2.4 Mbit/s");
  EXPECT_EQ(format_rate(kbps(9949)), "9.9 Mbit/s");
  EXPECT_EQ(format_rate(kbps(9970)), "10 Mbit/s");
  EXPECT_EQ(format_rate(kbps(124'000)), "120 Mbit/s");
  EXPECT_EQ(format_rate(DataRate::bits_per_second(-5000)), "0 kbit/s");
}

TEST(Format, DelaysChangeUnitAtASecond) {
  EXPECT_EQ(format_delay(Duration{-5ms}), "0 ms");
  EXPECT_EQ(format_delay(45ms), "45 ms");
  EXPECT_EQ(format_delay(999ms), "999 ms");
  EXPECT_EQ(format_delay(999'600us), "1.0 s");
  EXPECT_EQ(format_delay(1240ms), "1.2 s");
  EXPECT_EQ(format_delay(34s), "34 s");
}

TEST(Format, SizesSharesAndClocksAreReadable) {
  EXPECT_EQ(format_size(DataSize{800}), "800 B");
  EXPECT_EQ(format_size(DataSize{1500}), "1.5 kB");
  EXPECT_EQ(format_size(DataSize{14'200}), "14 kB");
  EXPECT_EQ(format_size(DataSize{999'600}), "1.0 MB");
  EXPECT_EQ(format_share(0), "0 %");
  EXPECT_EQ(format_share(0.0001), "0.1 %");
  EXPECT_EQ(format_share(0.004), "0.4 %");
  EXPECT_EQ(format_share(0.12), "12 %");
  EXPECT_EQ(format_share(7), "100 %");
  EXPECT_EQ(format_clock(7s), "0:07");
  EXPECT_EQ(format_clock(12min + 34s), "12:34");
  EXPECT_EQ(format_clock(1h + 2min + 3s), "1:02:03");
}

TEST(Format, ALongNameIsCutBetweenLetters) {
  EXPECT_EQ(short_name(""), "");
  EXPECT_EQ(short_name("Jo"), "Jo");
  const std::string fits(kShortNameLetters, 'n');
  EXPECT_EQ(short_name(fits), fits);
  EXPECT_EQ(short_name(fits + "n"), fits.substr(1) + "…");
  std::string wide;
  for (size_t i = 0; i < kShortNameLetters; ++i) {
    wide += "đ";
  }
  EXPECT_EQ(short_name(wide), wide) << "letters, not bytes";
  EXPECT_EQ(short_name(wide + "đ"), wide.substr(2) + "…");
  EXPECT_EQ(short_name(fits + "đđđ"), fits.substr(1) + "…");
}

}  // namespace
}  // namespace cress::ui
