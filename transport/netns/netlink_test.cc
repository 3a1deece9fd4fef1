#include "transport/netns/netlink.hh"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <vector>

namespace cress::netns {
namespace {

/// A socket whose other end, in place of the kernel, is the test.
struct Answered {
  static Answered make() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {.socket = NetlinkSocket{ends[0]}, .kernel = runtime::FileDescriptor{ends[1]}};
  }

  /// A message with one number, to be received by the next exchange.
  void answer(uint16_t type, uint32_t sequence, int number) const {
    nlmsghdr header{};
    header.nlmsg_len = sizeof header + sizeof number;
    header.nlmsg_type = type;
    header.nlmsg_seq = sequence;
    std::array<char, sizeof header + sizeof number> bytes{};
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, &number, sizeof number);
    EXPECT_EQ(write(kernel.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

  NetlinkSocket socket;
  runtime::FileDescriptor kernel;
};

int number_of(std::span<const char> body) {
  int number = 0;
  std::memcpy(&number, body.data(), sizeof number);
  return number;
}

NetlinkRequest dump() { return {RTM_GETROUTE, NLM_F_DUMP, rtmsg{}}; }
NetlinkRequest change() { return {RTM_NEWROUTE, NLM_F_ACK, rtmsg{}}; }

TEST(Netlink, MessagesOfOtherRequestsAreNoAnswer) {
  Answered answered = Answered::make();
  answered.answer(RTM_NEWROUTE, 7, 70);
  answered.answer(RTM_NEWROUTE, 1, 10);
  answered.answer(NLMSG_DONE, 7, 0);
  answered.answer(RTM_NEWROUTE, 1, 11);
  answered.answer(NLMSG_DONE, 1, 0);
  std::vector<int> numbers;
  NetlinkRequest request = dump();
  request.on_message = [&](const nlmsghdr&, std::span<const char> body) {
    numbers.push_back(number_of(body));
  };
  EXPECT_EQ(answered.socket.exchange(request), 0);
  EXPECT_EQ(numbers, (std::vector{10, 11}));
}

TEST(Netlink, AnswersThatNobodyReadsAreSkipped) {
  Answered answered = Answered::make();
  answered.answer(RTM_NEWROUTE, 1, 10);
  answered.answer(NLMSG_DONE, 1, 0);
  NetlinkRequest request = dump();
  EXPECT_EQ(answered.socket.exchange(request), 0);

  std::array both{change(), change()};
  answered.answer(RTM_NEWROUTE, 2, 20);
  answered.answer(NLMSG_ERROR, 2, 0);
  answered.answer(NLMSG_ERROR, 3, -EEXIST);
  EXPECT_EQ(answered.socket.exchange_all(both), EEXIST);
}

}  // namespace
}  // namespace cress::netns
