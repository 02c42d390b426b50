// How messages share links at the same time. Each link is shared equally. A message is as fast as its share
// of the fullest link on its way, and no faster than alone.
//
// Decisions:
// - The load of a message is not its bytes. It is the amount that the message would have carried under this
//   rule between its dates in the run. So the load includes turns and everything else that made the message
//   slower or faster than the rule, and with unchanged dates the message takes exactly as long as in the run.
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
  explicit Ways(Lone lone) : lone_(std::move(lone)), messages_(lone_.links().size(), 0) {}

  // The number of the way (small, without gaps). Counts one message on it.
  std::uint32_t number_of(std::uint32_t from, std::uint32_t to);
  // The link of the way with the most messages; without links: a number that no other way has.
  std::uint32_t busiest(std::uint32_t way) const;
  std::span<const std::uint32_t> links(std::uint32_t way) const { return ways_[way].links; }
  double latency(std::uint32_t way) const { return ways_[way].latency; }  // seconds
  // Bytes per second of a message alone, with bandwidths and latencies multiplied by these factors; infinity:
  // no limit.
  double rate(std::uint32_t way, double bandwidth, double latency) const;
  std::size_t link_count() const { return lone_.links().size(); }
  std::size_t way_count() const { return ways_.size(); }
  const Link& link(std::uint32_t number) const { return lone_.links()[number]; }

 private:
  struct Way {
    std::vector<std::uint32_t> links;   // that are shared
    double latency, bandwidth, window;  // window: bytes per second
  };
  Lone lone_;
  std::vector<std::uint64_t> messages_;  // by link
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
  std::vector<Way> ways_;
};

class Sharing {
 public:
  // `bandwidth`, `latency`: factors for those of the run.
  Sharing(const Ways& ways, double bandwidth, double latency);

  // `message`: its number, small and without gaps. `left`: its load.
  void begin(std::uint32_t message, std::uint32_t way, double now, double left);
  void end(std::uint32_t message, double now);
  // The remaining load.
  double left(std::uint32_t message) const { return loads_[message].left; }

  // Among messages with the same busiest link: the message that ends first if nothing changes.
  struct Next {
    std::uint32_t message = 0;
    double at = 0;  // seconds
  };
  // Calls `f` with each busiest link whose messages have changed since the last call, and the next message to
  // end there. In an incast a link has a thousand messages, and each change affects all of them. Announcing
  // every end would cost a thousand times as much.
  template <class F>
  void each_changed(F&& f) {
    for (const std::uint32_t link : changed_) {
      is_changed_[link] = false;
      const std::vector<std::uint32_t>& messages = by_busiest_[link];
      if (messages.empty()) continue;
      Next next{messages.front(), end_of(messages.front())};
      for (const std::uint32_t message : messages) {
        if (const double at = end_of(message); at < next.at) next = {message, at};
      }
      f(link, next);
    }
    changed_.clear();
  }
  // The range of the numbers that `each_changed` calls links.
  std::size_t link_count() const { return by_busiest_.size(); }

 private:
  struct Load {
    std::uint32_t way = 0;
    double left = 0, rate = 0, since = 0;
  };
  static void settle(Load& load, double now) {
    load.left -= load.rate * (now - load.since);
    load.since = now;
  }
  double end_of(std::uint32_t message) const {
    const Load& load = loads_[message];
    return load.left > 0 ? load.since + load.left / load.rate : load.since;
  }
  double rate_of(std::uint32_t way) const;
  void changes(std::uint32_t way);
  void share(std::uint32_t message, double now);
  void share_links(std::uint32_t way, double now);

  const Ways& ways_;
  double bandwidth_, latency_;
  std::vector<Load> loads_;
  std::vector<std::vector<std::uint32_t>> on_, by_busiest_;  // by link: the messages
  std::vector<std::uint32_t> changed_;
  std::vector<bool> is_changed_;  // by link
};

}  // namespace psim::analysis
