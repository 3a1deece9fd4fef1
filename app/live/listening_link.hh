#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "transport/base/address.hh"
#include "transport/process/hidden_text.hh"
#include "transport/secure/link/link.hh"

namespace cress::live {

/// A listener's link: new for each call, or kept in a file and then the same after a restart. With
/// a kept link the peer in the call reconnects by itself and the link need not be sent again.
/// Anyone who reads the file can join: it is created with mode 0600, and rejected if others may
/// read it. Threads: none inside; one owner.
class ListeningLink {
 public:
  /// `bind`: where to listen; port 0: the kept link's port, or any. `file` is empty, or the path of
  /// a file with one line; if it does not exist, opened() writes it. Throws std::runtime_error
  /// "FILE: what; what to do" if it cannot be read, holds no link, is readable by others, or names
  /// another port than `bind` or another relay; also if no secret can be generated.
  /// `relay`: where the call is to begin, "HOST:PORT"; empty: at our own address, or where the kept
  /// link says.
  ListeningLink(const Address& bind, std::filesystem::path file, const std::string& relay = "");

  std::vector<std::byte> secret() const;
  const Address& bind() const { return bind_; }
  /// "HOST:PORT" of the relay; empty: none.
  std::string relay() const { return link_.is_relayed ? secure::host_and_port(link_) : ""; }
  /// Call once the socket is open at `port`: returns the link to give away. Its host is `host`, or
  /// the one in the file, where the user may have written another name of this machine. Throws
  /// std::runtime_error if the file cannot be written.
  secure::Link opened(const std::string& host, uint16_t port);
  /// After opened(): a sentence for the user on which machines can use the link, where not all of
  /// them surely can; else empty.
  std::string warning() const;

 private:
  void read();
  void keep(secure::Link link);
  secure::Link whole() const;

  Address bind_;
  std::filesystem::path file_;
  bool is_kept_ = false;
  secure::Link link_;           // without its secret,
  runtime::HiddenText secret_;  // which is here: a relay's name may take long to look up
};

}  // namespace cress::live
