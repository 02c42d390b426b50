// Makes the causal graph out of events, in their order: what came of what, by rules of each type of event.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/graph.hpp"

namespace psim::analysis {

class CauseBuilder {
 public:
  // Which parts of its steps a stage of a pipeline makes forwards, by worker and part. A record does not say
  // it of a part that begins, but all steps are alike, and what a part sends tells.
  using Forwards = std::vector<std::vector<bool>>;
  // By message: the number of the one before it in its stream, which had left when it left; -1: it did not
  // wait.
  using Followed = std::vector<std::int64_t>;
  // `jobs`: where there are several, each promises something of its own.
  explicit CauseBuilder(const Facts& facts, std::span<const Job> jobs = {}, Forwards forwards = {},
                        Followed followed = {});
  void on(const Row& row);
  CausalGraph graph() &&;

 private:
  using Id = std::uint32_t;
  static constexpr Id none = CausalGraph::none;
  struct Edge {
    Id cause;
    Kind kind;
    double least;
  };
  // A part of a sum that workers exchange in rounds.
  struct Part {
    std::int64_t clock, round;
    Id arrival;
  };
  // A server's work: until when it has enough, and the arrival that it has worked without a pause since.
  struct Work {
    Id first = none;
    double end = 0;
  };
  struct Node {
    Id last = none;         // moment here
    Id first_now = none;    // of those at the date of the last one
    Id handled = none;      // the last at an earlier date that is no arrival
    Id handled_now = none;  // ... at that date
    Id control = none;      // the last of a worker's own course: computing, waiting
    Id down = none;         // the fault that took it away
    Id work = none;         // the last moment here that is about no heartbeat
    Id heard = none;        // its last heartbeat that arrived
    Id delivered = none;    // the last end of a message of its own
    bool computes = false;
    std::vector<Id> arrived;                           // since the last moment that may have waited for them
    std::vector<std::pair<std::int64_t, Id>> samples;  // likewise, with the clock that they are for
    std::vector<Part> parts;                           // likewise
    std::vector<Id> activations, errors;               // likewise, of a pipeline
  };
  // What a server knows of a worker's requests about a shard.
  struct Requests {
    Id pull = none, release = none;
    std::int64_t above = -1, clock = 0, pushes_before = 0;   // of the pull
    std::map<std::int64_t, Id> pushes;                       // that arrived and have no outcome yet
    std::vector<std::pair<std::int64_t, Id>> outcomes = {};  // of the others, in their order
  };
  // What the next update of a shard is made of.
  struct Update {
    std::vector<Id> outcomes;
    Id first_push = none, last_push = none;  // of those that made it, by their arrivals
    double work = 0;                         // that these are for a server, in seconds
  };
  // What a shard came to, and when: what an answer to a pull may need.
  struct Shard {
    std::vector<std::pair<std::int64_t, Id>> versions;  // rising: the moments that made them
    std::map<std::int64_t, std::vector<Id>> clocks;     // outcomes of the pushes that finish a clock ...
    std::map<std::int64_t, Id> all_through;             // ... and the moment when all workers' were there
  };

  void on_sent(const Row& row);
  void on_received(const Row& row);
  void on_lost(const Row& row);
  void on_computation(const Row& row);
  void on_wait(const Row& row);
  void on_release(const Row& row);
  void on_outcome(const Row& row);
  void on_update(const Row& row);
  bool bind_to_closing(const Row& row);
  void on_fault(const Row& row);
  void on_suspicion(const Row& row);
  void on_repetition(const Row& row);
  void on_other(const Row& row);

  // The moment of the row, with the edges that were collected; nobody's yet, or at a node.
  Id add(const Row& row);
  Id happens(const Row& row, std::uint32_t at_node);
  std::uint8_t word(std::string_view text);
  Node& node(std::uint32_t number);
  Requests& requests(const Row& row, std::uint32_t server, std::uint32_t worker);
  double date(Id id) const { return moments_[id].at; }
  bool is_now(Id id, double now) const { return id != none && moments_[id].at == now; }
  // Something from outside has set the node going at this date.
  bool is_woken(const Node& here, double now) const;

  // The edges of the moment to be added next; the first is the binding one.
  void after(Id cause, Kind kind, double least);
  void bind(Id cause, Kind kind, double now);
  // It came of something at the same date at this node, or of nothing that is known since the last moment
  // here.
  void bind_to_node(const Node& here, double now, Kind otherwise = Kind::idle);
  // It came of a message that had arrived: at once, when the node had worked on it, or when its turn had
  // come.
  void bind_to_message(const Row& row, Id arrived);
  // A server answers inference nodes beside all other work, as everybody sends heartbeats.
  bool is_beside(const Row& row) const {
    return row.kind == "heartbeat" || (facts_.is_server(row.node) && row.peer >= first_inference_);
  }
  // Messages take the node time, one after the other.
  bool works(std::uint32_t node) const {
    return node == storage_ || (facts_.servers_work && facts_.is_server(node));
  }
  void take_arrived(Node& here, std::int64_t clock);
  // Parts of earlier rounds; those of later ones may be here already.
  void take_parts(Node& here, std::int64_t clock, std::int64_t round);
  // It answers a pull: that needs the version, and the other workers' clocks, that the pull asked for, and
  // the worker's own pushes.
  void after_what_it_needs(const Row& row, const Requests& asked);
  // A part of a pipeline's step needs what a neighbour sent for it.
  void take_micro_batch(const Row& row);
  // A server that works takes a push, behind those that it has.
  void queue(const Row& row, Id arrival);
  Id begun_for(std::uint32_t server, double now);
  // All workers' pushes of this clock may be there now: then that is a moment.
  void count_clock(const Row& row, Id outcome);
  const Facts& facts_of(std::uint32_t shard) const;
  std::optional<std::int64_t> bound_of(std::uint32_t shard, std::int64_t clock) const;
  std::int64_t clock_of_batch(std::int64_t batch) const;
  Id sending_of(std::int64_t message) const;
  Id followed_by(const Row& row) const;  // the sending for which this one waited; none: it did not wait
  Id arrival_of(std::int64_t message) const;

  const Facts& facts_;
  std::span<const Job> jobs_;
  Forwards forwards_;
  Followed followed_;
  std::uint32_t storage_, first_inference_;
  std::vector<Moment> moments_;
  std::vector<Edge> edges_, next_;
  std::vector<std::uint32_t> first_edge_;  // by moment
  std::vector<std::string> words_{""};
  std::map<std::string, std::uint8_t, std::less<>> word_of_;
  std::deque<Node> nodes_;
  std::vector<Id> sent_, received_;  // by number of the sending
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Requests>
      requests_;                                      // server, shard, worker
  std::map<Id, double> work_;                         // by arrival: seconds
  std::map<std::uint32_t, Work> working_;             // by server
  std::map<std::uint32_t, std::deque<Work>> queued_;  // likewise, in their order: when a push is worked off
  std::map<std::pair<std::uint32_t, std::uint32_t>, Update> updates_;           // server, shard
  std::map<std::pair<std::uint32_t, std::uint32_t>, Shard> shards_;             // likewise
  std::map<std::tuple<std::uint32_t, std::uint8_t, std::uint32_t>, Id> asked_;  // worker, kind, shard
  std::map<std::pair<std::int64_t, std::uint32_t>, Id> faults_;                 // table, target
};

}  // namespace psim::analysis
