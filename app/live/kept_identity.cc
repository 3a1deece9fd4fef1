#include "app/live/kept_identity.hh"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "transport/base/text.hh"
#include "transport/process/own_secrets.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::live {
namespace {

constexpr size_t kDigits = 2 * secure::Secret::kSize;

int digit_of(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::vector<std::byte> kept_identity(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    if (file.has_parent_path()) {
      std::filesystem::create_directories(file.parent_path());
    }
    runtime::write_secret(file, hex(secure::random_secret().bytes()));
  }
  const std::string text = runtime::read_secret(file, kDigits + 2);
  const bool is_one =
      text.size() == kDigits && std::ranges::all_of(text, [](char c) { return digit_of(c) >= 0; });
  if (!is_one) {
    throw std::runtime_error(file.string() +
                             ": not the identity of a user's calls; remove it for a new one");
  }
  std::vector<std::byte> secret;
  for (size_t i = 0; i < kDigits; i += 2) {
    secret.push_back(static_cast<std::byte>(16 * digit_of(text[i]) + digit_of(text[i + 1])));
  }
  return secret;
}

}  // namespace cress::live
