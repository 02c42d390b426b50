// Why a run took as long as it did: its critical path, who held up whom, how stale gradients were, and two or
// three sentences about that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/causes/main_cause.hpp"
#include "analysis/causes/path.hpp"
#include "analysis/links/links.hpp"

namespace psim::analysis {

// Finds the moment where the critical path of a run ends.

// The time that psim explains: until the end of the run, its target, or a date in seconds.
struct Until {
  enum class What : std::uint8_t { end, target, date } what = What::end;
  double date = 0;
};

// The moment that ends the critical path up to `date`; CausalGraph::none if nothing had happened. `jobs`: of
// a run with several jobs.
std::uint32_t end_of(const CausalGraph& graph, double date, const Json& summary, const std::vector<Job>& jobs,
                     Until::What what);

// How stale the gradients of a run were.

// Ages: seconds from when a server sends weights until it applies the gradient of these weights. Torn:
// computations on shards of unequal versions.
struct StalenessCost {
  std::int64_t applied = 0, computations = 0, torn = 0,
               widest = 0;  // widest: largest difference of versions within one model
  double age_mean = 0, age_max = 0, updates_mean = 0;
};

// Computes staleness from the moments: the weights that each worker computes on, and when they left their
// server.
class StalenessBook {
 public:
  explicit StalenessBook(const CausalGraph& graph) : graph_(graph) {}
  void on(const Moment& moment) {
    if (moment.is<Sent>(MessageKind::weights)) left_[{moment.shard, moment.peer, moment.version}] = moment.at;
    if (moment.is<Received>(MessageKind::weights)) here_[moment.node][moment.shard] = moment.version;
    if (moment.is_step(ComputePhase::begun)) on_step(moment);
    if (moment.is(Outcome::applied)) on_applied(moment);
  }
  StalenessCost cost() const {
    StalenessCost cost = cost_;
    if (cost.applied > 0) cost.age_mean /= static_cast<double>(cost.applied);
    if (outcomes_ > 0) cost.updates_mean /= static_cast<double>(outcomes_);
    return cost;
  }

 private:
  void on_step(const Moment& moment) {
    const auto& shards = here_[moment.node];
    ++cost_.computations;
    if (shards.empty()) return;
    const auto [least, most] =
        std::ranges::minmax_element(shards, {}, [](const auto& one) { return one.second; });
    cost_.torn += least->second != most->second ? 1 : 0;
    cost_.widest = std::max(cost_.widest, most->second - least->second);
  }
  void on_applied(const Moment& moment) {
    ++outcomes_;
    cost_.updates_mean += static_cast<double>(moment.staleness);
    const auto left = left_.find({moment.shard, moment.peer, moment.version});
    if (left == left_.end()) return;
    const double age = moment.at - left->second;
    ++cost_.applied;
    cost_.age_mean += age;
    cost_.age_max = std::max(cost_.age_max, age);
  }

  const CausalGraph& graph_;
  StalenessCost cost_;
  std::int64_t outcomes_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, double> left_;  // shard, worker, version
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> here_;            // worker, shard: version
};

struct Share {
  std::uint32_t node = 0;
  Kind kind = Kind::idle;
  double seconds = 0;
};

// How much later the computations of a worker (the updates of a server) could have ended. `least`, `median`:
// seconds, over those that the end of the run depends on.
struct NodeSlack {
  std::uint32_t node = 0;
  std::int64_t moments = 0, on_path = 0, without_effect = 0;
  double least = 0, median = 0;
};

// How the messages of the path spent their time, in seconds: latency, transfer as if each had its links
// alone, the extra time from shared links, and the rest at senders and receivers.
struct NetworkTime {
  double latency = 0, alone = 0, sharing = 0, rest = 0;
};

struct Explanation {
  Until until;
  double total = 0;  // simulated seconds from the start
  MainCause main_cause;
  std::vector<std::string> sentences;
  std::vector<PathPiece> path;
  std::vector<std::string> causes;  // of the pieces
  std::vector<Share> shares;        // of the path, most first; their sum is the total
  std::vector<WaitTotal> waits;
  std::vector<NodeSlack> slack;
  StalenessCost staleness;
  NetworkTime network;
  std::vector<LinkUse> links;  // the links that were full the longest, at most eight; over the whole run
};

// Throws Unverifiable for a run without events, and for a target that the run did not reach.
Explanation explain(const RunRecord& record, Until until = {});
// The same, with the graph of the run.
Explanation explain(const RunRecord& record, const CausalGraph& graph, Until until = {});

// For people. `width`: columns of the terminal.
std::string text(const Explanation& why, const Facts& facts, std::size_t width);
// "psim.why/1"
Json document(const Explanation& why, const Facts& facts);
// The part that a study keeps: {"total_s", "verdict", "by_kind", "sentence"}.
Json short_document(const Explanation& why, const Facts& facts);

}  // namespace psim::analysis
