// What set the pace of a run: one cause, the nodes that it is about, and the seconds of the critical path
// that it took.
//
// Each stretch of the path is somebody's. A computation is its worker's, up to what such a computation
// typically takes; what it took beyond that is a slow worker's, or chance's, if many workers share it. A
// message's time is its latency's, its ends', a fault's, and that of the link that was the narrowest of its
// way or, where its links are equally wide, of the one that was full. What is the same for all, computing as
// long as everybody, links as wide as all of their kind, counts a fifth: it is the cause only where nothing
// that is out of the ordinary takes a fifth as long.
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
  storage
};
struct SuspectDoc {
  std::string_view name;   // in --json
  std::string_view label;  // as a part of a sentence
  std::string_view doc;
};
inline constexpr auto suspects = std::to_array<SuspectDoc>({
    {"worker-compute", "computing",
     "Computing: of workers that are slower than the others, or of all workers alike."},
    {"random-compute", "computing beyond a typical step",
     "Steps of unequal length, now of one worker, now of another."},
    {"worker-link", "the links of workers", "The links of workers."},
    {"server-link", "the links of servers", "The links of servers."},
    {"uplink", "links that nodes share", "A link that nodes share, for example of a rack."},
    {"latency", "latency", "The time until a message's first byte is there."},
    {"tcp-window", "the TCP window",
     "The bytes that a connection may have on their way: cluster.network.tcp_window."},
    {"endpoint", "the senders' and receivers' work on messages",
     "What a message costs its sender and its receiver."},
    {"server-work", "the servers' work on messages", "The work of servers on messages."},
    {"barrier", "waiting for dates", "A date that an update waits for: a window or a deadline."},
    {"fault", "faults, and the recovery from them", "A fault, and the recovery from it."},
    {"startup", "starting nodes", "Nodes that take time to start."},
    {"scheduler", "the scheduler", "The scheduler answered late, or not at all."},
    {"storage", "the storage", "Reading from the storage node, and writing to it."},
});
static_assert(suspects.size() == static_cast<std::size_t>(Suspect::storage) + 1);
constexpr const SuspectDoc& doc_of(Suspect suspect) { return suspects[static_cast<std::size_t>(suspect)]; }
constexpr std::string_view name_of(Suspect suspect) { return doc_of(suspect).name; }
// Of the one with this name; null: there is none.
constexpr const SuspectDoc* suspect_called(std::string_view name) {
  const auto found = std::ranges::find(suspects, name, &SuspectDoc::name);
  return found == suspects.end() ? nullptr : &*found;
}

struct MainCause {
  Suspect kind = Suspect::worker_compute;
  std::vector<std::uint32_t> nodes;   // rising; none: it is about no node
  double seconds = 0;                 // of the critical path
  std::string link;                   // the name of the link, where it is about one
  std::optional<FaultInForce> fault;  // the first one of its [[fault]]
  std::int64_t faults = 0;            // of that [[fault]]: how often it happened
  bool is_even = false;               // computing: no worker is slower than the others
  std::map<Suspect, double> by_kind;  // seconds of the path that each kind of cause took
};

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<PathPiece>& path,
                        const Bottlenecks& bottlenecks, const Traffic& traffic, const FaultBook& faults,
                        double total);

}  // namespace psim::analysis
