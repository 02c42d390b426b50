// The samples of the training set that a worker holds, where samples cost time to move (recovery.data_from).
//
// Decisions:
// - A worker that is present from the beginning holds its part: its share of the data. With lost_data =
//   "reassign" its part also includes a share of the data of absent workers. With iid samples every worker
//   may use every sample, so its part is all samples.
// - A worker that joins, or comes back from a crash, holds nothing. It requests its part, and its first step
//   waits for it. If a worker's part grows because another worker is gone, it requests the missing samples,
//   and its next step waits for them.
// - With data_from = "database" all samples come from the node that holds the training set. With "workers"
//   they come from the workers that held them while the requesting worker was absent. Each of these sends the
//   samples that it held; with iid samples each sends an equal share. The database sends the samples that no
//   worker holds.
// - A worker sends samples in parallel to its computing, also after it has left. It keeps samples that it
//   must give up until the set of members has changed once more.
// - If a holder does not answer before the first repetition, the worker asks the database instead. A holder
//   that lacks a sample says this in its answer.
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

  // Finds the worker's part for these members (empty: all workers), and requests the samples that the worker
  // lacks.
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
  std::vector<bool> members_;        // members of the current part; empty: no part yet
  std::vector<bool> held_, needed_;  // by sample
  std::int64_t asked_ = 0;
  std::map<std::int64_t, SharedKeys> open_;  // open requests, by number
};

}  // namespace psim
