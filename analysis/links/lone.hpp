// How long a message takes if no other node sends: the latency of its way, plus its bytes at the bandwidth of
// its narrowest link or of its window, whichever is smaller.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"

namespace psim::analysis {

// One direction of a link; of a platform file perhaps both.
struct Link {
  std::string name;        // "worker 3 up"
  double bandwidth = 0;    // bytes per second; infinity: no limit
  double latency = 0;      // seconds
  bool is_shared = false;  // false: every message has the whole bandwidth
};

class Lone {
 public:
  // Throws Unverifiable for a run whose record has no links.
  explicit Lone(const RunRecord& run);

  const std::vector<Link>& links() const { return links_; }
  // The links that a message crosses, in order; empty if no message took this way.
  std::vector<std::uint32_t> way(std::uint32_t from, std::uint32_t to) const;
  double latency(std::uint32_t from, std::uint32_t to) const;  // seconds
  // Seconds, in addition to the latency.
  double transfer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;
  double window() const { return window_; }  // bytes on their way at the same time; infinity: no limit

 private:
  struct Hop {
    std::int64_t position;
    std::uint32_t link;
  };
  using Hops = std::vector<Hop>;
  static void add(const std::map<std::uint32_t, Hops>& hops, std::uint32_t node, Hops& way);
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  std::vector<Link> links_;
  std::map<std::uint32_t, Hops> from_, to_;  // links that all messages of a node cross
  std::map<std::pair<std::uint32_t, std::uint32_t>, Hops> between_;
  double window_ = unlimited;  // bytes
};

}  // namespace psim::analysis
