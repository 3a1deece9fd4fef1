#include "transport/secure/link/link.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::secure {
namespace {

constexpr char kSecretText[] = "AAECAwQFBgcICQoLDA0ODw";

std::vector<std::byte> counting_secret(size_t size = 16) {
  std::vector<std::byte> secret(size);
  for (size_t i = 0; i < size; ++i) {
    secret[i] = static_cast<std::byte>(i);
  }
  return secret;
}

TEST(Link, IsWrittenAsDocumented) {
  EXPECT_EQ(format_link({"192.0.2.1", 5000, counting_secret()}),
            std::string{"cress://192.0.2.1:5000/#"} + kSecretText);
  EXPECT_EQ(format_link({"2001:db8::1", 5000, counting_secret()}),
            std::string{"cress://[2001:db8::1]:5000/#"} + kSecretText);
  EXPECT_EQ(format_link({"relay.example.org", 4433, counting_secret(), "Stand-up_9.30"}),
            std::string{"cress://relay.example.org:4433/Stand-up_9.30#"} + kSecretText);
}

TEST(Link, ParseReturnsWhatWasFormatted) {
  Rng rng{1};
  for (const char* host : {"192.0.2.1", "home.example.org", "2001:db8::1", "fe80::1%eth0", "a"}) {
    for (size_t size = kLinkSecretMin; size <= kLinkSecretMax; ++size) {
      Link link{host, static_cast<uint16_t>(1 + rng.below(65'535)), std::vector<std::byte>(size)};
      for (std::byte& byte : link.secret) {
        byte = static_cast<std::byte>(rng.below(256));
      }
      const auto parsed = parse_link(format_link(link));
      ASSERT_TRUE(parsed) << format_link(link);
      EXPECT_EQ(*parsed, link);
      for (const std::string& room :
           {std::string{"a"}, std::string{"-._9Z"}, std::string(kRoomNameMax, 'x')}) {
        link.room = room;
        const auto with_room = parse_link(format_link(link));
        ASSERT_TRUE(with_room) << format_link(link);
        EXPECT_EQ(*with_room, link);
      }
    }
  }
}

TEST(Link, EveryDamageIsNamed) {
  const std::string secret = kSecretText;
  const std::vector<std::pair<std::string, LinkError>> cases{
      {"", LinkError::kNotALink},
      {"http://a:1/#" + secret, LinkError::kNotALink},
      {" cress://a:1/#" + secret, LinkError::kNotALink},
      {"cress:/a:1/#" + secret, LinkError::kNotALink},
      {"cress://a:1/#" + std::string(600, 'A'), LinkError::kTooLong},
      {"cress://", LinkError::kBadHost},
      {"cress://:1/#" + secret, LinkError::kBadHost},
      {"cress://a b:1/#" + secret, LinkError::kBadHost},
      {"cress://[]:1/#" + secret, LinkError::kBadHost},
      {"cress://[::1:1/#" + secret, LinkError::kBadPort},
      {"cress://[g/]:1/#" + secret, LinkError::kBadHost},
      {"cress://[example.org]:1/#" + secret, LinkError::kBadHost},
      {"cress://me@a:1/#" + secret, LinkError::kBadHost},
      {"cress://a", LinkError::kBadPort},
      {"cress://a/#" + secret, LinkError::kBadPort},
      {"cress://a:/#" + secret, LinkError::kBadPort},
      {"cress://a:0/#" + secret, LinkError::kBadPort},
      {"cress://a:65536/#" + secret, LinkError::kBadPort},
      {"cress://a:-1/#" + secret, LinkError::kBadPort},
      {"cress://a:1x/#" + secret, LinkError::kBadPort},
      {"cress://a:1/more/#" + secret, LinkError::kBadRoom},
      {"cress://a:1//#" + secret, LinkError::kBadRoom},
      {"cress://a:1/two words#" + secret, LinkError::kBadRoom},
      {"cress://a:1/b%20c#" + secret, LinkError::kBadRoom},
      {"cress://a:1/..#" + secret, LinkError::kBadRoom},
      {"cress://a:1/?x#" + secret, LinkError::kBadRoom},
      {"cress://a:1/" + std::string(kRoomNameMax + 1, 'x') + "#" + secret, LinkError::kBadRoom},
      {"cress://a/room#" + secret, LinkError::kBadPort},
      {"cress://a:1/room", LinkError::kNoSecret},
      {"cress://a:1/room#", LinkError::kNoSecret},
      {"cress://::1:1/#" + secret, LinkError::kBadHost},
      {"cress://[::1]/#" + secret, LinkError::kBadPort},
      {"cress://a:1", LinkError::kNoSecret},
      {"cress://a:1/", LinkError::kNoSecret},
      {"cress://a:1/#", LinkError::kNoSecret},
      {"cress://a:1/#" + secret + "=", LinkError::kBadSecret},
      {"cress://a:1/#" + secret + "\n", LinkError::kBadSecret},
      {"cress://a:1/#" + secret.substr(1) + "x", LinkError::kBadSecret},
      {"cress://a:1/#" + secret.substr(0, 21), LinkError::kBadSecret},
      {"cress://a:1/#" + secret.substr(0, 20), LinkError::kShortSecret},
      {"cress://a:1/#AAAA", LinkError::kShortSecret},
  };
  for (const auto& [text, error] : cases) {
    const auto parsed = parse_link(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error(), error) << text << ": " << describe(parsed.error());
    EXPECT_FALSE(describe(error).empty());
  }
}

TEST(Link, ACallThroughARelayIsNeitherARoomNorACallToAHost) {
  const auto link = parse_link("cress://relay.example:4747/@call#AAAAAAAAAAAAAAAAAAAAAA");
  ASSERT_TRUE(link);
  EXPECT_TRUE(link->is_relayed);
  EXPECT_EQ(link->room, "");
  EXPECT_EQ(format_link(*link), "cress://relay.example:4747/@call#AAAAAAAAAAAAAAAAAAAAAA");
  for (const char* other : {"@", "@calls", "@call/", "call@"}) {
    const auto refused =
        parse_link("cress://relay.example:4747/" + std::string{other} + "#AAAAAAAAAAAAAAAAAAAAAA");
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error(), LinkError::kBadRoom) << other;
  }
  EXPECT_FALSE(parse_link("cress://relay.example:4747/call#AAAAAAAAAAAAAAAAAAAAAA")->is_relayed);
}

TEST(Link, APlaceAtARelayHasANewSecretEachTime) {
  const auto call = link_at_relay("[2001:db8::7]:4747", "");
  ASSERT_TRUE(call);
  EXPECT_TRUE(call->is_relayed);
  EXPECT_EQ(call->host, "2001:db8::7");
  EXPECT_EQ(call->secret.size(), kLinkSecretMin);
  EXPECT_NE(call->secret, link_at_relay("[2001:db8::7]:4747", "")->secret);
  const auto room = link_at_relay("relay.example:4747", "kitchen");
  EXPECT_EQ(room->room, "kitchen");
  EXPECT_FALSE(room->is_relayed);
  for (const char* wrong : {"", "relay.example", "relay.example:0", ":4747", "a:1/x", "a:1#x"}) {
    EXPECT_FALSE(link_at_relay(wrong, "kitchen")) << wrong;
  }
}

TEST(Link, TheSlashBeforeTheSecretMayBeMissing) {
  const auto parsed = parse_link(std::string{"cress://a:1#"} + kSecretText);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->secret, counting_secret());
}

TEST(Link, NoTwoSecretsAreAlike) {
  const auto secret = make_secret();
  EXPECT_EQ(secret.size(), kLinkSecretMin);
  EXPECT_FALSE(secret == make_secret());
}

TEST(Link, EachLimitHoldsOnBothSides) {
  const std::string secret = kSecretText;
  const auto error_of = [](const std::string& text) {
    const auto parsed = parse_link(text);
    return parsed ? std::optional<LinkError>{} : std::optional{parsed.error()};
  };
  const auto of_host = [&](size_t size) {
    return error_of("cress://" + std::string(size, 'h') + ":1/#" + secret);
  };
  EXPECT_EQ(of_host(255), std::nullopt);
  EXPECT_EQ(of_host(256), LinkError::kBadHost);
  EXPECT_EQ(error_of("cress://a:65535/#" + secret), std::nullopt);
  EXPECT_EQ(error_of("cress://a:1/" + std::string(64, 'x') + "#" + secret), std::nullopt);
  const auto of_secret = [&](size_t size) {
    return error_of(format_link({"a", 1, counting_secret(size)}));
  };
  EXPECT_EQ(of_secret(15), LinkError::kShortSecret);
  EXPECT_EQ(of_secret(16), std::nullopt);
  EXPECT_EQ(of_secret(64), std::nullopt);
  EXPECT_EQ(of_secret(65), LinkError::kBadSecret);
  const std::string begin = "cress://a:1/#";
  EXPECT_EQ(error_of(begin + std::string(512 - begin.size(), '!')), LinkError::kBadSecret);
  EXPECT_EQ(error_of(begin + std::string(513 - begin.size(), '!')), LinkError::kTooLong);
}

TEST(Link, HostsAndRoomsHaveTheirCharactersAndNoOthers) {
  for (int c = 1; c < 128; ++c) {
    const char letter = static_cast<char>(c);
    const bool is_alphanumeric = (letter >= '0' && letter <= '9') ||
                                 (letter >= 'a' && letter <= 'z') ||
                                 (letter >= 'A' && letter <= 'Z');
    const bool is_extra = letter == '.' || letter == '_' || letter == '-';
    EXPECT_EQ(is_room_name(std::string{"a"} + letter), is_alphanumeric || is_extra) << c;
    if (letter != ':' && letter != '/' && letter != '#') {
      const auto parsed =
          parse_link(std::string{"cress://a"} + letter + ":1/#" + std::string{kSecretText});
      EXPECT_EQ(parsed.has_value(), is_alphanumeric || is_extra) << c;
    }
    if (letter != ']' && letter != '/' && letter != '#') {
      const auto parsed =
          parse_link(std::string{"cress://[::"} + letter + "]:1/#" + std::string{kSecretText});
      EXPECT_EQ(parsed.has_value(),
                is_alphanumeric || letter == '.' || letter == ':' || letter == '%')
          << c;
    }
  }
  EXPECT_FALSE(is_room_name(""));
  EXPECT_FALSE(is_room_name("..."));
  EXPECT_TRUE(is_room_name("..a"));
}

TEST(RoomAccess, ItsTextGivesItBackAndNothingElseDoes) {
  RoomAccess access{.room = "kitchen", .key = {}};
  access.key.bytes()[0] = std::byte{0xff};
  access.key.bytes()[31] = std::byte{1};
  const std::string text = format_room_access(access);
  EXPECT_EQ(text, "cress-access://kitchen#_wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE");
  EXPECT_EQ(parse_room_access(text), access);
  EXPECT_FALSE(parse_room_access("")) << "empty";
  EXPECT_FALSE(parse_room_access(text + "A")) << "33 bytes";
  EXPECT_FALSE(parse_room_access(text.substr(0, text.size() - 1))) << "cut off";
  EXPECT_FALSE(parse_room_access(text.substr(0, text.size() - 1) + "F")) << "a bit too many";
  EXPECT_FALSE(parse_room_access("cress-access://kit chen" + text.substr(text.find('#'))));
  EXPECT_FALSE(parse_room_access("cress-access://kitchen")) << "no key";
  EXPECT_FALSE(parse_room_access("cress://h:1/kitchen" + text.substr(text.find('#'))))
      << "a link is not for the relay";
}

TEST(Link, EveryErrorHasASentenceOfItsOwn) {
  std::vector<std::string_view> texts;
  for (int i = 0; i <= static_cast<int>(LinkError::kShortSecret); ++i) {
    const auto text = describe(static_cast<LinkError>(i));
    EXPECT_NE(text, "unknown");
    EXPECT_EQ(std::count(texts.begin(), texts.end(), text), 0) << text;
    texts.push_back(text);
  }
}

}  // namespace
}  // namespace cress::secure
