// Faults: their kinds, nodes and times.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

// Detection and handling of failures.

namespace {

// How nodes repeat unanswered requests.
void describe_repetition(FieldVisitor& v, RecoverySpec& r, const Need& failures) {
  v.field("retry", &r.retry, "Time after which a node first repeats an unanswered request.",
          within(1e-6, 1e6), only(failures));
  v.field("backoff", &r.backoff, "Factor by which each wait is longer than the wait before.", within(1, 100),
          only(failures));
  v.field("longest_retry", &r.longest_retry, "Longest wait before a repetition.", within(1e-6, 1e6),
          only(failures));
  v.field("retry_limit", &r.retry_limit,
          "Number of repetitions of one request after which the run ends; 0 sets no limit.", within(0, 1e6),
          only(failures));
  v.field("patience", &r.patience,
          "Time without a computation, update, transfer of values or planned fault after which psim ends the "
          "run as stuck. psim does not end the run before the last planned fault. If a fault repeats without "
          "end, psim adds three of its periods (`every` or `mtbf`) to the time. If a fault loses messages at "
          "random, psim adds at least 30 times `longest_retry`.",
          within(1e-3, 1e9), only(failures));
}

}  // namespace

void describe_recovery(FieldVisitor& v, Scenario& s) {
  RecoverySpec& r = s.recovery;
  const Need failures{
      .keys = {"recovery.enabled", "fault", "replication.copies", "snapshot.every", "profile"},
      .text = "if something may be lost, or enabled = true",
      .met = [&s] { return s.may_fail(); }};
  v.field("enabled", &r.enabled,
          "Whether nodes send heartbeats, acknowledge pushes and repeat requests. They always do with "
          "replication, snapshots, [recovery.slow], or a fault that may lose something. `slow` and `degrade` "
          "with a factor above 0 lose nothing.",
          otherwise("`true` if something may be lost, else `false`"));
  v.field("detector", choice(r.detector), "When the scheduler suspects that a node is down.", only(failures));
  v.field("heartbeat", &r.heartbeat, "Time from one heartbeat of a server or worker to the next.",
          within(1e-6, 1e6), only(failures));
  v.field("timeout", &r.timeout,
          "Silence after which the scheduler suspects a node. phi-accrual uses the timeout until it has seen "
          "two gaps between heartbeats.",
          within(1e-6, 1e6), only(failures));
  v.field("threshold", &r.threshold,
          "Value of phi from which the scheduler suspects a node. It suspects a live node with probability "
          "10^-phi.",
          within(0.1, 100), when("detector", {"phi-accrual"}), only(failures));
  v.field("workers", choice(r.workers), "What happens to a suspected worker.", only(failures),
          otherwise("`\"remove\"`; with model-parallel `\"wait\"`"));
  v.field("lost_data", choice(r.data), "What happens to the samples of a worker that does not take part.",
          only(failures));
  v.field("data_from", choice(r.data_from),
          "The source of samples that a worker needs but does not hold: its own samples when it joins or "
          "returns, and samples that it takes over. The worker's next step waits for them.",
          only(failures));
  const Need of_servers{.keys = {"architecture.kind", "recovery.enabled", "fault", "replication.copies",
                                 "snapshot.every", "profile"},
                        .text = "with servers, if something may be lost, or enabled = true",
                        .met = [&s] { return s.may_fail() && s.architecture.has_servers(); }};
  v.field("servers", choice(r.servers), "What happens to shards of a suspected server that have no replica.",
          only(of_servers));
  v.field("rebalance", choice(r.rebalance), "Which shards a server gets when it joins or returns.",
          only(of_servers));
  v.field("hand_over", choice(r.hand_over), "How a shard moves from a live owner to the next owner.",
          only(of_servers));
  v.field("semantics", choice(r.semantics), "What a server does with a push that it has already received.",
          only(of_servers));
  describe_repetition(v, r, failures);
  describe_slow(v, s);
}

void describe_replication(FieldVisitor& v, ReplicationSpec& r) {
  v.field("copies", &r.copies,
          "Number of servers, next to the owner in their order, that also hold a copy of each shard.",
          within(0, 64));
  const Need copies{
      .keys = {"replication.copies"}, .text = "with copies above 0", .met = [&r] { return r.copies > 0; }};
  v.field("when", choice(r.when), "What replicas receive.", only(copies));
  v.field("layout", choice(r.layout), "Which servers send to the replicas.",
          only({{"replication.copies"}, "with copies above 1", [&r] { return r.copies > 1; }}));
  v.field("window", &r.window,
          "Largest number of updates that a worker may see before all replicas have them; 0 makes "
          "replication synchronous.",
          within(0, 1e9), only(copies));
}

