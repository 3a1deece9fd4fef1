#include "transport/secure/group/member_card.hh"

#include <algorithm>

#include "transport/base/big_endian.hh"
#include "transport/base/check.hh"

namespace cress::secure {
namespace {

constexpr size_t kKeyAt = 2;
constexpr size_t kAgreementAt = kKeyAt + sizeof(PublicKey);
constexpr size_t kCounterAt = kAgreementAt + sizeof(AgreementPublic);
constexpr size_t kGreetingsAt = kCounterAt + 8;
constexpr size_t kFixed = kGreetingsAt + 1;
constexpr size_t kGreetingSize = sizeof(CardGreeting);

}  // namespace

void append_card_text(const CardText& text, std::vector<std::byte>& out) {
  check(text.greetings.size() <= kRoomOthersMax && text.body.size() <= kCardBodyMax,
        "a card's text is small");
  append_number(text.member, 2, out);
  out.insert(out.end(), text.key.begin(), text.key.end());
  out.insert(out.end(), text.agreement.begin(), text.agreement.end());
  append_number(text.next_counter, 8, out);
  append_number(text.greetings.size(), 1, out);
  for (const CardGreeting& greeting : text.greetings) {
    out.insert(out.end(), greeting.begin(), greeting.end());
  }
  out.insert(out.end(), text.body.begin(), text.body.end());
  out.insert(out.end(), text.signature.begin(), text.signature.end());
}

Result<CardText, CardError> parse_card_text(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixed + sizeof(Signature)) {
    return CardError::kMalformed;
  }
  CardText text;
  text.member = static_cast<uint16_t>(number_at(bytes, 0, 2));
  std::copy_n(bytes.begin() + kKeyAt, text.key.size(), text.key.begin());
  std::copy_n(bytes.begin() + kAgreementAt, text.agreement.size(), text.agreement.begin());
  text.next_counter = number_at(bytes, kCounterAt, 8);
  std::copy_n(bytes.end() - sizeof(Signature), sizeof(Signature), text.signature.begin());
  const size_t greetings = number_at(bytes, kGreetingsAt, 1);
  std::span<const std::byte> rest =
      bytes.subspan(kFixed, bytes.size() - kFixed - sizeof(Signature));
  if (greetings > kRoomOthersMax || rest.size() < greetings * kGreetingSize ||
      rest.size() > greetings * kGreetingSize + kCardBodyMax) {
    return CardError::kMalformed;
  }
  for (size_t i = 0; i < greetings; ++i) {
    std::copy_n(rest.begin(), kGreetingSize, text.greetings.emplace_back().begin());
    rest = rest.subspan(kGreetingSize);
  }
  text.body.assign(rest.begin(), rest.end());
  return text;
}

}  // namespace cress::secure
