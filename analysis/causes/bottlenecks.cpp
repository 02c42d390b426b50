#include "analysis/causes/bottlenecks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <string>
#include <utility>

namespace psim::analysis {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

Bottlenecks::Bottlenecks(const Facts& facts, const FaultBook& faults, const LinkOwners& owners,
                         const Traffic& traffic, const std::vector<LinkUse>& uses)
    : facts_(facts), faults_(faults), owners_(owners), lone_(traffic.lone) {
  std::map<std::string, std::uint32_t> link_of;
  for (std::uint32_t number = 0; number < lone_.links().size(); ++number) {
    link_of[lone_.links()[number].name] = number;
    double& widest = widest_[owner_of(number)];
    widest = std::max(widest, lone_.links()[number].bandwidth);
  }
  full_.resize(lone_.links().size());
  bytes_.resize(full_.size());
  for (const LinkUse& use : uses) {
    full_[link_of.at(use.link.name)] = use.full;
    bytes_[link_of.at(use.link.name)] = static_cast<double>(use.bytes);
  }
  find_main_users(traffic);
}

void Bottlenecks::find_main_users(const Traffic& traffic) {
  const auto is_of_one = [this](std::uint32_t link) { return owners_.of(link).size() < 2; };
  const auto links = static_cast<std::uint32_t>(lone_.links().size());
  if (std::ranges::all_of(std::views::iota(0U, links), is_of_one)) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const Transfer& one : traffic.transfers) bytes[{one.from, one.to}] += static_cast<double>(one.bytes);
  std::map<std::uint32_t, std::map<std::uint32_t, double>> by_node;  // by link
  for (const auto& [ends, sum] : bytes) {
    for (const std::uint32_t link : lone_.way(ends.first, ends.second)) {
      if (is_of_one(link)) continue;
      const bool is_sender = std::ranges::binary_search(owners_.of(link), ends.first);
      by_node[link][is_sender ? ends.first : ends.second] += sum;
    }
  }
  // A server waits for many nodes, so it wins when it carries about as much as the worker beside it.
  const auto weight = [this](const auto& one) {
    return facts_.is_server(one.first) ? 1.1 * one.second : one.second;
  };
  for (const auto& [link, nodes] : by_node)
    main_user_[link] = std::ranges::max_element(nodes, {}, weight)->first;
}

std::optional<std::uint32_t> Bottlenecks::owning(std::uint32_t link) const {
  const std::vector<std::uint32_t>& owners = owners_.of(link);
  return owners.size() == 1 ? std::optional(owners.front()) : std::nullopt;
}

Bottlenecks::Owner Bottlenecks::role_of(std::uint32_t node) const {
  if (node == 0) return Owner::scheduler;
  return facts_.is_server(node) ? Owner::server : Owner::worker;
}

Bottlenecks::Owner Bottlenecks::owner_of(std::uint32_t link) const {
  const std::optional<std::uint32_t> node = owning(link);
  return node ? role_of(*node) : Owner::nobody;
}

std::optional<Bottlenecks::Bottleneck> Bottlenecks::of(const Transfer& message) const {
  const double seconds = message.end - message.begin;
  double narrowest = unlimited, latency = 0;
  std::vector<std::pair<std::uint32_t, double>> way;  // links, and what faults left of their bandwidth
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    const Link& link = lone_.links()[number];
    const double left = owners_.left(number, message.begin, message.end);
    way.emplace_back(number, left * link.bandwidth);
    narrowest = std::min(narrowest, left * link.bandwidth);
    latency += link.latency;
  }
  if (way.empty() || !(seconds > 0)) return std::nullopt;
  const bool is_shared = message.sharing > 0.05 * seconds;
  // Among links that are equally to blame, the link of a server wins: many nodes share it.
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
  // A faulty link of a host belongs to the node of the host that uses it most. Any other link that nodes
  // share has no owner.
  std::optional<std::uint32_t> node = owning(number);
  if (!node && bandwidth < lone_.links()[number].bandwidth) node = main_user_.at(number);
  const Owner owner = node ? role_of(*node) : Owner::nobody;
  const std::uint32_t beside = facts_.is_server(message.from) ? message.to : message.from;
  const bool is_held = latency > 0 && lone_.window() / latency < narrowest;
  return Bottleneck{
      .link = &lone_.links()[number],
      .owner = owner,
      .node = node.value_or(beside),
      .by_window =
          is_held ? static_cast<double>(message.bytes) * (latency / lone_.window() - 1 / narrowest) : 0,
      .is_even = bandwidth >= 0.9 * widest_.at(owner_of(number))};
}

std::uint32_t Bottlenecks::farthest(const Transfer& message) const {
  std::optional<std::uint32_t> longest;
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    if (!longest || lone_.links()[number].latency > lone_.links()[*longest].latency) longest = number;
  }
  return longest ? owning(*longest).value_or(message.from) : message.from;
}

Bottlenecks::Burdens Bottlenecks::burdens(Owner owner) const {
  Burdens burdens;
  for (std::uint32_t number = 0; number < lone_.links().size(); ++number) {
    const std::optional<std::uint32_t> node = owning(number);
    if (!node || owner_of(number) != owner) continue;
    double bandwidth = lone_.links()[number].bandwidth;
    for (const FaultInForce& fault : faults_.all())
      if (fault.kind == "degrade" && fault.concerns(*node)) bandwidth *= fault.factor;
    double &narrow = burdens.narrowness[*node], &seconds = burdens.seconds[*node];
    narrow = std::max(narrow, 1 / bandwidth);
    seconds = std::max(seconds, bytes_[number] / bandwidth);
  }
  return burdens;
}

}  // namespace psim::analysis
