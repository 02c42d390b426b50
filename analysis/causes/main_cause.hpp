// The main cause of the length of a run: its kind, its nodes, and its seconds on the critical path.
//
// Each piece of the path has a cause. A computation counts for its worker up to the typical length of such a
// computation. Time beyond that counts for a slow worker, or for chance if many workers have such time. The
// time of a message is split into latency, work at both ends, faults, and one link: the narrowest link of the
// way or, among equally wide links, the link that was full. Whatever is the same for all nodes (even
// computing, equally wide links) has a weight of one fifth: it is the main cause only if no unusual cause
// takes a fifth of its time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes/bottlenecks.hpp"
#include "analysis/causes/fault_book.hpp"
#include "analysis/causes/path.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

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
    {"barrier", "pauses until a set date", "A date that an update waits for: a window or a deadline."},
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
  std::vector<std::uint32_t> nodes;   // ascending; empty: no node in particular
  double seconds = 0;                 // of the critical path
  std::string link;                   // its name, if the cause is one link
  std::optional<FaultInForce> fault;  // the first one of its [[fault]]
  std::int64_t faults = 0;            // how often that [[fault]] happened
  bool is_even = false;               // computing: no worker is slower than the others
  std::map<Suspect, double> by_kind;  // seconds of the path by kind of cause
};

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<PathPiece>& path,
                        const Bottlenecks& bottlenecks, const Traffic& traffic, const FaultBook& faults,
                        double total);

}  // namespace psim::analysis
