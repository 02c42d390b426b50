// The causal graph of a run: every event that did something is a moment, and each moment knows its causes,
// which are moments too. So a path leads from the end of the run back to its start.
//
// Decisions:
// - The record has the cause of each event, and the other events that it needed (docs/tables.md). The graph
//   is read, not inferred.
// - One cause is binding: the cause that came last. The other causes came earlier; they matter for the
//   question what would have happened without the binding cause.
// - An edge goes from an effect to its cause, and a cause has a smaller number than its effect. So the graph
//   has no cycles, and one loop over the numbers visits everything in order.
// - A moment without a type is no event of the record: it is the date when the pushes of all workers for a
//   clock were applied.
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/run_record.hpp"
#include "sim/protocol/cause.hpp"

namespace psim::analysis {

// How the time between a cause and its effect was spent.
using Kind = Spent;
inline constexpr const auto& kind_names = spent_names;
constexpr std::string_view name_of(Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

struct Cause {
  Kind kind = Kind::idle;
  double least = 0;  // least seconds from the cause to the effect; for a binding cause the exact seconds
};

using Moments = boost::compressed_sparse_row_graph<boost::directedS, Moment, Cause, boost::no_property,
                                                   std::uint32_t, std::uint32_t>;

struct CausalGraph {
  static constexpr std::uint32_t none = ~0U;
  Moments moments;  // out-edges lead to causes, the binding one first
  // By message number: the moment of its sending; none: not sent, or not kept.
  std::vector<std::uint32_t> sent;

  std::size_t size() const { return num_vertices(moments); }
};

// Throws Unverifiable.
CausalGraph causal_graph(const RunRecord& record);

// Builds the causal graph from the events of a run, in their order. Each row names the event that caused it.
class CauseBuilder {
 public:
  // `database`: the run's, for the tables that hold no events.
  explicit CauseBuilder(const InputDatabase& database);
  void on(const Row& row);
  CausalGraph graph() &&;

 private:
  using Id = std::uint32_t;
  static constexpr Id none = CausalGraph::none;

  std::vector<Id> needs_of(const Row& row);
  void after(Id need, const Row& row);
  double work_of(Id arrival, std::uint32_t node) const;
  void take_work(const Row& row);
  void give_work(const Row& row);
  // The moment when all pushes of a clock were applied to a shard.
  Id all_through(std::uint32_t shard, std::int64_t clock);
  // Adds the moment with the edges in `next_`.
  Id add(const Moment& moment);
  Id moment_of(std::int64_t event) const;
  static void set(std::vector<Id>& by_number, std::int64_t number, Id id);

  InputRows needs_;  // not read yet
  bool has_need_ = false;
  std::map<std::pair<std::uint32_t, std::int64_t>, double> work_;  // by node and message, in seconds
  // Arrivals of the pushes in the next update of a shard, once the server has worked on them.
  struct Pushes {
    std::set<Id> arrivals;
    double work = 0;  // seconds
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Pushes> pushes_;  // by server and shard
  std::vector<Moment> moments_;
  std::vector<std::pair<Id, Cause>> next_;  // of the moment to be added
  std::vector<std::pair<Id, Id>> ends_;
  std::vector<Cause> causes_;
  std::vector<Id> of_event_, sent_;                      // by number of the event, of the sending
  using Clock = std::pair<std::uint32_t, std::int64_t>;  // of a shard
  std::map<Clock, std::vector<Id>> applied_;
  std::map<Clock, Id> all_through_;
};

}  // namespace psim::analysis
