// Takes the pulls of one shard, and answers those that are due (waiting_pulls.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/protocol/server/shard_context.hpp"
#include "sim/protocol/server/waiting_pulls.hpp"
#include "sim/protocol/server/worker_copies.hpp"

namespace psim {

class PullDesk {
 public:
  explicit PullDesk(WorkerCopies copies) : copies_(std::move(copies)) {}

  const WaitingPulls& pulls() const { return pulls_; }
  WorkerCopies& copies() { return copies_; }
  const WorkerCopies& copies() const { return copies_; }

  // Adds a worker's pull to the waiting ones. Returns false if this server does not know its keys, or a newer
  // pull has overtaken it: then the pull counts as lost.
  bool put(std::uint32_t worker, const Pull& pull, const ShardState& state);
  // Handles what the pull says about its worker: the worker has returned, or pushes are lost that only a
  // former owner had. The worker then continues from this server's state.
  void reconcile(std::uint32_t worker, const Pull& pull, const ShardContext& shard);
  // A push or a pull of this worker says that the worker's pushes before this number are lost.
  void skip_lost(std::uint32_t worker, std::int64_t oldest_resendable, const ShardContext& shard);
  // Pushes of this worker have arrived.
  void note_arrivals(std::uint32_t worker, const ShardState& state) { pulls_.note_arrivals(worker, state); }
  // Notes that the worker has finished, if it will not push again.
  void note_finished(std::uint32_t worker, ShardState& state) const {
    if (pulls_.has_finished(worker, state)) state.workers.finish(worker);
  }

  // Answers the worker's pull if it is due. answer_all: answers all due pulls.
  void answer(std::uint32_t worker, const ShardContext& shard);
  void answer_all(const ShardContext& shard);
  // A node that is not a worker only reads. It is answered at once under every model, and no worker waits for
  // it.
  static void answer_reader(NodeId reader, const Pull& pull, const ShardContext& shard);
  // Whether the answer waits for another worker's copy, and this server searches for that copy.
  bool looks_for_copy(const Pull& pull, const ShardState& state) const {
    return copies_.needs(pull, state) && copies_.next_turn().has_value();
  }
  bool restart_steps(const ShardContext& shard) { return pulls_.restart_steps(shard.state, shard.now); }

  // The worker takes no part any more.
  void erase(std::uint32_t worker) { pulls_.erase(worker); }
  void clear() {
    pulls_.clear();
    known_keys_.clear();
  }

 private:
  WaitingPulls pulls_;
  std::vector<KeyMemory> known_keys_;  // by worker: of its pulls in this epoch
  WorkerCopies copies_;
};

}  // namespace psim
