// A parameter server's state of one shard, and what it does with a message for it. Pure: no SimGrid, no clock
// of its own; a test drives it with a list of messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "model/parameters.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/membership.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/range_clock.hpp"
#include "sim/protocol/retry.hpp"

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
    OptimizerSpec optimizer;
    Storage storage = {};
    double loss_scale = 1;  // of what travels in half precision
    LearningRate learning_rate;
    bool staleness_aware = false;
    std::vector<Range> ranges = {};   // of the shard in the key space; sparse models only
    std::int64_t feature_blocks = 1;  // clock t changes block t mod feature_blocks of the features
    std::int64_t parameters = 0;      // of the key space
    bool sum_only = false;            // workers run the optimizer: they are sent the update's sum
    double delay_compensation = 0, delay_compensation_decay = 0;  // DC-ASGD
    Epochs epochs = {};
    // Where nodes and messages may fail.
    bool retries = false;      // requests may come twice, or never
    bool exactly_once = true;  // a push that comes again is not applied again
    ReplicationSpec replication = {};
    RetrySpec resend = {};  // of entries that replicas do not confirm
    std::size_t bytes_per_key = 4;
  };

  // `weights` is the range's initial content; empty for a phantom model of `count` values.
  Server(Options options, std::optional<Values> weights, std::size_t count);

  void on(const Message& message, double now, Outbox& out);
  // What a worker's last answer looks like after filters; its next push is computed on that.
  void was_sent_filtered(NodeId worker, const Slice& values);

  std::int64_t version() const { return version_; }
  std::int64_t pushes_arrived() const { return arrived_; }
  // Pushes that wait for their group to be complete.
  const std::vector<Push>& pending() const { return group_; }
  Slice snapshot() const { return {parameters_.weights(), 0, count_, version_}; }
  // The learning rate of the next update.
  double rate() const;
  // A hash of the weights, given theirs, and of all else that the next update of a push depends on; 0: a
  // phantom model.
  std::uint64_t hash_of_state(std::uint64_t hash_of_weights) const;
  // By worker's number: pulls that wait for the consistency model.
  const std::map<std::uint32_t, Pull>& waiting() const { return waiting_; }
  std::int64_t slowest_clock() const { return slowest_; }
  // Ranges of keys with a vector clock of their own: now, and split off so far.
  std::size_t ranges() const { return clocks_.ranges(); }
  std::size_t range_splits() const { return range_splits_; }

  // The rest is for nodes that fail (server_recovery.cpp).
  //
  // Owns the shard from now on, in this ownership epoch and with these replicas; messages of other epochs are
  // ignored. Replicas that are new are sent its state, and so is its next owner.
  void lead(NodeId self, const Owner& owner, double now, Outbox& out);
  // Holds a copy of what `primary` has, and passes entries on to `next`, if there is one. What it has from
  // another epoch it keeps, but takes no entries until the primary's state is here.
  void follow(NodeId self, std::uint32_t epoch, NodeId primary, std::optional<NodeId> next);
  // How far what is here goes. A later epoch's owner began with all that is safe of earlier ones.
  struct Extent {
    std::uint32_t epoch = 0;    // whose owner's log it is from
    std::int64_t entries = -1;  // of that log; -1: nothing
    auto operator<=>(const Extent&) const = default;
  };
  Extent extent() const { return {log_epoch_, entries_}; }
  // Entries of the log in epoch `epoch` that a replica has; -1: not even the state before them.
  std::int64_t entries_in(std::uint32_t epoch) const { return in_step_ && epoch == epoch_ ? entries_ : -1; }
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
  struct WorkerState {
    std::int64_t arrived = 0;  // pushes
    std::int64_t applied = 0;  // pushes that became part of an update or were dropped
    bool finished = false;     // will not push again
    bool gone = false;         // takes part no more
    // It takes part again, and has not gone on yet from where the others are: nobody waits for it.
    bool behind = false;
    std::int64_t ahead = 0;  // clocks that it skipped then, and that have no pushes
    std::int64_t told = -1;  // `ahead` of the last answer while it was behind
    std::int64_t clock() const { return applied + ahead; }
    bool counts() const { return !gone && !behind; }  // others look at its clock
  };
  // Where nodes may fail, by worker.
  struct Safety {
    std::int64_t entry = 0;      // of the log: with its last push, one more than that
    std::int64_t committed = 0;  // pushes that the replicas have too
    std::int64_t begun = 0;      // that this server had when it became the owner
    std::int64_t first = -1;     // version of the first shard that its last push was computed on
  };
  // Where nodes may fail, and the first shard decides.
  struct Decision {
    std::int64_t version;         // of the first shard
    std::vector<NodeId> workers;  // whose pushes made the update of it
  };
  // dssp, by worker.
  struct Pace {
    double last_push = 0, interval = 0;  // seconds
    std::int64_t granted = -1;           // may start clocks up to this one
  };

  void on_push(const Push& push, double now, Outbox& out);
  void on_pull(NodeId from, const Pull& pull, double now, Outbox& out);
  void on_read(NodeId from, const Pull& pull, double now, Outbox& out) const;
  void on_group(const UpdateGroup& group, double now, Outbox& out);
  bool is_new(const Push& push, Outbox& out);
  void supersede(const Push& push, Outbox& out);
  void acknowledge(const Push& push, Outbox& out) const;
  void accept(const Push& push, bool late, Outbox& out);
  void skip_to(std::int64_t number, std::uint32_t worker);
  void catch_up(std::uint32_t worker, Outbox& out);
  std::int64_t ahead_of(std::uint32_t worker, Outbox& out);
  void meet(std::uint32_t worker, const Pull& pull, Outbox& out);
  void skip_lost(std::uint32_t worker, std::int64_t oldest_resendable, Outbox& out);
  void tell_count(std::uint32_t worker, Outbox& out) const;
  void on_entry(const SharedEntry& entry, Outbox& out);
  void take_entry(const LogEntry& entry);
  void take_sum(const LogEntry& entry);
  void take_push(const Push& push);
  void take_ids(const std::vector<PushId>& ids);
  void was_sent(NodeId worker, const Slice& values);
  void on_replicated(NodeId from, std::optional<std::int64_t> entries, double now, Outbox& out);
  void log(Outbox& out);
  bool copies_pushes() const { return options_.replication.when == ReplicateWhen::every_push; }
  bool logs_pushes() const { return !copies_.empty() && copies_pushes(); }
  bool has_replicas() const { return std::ranges::any_of(copies_, &Copy::is_replica); }
  SharedKeys log_update(const std::vector<Push>& group, std::vector<WeightedGradient>& gradients,
                        Outbox& out);
  void log_push(bool updates, Outbox& out);
  void commit();
  void commit_through(std::int64_t entry);
  std::int64_t before_pending(std::uint32_t worker, std::int64_t pushes) const;
  void end_log();
  std::int64_t on_all_replicas() const;
  bool is_safe(std::uint32_t worker) const;
  std::int64_t committed_of(std::uint32_t worker) const;
  bool has_pending(NodeId worker) const;
  bool has_lost_push(std::uint32_t worker, const Pull& pull) const;
  bool is_complete() const;
  bool waits_for_others(std::uint32_t worker) const;
  bool none_will_push() const;
  bool restart_steps();
  bool has_peers() const { return options_.shards > 1; }
  bool coordinated() const { return options_.rule.first_decides && has_peers(); }
  bool follows() const { return coordinated() && options_.shard != 0; }
  bool is_duplicate(const Push& push, Outbox& out);
  std::int64_t overtaken(NodeId worker) const;
  bool is_late(const Push& push);
  void drop(const Push& push, Outbox& out);
  Message to(NodeId node, Body body) const;
  void send(NodeId node, Body body, Outbox& out) const { out.send(to(node, std::move(body))); }
  void announce(const std::vector<Push>& group, Outbox& out);
  std::vector<Push> take_pending();
  std::vector<Push> take_group(Outbox& out);
  std::vector<Push> take_announced();
  const Decision* decision() const;
  std::vector<Push> take_decided(Outbox& out);
  void on_decision(const UpdateGroup& group, double now, Outbox& out);
  bool lacks_decision() const;
  void ask_for_decision(double now, Outbox& out);
  void on_decide(NodeId from, const Decide& question, Outbox& out) const;
  bool update_if_complete(Outbox& out);
  bool update_once(Outbox& out);
  void update(const std::vector<Push>& group, Outbox& out);
  void count_members(const std::vector<bool>& members);
  std::size_t pushes_in(const std::vector<Push>& group) const;
  double mean_samples(const std::vector<Push>& group) const;
  void count_applied(const PushId& push);
  void find_slowest();
  void answer_all(double now, Outbox& out);
  void answer(std::uint32_t worker, double now, Outbox& out);
  void finish_if_through(std::uint32_t worker);
  bool may_start(std::size_t worker, const Pull& pull, double now);
  bool within_staleness(std::size_t worker, std::int64_t clock, double now);
  std::int64_t extra_clocks(std::size_t worker, std::size_t slowest, double now) const;
  bool is_over(const Pull& pull) const;
  Slice reply(const SharedKeys& keys) const;
  Slice compensated(const Push& push);
  const Slice* base_of(const Push& push) const;
  void apply(const std::vector<WeightedGradient>& gradients, double rate, std::int64_t clock);
  std::vector<Range> block_at(std::int64_t clock) const;
  Range range_of(const Push& push) const;
  std::uint32_t index_of(NodeId node) const { return node - options_.first_worker; }

  Options options_;
  Parameters parameters_;
  std::size_t count_;
  std::shared_ptr<Values> sum_;  // sum_only: of the last update
  // DC-ASGD: by worker, the weights that it may compute on, oldest first
  std::vector<std::deque<Slice>> sent_;
  Values mean_square_;           // DC-ASGD-a
  std::int64_t version_ = 0;
  std::int64_t arrived_ = 0, applied_ = 0;
  std::vector<Push> group_;  // pushes of the next update
  std::deque<std::vector<PushId>>
      announced_;             // groups that the first server has formed, not applied here yet
  std::vector<PushId> late_;  // first server: not announced yet; others: announced, and not here yet
  std::vector<WorkerState> workers_;
  std::map<std::uint32_t, Pull> waiting_;  // by worker: its unanswered pull
  std::vector<Pace> paces_;                // dssp only
  RangeClock clocks_;                      // a worker's: its last push of the range, counted from 1
  std::size_t range_splits_ = 0;
  std::set<std::pair<NodeId, std::int64_t>> missing_;  // pushes that later ones have overtaken on their way
  std::int64_t active_;                                // workers that will push again
  std::int64_t slowest_ = 0;                           // least clock of all workers ...
  std::size_t at_slowest_;                             // ... and how many have it
  std::int64_t members_;                               // workers that take part

  // Where nodes may fail.
  std::deque<Decision> decisions_;  // others: the last ones
  std::vector<PushId> last_group_;  // first shard: the last decision
  double asked_decision_ = 0;       // or when the first push came that needs one
  struct Copy {
    NodeId node;
    std::int64_t entries = 0;  // that it has
    bool here = false;         // it has the state that it began with
    double asked = 0;          // when it was last sent something that it has not confirmed
    double wait = 0;           // from then until it is sent that again
    bool is_replica = true;    // else only the next owner: no answer waits for it
    bool is_next = false;      // the next owner: it is ready when it has ...
    std::int64_t backlog = 0;  // ... all that was in the log when its state was there
    double told = 0;           // when the scheduler was last told so
    bool is_ready() const { return is_next && here && entries >= backlog; }
    bool has(std::int64_t all) const { return here && entries == all; }
  };
  std::uint64_t bytes_of_state() const;
  void keep_state_only();
  void forget_pending();
  void take_copies(const Owner& owner, double now, Outbox& out);
  void tell_if_ready(Copy& copy, double now, Outbox& out) const;
  std::vector<Safety> safety_;
  bool leads_ = true;
  std::uint32_t epoch_ = 0, updated_in_ = 0;
  std::uint32_t log_epoch_ = 0;
  bool in_step_ = false;  // replica: it has the state that its primary began this epoch with
  NodeId primary_ = 0;
  std::optional<NodeId> next_;                // replica: in a chain
  std::vector<Copy> copies_;                  // primary
  std::int64_t entries_ = 0;                  // in the log, or, of a replica, taken from it
  std::map<std::int64_t, SharedEntry> log_;   // primary: not everywhere yet; replica: came too early
  std::map<std::int64_t, SharedEntry> past_log_;  // of a former primary, for the next one
  std::int64_t committed_ = 0;                // entries that are on all replicas
  LogEntry next_entry_;                       // what has been decided since the last one
  std::int64_t update_entry_ = 0;             // of the log: with the last update, one more than that
  std::int64_t lost_ = 0;                     // pushes that only a former owner had
};

}  // namespace psim
