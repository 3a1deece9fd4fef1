#include "transport/mapping/router/upnp_mapper.hh"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "transport/base/big_endian.hh"
#include "transport/mapping/port_mapper.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::mapping {
namespace {

// Most routers answer a search at once; they may wait for a second.
constexpr Duration kFirstSearch = 300ms;
constexpr Duration kSecondSearch = 2s;
/// After a mapping was lost.
constexpr Duration kSearchAgain = 30s;

uint16_t random_port() {
  constexpr uint64_t kFirst = 1024;
  constexpr uint64_t kPorts = 65'536;
  std::array<std::byte, 4> random{};
  secure::fill_random(random);
  return static_cast<uint16_t>(kFirst + number_at(random, 0, 4) % (kPorts - kFirst));
}

}  // namespace

/// Shared by the loop's thread and the errand's, which ends when it likes.
struct UpnpMapper::Errand {
  runtime::FileDescriptor finished{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::atomic<bool> abandoned = false;
  std::mutex mutex;  // of the next two
  bool is_over = false;
  std::optional<UpnpMapping> result;
  std::condition_variable over;

  void finish(std::optional<UpnpMapping> with) {
    {
      const std::lock_guard lock{mutex};
      is_over = true;
      result = std::move(with);
    }
    over.notify_all();
    const uint64_t one = 1;
    (void)!::write(finished.get(), &one, sizeof one);
  }
};

UpnpMapper::UpnpMapper(Parts parts, const Address& router, const Address& client,
                       std::function<void()> on_change)
    : parts_(parts),
      request_{.router = router,
               .client = client,
               .outside_ports = {client.port, random_port(), random_port()},
               .lifetime = PortMapper::kLifetime},
      on_change_(std::move(on_change)),
      timer_(parts.loop, [this] { begin(kFirstSearch); }) {
  begin(kFirstSearch);
}

UpnpMapper::~UpnpMapper() {
  forget_errand();
  if (farewell_) {
    std::unique_lock lock{farewell_->mutex};
    farewell_->over.wait_for(lock, kRemovalMax, [this] { return farewell_->is_over; });
  }
}

std::optional<Address> UpnpMapper::mapped() const {
  return mapping_ ? std::optional{mapping_->outside} : std::nullopt;
}

void UpnpMapper::send(std::function<std::optional<UpnpMapping>(const Errand&)> work,
                      bool is_watched) {
  const auto errand = std::make_shared<Errand>();
  if (errand->finished.get() < 0) {
    return;
  }
  const auto run = [errand, work = std::move(work)] {
    // A router that closes its connection must not end the program.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    errand->finish(work(*errand));
  };
  try {
    std::thread{run}.detach();
  } catch (const std::system_error&) {
    return;  // no thread is to be had: no mapping
  }
  if (is_watched) {
    errand_ = errand;
    parts_.loop.on_readable(errand->finished.get(), [this] { finish(); });
  } else {
    farewell_ = errand;
  }
}

void UpnpMapper::begin(Duration search) {
  if (parts_.clock.now() >= expires_at_) {
    expires_at_ = kNever;
    mapping_.reset();
    on_change_();
  }
  if (errand_ || is_removed_) {
    return;
  }
  timer_.arm(expires_at_);
  UpnpRequest request = request_;
  request.search = search;
  if (mapping_) {
    request.service = mapping_->service;
    request.outside_ports.front() = mapping_->outside.port;
  }
  request_.search = search;
  send([request](const Errand& errand) { return map_by_upnp(request, errand.abandoned); }, true);
}

void UpnpMapper::finish() {
  std::optional<UpnpMapping> result;
  {
    const std::lock_guard lock{errand_->mutex};
    result = std::move(errand_->result);
  }
  parts_.loop.forget(errand_->finished.get());
  errand_.reset();
  const TimePoint now = parts_.clock.now();
  const std::optional<Address> before = mapped();
  if (result) {
    mapping_ = std::move(result);
    expires_at_ = now + request_.lifetime;
    timer_.arm(now + request_.lifetime / 2);
  } else if (mapping_) {
    // The router may have restarted, with its service at another port.
    mapping_.reset();
    expires_at_ = kNever;
    timer_.arm(now + kSearchAgain);
  } else if (request_.search < kSecondSearch) {
    begin(kSecondSearch);
  }
  if (mapped() != before) {
    on_change_();
  }
}

void UpnpMapper::forget_errand() {
  if (errand_) {
    errand_->abandoned = true;
    parts_.loop.forget(errand_->finished.get());
    errand_.reset();
  }
}

void UpnpMapper::handle_network_change() { begin(kFirstSearch); }

void UpnpMapper::remove() {
  if (std::exchange(is_removed_, true)) {
    return;
  }
  timer_.cancel();
  forget_errand();
  if (const auto mapping = std::exchange(mapping_, std::nullopt)) {
    send(
        [mapping](const Errand&) {
          remove_by_upnp(*mapping);
          return std::nullopt;
        },
        false);
  }
}

}  // namespace cress::mapping
