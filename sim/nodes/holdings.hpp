// The samples of the training set that a worker holds, where they do not come to it for free
// (recovery.data_from).
//
// Decisions:
// - Who is there at first holds its part: its shard, and its share of the shards of those who are absent
// where
//   lost_data = "reassign". With iid samples every worker may see every sample, so its part is all of them.
// - Who joins, or comes back from a crash, holds nothing. It asks for its part, and its first step waits for
//   it. Whoever gets a larger part when another is gone asks for what it lacks, and its next step waits.
// - With data_from = "database" all comes from the node that holds the training set. With "workers" it comes
//   from those who held it when the asker was not there: each sends what it had; of iid samples each sends an
//   equal share. What no worker holds comes from the database.
// - A worker sends samples beside its computing, also after it has left. It keeps samples that it has to give
//   up until who takes part has changed once more.
// - A holder that does not answer before the first repetition is not asked again: the database is. One that
//   lacks a sample says so.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/nodes/job_context.hpp"
#include "sim/nodes/requests.hpp"

namespace psim {

class Holdings {
 public:
  Holdings(JobContext& job, NodeId worker, Requests& requests);

  // The worker's part, given who takes part (empty: everybody): asks for what it lacks of it.
  void need(const std::vector<bool>& members);
  void on(NodeId from, const Samples& answer);
  bool is_complete() const { return open_.empty(); }
  // Another worker asks for samples. Runs in the simulation kernel.
  void serve(const Message& message) const;

 private:
  using Ids = std::vector<std::uint32_t>;
  bool moves() const;
  std::vector<bool> part_of(std::uint32_t worker, const std::vector<bool>& members) const;
  void ask_workers(std::vector<bool>& missing, const std::vector<bool>& holders);
  void ask(NodeId node, Ids samples);
  void fetch(std::int64_t number, NodeId node, const SharedKeys& samples);

  JobContext& job_;
  NodeId node_;
  std::uint32_t index_;
  Requests& requests_;
  std::vector<bool> members_;        // with which the part was found; empty: not yet
  std::vector<bool> held_, needed_;  // by sample
  std::int64_t asked_ = 0;
  std::map<std::int64_t, SharedKeys> open_;  // requests, by number
};

}  // namespace psim
