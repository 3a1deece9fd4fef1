#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cress::sweep {

/// A digest of bytes: 128-bit FNV-1a (draft-eastlake-fnv). Not secure against forgery: entries with
/// equal digests are compared completely. Threads: none inside; one owner.
class Digest {
 public:
  /// The same bytes in other pieces give another digest: each piece's length counts too.
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

/// What distinguishes this build of the program: the linker's build id, in hexadecimal; empty if
/// there is none.
std::string build_id();

}  // namespace cress::sweep
