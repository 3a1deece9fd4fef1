#include "app/call/control_message.hh"

#include <gtest/gtest.h>

#include <string>

namespace cress::app {
namespace {

std::vector<std::byte> control_bytes(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char c : text) {
    bytes.push_back(static_cast<std::byte>(c));
  }
  return bytes;
}

template <class Message>
Message there_and_back(const Message& message) {
  const auto parsed = parse_control_message(encode(message));
  EXPECT_TRUE(parsed && std::holds_alternative<Message>(*parsed));
  return parsed ? std::get<Message>(*parsed) : Message{};
}

TEST(ControlMessage, HasTheDocumentedLayout) {
  EXPECT_EQ(encode(KeyFrameRequest{}), control_bytes("\x01"));
  EXPECT_EQ(encode(FrameReport{.newest = 0x01020304, .before = 5}),
            control_bytes(std::string("\x02\x01\x02\x03\x04\0\0\0\x05", 9)));
  EXPECT_EQ(encode(PersonState{.name = "Ann", .muted = true}), control_bytes("\x03\x01"
                                                                             "Ann"));
  EXPECT_EQ(encode(PersonState{.camera_off = true}), control_bytes("\x03\x02"));
  EXPECT_EQ(encode(PersonState{.shares_screen = true}), control_bytes("\x03\x04"));
  EXPECT_EQ(encode(LinkReport{DataRate::kilobits_per_second(0x01020304), 0.5}),
            control_bytes(std::string("\x04\x01\x02\x03\x04\0\0\x01\xF4", 9)));
  EXPECT_EQ(encode(ChatLine{0x01020304, "Hi"}), control_bytes("\x05\x01\x02\x03\x04Hi"));
}

TEST(ControlMessage, EachKindComesBackAsItWas) {
  for (int flags = 0; flags < 8; ++flags) {
    const PersonState person{.name = "Zo\xC3\xAB",
                             .muted = (flags & 1) != 0,
                             .camera_off = (flags & 2) != 0,
                             .shares_screen = (flags & 4) != 0};
    EXPECT_EQ(there_and_back(person), person);
  }
  const FrameReport report{.newest = 77, .before = 0x80000001};
  EXPECT_EQ(there_and_back(report), report);
  const LinkReport link{DataRate::kilobits_per_second(1'234), 0.017};
  EXPECT_EQ(there_and_back(link), link);
  there_and_back(KeyFrameRequest{});
  const ChatLine line{9, std::string(kChatLineMax, 'x')};
  EXPECT_EQ(there_and_back(line), line);
}

TEST(ControlMessage, AbsurdLinksAreBounded) {
  EXPECT_EQ(there_and_back(LinkReport{DataRate{}, 7.0}).loss, 1.0);
  EXPECT_EQ(there_and_back(LinkReport{DataRate{}, -1.0}).loss, 0.0);
  EXPECT_EQ(there_and_back(LinkReport{DataRate::bits_per_second(INT64_MAX), 0}).forecast,
            DataRate::kilobits_per_second(4'000'000'000));
  auto bytes = encode(LinkReport{});
  bytes[7] = std::byte{0xFF};
  EXPECT_EQ(std::get<LinkReport>(*parse_control_message(bytes)).loss, 1.0);
}

TEST(ControlMessage, OtherBytesAreRejected) {
  EXPECT_FALSE(parse_control_message({}));
  for (const int kind : {0, 3, 4, 5, 255}) {
    EXPECT_FALSE(parse_control_message(std::vector<std::byte>{static_cast<std::byte>(kind)}));
  }
  for (const size_t size : {8U, 10U}) {
    std::vector<std::byte> link(size);
    link[0] = std::byte{4};
    EXPECT_FALSE(parse_control_message(link)) << size;
  }
  const std::string name(64, 'x');
  EXPECT_TRUE(parse_control_message(control_bytes(std::string("\x03\0", 2) + name)));
  EXPECT_FALSE(parse_control_message(control_bytes(std::string("\x03\0", 2) + name + "x")));
}

TEST(ControlMessage, LinesOfChatAreBoundedAndCleaned) {
  const auto text_of = [](const std::string& text) {
    const auto parsed =
        parse_control_message(control_bytes(std::string("\x05\0\0\0\x01", 5) + text));
    return parsed ? std::get<ChatLine>(*parsed).text : "(none)";
  };
  EXPECT_EQ(text_of("Zo\xC3\xAB"), "Zo\xC3\xAB");
  EXPECT_EQ(text_of(""), "(none)");
  EXPECT_EQ(text_of(" \n "), "(none)") << "nothing to be seen";
  EXPECT_EQ(text_of("one\ntwo\x1B[2J"), "one two[2J");
  EXPECT_EQ(text_of("pay \xE2\x80\xAE"
                    "evE"),
            "pay evE")
      << "not shown from right to left";
  EXPECT_EQ(text_of(std::string(900, 'x')), std::string(900, 'x'));
  EXPECT_EQ(text_of(std::string(901, 'x')), "(none)");
}

TEST(ControlMessage, NamesAreCutAtTheEndOfACharacterAndHaveNoControls) {
  EXPECT_EQ(clean_name(std::string("a\x1F\n\x7F \x80", 6)), "a ");
  EXPECT_EQ(clean_name("Eve \xE2\x80\xAE"
                       "adA"),
            "Eve adA")
      << "not shown from right to left";
  EXPECT_EQ(clean_name(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(clean_name(std::string(65, 'a')), std::string(64, 'a'));
  EXPECT_EQ(clean_name(std::string(63, 'a') + "\xC3\xA9"), std::string(63, 'a'));
  EXPECT_EQ(clean_name(std::string(62, 'a') + "\xC3\xA9"
                                              "a"),
            std::string(62, 'a') + "\xC3\xA9");
  EXPECT_EQ(clean_name(std::string(62, 'a') + "\xE2\x82\xAC"), std::string(62, 'a'));
  EXPECT_EQ(clean_name(std::string(70, '\x80')), "");
  // A peer's name is cleaned again when it arrives.
  EXPECT_EQ(std::get<PersonState>(*parse_control_message(control_bytes("\x03\x08"
                                                                       "a\nb")))
                .name,
            "ab");
}

}  // namespace
}  // namespace cress::app
