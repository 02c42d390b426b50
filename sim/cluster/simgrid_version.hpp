// The differences between SimGrid 3.32 and 4.0, each in one place.
#pragma once

#include <simgrid/version.h>
#include <simgrid/s4u.hpp>
#if __has_include(<simgrid/simcall.hpp>)
#include <simgrid/simcall.hpp>
#else
#include <simgrid/simix.hpp>
#endif

#include <string>
#include <utility>
#include <vector>

namespace psim {

#if SIMGRID_VERSION >= 40000

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name, double speed) {
  return zone.add_host(name, speed);
}

inline simgrid::s4u::Link* add_link(simgrid::s4u::NetZone& zone, const std::string& name, double bandwidth) {
  return zone.add_link(name, bandwidth);
}

inline simgrid::s4u::SplitDuplexLink* add_split_duplex_link(simgrid::s4u::NetZone& zone,
                                                            const std::string& name, double bandwidth) {
  return zone.add_split_duplex_link(name, bandwidth);
}

inline simgrid::s4u::NetZone* add_star_zone(const std::string& name) {
  return simgrid::s4u::Engine::get_instance()->get_netzone_root()->add_netzone_star(name);
}

// Both directions between a host and a star's hub.
inline void add_star_route(simgrid::s4u::NetZone& star, simgrid::s4u::Host* host,
                           const simgrid::s4u::LinkInRoute& link) {
  star.add_route(host, nullptr, {link}, true);
}

template <class Body>
simgrid::s4u::ActorPtr add_actor(const std::string& name, simgrid::s4u::Host* host, Body body) {
  return simgrid::s4u::Engine::get_instance()->add_actor(name, host, std::move(body));
}

#else

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name, double speed) {
  return zone.create_host(name, speed);
}

inline simgrid::s4u::Link* add_link(simgrid::s4u::NetZone& zone, const std::string& name, double bandwidth) {
  return zone.create_link(name, bandwidth);
}

inline simgrid::s4u::SplitDuplexLink* add_split_duplex_link(simgrid::s4u::NetZone& zone,
                                                            const std::string& name, double bandwidth) {
  return zone.create_split_duplex_link(name, bandwidth);
}

inline simgrid::s4u::NetZone* add_star_zone(const std::string& name) {
  return simgrid::s4u::create_star_zone(name);
}

inline void add_star_route(simgrid::s4u::NetZone& star, simgrid::s4u::Host* host,
                           const simgrid::s4u::LinkInRoute& link) {
  star.add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {link}, true);
}

template <class Body>
simgrid::s4u::ActorPtr add_actor(const std::string& name, simgrid::s4u::Host* host, Body body) {
  return simgrid::s4u::Actor::create(name, host, std::move(body));
}

#endif

}  // namespace psim
