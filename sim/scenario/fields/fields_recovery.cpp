// What helps against failures.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

namespace {

// What becomes of requests that are not answered.
void describe_repetition(FieldVisitor& v, RecoverySpec& r, const Need& failures) {
  v.field("semantics", choice(r.semantics),
          {.doc = "What a server does with a push that it has had.", .need = failures});
  v.field("retry", &r.retry,
          {.doc = "Time after which a request that is not answered is sent again.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("backoff", &r.backoff,
          {.doc = "Each further wait is so many times as long as the one before.",
           .min = 1,
           .max = 100,
           .need = failures});
  v.field("longest_retry", &r.longest_retry,
          {.doc = "No wait is longer than this.", .min = 1e-6, .max = 1e6, .need = failures});
  v.field("retry_limit", &r.retry_limit,
          {.doc = "Repetitions of one request after which the run ends; 0: none.",
           .min = 0,
           .max = 1e6,
           .need = failures});
  v.field("patience", &r.patience,
          {.doc = "Time without any computation or update after which the run ends as stuck, if no fault is "
                  "to come; where messages are lost at random, as much more as 30 of the longest waits take.",
           .min = 1e-3,
           .max = 1e9,
           .need = failures});
}

}  // namespace

void describe_recovery(FieldVisitor& v, Scenario& s) {
  RecoverySpec& r = s.recovery;
  const Need failures{.keys = {"recovery.enabled", "fault", "replication.copies", "snapshot.every"},
                      .text = "where something may be lost, or enabled = true",
                      .met = [&s] { return s.may_fail(); }};
  v.field(
      "enabled", &r.enabled,
      {.doc = "Heartbeats, acknowledged pushes and repeated requests. Also on with replication, snapshots "
              "and every fault but `slow` and `degrade` with a factor above 0."});
  v.field("detector", choice(r.detector),
          {.doc = "How the scheduler tells that a node is down.", .need = failures});
  v.field("heartbeat", &r.heartbeat,
          {.doc = "Time from one heartbeat of a server or worker to the next.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("timeout", &r.timeout,
          {.doc = "Silence after which a node is suspected; of phi-accrual before it has seen two gaps.",
           .min = 1e-6,
           .max = 1e6,
           .need = failures});
  v.field("threshold", &r.threshold,
          {.doc = "phi from which on a node is suspected: a live one is so with probability 10^-phi.",
           .min = 0.1,
           .max = 100,
           .when_key = "detector",
           .when = {"phi-accrual"},
           .need = failures});
  v.field("workers", choice(r.workers),
          {.doc = "What happens to a worker that is suspected.", .need = failures});
  v.field("lost_data", choice(r.data),
          {.doc = "What becomes of the samples of a worker that takes no part.", .need = failures});
  v.field(
      "servers", choice(r.servers),
      {.doc = "What happens to a suspected server's shards of which there is no replica.", .need = failures});
  v.field("rebalance", &r.rebalance,
          {.doc = "A server that comes, or comes back, gets the shards that placement gives it.",
           .need = failures});
  v.field("hand_over", choice(r.hand_over),
          {.doc = "How a shard gets from an owner that is still there to the next one.", .need = failures});
  describe_repetition(v, r, failures);
}

void describe_replication(FieldVisitor& v, ReplicationSpec& r) {
  v.field("copies", &r.copies,
          {.doc = "Servers that hold a copy of each shard beside its owner, the next ones in their order.",
           .min = 0,
           .max = 64});
  const Need copies{
      .keys = {"replication.copies"}, .text = "with copies above 0", .met = [&r] { return r.copies > 0; }};
  v.field("when", choice(r.when), {.doc = "What is sent to the replicas.", .need = copies});
  v.field("layout", choice(r.layout), {.doc = "Who sends it to them.", .need = copies});
  v.field("window", &r.window,
          {.doc = "Updates that a worker may see before they are on all replicas; 0: synchronous.",
           .min = 0,
           .max = 1e9,
           .need = copies});
}

void describe_snapshot(FieldVisitor& v, SnapshotSpec& s) {
  v.field("every", &s.every,
          {.doc = "Time, or updates of a shard, from one snapshot to the next; to a storage node.",
           .default_text = "none are made"});
  v.field("bandwidth", &s.bandwidth,
          {.doc = "Of the storage's disk, for writing and reading.",
           .min = 1,
           .max = 1e15,
           .need = {.keys = {"snapshot.every"}, .text = "with every", .met = [&s] {
                      return s.every.has_value();
                    }}});
}

}  // namespace psim
