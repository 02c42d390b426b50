// How long a message takes where nobody else sends: the latency of its way, and its bytes at the bandwidth of
// its narrowest link or its window's, whichever is less.
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
  double bandwidth = 0;    // bytes per second; infinity: without limit
  double latency = 0;      // seconds
  bool is_shared = false;  // or every message has the whole bandwidth
};

class Lone {
 public:
  // Throws Unverifiable for a run that tells no links.
  explicit Lone(const RunRecord& run);

  const std::vector<Link>& links() const { return links_; }
  // Those that a message crosses, in this order; empty if no message ever did.
  std::vector<std::uint32_t> way(std::uint32_t from, std::uint32_t to) const;
  double latency(std::uint32_t from, std::uint32_t to) const;                        // seconds
  double transfer(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;  // likewise, beside it
  double window() const { return window_; }  // bytes on their way at once; infinity: without limit

 private:
  struct Hop {
    std::int64_t position;
    std::uint32_t link;
  };
  using Hops = std::vector<Hop>;
  static void add(const std::map<std::uint32_t, Hops>& hops, std::uint32_t node, Hops& way);
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  std::vector<Link> links_;
  std::map<std::uint32_t, Hops> from_, to_;  // what all messages of a node cross
  std::map<std::pair<std::uint32_t, std::uint32_t>, Hops> between_;
  double window_ = unlimited;  // bytes
};

}  // namespace psim::analysis
