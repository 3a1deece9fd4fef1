#include "transport/mapping/router/router_mapping.hh"

#include <stdexcept>
#include <utility>

#include "transport/netns/route_socket.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/own_address.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/crypto/crypto.hh"

namespace cress::mapping {
namespace {

/// An address of IPv4 that is nobody's (RFC 5737): the way there is the way to most.
constexpr Address kSomewhere = Address::ipv4({192, 0, 2, 1});

Address with_port(Address address, uint16_t port) {
  address.port = port;
  return address;
}

runtime::UdpSocketOptions socket_options(const Address& own) {
  constexpr DataSize kBuffer{64 << 10};  // a few small datagrams
  return {.bind = with_port(own, 0),
          .receive_buffer = kBuffer,
          .send_buffer = kBuffer,
          .answer_from_asked = false,
          .first_bytes = runtime::FirstBytes{std::byte{0}, std::byte{2}}};  // the versions
}

PortMapperOptions mapper_options(const Address& router, const Address& client) {
  PortMapperOptions options{.router = router, .client = client};
  secure::fill_random(options.nonce);
  return options;
}

}  // namespace

std::optional<WayOut> way_out(const Address& far) {
  try {
    netns::RouteSocket routes;
    auto route = routes.route_to(far);
    if (!far.is_ipv4() && route && route->router) {
      route = routes.route_to(kSomewhere);
    }
    if (!route || !route->router || !route->router->is_ipv4() ||
        !runtime::is_specific(route->source)) {
      return std::nullopt;
    }
    return WayOut{*route->router, route->source};
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

/// PCP and NAT-PMP.
struct RouterMapping::Datagrams {
  Datagrams(const UpnpMapper::Parts& parts, const Address& router, const Address& client)
      : socket(parts.clock, socket_options(client)),
        mapper(parts.clock.now(), mapper_options(router, client)),
        driver({parts.clock, parts.loop, socket, mapper}) {}

  runtime::UdpSocket socket;
  PortMapper mapper;
  runtime::Driver driver;
};

RouterMapping::RouterMapping(UpnpMapper::Parts parts, RouterMappingOptions options,
                             std::function<void()> on_change)
    : parts_(parts),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      upnp_timer_(parts.loop, [this] { begin_upnp(); }),
      report_timer_(parts.loop, [this] { notify(); }) {
  begin();
}

RouterMapping::~RouterMapping() { remove(); }

std::optional<WayOut> RouterMapping::find_way() const {
  std::optional<WayOut> way = options_.way(options_.far);
  if (way && runtime::is_specific(options_.local)) {
    way->own = with_port(options_.local, 0);
  }
  return way && way->own.is_ipv4() ? way : std::nullopt;
}

void RouterMapping::begin() {
  upnp_timer_.cancel();
  upnp_.reset();  // a mapping at another router is left to expire
  datagrams_.reset();
  way_ = find_way();
  if (!way_) {
    return;
  }
  try {
    datagrams_ = std::make_unique<Datagrams>(parts_, with_port(way_->router, options_.router_port),
                                             with_port(way_->own, options_.local.port));
    datagrams_->mapper.on_drained([this] { note(); });
  } catch (const std::runtime_error&) {
    // Our address is gone again: a change of network will be reported.
  }
  upnp_timer_.arm(parts_.clock.now() + kUpnpAfter);
}

/// After each step of the mapper.
void RouterMapping::note() {
  const PortMapper::State state = datagrams_->mapper.state();
  if (state == PortMapper::State::kRefused || state == PortMapper::State::kSilent) {
    begin_upnp();
  }
  report();
}

void RouterMapping::report() {
  if (mapped() != reported_) {
    report_timer_.arm(parts_.clock.now());
  }
}

void RouterMapping::notify() {
  if (const std::optional<Address> now = mapped(); now != reported_ && !is_removed_) {
    reported_ = now;
    on_change_();
  }
}

void RouterMapping::begin_upnp() {
  if (is_removed_ || upnp_ || !way_ || (datagrams_ && datagrams_->mapper.mapped())) {
    return;
  }
  upnp_timer_.cancel();
  upnp_ = std::make_unique<UpnpMapper>(
      parts_, way_->router, with_port(way_->own, options_.local.port), [this] { report(); });
}

std::optional<Address> RouterMapping::mapped() const {
  if (datagrams_ && datagrams_->mapper.mapped()) {
    return datagrams_->mapper.mapped();
  }
  return upnp_ ? upnp_->mapped() : std::nullopt;
}

std::optional<MappingProtocol> RouterMapping::protocol() const {
  if (datagrams_ && datagrams_->mapper.mapped()) {
    return datagrams_->mapper.protocol();
  }
  return upnp_ && upnp_->mapped() ? std::optional{MappingProtocol::kUpnp} : std::nullopt;
}

void RouterMapping::handle_network_change() {
  if (is_removed_) {
    return;
  }
  if (!datagrams_ || find_way() != way_) {
    begin();
    report();
    return;
  }
  datagrams_->driver.wake([this](TimePoint now) { datagrams_->mapper.handle_network_change(now); });
  if (upnp_) {
    upnp_->handle_network_change();
  }
}

void RouterMapping::remove() {
  if (std::exchange(is_removed_, true)) {
    return;
  }
  upnp_timer_.cancel();
  if (datagrams_) {
    datagrams_->driver.wake([this](TimePoint) { datagrams_->mapper.remove(); });
  }
  if (upnp_) {
    upnp_->remove();
  }
}

}  // namespace cress::mapping
