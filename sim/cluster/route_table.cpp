#include "sim/cluster/route_table.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>

namespace psim {

// Until SimGrid 3.35 the first zone of an engine becomes its root. Later engines have a root from the start,
// and new zones belong to it.
RouteTable* RouteTable::make(const std::string& name) {
  auto* table = new RouteTable(name);
  simgrid::s4u::NetZone* root = simgrid::s4u::Engine::get_instance()->get_netzone_root();
  if (root != table->get_iface()) table->set_parent(root->get_impl());
  return table;
}

std::uint64_t RouteTable::key(const NetPoint* from, const NetPoint* to) {
  return (std::uint64_t{from->id()} << 32U) | to->id();
}

void RouteTable::add(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to, const Links& links) {
  Crossed& route = routes_[key(from->get_netpoint(), to->get_netpoint())] = {};
  route.links.reserve(links.size());
  for (const simgrid::s4u::Link* link : links) {
    route.links.push_back(link->get_impl());
    route.latency += link->get_latency();
    if (link->get_sharing_policy() != simgrid::s4u::Link::SharingPolicy::FATPIPE)
      route.port_bandwidth = link->get_bandwidth();
  }
}

double RouteTable::latency(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const {
  const auto route = routes_.find(key(from->get_netpoint(), to->get_netpoint()));
  return route == routes_.end() ? 0 : route->second.latency;
}

double RouteTable::port_bandwidth(const simgrid::s4u::Host* from, const simgrid::s4u::Host* to) const {
  const auto route = routes_.find(key(from->get_netpoint(), to->get_netpoint()));
  return route != routes_.end() && route->second.latency > 0 ? route->second.port_bandwidth : 0;
}

// Without a route the result has no links, and SimGrid reports an error.
void RouteTable::get_local_route(const NetPoint* from, const NetPoint* to, Route* into, double* latency) {
  const auto route = routes_.find(key(from, to));
  if (route == routes_.end()) return;
  const Crossed& crossed = route->second;
  into->link_list_.insert(into->link_list_.end(), crossed.links.begin(), crossed.links.end());
  if (latency != nullptr) *latency += latency_factor_ * crossed.latency;
}

}  // namespace psim
