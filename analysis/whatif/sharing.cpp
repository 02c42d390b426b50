#include "analysis/whatif/sharing.hpp"

#include <limits>

namespace psim::analysis {
namespace {

constexpr double without_limit = std::numeric_limits<double>::infinity();
// Bytes per second for a message that nothing limits.
constexpr double very_fast = 1e18;

}  // namespace

std::uint32_t Ways::number_of(std::uint32_t from, std::uint32_t to) {
  const auto [known, is_new] =
      numbers_.emplace(std::pair(from, to), static_cast<std::uint32_t>(ways_.size()));
  const auto count = [&] {
    for (const std::uint32_t link : ways_[known->second].links) ++messages_[link];
    return known->second;
  };
  if (!is_new) return count();
  Way way{
      .links = {}, .latency = lone_.latency(from, to), .bandwidth = without_limit, .window = without_limit};
  for (const std::uint32_t link : lone_.way(from, to)) {
    way.bandwidth = std::min(way.bandwidth, lone_.links()[link].bandwidth);
    if (lone_.links()[link].is_shared) way.links.push_back(link);
  }
  if (way.latency > 0) way.window = lone_.window() / way.latency;
  ways_.push_back(std::move(way));
  return count();
}

std::uint32_t Ways::busiest(std::uint32_t way) const {
  const auto own = static_cast<std::uint32_t>(link_count() + way);
  const auto& links = ways_[way].links;
  const auto most =
      std::ranges::max_element(links, {}, [this](std::uint32_t link) { return messages_[link]; });
  return most == links.end() ? own : *most;
}

double Ways::rate(std::uint32_t way, double bandwidth, double latency) const {
  const Way& one = ways_[way];
  const double window = latency > 0 ? one.window / latency : without_limit;
  return std::min({bandwidth * one.bandwidth, window, very_fast});
}

Sharing::Sharing(const Ways& ways, double bandwidth, double latency)
    : ways_(ways),
      bandwidth_(bandwidth),
      latency_(latency),
      on_(ways.link_count()),
      by_busiest_(ways.link_count() + ways.way_count()),
      is_changed_(by_busiest_.size(), false) {}

void Sharing::begin(std::uint32_t message, std::uint32_t way, double now, double left) {
  if (loads_.size() <= message) loads_.resize(message + 1);
  loads_[message] = {.way = way, .left = left, .rate = 0, .since = now};
  for (const std::uint32_t link : ways_.links(way)) on_[link].push_back(message);
  by_busiest_[ways_.busiest(way)].push_back(message);
  share(message, now);
  share_links(way, now);
}

void Sharing::end(std::uint32_t message, double now) {
  Load& load = loads_[message];
  settle(load, now);
  for (const std::uint32_t link : ways_.links(load.way)) std::erase(on_[link], message);
  std::erase(by_busiest_[ways_.busiest(load.way)], message);
  changes(load.way);
  share_links(load.way, now);
}

void Sharing::changes(std::uint32_t way) {
  const std::uint32_t link = ways_.busiest(way);
  if (is_changed_[link]) return;
  is_changed_[link] = true;
  changed_.push_back(link);
}

void Sharing::share(std::uint32_t message, double now) {
  Load& load = loads_[message];
  const double rate = rate_of(load.way);
  if (rate == load.rate) return;
  settle(load, now);
  load.rate = rate;
  changes(load.way);
}

void Sharing::share_links(std::uint32_t way, double now) {
  for (const std::uint32_t link : ways_.links(way)) {
    for (const std::uint32_t message : on_[link]) share(message, now);
  }
}

double Sharing::rate_of(std::uint32_t way) const {
  double rate = ways_.rate(way, bandwidth_, latency_);
  for (const std::uint32_t link : ways_.links(way))
    rate = std::min(rate, bandwidth_ * ways_.link(link).bandwidth / static_cast<double>(on_[link].size()));
  return rate;
}

}  // namespace psim::analysis
