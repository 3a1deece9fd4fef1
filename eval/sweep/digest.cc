#include "eval/sweep/digest.hh"

#include <elf.h>
#include <link.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace cress::sweep {
namespace {

/// The note of type NT_GNU_BUILD_ID in a segment of notes (elf(5): three words, name, payload).
std::string build_id_in(std::string_view notes) {
  constexpr size_t kAlign = 4;
  const auto padded = [](size_t size) { return (size + kAlign - 1) / kAlign * kAlign; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header{};
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const size_t name = padded(header.n_namesz);
    const size_t payload = padded(header.n_descsz);
    if (name + payload > notes.size()) {
      return {};
    }
    if (header.n_type == NT_GNU_BUILD_ID && notes.starts_with(std::string_view{"GNU\0", 4})) {
      std::string hex;
      for (const char c : notes.substr(name, header.n_descsz)) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        hex += kDigits[static_cast<unsigned char>(c) >> 4];
        hex += kDigits[static_cast<unsigned char>(c) & 15];
      }
      return hex;
    }
    notes.remove_prefix(name + payload);
  }
  return {};
}

}  // namespace

void Digest::mix(unsigned char byte) {
  // The prime is 2^88 + 0x13b: a shift of 24 bits in the high half, and a short product.
  constexpr uint64_t kShort = 0x13b;
  low_ ^= byte;
  const uint64_t low_half = (low_ & 0xffffffff) * kShort;
  const uint64_t high_half = (low_ >> 32) * kShort + (low_half >> 32);
  const uint64_t shifted = low_ << 24;
  low_ = (high_half << 32) | (low_half & 0xffffffff);
  high_ = high_ * kShort + (high_half >> 32) + shifted;
}

Digest& Digest::add(std::string_view bytes) {
  add(static_cast<int64_t>(bytes.size()));
  for (const char c : bytes) {
    mix(static_cast<unsigned char>(c));
  }
  return *this;
}

Digest& Digest::add(int64_t number) {
  auto rest = std::bit_cast<uint64_t>(number);
  for (size_t i = 0; i < sizeof rest; ++i, rest >>= 8) {
    mix(static_cast<unsigned char>(rest & 0xff));
  }
  return *this;
}

std::string Digest::hex() const {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high_),
                static_cast<unsigned long long>(low_));
  return text.data();
}

std::string digest_of_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    throw std::runtime_error(path + ": cannot be read");
  }
  Digest digest;
  std::vector<char> piece(1 << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    digest.add({piece.data(), static_cast<size_t>(file.gcount())});
  }
  if (file.bad()) {
    throw std::runtime_error(path + ": cannot be read whole");
  }
  return digest.hex();
}

std::string build_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        for (size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          auto& text = *static_cast<std::string*>(found);
          if (segment.p_type == PT_NOTE && text.empty()) {
            const void* const at = std::bit_cast<const void*>(info->dlpi_addr + segment.p_vaddr);
            text = build_id_in({static_cast<const char*>(at), segment.p_memsz});
          }
        }
        return 1;  // the first object is the program itself
      },
      &id);
  return id;
}

}  // namespace cress::sweep
