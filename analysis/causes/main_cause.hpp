// The main cause of the length of a run: its kind, its nodes, and its seconds on the critical path.
//
// Each piece of the path has a cause. The record knows what each step takes at its machine's usual speed, and
// which factor chance drew. So a computation is even up to what the clock's median worker needs; a worker
// with more work or a slower machine is slow; and what chance adds is random. The time of a message is split
// into latency, work at both ends, faults, and one link: the narrowest link of the way or, among equally wide
// links, the link that was full. Whatever is the same for all nodes (even computing, equally wide links) has
// a weight of one fifth: it is the main cause only if no unusual cause takes a fifth of its time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/fault_book.hpp"
#include "analysis/causes/graph.hpp"
#include "analysis/causes/path.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

// The links that a message crosses: their owners, and the link that limited the message.
class Bottlenecks {
 public:
  // `uses`: for every link that carried anything.
  Bottlenecks(const Facts& facts, const Rates& rates, const LinkOwners& owners, const Traffic& traffic,
              const std::vector<LinkUse>& uses, double until);

  enum class Owner : std::uint8_t { worker, server, scheduler, nobody };  // nobody: nodes share it
  struct Bottleneck {
    const Link* link;
    Owner owner;
    std::uint32_t node;  // the owner of the link; without an owner: a node whose message crosses it
    double by_window;    // seconds that the window added to the time on the links
    bool is_even;        // the link is as wide as all links of its kind
  };
  // The narrowest link of the message's way, with the bandwidth that faults and profiles left. Among equally
  // narrow links: the link that was full the longest. None: no links are known.
  std::optional<Bottleneck> of(const Transfer& message) const;
  // The node whose link has the largest latency of the way; the sender, if that link has no owner.
  std::uint32_t farthest(const Transfer& message) const;
  // For the own link of each node, with the least bandwidth that faults and profiles left: 1 / bandwidth, and
  // the seconds to carry all its bytes at that bandwidth.
  struct Burdens {
    std::map<std::uint32_t, double> narrowness, seconds;
  };
  Burdens burdens(Owner owner) const;

 private:
  Owner owner_of(std::uint32_t link) const;
  Owner role_of(std::uint32_t node) const;
  // The single owner; none: no owner, or several.
  std::optional<std::uint32_t> owning(std::uint32_t link) const;
  void find_main_users(const Traffic& traffic);

  const Facts& facts_;
  const Rates& rates_;
  const LinkOwners& owners_;
  const Lone& lone_;
  std::vector<double> bytes_;                                 // by link
  std::vector<std::vector<std::pair<double, double>>> full_;  // by link: from when to when it was full
  std::map<std::uint32_t, std::uint32_t> main_user_;          // of the links of hosts
  std::map<Owner, double> widest_;                            // bytes per second
  double until_;                                              // seconds
};

enum class Suspect : std::uint8_t {
  worker_compute,
  random_compute,
  worker_link,
  server_link,
  uplink,
  latency,
  tcp_window,
  endpoint,
  server_work,
  filters,
  bus,
  barrier,
  fault,
  startup,
  scheduler,
  storage,
  stuck
};
struct SuspectDoc {
  std::string_view name;   // in --json
  std::string_view label;  // for use within a sentence
  std::string_view doc;
};
inline constexpr auto suspects = std::to_array<SuspectDoc>({
    {"worker-compute", "computing",
     "Computing: of workers that are slower than the others, or of all workers alike."},
    {"random-compute", "computing beyond a typical step", "Steps of unequal length, by changing workers."},
    {"worker-link", "the links of workers", "The links of workers."},
    {"server-link", "the links of servers", "The links of servers."},
    {"uplink", "links that nodes share", "A link that nodes share, for example of a rack."},
    {"latency", "latency", "The time until the first byte of a message arrives."},
    {"tcp-window", "the TCP window",
     "The limit of bytes on their way in one connection: cluster.network.tcp_window."},
    {"endpoint", "the senders' and receivers' work on messages",
     "The work of senders and receivers on a message."},
    {"server-work", "the servers' work on messages", "The work of servers on messages."},
    {"filter-work", "the filters' work on messages", "The work of workers that filter their messages."},
    {"bus", "copies between hosts and devices",
     "Copies between hosts and their devices, over the machines' buses."},
    {"barrier", "pauses until a set date",
     "A date that an update waits for: a window, a deadline or a grace."},
    {"fault", "faults, and the recovery from them", "A fault, and the recovery from it."},
    {"startup", "starting nodes", "Nodes that take time to start."},
    {"scheduler", "the scheduler", "The scheduler answered late, or not at all."},
    {"storage", "the storage", "Reading from the storage node, and writing to it."},
    {"stuck", "waiting for what never came",
     "The run got stuck: nodes waited for something that never came."},
});
static_assert(suspects.size() == static_cast<std::size_t>(Suspect::stuck) + 1);
constexpr const SuspectDoc& doc_of(Suspect suspect) { return suspects[static_cast<std::size_t>(suspect)]; }
constexpr std::string_view name_of(Suspect suspect) { return doc_of(suspect).name; }
// The suspect with this name, or null.
constexpr const SuspectDoc* suspect_called(std::string_view name) {
  const auto found = std::ranges::find(suspects, name, &SuspectDoc::name);
  return found == suspects.end() ? nullptr : &*found;
}