void describe_snapshot(FieldVisitor& v, SnapshotSpec& s) {
  v.field(
      "every", &s.every,
      "Time, or number of updates of a shard, from one snapshot to the next. A server takes a snapshot that "
      "is due after its next message, and sends it to a storage node. It leaves one out while the last one "
      "is on its way.",
      otherwise("no snapshots"));
  v.field("bandwidth", &s.bandwidth, "Bandwidth of the storage node's disk, for writing and reading.",
          within(1, 1e15), only({.keys = {"snapshot.every"}, .text = "with `every`", .met = [&s] {
                                   return s.every.has_value();
                                 }}));
}

namespace {

constexpr double longest = 1e9;  // seconds

// The field has a meaning only with kinds that `fit`.
auto of_kind(bool (*fit)(const FaultKindRow&)) { return when("kind", names_of_rows<FaultKindRow>(fit)); }

bool is_window(const FaultKindRow& kind) { return kind.window; }
bool has_nodes(const FaultKindRow& kind) { return kind.on == FaultOn::nodes || kind.on == FaultOn::messages; }
bool has_sides(const FaultKindRow& kind) { return kind.on == FaultOn::sides || kind.on == FaultOn::messages; }
bool has_messages(const FaultKindRow& kind) { return kind.on == FaultOn::messages; }
bool has_factor(const FaultKindRow& kind) { return kind.takes_factor() || kind.corrupts; }
bool corrupts(const FaultKindRow& kind) { return kind.corrupts; }
bool has_delay(const FaultKindRow& kind) { return kind.takes_delay; }
bool crashes(const FaultKindRow& kind) { return kind.crashes; }

// The fields that decide when a fault begins and ends.
void describe_trigger(FieldVisitor& v, FaultSpec& f) {
  v.field("at", &f.at, "When the fault happens.", within(0, longest));
  v.field("from", &f.from, "When the fault begins.", within(0, longest), of_kind(is_window),
          otherwise("the beginning"));
  v.field("until", &f.until, "When the fault ends.", above(0, longest), of_kind(is_window),
          otherwise("the end"));
  v.field("mtbf", &f.mtbf,
          "Mean time from the beginning of the run, or from the end of the last fault, to the next fault. "
          "psim draws exponential times, for each node separately.",
          above(0, longest));
  v.field("when", &f.when,
          "A condition. The fault happens when the condition first holds: \"loss < 0.5\", \"accuracy > "
          "0.9\", \"updates >= 200\", \"clock of worker 3 = 100\", \"server 1 crashed\". Loss, accuracy and "
          "updates are the values of the first [[group]].");
  v.field("every", &f.every, "Repeat `at`, or `from` and `until`, with this period.", above(0, longest),
          otherwise("once"));
  v.field("lasts", &f.lasts, "How long a fault with `at`, `mtbf` or `when` lasts.", above(0, longest),
          of_kind(is_window), otherwise("for ever"));
}

}  // namespace

void describe_fault(FieldVisitor& v, FaultSpec& f) {
  v.field("kind", choice(f.kind), "The kind of fault.", required);
  v.field("nodes", &f.nodes,
          "Nodes that the fault affects: \"scheduler\", \"server 1\", \"worker 3\", \"storage\", \"inference "
          "0\", \"servers\", \"workers\" or \"all\". A fault of messages affects the messages that one of "
          "these nodes sends or receives.",
          filled, of_kind(has_nodes));
  v.field("between", &f.between,
          "Two lists of nodes. The fault affects messages between them, in both directions. [\"rest\"] means "
          "all nodes that are not in the other list.",
          filled, of_kind(has_sides));
  v.field("messages", &f.messages,
          "Kinds of messages that the fault affects, such as \"push\", \"pull\" and \"weights\".", filled,
          of_kind(has_messages), otherwise("all"));
  describe_trigger(v, f);
  v.field("restart_after", &f.restart_after, "Time from a crash to the restart.", within(0, longest),
          of_kind(crashes), otherwise("never"));
  v.field("disk", choice(f.disk),
          "What happens to the snapshots of a storage node that crashes. Other nodes have no disk.",
          of_kind(crashes));
  v.field("probability", &f.probability, "Probability that the fault affects a message.", within(0, 1),
          of_kind(has_messages));
  v.field(
      "factor", &f.factor,
      "Remaining share of the speed (slow; 0 freezes the node) or of the bandwidth (degrade), from 0 to 1. "
      "With corrupt: the number that `how` uses.",
      within(-1e9, 1e9), of_kind(has_factor),
      otherwise("required; with corrupt by sign 1, and by copy it has no meaning"));
  v.field("delay", &f.delay,
          "How much later a message arrives. With reorder, psim draws the delay of each message uniformly "
          "from 0 to this value.",
          above(0, longest), of_kind(has_delay), otherwise("required"));
  v.field("how", choice(f.how),
          "What a worker pushes instead of the values that it has computed. The simulated time stays the "
          "same. If several such faults are in force, each changes the result of those that began before it.",
          of_kind(corrupts));
  v.field("of", &f.of, "The worker whose values the workers push, such as \"worker 0\".",
          when("how", {"copy"}), otherwise("required"));
}

}  // namespace psim
