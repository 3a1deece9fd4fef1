#include <gtest/gtest.h>

#include "eval/report/page_parts.hh"

namespace cress::report {
namespace {

/// A link of 2 Mbit/s that stops from 10 to 14 s; 10 frames per second, skipped meanwhile.
Timeline timeline() {
  Timeline made;
  for (int i = 0; i < 300; ++i) {
    const double at = i * 0.1;
    const bool dead = at > 9.95 && at < 14;
    made.points.push_back({.time_s = at,
                           .capacity_kbps = dead ? 0.0 : 2000.0,
                           .delay_ms = dead ? (at - 9.9) * 1000 : 40.0});
  }
  return made;
}

FrameLog frames() {
  FrameLog made;
  for (int i = 0; i < 300; ++i) {
    FramePoint point{.frame = double(i), .capture_s = i * 0.1};
    if (point.capture_s < 10.5 || point.capture_s > 14) {
      point.size_bytes = 4000 + i;
      point.budget_bytes = 5000;
      point.quantizer = 30;
    }
    made.points.push_back(point);
  }
  return made;
}

WorstMoment moment(const char* kind) {
  return {.kind = kind,
          .frame = 99,
          .captured_s = 9.9,
          .shown_s = 10,
          .until_s = 14,
          .ssim_db = 7.25,
          .picture = "",
          .image = ""};
}

TEST(WorstWords, DescribeTheLinkAndTheSenderMeanwhile) {
  const Timeline link = timeline();
  const FrameLog log = frames();
  const WorstWords freeze = worst_words(moment("freeze"), &link, &log);
  EXPECT_EQ(freeze.title, "Stood still for 4.00 s");
  EXPECT_EQ(freeze.text,
            "At 10.0 s. The link could carry 95 kbit/s then, 1.73 Mbit/s on average. Packets were "
            "up to 4.00 s late. The sender skipped 36 of the 41 pictures captured meanwhile.");
  const WorstWords delay = worst_words(moment("delay"), &link, &log);
  EXPECT_EQ(delay.title, "100 ms old when it appeared");
  EXPECT_EQ(delay.text.find("skipped"), std::string::npos) << delay.text;
  const WorstWords quality = worst_words(moment("quality"), &link, &log);
  EXPECT_EQ(quality.title, "Least like its original: 7.2 dB");
  EXPECT_NE(quality.text.find("coded in 4099 bytes of 5000 allowed, quantizer 30 of 63."),
            std::string::npos)
      << quality.text;
}

TEST(WorstWords, GiveTheTimeWithoutATimeline) {
  EXPECT_EQ(worst_words(moment("freeze"), nullptr, nullptr).text, "At 10.0 s. ");
}

TEST(DataUrl, IsBase64OfEveryLength) {
  WorstMoment made = moment("freeze");
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {  // RFC 4648 §10
    made.image = bytes;
    EXPECT_EQ(data_url(made), std::string{"data:image/webp;base64,"} + text);
  }
}

}  // namespace
}  // namespace cress::report