struct MainCause {
  Suspect kind = Suspect::worker_compute;
  std::vector<std::uint32_t> nodes;                // ascending; empty: no node in particular
  double seconds = 0;                              // of the critical path
  std::string link;                                // its name, if the cause is one link
  std::optional<FaultInForce> fault;               // the first one of its [[fault]]
  std::int64_t faults = 0;                         // how often that [[fault]] happened
  std::optional<Rates::Reduction> reduction = {};  // when these nodes were slower, or their links narrower
  bool is_even = false;                            // computing: no worker is slower than the others
  std::map<Suspect, double> by_kind;  // seconds of the path by kind of cause; they add up to its length
  // What each [[fault]] that happened cost, in the order of their numbers.
  struct FaultShare {
    FaultInForce first;
    std::int64_t times = 0;
    double on_path = 0;               // seconds of the critical path
    std::optional<double> cost = {};  // seconds; none: unknown
    std::optional<std::int64_t> updates =
        {};                       // lost ones, if the run ended at the same date without the fault
    std::int64_t of_updates = 0;  // updates without the fault
    double judged = 0;            // of the main cause: seconds of the run that it takes
  };
  std::vector<FaultShare> all_faults = {};
  std::optional<FaultShare> of_fault = {};  // of `fault`, if a fault is the cause itself
};

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<PathPiece>& path,
                        const Bottlenecks& bottlenecks, const Traffic& traffic, const FaultBook& faults,
                        const Rates& rates, double total);

// One cause: its seconds on the critical path of a run, and the nodes that are to blame.

// What is the same for all nodes has this weight.
inline constexpr double even_counts = 0.2;

// Seconds of the path, by node and by link.
struct Account {
  double seconds = 0;
  double even = 0;                                   // part of `seconds`: the same for all nodes
  std::map<std::uint32_t, double> nodes, of_uneven;  // all seconds, and those that are not the same for all
  std::map<std::string, double> links;
  void add(double more, std::uint32_t node, bool is_even = false) {
    if (!(more > 0)) return;
    seconds += more;
    nodes[node] += more;
    if (is_even) even += more;
    else of_uneven[node] += more;
  }
  double score() const { return seconds - (1 - even_counts) * even; }
  // Whether what differs between nodes weighs more than what is the same for all.
  bool is_uneven() const { return seconds - even > even_counts * even; }
  // The fewest nodes that together have nearly all of the seconds that weigh; the largest share first.
  std::vector<std::uint32_t> blamed() const {
    std::vector<std::pair<double, std::uint32_t>> all;
    double whole = 0;
    for (const auto& [node, part] : is_uneven() ? of_uneven : nodes) {
      all.emplace_back(part, node);
      whole += part;
    }
    std::ranges::sort(all, std::ranges::greater{});
    std::vector<std::uint32_t> blamed;
    double sum = 0;
    for (const auto& [part, node] : all) {
      if (sum >= 0.9 * whole) break;
      sum += part;
      blamed.push_back(node);
    }
    std::ranges::sort(blamed);
    return blamed;
  }
  double of(const std::vector<std::uint32_t>& some) const {
    double sum = 0;
    for (const auto& [node, part] : nodes) sum += std::ranges::find(some, node) != some.end() ? part : 0;
    return sum;
  }
  std::string link() const {
    const auto most = std::ranges::max_element(links, {}, [](const auto& one) { return one.second; });
    return most == links.end() ? "" : most->first;
  }
};

// The steps of workers, or their parts, and what made them as long as they were.
class StepBook {
 public:
  StepBook(const RunRecord& record, const CausalGraph& graph);

  struct Step {
    double begin = 0, end = 0;  // dates
    double seconds = 0;         // of computing, without pauses
    // Parts of `seconds`, but for what stopped the machine. even: what the clock's median worker needs;
    // copies: the part of it between host and devices; unequal: more work, or a slower machine; chance: what
    // chance drew.
    double even = 0, copies = 0, unequal = 0, chance = 0;
    double slow() const { return std::max(0.0, seconds - even - copies - unequal - chance); }
  };
  // The step that the node computes at this date; null: none, but for example a filter.
  const Step* at(std::uint32_t node, double date) const;
  // By worker: mean seconds of a step with all its parts; and those of unequal work and a slower machine.
  struct Means {
    std::map<std::uint32_t, double> all, slow;
  };
  const Means& means() const { return means_; }

 private:
  std::map<std::uint32_t, std::vector<Step>> steps_;  // by node, in order
  Means means_;
};

}  // namespace psim::analysis
