// A parameter server's state of one shard, and what it does with a message for it. Pure: no SimGrid, no clock
// of its own; a test drives it with a list of messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/protocol/consistency.hpp"
#include "sim/protocol/membership.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/range_clock.hpp"
#include "sim/protocol/replicated_log.hpp"
#include "sim/protocol/retry.hpp"
#include "sim/protocol/shard_weights.hpp"
#include "sim/protocol/start_gate.hpp"
#include "sim/protocol/update_rule.hpp"
#include "sim/protocol/worker_clocks.hpp"

namespace psim {

// Where a server's decisions go.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(Message message) = 0;
  // What was sent before and is not confirmed.
  virtual void send_again(Message message) { send(std::move(message)); }
  // To every other shard, wherever it is.
  virtual void announce(UpdateGroup group) = 0;
  // `staleness`: version when applied less version computed on, in updates.
  virtual void applied(const Push& push, std::int64_t staleness) = 0;
  virtual void dropped(const Push& push) = 0;
  // It has been here before, and counts no second time.
  virtual void duplicate(const Push& push) = 0;
  // Not now: it is for another owner, came before its predecessor, or is of a worker that takes no part. It
  // will come again.
  virtual void refused(const Push& /*push*/) {}
  virtual void updated(std::int64_t version) = 0;
  // A replica has all that this server has.
  virtual void copied(NodeId) {}
  // A worker's standing changes by more than what comes in.
  struct Standing {
    bool member, behind;                   // it takes part; and is not waited for yet
    std::int64_t applied, arrived, ahead;  // its pushes, and the clocks that it skipped
  };
  virtual void counted(NodeId, const Standing&) {}
  // The server owns the shard from now on.
  virtual void promoted() {}
};

class Server {
 public:
  struct Options {
    NodeId id = 1;  // the server
    std::uint32_t shard = 0, shards = 1;
    NodeId first_worker = 2;
    ConsistencyRule rule;
    std::int64_t batch_size = 1;     // samples of a push, in the mean over all workers
    std::int64_t clock_samples = 0;  // work stealing: an update is complete with so many samples
    std::int64_t steps = 0;          // clocks of each worker (versions, where only fresh pushes count)
    LearningRate learning_rate;
    bool staleness_aware = false;
    Epochs epochs = {};
    ShardWeights::Options weights = {};
    // Where nodes and messages may fail.
    bool confirms = false;     // tells at once that a push is here: its worker need not send it again
    bool exactly_once = true;  // a push that comes again is not applied again
    ReplicationSpec replication = {};
    RetrySpec resend = {};  // of entries that replicas do not confirm
  };

  // `weights` is the range's initial content; empty for a phantom model of `count` values.
  Server(Options options, std::optional<Values> weights, std::size_t count);

  void on(const Message& message, double now, Outbox& out);
  // What a worker's last answer looks like after filters; its next push is computed on that.
  void was_sent_filtered(NodeId worker, const Slice& values);

  std::int64_t version() const { return version_; }
  std::int64_t pushes_arrived() const { return arrived_; }
  // Pushes that wait for their group to be complete.
  const std::vector<Push>& pending() const { return updates_.pending(); }
  // Pushes that have come before others of their workers.
  std::vector<Push> early() const;
  Slice snapshot() const { return weights_.snapshot(version_); }
  // The learning rate of the next update.
  double rate() const;
  // A hash of the weights, given theirs, and of all else that the next update of a push depends on; 0: a
  // phantom model.
  std::uint64_t hash_of_state(std::uint64_t hash_of_weights) const { return weights_.hash(hash_of_weights); }
  // By worker's number: pulls that wait for the consistency model.
  const std::map<std::uint32_t, Pull>& waiting() const { return waiting_; }
  std::int64_t slowest_clock() const { return workers_.slowest(); }
  // Ranges of keys with a vector clock of their own: now, and split off so far.
  std::size_t ranges() const { return range_clock_.ranges(); }
  std::size_t range_splits() const { return range_splits_; }

