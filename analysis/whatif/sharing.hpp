// How messages that are on their way at the same time share links: a message is as fast as its share of the
// fullest link on its way, and no faster than it would be alone; each link is shared equally.
//
// Decisions:
// - What a message has to carry is not its bytes: it is what it carried in the run at the rate that it had
// under
//   this rule, from its first date to its last. So turns, and whatever else made it slower or faster than the
//   rule says, stay with it; and with the same dates it takes exactly as long again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/links/lone.hpp"

namespace psim::analysis {

// The ways of all pairs of nodes that exchange messages, under other bandwidths and latencies.
class Ways {
 public:
  explicit Ways(const RunRecord& run) : lone_(run) {}

  // A small number for the pair.
  std::uint32_t number_of(std::uint32_t from, std::uint32_t to);
  std::span<const std::uint32_t> links(std::uint32_t way) const { return ways_[way].links; }
  double latency(std::uint32_t way) const { return ways_[way].latency; }  // seconds
  // Bytes per second of a message that has its window to itself, where links are so many times as fast and as
  // long; infinity: without limit.
  double rate(std::uint32_t way, double bandwidth, double latency) const;
  const Lone& lone() const { return lone_; }
  std::size_t link_count() const { return lone_.links().size(); }
  const Link& link(std::uint32_t number) const { return lone_.links()[number]; }

 private:
  struct Way {
    std::vector<std::uint32_t> links;   // that are shared
    double latency, bandwidth, window;  // window: bytes per second
  };
  Lone lone_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Way> ways_;
};

class Sharing {
 public:
  // Bandwidth and latency: so many times the run's.
  Sharing(const Ways& ways, double bandwidth, double latency);

  // `message`: a small number. `changed` is called with those messages whose rate becomes another one.
  template <class F>
  void begin(std::uint32_t message, std::uint32_t way, double now, double left, F&& changed) {
    if (loads_.size() <= message) loads_.resize(message + 1);
    loads_[message] = {.way = way, .left = left, .rate = 0, .since = now};
    for (const std::uint32_t link : ways_.links(way)) on_[link].push_back(message);
    if (ways_.links(way).empty()) share(message, now, changed);
    share_links(way, now, changed);
  }
  template <class F>
  void end(std::uint32_t message, double now, F&& changed) {
    Load& load = loads_[message];
    settle(load, now);
    for (const std::uint32_t link : ways_.links(load.way)) std::erase(on_[link], message);
    share_links(load.way, now, changed);
  }
  // What it has still to carry.
  double left(std::uint32_t message) const { return loads_[message].left; }
  // When it is through, if nothing changes.
  double end_of(std::uint32_t message) const {
    const Load& load = loads_[message];
    return load.left > 0 ? load.since + load.left / load.rate : load.since;
  }

 private:
  struct Load {
    std::uint32_t way = 0;
    double left = 0, rate = 0, since = 0;
  };
  static void settle(Load& load, double now) {
    load.left -= load.rate * (now - load.since);
    load.since = now;
  }
  double rate_of(std::uint32_t way) const;
  template <class F>
  void share(std::uint32_t message, double now, F&& changed) {
    Load& load = loads_[message];
    const double rate = rate_of(load.way);
    if (rate == load.rate) return;
    settle(load, now);
    load.rate = rate;
    changed(message);
  }
  template <class F>
  void share_links(std::uint32_t way, double now, F&& changed) {
    for (const std::uint32_t link : ways_.links(way)) {
      for (const std::uint32_t message : on_[link]) share(message, now, changed);
    }
  }

  const Ways& ways_;
  double bandwidth_, latency_;
  std::vector<Load> loads_;
  std::vector<std::vector<std::uint32_t>> on_;  // by link: the messages
};

}  // namespace psim::analysis
