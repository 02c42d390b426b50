// Sees every event once: keeps the run's digest and statistics, and hands the event on to the sinks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/record/cause_book.hpp"
#include "sim/record/event.hpp"
#include "sim/record/failure_log.hpp"
#include "sim/record/worker_book.hpp"

struct XXH3_state_s;

namespace psim {

struct ServerStats {
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::int64_t pushes = 0;  // applied
};

// What one group of workers did, where there are several.
struct GroupStats {
  std::uint32_t first_worker = 0, workers = 0;
  std::uint64_t messages = 0, bytes_sent = 0;  // by its workers and to them
  std::int64_t pushes_applied = 0, pushes_dropped = 0;
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;
  double finished = 0;  // when its last worker was through, or the training was ended
  double staleness_mean() const {
    return pushes_applied == 0 ? 0 : staleness_sum / static_cast<double>(pushes_applied);
  }
};

// A namespace: its workers and its shards.
struct SpaceStats {
  std::uint32_t first_worker = 0, workers = 0;
  std::uint32_t first_shard = 0, shards = 0;
  std::int64_t samples_used = 0;  // whose gradients the model has taken in
};

struct RunStats {
  std::uint64_t messages = 0, delivered = 0, lost = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0, bytes_lost = 0;
  std::array<std::uint64_t, message_names.size()> bytes_of_kind = {};  // sent
  std::int64_t pushes_arrived = 0, pushes_applied = 0, pushes_dropped = 0;
  std::int64_t pushes_unused = 0;     // of the dropped ones: not too late, but the run ended first
  std::int64_t pushes_duplicate = 0;  // ... and those that had been there before
  std::int64_t pushes_refused = 0;    // ... and those that came to the wrong server or too early
  double staleness_sum = 0;
  std::int64_t staleness_max = 0;
  StalenessCounts staleness_counts = {};        // by worker: in its stats
  std::int64_t least_clock = 0;                 // of all starts; never less than 0
  std::int64_t clock_gap_max = 0;               // over all starts: clocks ahead of the slowest worker
  std::uint64_t events = 0, events_beside = 0;  // all; of them those of nodes that training does not need
  // Steps begun, and those before some shard had more updates than ever, for the last time.
  std::int64_t begun = 0, begun_in_time = 0;
  // Versions that no shard, and clocks that no worker, had reached before: what has come of all the work.
  std::int64_t advances = 0;
  double last_work = 0;      // when a worker or a server did something, for the last time
  double last_progress = 0;  // when somebody computed, or a server had something new, for the last time
  std::vector<WorkerStats> workers;
  std::vector<ServerStats> servers;
  std::vector<std::uint32_t> shard_server;                // where each shard was at first
  std::vector<std::optional<std::uint32_t>> shard_owner;  // ... and is now; none: its server is down
  std::vector<std::int64_t> shard_updates;                // versions

  std::vector<SpaceStats> spaces;  // at least one
  std::vector<GroupStats> groups;  // none, if there is only one

  // Versions that every shard of a namespace has reached; every worker, where there are no servers.
  std::int64_t updates(std::size_t space = 0) const;
  std::int64_t server_updates(std::uint32_t server) const;   // ... every shard of this server; 0 without any
  std::int64_t clocks() const;                               // finished, all workers
  std::int64_t clocks(const SpaceStats& space) const;        // ... all of a namespace
  std::int64_t first_clocks(const SpaceStats& space) const;  // its workers that have finished one
  std::uint64_t bytes_of(const SpaceStats& space) const;     // sent; with one namespace, all
  double staleness_mean() const;
};

class Recorder {
 public:
  // `shard_server`: the server of each shard.
  Recorder(std::size_t servers, std::size_t workers, std::vector<std::uint32_t> shard_server);
  ~Recorder();

  // The workers and shards are not one namespace but these, and the workers these groups.
  void split(std::vector<SpaceStats> spaces, std::vector<GroupStats> groups);
  // Nodes from this number on are beside the training: inference nodes.
  void set_beside(NodeId first) { beside_ = first; }
  // A job has ended, while others go on: nobody takes its shards over any more.
  void end_space(std::size_t space) {
    if (failures_) failures_->forget(stats_.spaces[space].first_shard, stats_.spaces[space].shards);
  }
  void add_sink(EventSink* sink) { sinks_.push_back(sink); }
  // Keeps a log of failures too.
  void watch_failures() {
    const auto servers = static_cast<NodeId>(stats_.servers.size());
    failures_.emplace(stats_.shard_server, servers,
                      servers == 0 ? static_cast<NodeId>(stats_.workers.size()) : 0);
  }
  std::optional<FailureStats> failures() const {
    return failures_ ? std::optional(failures_->stats()) : std::nullopt;
  }
  // Returns the event's number, from 0. It comes of `cause`; none: of what the running actor is on. `needs`:
  // what no other event of that actor needs.
  std::uint64_t record(Event event, const std::optional<Cause>& cause = {}, const Dependencies& needs = {});
  // See CauseBook.
  void follow(std::function<CauseChain*()> running) { book_.follow(std::move(running)); }
  CauseChain& causes() { return book_.chain(); }
  CauseChain& outside() { return book_.outside(); }
  void on_service(const Service& work) {
    for (EventSink* sink : sinks_) sink->on_service(work);
  }
  // See EventSink::on_wire.
  void on_wire(std::uint64_t message, double begin, double end) {
    for (EventSink* sink : sinks_) sink->on_wire(message, begin, end);
  }

  // A worker that is to join later.
  void absent_at_first(NodeId worker) { books_[worker_index(worker)].is_absent_at_first(); }
  // A worker computes what the scheduler tells it.
  void does_tasks(NodeId worker) { books_[worker_index(worker)].does_tasks(); }
  // A worker has been stopped; the rest of the run is not its time.
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

  RunStats stats_;
  NodeId beside_ = std::numeric_limits<NodeId>::max();
  std::vector<WorkerBook> books_;
  std::int64_t view_ = -1, last_view_ = -1;         // the newest, and the one before
  std::vector<std::int64_t> last_view_of_;          // by worker, in which it takes part
  std::vector<std::int64_t> owner_epoch_;           // by shard
  std::vector<std::uint32_t> space_of_, group_of_;  // by worker
  std::vector<EventSink*> sinks_;
  CauseBook book_;
  // Of a shard, at most, before its owners lost some.
  struct Furthest {
    std::int64_t updates = 0;
    std::vector<std::int64_t> pushes = {};  // by worker
    bool has_new_push = false;              // since the last update
  };
  std::vector<Furthest> furthest_;  // by shard
  std::int64_t furthest_copy_ = 0;  // without servers: the version of the newest copy that there ever was
  std::vector<std::int64_t> furthest_clock_;  // by worker
  std::optional<FailureLog> failures_;
  std::vector<std::uint64_t> hashes_;  // not yet in the digest
  XXH3_state_s* state_;
};

}  // namespace psim
