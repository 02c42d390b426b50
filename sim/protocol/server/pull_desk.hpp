// Takes the pulls of one shard, and answers those that are due (waiting_pulls.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/protocol/message.hpp"
#include "sim/protocol/server/shard_context.hpp"
#include "sim/protocol/server/waiting_pulls.hpp"

namespace psim {

// Where workers run the optimizer, a server has the sum of the last update, but no weights. A worker may be
// more than one update behind, because it was down or its server has lost the sum. Then it needs another
// worker's copy: that worker's weights and the state of its optimizer. The server asks one worker after the
// other for a copy. If no worker has a copy of this version, the version is lost, and training continues with
// the first weights. Pure: dates come from outside.
class CopySearch {
 public:
  explicit CopySearch(double timeout) : timeout_(timeout) {}

  // The server has a copy of this version; null: for a phantom model.
  void put(std::int64_t version, std::shared_ptr<const Parameters> copy) {
    version_ = version;
    copy_ = std::move(copy);
    asks_ = false;
  }
  bool has(std::int64_t version) const { return version_ == version; }
  const std::shared_ptr<const Parameters>& copy() const { return copy_; }

  // Worker number `worker` will never have a copy of version `version`.
  void is_without(std::uint32_t worker, std::int64_t version) {
    look_for(version);
    without_.insert(worker);
  }
  bool is_known_without(std::uint32_t worker) const { return without_.contains(worker); }

  // Begins or continues the search for this version.
  void look_for(std::int64_t version) {
    if (std::exchange(wanted_, version) == version) return;
    asked_.clear();
    without_.clear();
    asks_ = false;
  }
  // Whether the server may ask this worker now; the previous one may still answer.
  bool may_ask(std::uint32_t worker, double now) {
    if (asks_ && now < date_ + timeout_) return false;
    return !asked_.contains(worker);
  }
  void ask(std::uint32_t worker, double now) {
    asked_.insert(worker);
    asks_ = true;
    date_ = now;
  }
  // The last worker that was asked has answered.
  void answered() { asks_ = false; }
  // The server has asked all workers: it starts over at the next turn.
  void begin_anew(double now) {
    if (now >= date_ + timeout_) asked_.clear();
    asks_ = true;
  }
  std::optional<double> next_turn() const { return asks_ ? std::optional(date_ + timeout_) : std::nullopt; }

 private:
  double timeout_;
  std::int64_t version_ = -1, wanted_ = -1;
  std::shared_ptr<const Parameters> copy_;
  std::set<std::uint32_t> asked_, without_;
  bool asks_ = false;  // an answer or the next turn is still to come
  double date_ = 0;    // of the last question
};

// Where workers run the optimizer: which pulls need another worker's copy, and the search for one.
class WorkerCopies {
 public:
  // `is_on`: workers run the optimizer, and may get lost. `timeout`: seconds until the next worker is asked.
  WorkerCopies(bool is_on, double timeout) : is_on_(is_on), search_(timeout) {}

  // Whether this pull's worker needs a copy: it lacks this version, and the last update's sum is not enough.
  bool needs(const Pull& pull, const ShardState& state) const;
  // Puts into the answer the data that bring the worker to this version: a copy, a sum, or nothing.
  void fill(Answer& answer, const Pull& pull, const ShardState& state) const;

  // Looks for a copy of this version, and asks a worker for its copy when that worker is next. When no worker
  // is left that may have a copy, training continues with the first weights.
  enum class Found : std::uint8_t { here, not_yet, first_weights };
  Found find(const WaitingPulls& pulls, const ShardContext& shard);
  // A worker's answer. Returns whether this server searches for copies at all.
  bool take(NodeId from, const State& state, const ShardContext& shard);
  // The shard continues from this worker's copy: all its other data are lost.
  void adopt(const State& copy, ShardState& state);
  void forget() { search_.put(-1, nullptr); }

  // The date when the next worker is asked; none: this server searches for no copy.
  std::optional<double> next_turn() const { return search_.next_turn(); }

 private:
  bool may_have_copy(std::uint32_t worker, const WaitingPulls& pulls, const ShardState& state) const;

  bool is_on_;
  CopySearch search_;
};

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
