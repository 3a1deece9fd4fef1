#include "app/desktop/notices.hh"

#include <gtest/gtest.h>

#include <string>

namespace cress::desktop {
namespace {

using ui::Tone;

TEST(Notices, DisappearByThemselvesAndWarningsLater) {
  Notices notices;
  TimePoint now = kTimeZero;
  notices.add(now, Tone::kNote, "a note");
  notices.add(now, Tone::kWarning, "a warning");
  EXPECT_FALSE(notices.update(now + 7s));
  EXPECT_EQ(notices.all().size(), 2U);
  EXPECT_TRUE(notices.update(now + 8s));
  ASSERT_EQ(notices.all().size(), 1U);
  EXPECT_EQ(notices.all()[0].text, "a warning");
  EXPECT_TRUE(notices.update(now + 20s));
  EXPECT_TRUE(notices.all().empty());
}

TEST(Notices, RepeatedNoticeIsProlonged) {
  Notices notices;
  notices.add(kTimeZero, Tone::kNote, "the same");
  const uint64_t id = notices.all()[0].id;
  notices.add(kTimeZero + 5s, Tone::kNote, "the same");
  ASSERT_EQ(notices.all().size(), 1U);
  EXPECT_EQ(notices.all()[0].id, id);
  EXPECT_FALSE(notices.update(kTimeZero + 12s));
  EXPECT_TRUE(notices.update(kTimeZero + 13s));
}

TEST(Notices, OldestIsDroppedBeyondTheMaximum) {
  Notices notices;
  for (int i = 0; i < 20; ++i) {
    notices.add(kTimeZero, Tone::kNote, std::to_string(i));
  }
  ASSERT_EQ(notices.all().size(), kNoticesMax);
  EXPECT_EQ(notices.all().back().text, "19");
  EXPECT_EQ(notices.all().front().text, std::to_string(20 - kNoticesMax));
}

TEST(Notices, CanBeDismissedOneByOne) {
  Notices notices;
  notices.add(kTimeZero, Tone::kNote, "one");
  notices.add(kTimeZero, Tone::kNote, "two");
  const uint64_t id = notices.all()[0].id;
  notices.dismiss(id);
  notices.dismiss(id);
  notices.dismiss(12'345);
  ASSERT_EQ(notices.all().size(), 1U);
  EXPECT_EQ(notices.all()[0].text, "two");
}

TEST(Notices, TextBecomesASentence) {
  EXPECT_EQ(sentence("the other end hung up"), "The other end hung up.");
  EXPECT_EQ(sentence("Is its port open?"), "Is its port open?");
  EXPECT_EQ(sentence("Done."), "Done.");
  EXPECT_EQ(sentence("Åsa hung up"), "Åsa hung up.");
  EXPECT_EQ(sentence(""), "");
}

}  // namespace
}  // namespace cress::desktop
