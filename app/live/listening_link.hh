#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/base/address.hh"
#include "transport/secure/link/link.hh"

namespace cress::live {

/// A listener's link: new for each call, or kept in a file, and then the same after a restart, so
/// that who is in the call comes back by itself and who was given the link need not be told anew.
/// Whoever reads the file can join: it is made with mode 0600, and refused when others may read it.
/// Threads: none inside; one owner.
class ListeningLink {
 public:
  /// `bind`: where to listen; port 0: the kept link's, or any. `file` is empty, or holds one line;
  /// where there is none yet, opened() writes it. Throws std::runtime_error "FILE: what; what to
  /// do" when it cannot be read, holds no link, is open to others, or names another port than
  /// `bind`; also when there is no secret to be had.
  ListeningLink(const Address& bind, std::filesystem::path file);

  const std::vector<std::byte>& secret() const { return link_.secret; }
  const Address& bind() const { return bind_; }
  /// Once the socket is open at `port`: the link to give away. Its host is `host`, or what the file
  /// says, where people may have written a name that others know this machine by.
  /// Throws std::runtime_error when the file cannot be written.
  const secure::Link& opened(const std::string& host, uint16_t port);

 private:
  void read();
  void write() const;

  Address bind_;
  std::filesystem::path file_;
  bool is_kept_ = false;
  secure::Link link_;
};

}  // namespace cress::live
