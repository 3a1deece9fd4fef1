#include "transport/mapping/mapping_message.hh"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "transport/mapping/router_test_tools.hh"

namespace cress::mapping {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> all;
  for (const int value : values) {
    all.push_back(static_cast<std::byte>(value));
  }
  return all;
}

MappingNonce nonce_from_1() {
  MappingNonce nonce;
  for (size_t i = 0; i < nonce.size(); ++i) {
    nonce[i] = static_cast<std::byte>(i + 1);
  }
  return nonce;
}

TEST(MappingMessages, BothProtocolsHaveThePortOfRfc6887) { EXPECT_EQ(kRouterPort, 5351); }

TEST(MappingMessages, PcpRequestsAreWrittenAsInRfc6887) {
  EXPECT_EQ(
      serialize(PcpRequest{.lifetime_s = 0x01020304,
                           .client = ipv4(10, 0, 0, 2, 0x1151),
                           .nonce = nonce_from_1(),
                           .suggested = ipv4(198, 51, 1, 2, 0x9c40)}),
      bytes({2,    1,    0,    0,    1, 2, 3, 4, 0, 0, 0, 0, 0, 0,  0,    0,    0,   0,  0xff, 0xff,
             10,   0,    0,    2,    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,   12,   17,  0,  0,    0,
             0x11, 0x51, 0x9c, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0xff, 0xff, 198, 51, 1,    2}));
}

TEST(MappingMessages, NatPmpRequestsAreWrittenAsInRfc6886) {
  EXPECT_EQ(pmp_address_request(), bytes({0, 0}));
  EXPECT_EQ(serialize(PmpRequest{.port = 0x1151, .suggested = 0x9c40, .lifetime_s = 300}),
            bytes({0, 1, 0, 0, 0x11, 0x51, 0x9c, 0x40, 0, 0, 1, 0x2c}));
}

std::vector<std::byte> pcp_answer() {
  auto answer = bytes({2, 0x81, 0, 0, 0, 0, 1, 0x2c, 0, 0, 2, 5});
  answer.resize(24);
  const MappingNonce nonce = nonce_from_1();
  answer.insert(answer.end(), nonce.begin(), nonce.end());
  const auto rest = bytes({17, 0, 0, 0, 0x11, 0x51, 0x9c, 0x40, 0,   0,  0, 0,
                           0,  0, 0, 0, 0,    0,    0xff, 0xff, 198, 51, 1, 2});
  answer.insert(answer.end(), rest.begin(), rest.end());
  return answer;
}

TEST(MappingMessages, AnswersAreReadAsInTheRfcs) {
  EXPECT_EQ(parse_router_answer(pcp_answer()),
            RouterAnswer(PcpAnswer{.result = 0,
                                   .lifetime_s = 300,
                                   .epoch_s = 517,
                                   .nonce = nonce_from_1(),
                                   .port = 0x1151,
                                   .outside = ipv4(198, 51, 1, 2, 0x9c40)}));
  auto announcement = bytes({2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5});
  announcement.resize(24);
  EXPECT_EQ(parse_router_answer(announcement), RouterAnswer(PcpAnnouncement{517}));
  EXPECT_EQ(parse_router_answer(bytes({0, 128, 0, 0, 0, 0, 2, 5, 198, 51, 1, 2})),
            RouterAnswer(PmpAddressAnswer{0, ipv4(198, 51, 1, 2)}));
  EXPECT_EQ(
      parse_router_answer(bytes({0, 129, 0, 0, 0, 0, 2, 5, 0x11, 0x51, 0x9c, 0x40, 0, 0, 1, 0x2c})),
      RouterAnswer(PmpAnswer{0, 0x1151, 0x9c40, 300}));
  EXPECT_EQ(parse_router_answer(bytes({0, 129, 0, 2, 0, 0, 2, 5})),
            RouterAnswer(PmpAnswer{.result = 2}));
  EXPECT_EQ(parse_router_answer(bytes({0, 128, 0, 3, 0, 0, 2, 5})),
            RouterAnswer(PmpAddressAnswer{3, {}}));
  EXPECT_EQ(parse_router_answer(bytes({0, 129, 1, 1, 0, 0, 2, 5})),
            RouterAnswer(PmpAnswer{.result = 257}));
  auto refusal = pcp_answer();
  refusal[3] = std::byte{11};
  EXPECT_EQ(std::get<PcpAnswer>(*parse_router_answer(refusal)).result, 11);
  for (const int version : {0, 1, 2, 3}) {
    EXPECT_EQ(parse_router_answer(bytes({version, 0x81, 0, 1, 0, 0, 2, 5})),
              RouterAnswer(UnsupportedVersion{static_cast<uint8_t>(version)}));
  }
}

TEST(MappingMessages, OptionsBehindAPcpAnswerAreIgnored) {
  auto answer = pcp_answer();
  const auto plain = parse_router_answer(answer);
  answer.resize(answer.size() + 4);
  EXPECT_EQ(parse_router_answer(answer), plain);
  answer.resize(1100);
  EXPECT_EQ(parse_router_answer(answer), plain);
  answer.resize(1104);
  EXPECT_EQ(parse_router_answer(answer), std::nullopt);
}

TEST(MappingMessages, NothingElseIsRead) {
  const auto good = pcp_answer();
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(parse_router_answer(std::span{good}.first(size)), std::nullopt) << size;
  }
  const auto with = [&](size_t at, int value) {
    auto changed = good;
    changed[at] = static_cast<std::byte>(value);
    return parse_router_answer(changed);
  };
  EXPECT_EQ(with(0, 1), std::nullopt);
  EXPECT_EQ(with(0, 3), std::nullopt);
  EXPECT_EQ(with(1, 0x01), std::nullopt) << "a request";
  EXPECT_EQ(with(1, 0x82), std::nullopt) << "of a peer";
  EXPECT_EQ(with(36, 6), std::nullopt) << "for TCP";
  const auto pmp = bytes({0, 129, 0, 0, 0, 0, 2, 5, 0x11, 0x51, 0x9c, 0x40, 0, 0, 1, 0x2c});
  for (size_t size = 0; size < pmp.size(); ++size) {
    EXPECT_EQ(parse_router_answer(std::span{pmp}.first(size)), std::nullopt) << size;
  }
  EXPECT_EQ(parse_router_answer(bytes({0, 128, 0, 0, 0, 0, 2, 5, 198, 51, 1})), std::nullopt);
  EXPECT_EQ(parse_router_answer(bytes({0, 130, 0, 0, 0, 0, 2, 5, 1, 1, 1, 1, 1, 1, 1, 1})),
            std::nullopt)
      << "for TCP";
}

}  // namespace
}  // namespace cress::mapping
