// Builds the causal graph from the events of a run, in their order. Each row names the event that caused it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"
#include "analysis/database.hpp"

namespace psim::analysis {

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
  std::uint16_t word(std::string_view text);

  Query needs_;  // not read yet
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
  std::vector<std::string> words_{""};
  std::vector<Id> of_event_, sent_;                      // by number of the event, of the sending
  using Clock = std::pair<std::uint32_t, std::int64_t>;  // of a shard
  std::map<Clock, std::vector<Id>> applied_;
  std::map<Clock, Id> all_through_;
};

}  // namespace psim::analysis
