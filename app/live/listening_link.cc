#include "app/live/listening_link.hh"

#include <stdexcept>
#include <string>
#include <utility>

#include "transport/runtime/own_secrets.hh"

namespace cress::live {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

}  // namespace

ListeningLink::ListeningLink(const Address& bind, std::filesystem::path file)
    : bind_(bind), file_(std::move(file)) {
  if (!file_.empty()) {
    read();
  }
  if (!is_kept_) {
    link_.secret = secure::make_secret();
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
  link_ = *link;
  is_kept_ = true;
}

const secure::Link& ListeningLink::opened(const std::string& host, uint16_t port) {
  if (!is_kept_) {
    link_.host = host;
    link_.port = port;
    if (!file_.empty()) {
      runtime::write_secret(file_, secure::format_link(link_));
      is_kept_ = true;
    }
  }
  return link_;
}

}  // namespace cress::live
