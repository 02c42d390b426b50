// A parameter server's state of one shard, and what it does with a message for it. Pure: no SimGrid, no clock
// of its own; a test drives it with a list of messages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "model/optimizer.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/message.hpp"
#include "sim/protocol/range_clock.hpp"

namespace psim {

// Where a server's decisions go.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(Message message) = 0;
  // To every other shard, wherever it is.
  virtual void announce(Message message) = 0;
  // `staleness`: version when applied less version computed on, in updates.
  virtual void applied(const Message& push, std::int64_t staleness) = 0;
  virtual void dropped(const Message& push) = 0;
  // It has been here before, and counts no second time.
  virtual void duplicate(const Message& push) = 0;
  virtual void updated(std::int64_t version) = 0;
};

class Server {
 public:
  struct Options {
    NodeId id = 1;  // the server
    std::uint32_t shard = 0, shards = 1;
    NodeId first_worker = 2;
    ConsistencyRule rule;
    std::int64_t batch_size = 1;  // samples of a push, in the mean over all workers
    std::int64_t steps = 0;       // clocks of each worker (versions, where only fresh pushes count)
    OptimizerSpec optimizer;
    LearningRate learning_rate;
    bool staleness_aware = false;
    std::vector<Range> ranges = {};   // of the shard in the key space; sparse models only
    std::int64_t feature_blocks = 1;  // clock t changes block t mod feature_blocks of the features
    std::int64_t parameters = 0;      // of the key space
    bool sum_only = false;            // workers run the optimizer: they are sent the update's sum
    double delay_compensation = 0, delay_compensation_decay = 0;  // DC-ASGD
    double epochs_per_clock = 0;  // passes over the data that one clock of all workers makes
  };

  // An unanswered pull; see Message.
  struct Pull {
    NodeId from;
    std::int64_t clock, version, number, pushed;
    SharedKeys keys = {};  // null: all
  };

  // `weights` is the range's initial content; empty for a phantom model of `count` values.
  Server(Options options, std::optional<Values> weights, std::size_t count);

  void on(const Message& message, double now, Outbox& out);

  std::int64_t version() const { return version_; }
  std::int64_t pushes_arrived() const { return arrived_; }
  // Pushes that wait for their group to be complete.
  const std::vector<Message>& pending() const { return group_; }
  Slice snapshot() const { return {weights_, 0, count_, version_}; }
  // The learning rate of the next update.
  double rate() const;
  // Pulls that wait for the consistency model, in worker order.
  std::vector<Pull> waiting() const;
  std::int64_t slowest_clock() const { return slowest_; }
  // Ranges of keys with a vector clock of their own: now, and split off so far.
  std::size_t ranges() const { return clocks_.ranges(); }
  std::size_t range_splits() const { return range_splits_; }

 private:
  struct WorkerState {
    std::int64_t arrived = 0;     // pushes
    std::int64_t applied = 0;     // pushes that became part of an update or were dropped
    bool finished = false;        // will not push again
    std::optional<Pull> waiting;  // its unanswered pull
  };
  // dssp, by worker.
  struct Pace {
    double last_push = 0, interval = 0;  // seconds
    std::int64_t granted = -1;           // may start clocks up to this one
  };

  void on_push(const Message& push, double now, Outbox& out);
  void on_pull(const Message& pull, double now, Outbox& out);
  void on_group(const Message& group, double now, Outbox& out);
  bool is_complete() const;
  bool has_peers() const { return options_.shards > 1; }
  bool coordinated() const { return options_.rule.first_decides && has_peers(); }
  bool follows() const { return coordinated() && options_.shard != 0; }
  bool is_duplicate(const Message& push);
  std::int64_t overtaken(NodeId worker) const;
  bool is_late(const Message& push);
  void drop(const Message& push, Outbox& out);
  void announce(const std::vector<Message>& group, Outbox& out);
  std::vector<Message> take_group(Outbox& out);
  std::vector<Message> take_announced();
  bool update_if_complete(Outbox& out);
  bool update_once(Outbox& out);
  double mean_samples(const std::vector<Message>& group) const;
  void count_applied(WorkerState& worker);
  void answer_all(double now, Outbox& out);
  void answer(std::uint32_t worker, double now, Outbox& out);
  void finish_if_through(WorkerState& worker);
  bool may_start(std::size_t worker, const Pull& pull, double now);
  bool within_staleness(std::size_t worker, std::int64_t clock, double now);
  std::int64_t extra_clocks(std::size_t worker, std::size_t slowest, double now) const;
  bool is_over(const Pull& pull) const;
  Slice reply(const SharedKeys& keys) const;
  Slice compensated(const Message& push);
  void apply(const std::vector<WeightedGradient>& gradients, double rate, std::int64_t clock);
  std::vector<Range> block_at(std::int64_t clock) const;
  Range range_of(const Message& push) const;
  std::uint32_t index_of(NodeId node) const { return node - options_.first_worker; }

  Options options_;
  std::shared_ptr<Values> weights_;  // shared with answers on their way; copied before it is changed
  std::size_t count_;
  Optimizer optimizer_;
  std::shared_ptr<Values> sum_;  // sum_only: of the last update
  std::vector<Slice> sent_;      // DC-ASGD: by worker, the weights that it has
  Values mean_square_;           // DC-ASGD-a
  std::int64_t version_ = 0;
  std::int64_t arrived_ = 0, applied_ = 0;
  std::vector<Message> group_;  // pushes of the next update
  std::deque<std::vector<PushId>>
      announced_;             // groups that the first server has formed, not applied here yet
  std::vector<PushId> late_;  // first server: not announced yet; others: announced, and not here yet
  std::vector<WorkerState> workers_;
  std::vector<Pace> paces_;  // dssp only
  RangeClock clocks_;        // a worker's: its last push of the range, counted from 1
  std::size_t range_splits_ = 0;
  std::set<std::pair<NodeId, std::int64_t>> missing_;  // pushes that later ones have overtaken on their way
  std::set<std::uint32_t> waiting_;                    // workers with an unanswered pull
  std::int64_t active_;                                // workers that will push again
  std::int64_t slowest_ = 0;                           // least `applied` of all workers ...
  std::size_t at_slowest_;                             // ... and how many have it
};

}  // namespace psim
