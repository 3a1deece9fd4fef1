#include "transport/process/hidden_text.hh"

#include <string.h>
#include <sys/random.h>

#include <cerrno>
#include <stdexcept>
#include <vector>

namespace cress::runtime {

void fill_pad(std::span<std::byte> pad) {
  while (!pad.empty()) {
    const ssize_t size = ::getrandom(pad.data(), pad.size(), 0);
    if (size < 0 && errno != EINTR) {
      throw std::runtime_error("the system gives no random bytes");
    }
    pad = pad.subspan(size < 0 ? 0 : static_cast<size_t>(size));
  }
}

void apply_pad(std::span<std::byte> bytes, std::span<const std::byte> pad) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= pad[i % pad.size()];
  }
}

void wipe_text(std::string& text) {
  text.resize(text.capacity());
  explicit_bzero(text.data(), text.size());
  text.clear();
}

struct HiddenText::Parts {
  explicit Parts(std::string_view text) : pad(text.size()), masked(text.size()) {
    fill_pad(pad);
    for (size_t i = 0; i < text.size(); ++i) {
      masked[i] = static_cast<std::byte>(text[i]) ^ pad[i];
    }
  }
  ~Parts() {
    explicit_bzero(pad.data(), pad.size());
    explicit_bzero(masked.data(), masked.size());
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::vector<std::byte> pad;
  std::vector<std::byte> masked;
};

HiddenText::HiddenText(std::string_view text)
    : parts_(text.empty() ? nullptr : std::make_shared<const Parts>(text)) {}

size_t HiddenText::size() const { return parts_ ? parts_->masked.size() : 0; }

ClearText HiddenText::reveal() const {
  std::string text(size(), '\0');
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(parts_->masked[i] ^ parts_->pad[i]);
  }
  return ClearText{std::move(text)};
}

bool operator==(const HiddenText& a, const HiddenText& b) {
  if (a.parts_ == b.parts_ || a.size() != b.size()) {
    return a.parts_ == b.parts_;
  }
  std::byte difference{};
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= a.parts_->masked[i] ^ a.parts_->pad[i] ^ b.parts_->masked[i] ^ b.parts_->pad[i];
  }
  return difference == std::byte{};
}

}  // namespace cress::runtime
