#include "transport/secure/member_card.hh"

#include <algorithm>
#include <iterator>

#include "transport/base/check.hh"

namespace cress::secure {
namespace {

constexpr size_t kFixed = 2 + 4 + 1;  // member, epoch, number of greetings
constexpr size_t kGreetingSize = sizeof(CardGreeting);

void append_bytes(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  std::copy(bytes.begin(), bytes.end(), std::back_inserter(out));
}

uint32_t number_at(std::span<const std::byte> bytes, size_t offset, size_t size) {
  uint32_t value = 0;
  for (const std::byte byte : bytes.subspan(offset, size)) {
    value = (value << 8U) | std::to_integer<uint32_t>(byte);
  }
  return value;
}

}  // namespace

void append_card_text(const CardText& text, std::vector<std::byte>& out) {
  check(text.epoch <= kEpochMax && text.greetings.size() <= kRoomOthersMax &&
            text.body.size() <= kCardBodyMax,
        "a card's text is small");
  const auto append_number = [&](uint32_t value, size_t size) {
    for (size_t i = size; i-- > 0;) {
      out.push_back(static_cast<std::byte>((value >> (8 * i)) & 255U));
    }
  };
  append_number(text.member, 2);
  append_number(text.epoch, 4);
  append_number(static_cast<uint32_t>(text.greetings.size()), 1);
  for (const CardGreeting& greeting : text.greetings) {
    append_bytes(greeting, out);
  }
  append_bytes(text.body, out);
}

Result<CardText, CardError> parse_card_text(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixed) {
    return CardError::kMalformed;
  }
  CardText text;
  text.member = static_cast<uint16_t>(number_at(bytes, 0, 2));
  text.epoch = number_at(bytes, 2, 4);
  const size_t greetings = number_at(bytes, 6, 1);
  std::span<const std::byte> rest = bytes.subspan(kFixed);
  if (text.epoch > kEpochMax || greetings > kRoomOthersMax ||
      rest.size() < greetings * kGreetingSize ||
      rest.size() > greetings * kGreetingSize + kCardBodyMax) {
    return CardError::kMalformed;
  }
  for (size_t i = 0; i < greetings; ++i) {
    std::copy_n(rest.begin(), kGreetingSize, text.greetings.emplace_back().begin());
    rest = rest.subspan(kGreetingSize);
  }
  append_bytes(rest, text.body);
  return text;
}

}  // namespace cress::secure
