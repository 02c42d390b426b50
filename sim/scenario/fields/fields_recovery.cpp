// What helps against failures.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

namespace {

// What becomes of requests that are not answered.
void describe_repetition(FieldVisitor& v, RecoverySpec& r, const Need& failures) {
  v.field("semantics", choice(r.semantics),
          {.doc = "What a server does with a push that it has already received.", .need = failures});
  v.field("retry", &r.retry,
          {.doc = "Time after which a node repeats an unanswered request.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("backoff", &r.backoff,
          {.doc = "Factor by which each further wait is longer than the one before.",
           .min = 1,
           .max = 100,
           .need = failures});
  v.field("longest_retry", &r.longest_retry,
          {.doc = "Longest wait before a repetition.", .min = 1e-6, .max = 1e6, .need = failures});
  v.field("retry_limit", &r.retry_limit,
          {.doc = "Repetitions of one request after which the run ends; 0 sets no limit.",
           .min = 0,
           .max = 1e6,
           .need = failures});
  v.field("patience", &r.patience,
          {.doc = "Time without any computation, update or planned fault after which the run ends as stuck, "
                  "if no more faults will come. If messages are lost at random, psim adds the time of 30 "
                  "longest waits.",
           .min = 1e-3,
           .max = 1e9,
           .need = failures});
}

}  // namespace

void describe_recovery(FieldVisitor& v, Scenario& s) {
  RecoverySpec& r = s.recovery;
  const Need failures{
      .keys = {"recovery.enabled", "fault", "replication.copies", "snapshot.every", "profile"},
      .text = "where something may be lost, or enabled = true",
      .met = [&s] { return s.may_fail(); }};
  v.field("enabled", &r.enabled,
          {.doc = "Whether nodes send heartbeats, acknowledge pushes and repeat requests. With replication, "
                  "snapshots, [recovery.slow], or a fault that may lose something, they always do. `slow` "
                  "and `degrade` with a "
                  "factor above 0 lose nothing.",
           .default_text = "`true` where something may be lost, else `false`"});
  v.field("detector", choice(r.detector),
          {.doc = "When the scheduler suspects that a node is down.", .need = failures});
  v.field("heartbeat", &r.heartbeat,
          {.doc = "Time from one heartbeat of a server or worker to the next.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("timeout", &r.timeout,
          {.doc = "Silence after which the scheduler suspects a node; phi-accrual uses it until it has seen "
                  "two gaps.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("threshold", &r.threshold,
          {.doc = "Value of phi from which the scheduler suspects a node; it suspects a live node with "
                  "probability 10^-phi.",
           .min = 0.1,
           .max = 100,
           .when_key = "detector",
           .when = {"phi-accrual"},
           .need = failures});
  v.field("workers", choice(r.workers),
          {.doc = "What happens to a suspected worker.",
           .need = failures,
           .default_text = "`\"remove\"`; with model-parallel `\"wait\"`"});
  v.field("lost_data", choice(r.data),
          {.doc = "What happens to the samples of a worker that does not take part.", .need = failures});
  v.field("data_from", choice(r.data_from),
          {.doc = "Where samples come from that a worker is to hold and does not: its own when it joins or "
                  "comes back, and those that it takes over. Its next step waits for them.",
           .need = failures});
  v.field("servers", choice(r.servers),
          {.doc = "What happens to shards of a suspected server that have no replica.", .need = failures});
  v.field("rebalance", choice(r.rebalance),
          {.doc = "What a server gets that joins or returns.", .need = failures});
  v.field("hand_over", choice(r.hand_over),
          {.doc = "How a shard moves from an owner that is still alive to the next one.", .need = failures});
  describe_repetition(v, r, failures);
  describe_slow(v, s);
}

void describe_replication(FieldVisitor& v, ReplicationSpec& r) {
  v.field("copies", &r.copies,
          {.doc = "Number of servers that hold a copy of each shard besides its owner: the next ones in "
                  "their order.",
           .min = 0,
           .max = 64});
  const Need copies{
      .keys = {"replication.copies"}, .text = "with copies above 0", .met = [&r] { return r.copies > 0; }};
  v.field("when", choice(r.when), {.doc = "What replicas receive.", .need = copies});
  v.field("layout", choice(r.layout), {.doc = "Which servers send to the replicas.", .need = copies});
  v.field("window", &r.window,
          {.doc = "Number of updates that a worker may see before all replicas have them; 0 makes "
                  "replication synchronous.",
           .min = 0,
           .max = 1e9,
           .need = copies});
}

void describe_snapshot(FieldVisitor& v, SnapshotSpec& s) {
  v.field("every", &s.every,
          {.doc = "Time, or number of updates of a shard, from one snapshot to the next. Snapshots go to a "
                  "storage node.",
           .default_text = "no snapshots"});
  v.field("bandwidth", &s.bandwidth,
          {.doc = "Bandwidth of the storage node's disk, for writing and reading.",
           .min = 1,
           .max = 1e15,
           .need = {.keys = {"snapshot.every"}, .text = "with every", .met = [&s] {
                      return s.every.has_value();
                    }}});
}

}  // namespace psim
