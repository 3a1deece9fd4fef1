#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cress::sweep {

/// A name for bytes: 128-bit FNV-1a (draft-eastlake-fnv). Not against forgers: what has a name is
/// compared whole before it is believed. Threads: none inside; one owner.
class Digest {
 public:
  /// The same bytes in other pieces are another name: each piece's length counts too.
  Digest& add(std::string_view bytes);
  Digest& add(int64_t number);
  /// 32 hexadecimal digits.
  std::string hex() const;

 private:
  void mix(unsigned char byte);

  // The offset basis, 0x6c62272e07bb014262b821756295c58d.
  uint64_t high_ = 0x6c62272e07bb0142;
  uint64_t low_ = 0x62b821756295c58d;
};

/// The digest of a file's bytes, read in pieces; throws std::runtime_error "PATH: what".
std::string digest_of_file(const std::string& path);

/// What tells this build of the program from another: the linker's build id, in hexadecimal; empty
/// where it wrote none.
std::string build_id();

}  // namespace cress::sweep
