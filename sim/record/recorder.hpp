// Sees every event once: updates the run's digest and statistics, and passes the event to the sinks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/record/event.hpp"
#include "sim/record/failure_log.hpp"
#include "sim/record/worker_book.hpp"

struct XXH3_state_s;

namespace psim {

// Causes of events around faults. A fault causes its own end, the return of its node, and a suspicion of the
// node. The fault itself comes at its date, or by a condition. Its cause is the last event of its node, which
// it interrupts. A message that no actor sends, such as a heartbeat, follows the last event of its node, too.
class FaultCauses {
 public:
  // None: the event is no fault, and no fault is its cause.
  std::optional<Cause> of(const Event& event) const {
    if (const FaultChange* fault = event.as<FaultChange>(); fault != nullptr && fault->target)
      return of(*fault, *fault->target);
    if (event.as<Sent>() != nullptr && event.cause.event < 0) return last(event.node);
    const Suspicion* suspicion = event.as<Suspicion>();
    if (suspicion == nullptr) return std::nullopt;
    const std::optional<Cause> gone = found(away_, suspicion->suspect, Spent::timeout);
    return gone && gone->event > event.cause.event ? gone : std::nullopt;  // unless it was heard after that
  }
  void on(const Event& event, std::int64_t number) {
    if (const FaultChange* fault = event.as<FaultChange>()) return on(*fault, number);
    const Computation* computation = event.as<Computation>();
    const bool computes = computation != nullptr && (computation->phase == ComputePhase::begun ||
                                                     computation->phase == ComputePhase::resumed);
    if (is_heartbeat(event)) return;
    const bool still_computes = event.as<Sent>() != nullptr || event.as<Received>() != nullptr;
    Cause& last = last_of(event.node);
    if (still_computes && last.spent == Spent::compute) return;
    last = {number, computes ? Spent::compute : Spent::idle};
  }

 private:
  std::optional<Cause> of(const FaultChange& fault, NodeId target) const {
    if (!fault.begins) return found(begun_, std::pair{fault.fault_table, target}, Spent::down);
    const bool comes = fault.kind->restarts || fault.kind->joins;
    if (const auto gone = found(away_, target, Spent::down); gone && comes) return gone;
    return last(target);
  }
  std::optional<Cause> last(NodeId node) const {
    const bool was_there = node < last_.size() && last_[node].event >= 0;
    return was_there ? std::optional(last_[node]) : std::nullopt;
  }
  void on(const FaultChange& fault, std::int64_t number) {
    if (!fault.target) return;
    if (fault.begins) begun_[{fault.fault_table, *fault.target}] = number;
    const bool takes_away = fault.kind->crashes || fault.kind->leaves;
    if (takes_away && fault.begins) away_[*fault.target] = number;
    else if (takes_away || fault.kind->restarts || fault.kind->joins) away_.erase(*fault.target);
    last_of(*fault.target) = {number};
  }
  Cause& last_of(NodeId node) {
    if (last_.size() <= node) last_.resize(node + 1);
    return last_[node];
  }
  static bool is_heartbeat(const Event& event) {
    const Sent* sent = event.as<Sent>();
    const Received* received = event.as<Received>();
    return (sent != nullptr && sent->kind == MessageKind::heartbeat) ||
           (received != nullptr && received->kind == MessageKind::heartbeat);
  }
  template <class Key>
  static std::optional<Cause> found(const std::map<Key, std::int64_t>& events, const Key& key, Spent spent) {
    const auto event = events.find(key);
    return event == events.end() ? std::nullopt : std::optional(Cause{event->second, spent});
  }

  std::map<std::pair<std::int64_t, NodeId>, std::int64_t> begun_;  // by [[fault]] and target
  std::map<NodeId, std::int64_t> away_;                            // by node: the fault that took it away
  std::vector<Cause> last_;                                        // by node: its last event
};

// The cause of each event, and the other events that it needs. Both follow from the cause chain of the actor
// that records the event, and from the faults.
class CauseBook {
 public:
  // `running` finds the cause chain of the running actor; null: no actor runs. Without `running` all events
  // are on one chain.
  void follow(std::function<CauseChain*()> running) { running_ = std::move(running); }
  CauseChain& chain() {
    CauseChain* own = running_ ? running_() : nullptr;
    return own != nullptr ? *own : outside_;
  }
  // The chain of the simulation kernel.
  CauseChain& outside() { return outside_; }

  // `said`: the cause that the recorder of the event names; none: the cause of the running actor's chain.
  Cause of(Event& event, const std::optional<Cause>& said) {
    event.cause = said ? *said : chain().cause();
    return faults_.of(event).value_or(event.cause);
  }
  // Makes an event of type InChain::step the cause of its actor's next event. Other events (word, detail) are
  // not causes. `needs`: dependencies of this event alone. The sinks get each dependency of the event.
  void go_on(const Event& event, std::uint64_t number, const Dependencies& needs,
             std::span<EventSink* const> sinks);

