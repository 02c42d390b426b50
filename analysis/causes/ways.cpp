#include "analysis/causes/ways.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace psim::analysis {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

Ways::Ways(const RunRecord& record, const FaultBook& faults, const std::vector<LinkUse>& uses)
    : facts_(record.facts), faults_(faults), lone_(record) {
  std::map<std::string, std::uint32_t> node_of;
  for (std::uint32_t node = 0; node < record.names.size(); ++node) node_of[record.names[node]] = node;
  std::map<std::string, std::size_t> link_of;
  for (const Link& link : lone_.links()) {
    link_of[link.name] = nodes_.size();
    auto owner = node_of.find(link.name);  // "worker 3", or "worker 3 up"
    if (owner == node_of.end()) owner = node_of.find(link.name.substr(0, link.name.rfind(' ')));
    nodes_.push_back(owner == node_of.end() ? std::nullopt : std::optional(owner->second));
    double& widest = widest_[owner_of(static_cast<std::uint32_t>(nodes_.size() - 1))];
    widest = std::max(widest, link.bandwidth);
  }
  full_.resize(nodes_.size());
  for (const LinkUse& use : uses) full_[link_of.at(use.link.name)] = use.full;
}

Ways::Owner Ways::owner_of(std::uint32_t link) const {
  const std::optional<std::uint32_t> node = nodes_[link];
  if (!node) return Owner::nobody;
  if (*node == 0) return Owner::scheduler;
  return facts_.is_server(*node) ? Owner::server : Owner::worker;
}

std::optional<Ways::Bottleneck> Ways::bottleneck(const Transfer& message) const {
  const double seconds = message.end - message.begin;
  double narrowest = unlimited, latency = 0;
  std::vector<std::pair<std::uint32_t, double>> way;  // links, and what faults left of their bandwidth
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    const Link& link = lone_.links()[number];
    const double left = nodes_[number] ? faults_.bandwidth(*nodes_[number], message.begin, message.end) : 1;
    way.emplace_back(number, left * link.bandwidth);
    narrowest = std::min(narrowest, left * link.bandwidth);
    latency += link.latency;
  }
  if (way.empty() || !(seconds > 0)) return std::nullopt;
  const bool is_shared = message.sharing > 0.05 * seconds;
  // Of links that are equally to blame a server's: it is the one that many share.
  const auto weight = [&](const std::pair<std::uint32_t, double>& one) {
    double full = 0;
    const auto& all = full_[one.first];
    auto now = std::ranges::upper_bound(all, message.begin, {}, [](const auto& time) { return time.second; });
    for (; is_shared && now != all.end() && now->first < message.end; ++now)
      full += std::min(now->second, message.end) - std::max(now->first, message.begin);
    const bool is_narrow = one.second <= 1.01 * narrowest;
    return full / seconds + (is_narrow ? 0.5 : 0) + (owner_of(one.first) == Owner::server ? 0.1 : 0);
  };
  const auto& [number, bandwidth] = *std::ranges::max_element(way, {}, weight);
  const Owner owner = owner_of(number);
  const std::uint32_t beside = facts_.is_server(message.from) ? message.to : message.from;
  const bool is_held = latency > 0 && lone_.window() / latency < narrowest;
  return Bottleneck{
      .link = &lone_.links()[number],
      .owner = owner,
      .node = nodes_[number].value_or(beside),
      .by_window =
          is_held ? static_cast<double>(message.bytes) * (latency / lone_.window() - 1 / narrowest) : 0,
      .is_even = bandwidth >= 0.9 * widest_.at(owner)};
}

std::uint32_t Ways::farthest(const Transfer& message) const {
  std::optional<std::uint32_t> longest;
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    if (!longest || lone_.links()[number].latency > lone_.links()[*longest].latency) longest = number;
  }
  return longest ? nodes_[*longest].value_or(message.from) : message.from;
}

std::map<std::uint32_t, double> Ways::narrowness(Owner owner) const {
  std::map<std::uint32_t, double> narrow;
  for (std::uint32_t number = 0; number < nodes_.size(); ++number) {
    if (!nodes_[number] || owner_of(number) != owner) continue;
    double bandwidth = lone_.links()[number].bandwidth;
    for (const FaultInForce& fault : faults_.all())
      if (fault.kind == "degrade" && fault.concerns(*nodes_[number])) bandwidth *= fault.factor;
    double& most = narrow[*nodes_[number]];
    most = std::max(most, 1 / bandwidth);
  }
  return narrow;
}

}  // namespace psim::analysis
