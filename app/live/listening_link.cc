#include "app/live/listening_link.hh"

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "transport/process/own_secrets.hh"
#include "transport/runtime/own_address.hh"

namespace cress::live {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

secure::Link new_link(const std::string& relay) {
  if (relay.empty()) {
    secure::Link link;
    link.secret = secure::make_secret();
    return link;
  }
  const auto link = secure::link_at_relay(relay, "");
  if (!link) {
    throw std::runtime_error("relay " + relay + ": not HOST:PORT, such as relay.example:4747");
  }
  return *link;
}

}  // namespace

ListeningLink::ListeningLink(const Address& bind, std::filesystem::path file,
                             const std::string& relay)
    : bind_(bind), file_(std::move(file)) {
  if (!file_.empty()) {
    read();
  }
  if (!is_kept_) {
    keep(new_link(relay));
  } else if (link_.is_relayed ? !relay.empty() && relay != this->relay() : !relay.empty()) {
    refuse(file_, "its link is for " + (link_.is_relayed ? "relay " + this->relay() : "no relay") +
                      ", not for relay " + relay + "; remove the file for a new link");
  } else if (link_.is_relayed) {
    return;  // its port is the relay's
  } else if (bind_.port == 0) {
    bind_.port = link_.port;
  } else if (bind_.port != link_.port) {
    refuse(file_, "its link is for port " + std::to_string(link_.port) + ", not " +
                      std::to_string(bind_.port) +
                      "; listen there, or remove the file for a new link");
  }
}

void ListeningLink::read() {
  if (!std::filesystem::exists(file_)) {
    return;
  }
  const auto link = secure::parse_link(runtime::read_secret(file_, secure::kLinkLengthMax));
  if (!link) {
    refuse(file_, std::string{secure::describe(link.error())} + "; remove the file for a new link");
  }
  keep(*link);
  is_kept_ = true;
}

void ListeningLink::keep(secure::Link link) {
  secret_ = std::string_view{reinterpret_cast<const char*>(link.secret.data()), link.secret.size()};
  secure::wipe(link.secret);
  link.secret.clear();
  link_ = std::move(link);
}

std::vector<std::byte> ListeningLink::secret() const {
  const runtime::ClearText clear = secret_.reveal();
  const auto bytes = std::as_bytes(std::span{clear.view()});
  return {bytes.begin(), bytes.end()};
}

secure::Link ListeningLink::whole() const {
  secure::Link link = link_;
  link.secret = secret();
  return link;
}

secure::Link ListeningLink::opened(const std::string& host, uint16_t port) {
  if (!is_kept_) {
    if (!link_.is_relayed) {
      link_.host = host;
      link_.port = port;
    }
    if (!file_.empty()) {
      runtime::write_secret(file_, secure::format_link(whole()));
      is_kept_ = true;
    }
  }
  return whole();
}

std::string ListeningLink::warning() const {
  const std::string some = runtime::who_reaches(link_.host);
  if (!some.empty()) {
    return "Only " + some + " can reach the address in this link" +
           (link_.is_relayed ? "." : ": others can call you through a relay.");
  }
  return link_.is_relayed
             ? ""
             : "Without a relay this link works only if others can reach this machine directly.";
}

}  // namespace cress::live
