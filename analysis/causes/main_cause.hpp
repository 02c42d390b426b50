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

#include <array>
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
inline constexpr auto suspect_names = std::to_array<std::string_view>(
    {"worker-compute", "random-compute", "worker-link", "server-link", "uplink", "latency", "tcp-window",
     "endpoint", "server-work", "barrier", "fault", "startup", "scheduler", "storage"});
// As parts of sentences.
inline constexpr auto suspect_labels = std::to_array<std::string_view>(
    {"computing", "computing beyond a typical step", "the links of workers", "the links of servers",
     "links that nodes share", "latency", "the TCP window", "what messages cost their senders and receivers",
     "the servers' work on messages", "waiting for dates", "faults, and the recovery from them",
     "starting nodes", "the scheduler", "the storage"});
static_assert(suspect_labels.size() == suspect_names.size());
constexpr std::string_view name_of(Suspect suspect) {
  return suspect_names[static_cast<std::size_t>(suspect)];
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

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<Piece>& path,
                        const Bottlenecks& bottlenecks, const Traffic& traffic, const FaultBook& faults,
                        double total);

}  // namespace psim::analysis