  // The rest is for nodes that fail (server_recovery.cpp).
  //
  // Owns the shard from now on, in this ownership epoch and with these replicas; messages of other epochs are
  // ignored. Replicas that are new are sent its state, and so is its next owner.
  void lead(NodeId self, const Owner& owner, double now, Outbox& out);
  // Holds a copy of what `primary` has, and passes entries on to `next`, if there is one. What it has from
  // another epoch it keeps, but takes no entries until the primary's state is here.
  void follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next);
  // How far what is here goes.
  using Extent = ReplicatedLog::Extent;
  Extent extent() const { return log_.extent(); }
  // Entries of the log in epoch `epoch` that a replica has; -1: not even the state before them.
  std::int64_t entries_in(std::uint32_t epoch) const {
    return log_.in_step() && epoch == epoch_ ? log_.extent().entries : -1;
  }
  bool leads() const { return leads_; }
  NodeId id() const { return options_.id; }
  std::uint32_t shard() const { return options_.shard; }
  std::uint32_t epoch() const { return epoch_; }
  // The ownership epoch of the last update: with the version, it tells which history this state continues.
  std::uint32_t updated_in() const { return updated_in_; }
  // Workers that take part, by number.
  void set_members(const std::vector<bool>& members, double now, Outbox& out);
  // When replicas are to be sent entries again, and that.
  std::optional<double> next_resend() const;
  void resend(double now, Outbox& out);
  // The whole shard as a message: weights, optimizer state and a count for each worker.
  State state() const;
  // What the next owner, which has got so far, still lacks: entries of the log where they are kept.
  State rest_after(Extent theirs) const;
  void take_rest(const std::vector<SharedEntry>& entries);
  std::int64_t pushes_lost() const { return lost_; }

 private:
  void on_push(const Push& push, double now, Outbox& out);
  void on_pull(NodeId from, const Pull& pull, double now, Outbox& out);
  void on_read(NodeId from, const Pull& pull, double now, Outbox& out) const;
  void on_group(const UpdateGroup& group, double now, Outbox& out);
  void on_decide(NodeId from, const Decide& question, Outbox& out) const;
  void take(const Push& push, double now, Outbox& out);
  void take_early(std::uint32_t worker, double now, Outbox& out);
  void refuse_early(std::uint32_t worker, Outbox& out);
  bool count_arrived(const Push& push);
  void supersede(const Push& push, Outbox& out);
  void acknowledge(const Push& push, Outbox& out) const;
  void accept(const Push& push, bool late, Outbox& out);
  void begin_to_lead(Outbox& out);
  void skip_to(std::int64_t number, std::uint32_t worker);
  void catch_up(std::uint32_t worker, Outbox& out);
  std::int64_t ahead_of(std::uint32_t worker, Outbox& out);
  void meet(std::uint32_t worker, const Pull& pull, Outbox& out);
  void skip_lost(std::uint32_t worker, std::int64_t oldest_resendable, Outbox& out);
  void tell_count(std::uint32_t worker, Outbox& out) const;
  void on_entry(const SharedEntry& entry, Outbox& out);
  void take_entry(const LogEntry& entry);
  void take_sum(const LogEntry& entry);
  void take_logged(const Push& push);
  void take_ids(const std::vector<PushId>& ids);
  void on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out);
  void deliver(const ReplicatedLog::Deliveries& deliveries, Outbox& out) const;
  bool logs_pushes() const { return log_.has_copies() && log_.has_pushes(); }
  std::optional<LogEntry::Sum> log_update(const std::vector<Push>& group,
                                          std::vector<WeightedGradient>& gradients, Outbox& out);
  void log_push(bool updates, Outbox& out);
  std::int64_t before_pending(std::uint32_t worker, std::int64_t pushes) const;
  std::int64_t committed_of(std::uint32_t worker) const;
  bool has_lost_push(std::uint32_t worker, const Pull& pull) const;
  bool waits_for_others(std::uint32_t worker) const;
  bool none_will_push() const;
  bool restart_steps();
  UpdateRule::Decided decided() const {
    return UpdateRule::decided(options_.rule, options_.shard, options_.shards);
  }
  void drop(const Push& push, Outbox& out);
  Message to(NodeId node, Body body) const;
  void send(NodeId node, Body body, Outbox& out) const { out.send(to(node, std::move(body))); }
  bool lacks_decision() const;
  void ask_for_decision(double now, Outbox& out);
  bool update_if_complete(Outbox& out);
  bool update_once(Outbox& out);
  void update(const std::vector<Push>& group, Outbox& out);
  std::size_t pushes_in(const std::vector<Push>& group) const;
  double mean_samples(const std::vector<Push>& group) const;
  void count_applied(const PushId& push);
  void answer_all(double now, Outbox& out);
  void answer(std::uint32_t worker, double now, Outbox& out);
  void finish_if_through(std::uint32_t worker);
  bool may_start(std::uint32_t worker, const Pull& pull, double now);
  bool is_over(const Pull& pull) const;
  std::uint64_t bytes_of_state() const;
  void keep_state_only();
  void forget_pending();
  std::uint32_t index_of(NodeId node) const { return node - options_.first_worker; }

  Options options_;
  ShardWeights weights_;
  std::int64_t version_ = 0;
  std::int64_t arrived_ = 0, applied_ = 0;
  WorkerClocks workers_;
  UpdateRule updates_;
  StartGate gate_;
  std::map<std::uint32_t, Pull> waiting_;  // by worker: its unanswered pull
  RangeClock range_clock_;                 // a worker's: its last push of the range, counted from 1
  std::size_t range_splits_ = 0;
  // Pushes that have overtaken others of their workers, by worker and number.
  std::map<std::pair<std::uint32_t, std::int64_t>, Push> early_;

  // Where nodes may fail.
  bool leads_ = true;
  std::uint32_t epoch_ = 0, updated_in_ = 0;
  ReplicatedLog log_;
  std::int64_t lost_ = 0;  // pushes that only a former owner had
};

}  // namespace psim
