// How each message spent its time, which links were full, and whose messages filled them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/run_record.hpp"

namespace psim::analysis {

// How long a message takes if no other node sends: the latency of its way, plus its bytes at the bandwidth of
// its narrowest link or of its window, whichever is smaller.

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

// The transfer of a message to its receiver. received - sent = latency + alone + sharing + rest.
struct Transfer {
  std::int64_t message = 0;  // the number of its sending
  std::uint32_t from = 0, to = 0;
  std::uint64_t bytes = 0;
  bool is_lost = false;               // not arrived: `received` is the date of the loss, and sharing is 0
  double sent = 0, received = 0;      // dates, in seconds
  double on_wire = 0;                 // date when it enters the links
  double begin = 0, end = 0;          // dates of its bytes on the links, after the latency
  double latency = 0, alone = 0;      // seconds
  double sharing = 0;                 // seconds lost to other messages, or to a fault of a link
  double rest = 0;                    // at its sender, at its receiver, and from a delay fault
  double late_from = 0, late_to = 0;  // seconds of `rest` that profiles of both nodes' latencies add
};

// All messages of a run, read once.
struct Traffic {
  Traffic(const RunRecord& run, const Rates& rates);

  Lone lone;
  std::vector<Transfer> transfers;  // arrived or lost, in order of that date
};

struct LinkUse {
  struct Sender {
    std::uint32_t node;
    std::uint64_t bytes;
  };
  Link link;
  std::uint64_t messages = 0, bytes = 0;
  double busy = 0;              // seconds with bytes of at least one message on the link
  double use_while_busy = 0;    // bytes, divided by its capacity in that time
  double use = 0;               // bytes, divided by its capacity in the whole run
  std::vector<Sender> senders;  // the three nodes that sent the most through it, in order
  // Times (from, to) in which it carried at least `full_share` of its bandwidth, in seconds. An estimate: it
  // assumes that every message spreads its bytes evenly over its transfer, but a message is faster while it
  // has a link alone.
  std::vector<std::pair<double, double>> full;
  double full_seconds() const;
};
inline constexpr double full_share = 0.95;

// All links that carried anything, in the order of table `link`. Acknowledgements
// (cluster.network.cross_traffic) do not count. A lost message counts with the bandwidth that other messages
// left it until then: a link never carries more than its capacity. `until`: the end of the run, in seconds.
// `left`: the share of a link's bandwidth that faults and profiles leave between two dates; empty: all.
using BandwidthLeft = std::function<double(std::uint32_t link, double from, double to)>;
std::vector<LinkUse> links_of(const Traffic& traffic, double until, const BandwidthLeft& left = {});

// The owners of each link: one node, the nodes of a host, or none.
class LinkOwners {
 public:
  // `rates` must outlive this object.
  LinkOwners(const RunRecord& record, const Traffic& traffic, const Rates& rates);

  // Nodes, ascending; empty: no owner.
  const std::vector<std::uint32_t>& of(std::uint32_t link) const { return owners_[link]; }
  // The share of the bandwidth that faults and profiles left in [from, to].
  double left(std::uint32_t link, double from, double to) const;

 private:
  const Rates& rates_;
  std::vector<std::vector<std::uint32_t>> owners_;  // by link
};

}  // namespace psim::analysis