 private:
  std::function<CauseChain*()> running_;
  CauseChain outside_;
  FaultCauses faults_;
};

// The gradients of which some shards applied their part, and others dropped theirs as too late or too stale.
class TornGradients {
 public:
  // A shard of `shards` has applied or dropped its part of a gradient: push number `push` of `worker`.
  void on_part(std::size_t worker, std::int64_t push, bool is_applied, std::size_t shards) {
    if (shards < 2) return;
    const auto parts = open_.try_emplace({worker, push}).first;
    auto& [applied, dropped] = parts->second;
    ++(is_applied ? applied : dropped);
    const bool is_first_of_both = (is_applied ? applied : dropped) == 1;
    if (applied > 0 && dropped > 0 && is_first_of_both) ++count_;
    if (applied + dropped >= shards) open_.erase(parts);
  }
  std::int64_t count() const { return count_; }

 private:
  // By worker and push: parts that were applied, and dropped, while others are missing.
  std::map<std::pair<std::size_t, std::int64_t>, std::pair<std::size_t, std::size_t>> open_;
  std::int64_t count_ = 0;
};

struct ServerStats {
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::int64_t pushes = 0;  // applied
};

// Statistics of one group of workers, if the run has several.
struct GroupStats {
  std::uint32_t first_worker = 0, workers = 0;
  std::uint64_t messages = 0, bytes_sent = 0;  // by its workers and to them
  std::int64_t pushes_applied = 0, pushes_dropped = 0;
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;
  double finished = 0;  // date when its last worker finished, or the training was ended
  double staleness_mean() const {
    return pushes_applied == 0 ? 0 : staleness_sum / static_cast<double>(pushes_applied);
  }
};

// A namespace: its workers and its shards.
struct SpaceStats {
  std::uint32_t first_worker = 0, workers = 0;
  std::uint32_t first_shard = 0, shards = 0;
  std::int64_t samples_used = 0;  // samples whose gradients are in the model
};

struct RunStats {
  std::uint64_t messages = 0, delivered = 0, lost = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0, bytes_lost = 0;
  std::array<std::uint64_t, message_names.size()> bytes_of_kind = {};  // sent
  std::int64_t pushes_arrived = 0, pushes_applied = 0, pushes_dropped = 0;
  std::int64_t pushes_unused = 0;     // dropped: in time, but the run ended first
  std::int64_t pushes_duplicate = 0;  // dropped: they had arrived before
  std::int64_t pushes_refused = 0;    // dropped: they came to the wrong server, or too early
  std::int64_t torn = 0;              // gradients that some shards applied and others dropped
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;
  StalenessCounts staleness_counts = {};  // of all workers; WorkerStats has each worker's
  std::int64_t least_clock = 0;           // over all starts of steps; never below 0
  std::int64_t clock_gap_max = 0;  // over all starts of steps: the most clocks ahead of the slowest worker
  std::uint64_t events = 0, events_beside = 0;  // all; of nodes that training does not need
  // Steps begun; and steps begun before the last date when a shard reached a new highest version.
  std::int64_t begun = 0, begun_in_time = 0;
  // Progress: how often a shard reached a new highest version, or a worker a new highest clock.
  std::int64_t advances = 0;
  double last_work = 0;      // last date when a worker or a server did some work
  double last_progress = 0;  // last date when a worker computed, or a server had something new
  std::vector<WorkerStats> workers;
  std::vector<ServerStats> servers;
  std::vector<std::uint32_t> shard_server;                // each shard's first server
  std::vector<std::optional<std::uint32_t>> shard_owner;  // the current server; none: it is down
  std::vector<std::int64_t> shard_updates;                // versions

  std::vector<SpaceStats> spaces;  // at least one
  std::vector<GroupStats> groups;  // empty if there is only one

  // The version that every shard of a namespace has reached; without servers, every worker.
  std::int64_t updates(std::size_t space = 0) const;
  std::int64_t server_updates(std::uint32_t server) const;   // of the shards of this server; 0 without shards
  std::int64_t clocks() const;                               // finished clocks of all workers
  std::int64_t clocks(const SpaceStats& space) const;        // finished clocks of a namespace's workers
  std::int64_t first_clocks(const SpaceStats& space) const;  // its workers with a finished clock
  std::uint64_t bytes_of(const SpaceStats& space) const;     // bytes sent; with one namespace, all bytes
  double staleness_mean() const;
};

class Recorder {
 public:
  // `shard_server`: the server of each shard.
  Recorder(std::size_t servers, std::size_t workers, std::vector<std::uint32_t> shard_server);
  ~Recorder();

  // Divides the workers and shards into these namespaces, and the workers into these groups.
  void split(std::vector<SpaceStats> spaces, std::vector<GroupStats> groups);
  // Nodes from this number on are inference nodes, which training does not need.
  void set_beside(NodeId first) { beside_ = first; }
  // A job has ended, while others go on: its shards need no owner any more.
  void end_space(std::size_t space) {
    if (failures_) failures_->forget(stats_.spaces[space].first_shard, stats_.spaces[space].shards);
  }
  void add_sink(EventSink* sink) {
    sinks_.push_back(sink);
    if (sink->wants_spans() && !spans_) keep_spans();
  }
  // Also keeps a log of failures.
  void watch_failures() {
    const auto servers = static_cast<NodeId>(stats_.servers.size());
    failures_.emplace(stats_.shard_server, servers,
                      servers == 0 ? static_cast<NodeId>(stats_.workers.size()) : 0);
  }
  const FailureStats* failures() const { return failures_ ? &failures_->stats() : nullptr; }
  // Returns the event's number, from 0. `cause`: its cause; none: the cause of the running actor's chain.
  // `needs`: dependencies of this event alone.
  std::uint64_t record(Event event, const std::optional<Cause>& cause = {}, const Dependencies& needs = {});
  // See CauseBook.
  void follow(std::function<CauseChain*()> running) { book_.follow(std::move(running)); }
  CauseChain& causes() { return book_.chain(); }
  CauseChain& outside() { return book_.outside(); }
  void on_service(const Service& work) {
    for (EventSink* sink : sinks_) sink->on_service(work);
  }
  void on_step(const StepCost& cost) {
    for (EventSink* sink : sinks_) sink->on_step(cost);
  }
  void on_rate(const Rate& rate) {
    for (EventSink* sink : sinks_) sink->on_rate(rate);
  }
  // See EventSink::on_wire.
  void on_wire(std::uint64_t message, double begin, double end) {
    for (EventSink* sink : sinks_) sink->on_wire(message, begin, end);
  }

  // The worker joins later.
  void absent_at_first(NodeId worker) { books_[worker_index(worker)].is_absent_at_first(); }
  // The worker computes tasks that the scheduler gives to it.
  void does_tasks(NodeId worker) { books_[worker_index(worker)].does_tasks(); }
  // The worker has been stopped: its time ends.
  void stop(NodeId worker, double at);
  // The run is over at `at`.
  void close(double at);
  // Adds a piece of the final state (weights) to the digest.
  void add_to_digest(const void* data, std::size_t bytes);
  std::string digest() const;  // 32 hexadecimal digits

  const RunStats& stats() const { return stats_; }
  std::size_t worker_index(NodeId node) const { return node - 1 - stats_.servers.size(); }
  bool is_server(NodeId node) const { return node > 0 && node <= stats_.servers.size(); }
  bool is_worker(NodeId node) const {
    return node > stats_.servers.size() && node <= stats_.servers.size() + stats_.workers.size();
  }

 private:
  void flight(double at, NodeId from, NodeId to, int change);
  void count_group(const Event& event);
  void count_staleness(const PushOutcome& push);
  void on(const Event& event, const Sent& message);
  void on(const Event& event, const Received& message);
  void on(const Event& event, const Lost& message);
  void on(const Event& event, const Computation& what);
  void on(const Event& event, const Finish& what);
  void on(const Event& event, const PushOutcome& push);
  void on(const Event& event, const ModelUpdate& update);
  void on(const Event& event, const Recount& worker);
  void on(const Event& event, const Promotion& owner);
  void on(const Event& event, const FaultChange& fault);
  void on(const Event& event, const ShardCut& cut);
  void on(const Event& event, const Participant& one);
  void begins(const Computation& step, NodeId worker);
  void reached(NodeId worker, std::int64_t clock);
  GroupStats* group_of(NodeId node);
  std::int64_t slowest_beside(std::uint32_t worker) const;
  void look_for_new(const PushOutcome& applied);
  void advance(double at, std::uint32_t shard, std::int64_t version);
  void got_further(double at);

  bool is_beside(const Event& event) const;
  void keep_spans();

  RunStats stats_;
  TornGradients torn_;
  NodeId beside_ = std::numeric_limits<NodeId>::max();
  std::vector<WorkerBook> books_;
  std::int64_t view_ = -1, last_view_ = -1;         // the newest view, and the view before it
  std::vector<std::int64_t> last_view_of_;          // by worker: the last view in which it takes part
  std::vector<std::int64_t> owner_epoch_;           // by shard
  std::vector<std::uint32_t> space_of_, group_of_;  // by worker
  std::vector<EventSink*> sinks_;
  CauseBook book_;
  // The most that a shard ever had, including what its owners have lost since.
  struct Furthest {
    std::int64_t updates = 0;
    std::vector<std::int64_t> pushes = {};  // by worker
    bool has_new_push = false;              // since the shard's last update
  };
  std::vector<Furthest> furthest_;            // by shard
  std::int64_t furthest_copy_ = 0;            // without servers: the highest version that a copy ever had
  std::vector<std::int64_t> furthest_clock_;  // by worker
  std::optional<FailureLog> failures_;
  std::optional<SpanBook> spans_;
  std::vector<std::uint64_t> hashes_;  // not yet in the digest
  XXH3_state_s* state_;
  std::int64_t least_clock_ = 0;  // at most the clock of every worker that takes part
};

}  // namespace psim
