#include "sim/scenario/fields.hpp"

#include "sim/scenario/choices.hpp"

namespace psim {
namespace {

void describe_data(FieldVisitor& v, DataSpec& d) {
  v.field("source", choice(d.source), {.doc = "Where the samples come from."});
  v.field("path", &d.path,
          {.doc = "csv: the file; idx: the folder. Relative paths are looked up in --data-dir, PSIM_DATA and "
                  "the scenario's folder.",
           .when_key = "source",
           .when = {"csv", "idx"}});
  v.field("test_fraction", &d.test_fraction,
          {.doc = "Share of the samples kept apart for evaluation; 0 evaluates on the training set.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "source",
           .when = {"digits", "csv", "blobs", "spirals", "teacher"}});
  v.field("samples", &d.samples,
          {.doc = "How many samples to generate.",
           .min = 2,
           .max = 1e7,
           .when_key = "source",
           .when = {"blobs", "spirals", "teacher"}});
  v.field("features", &d.features,
          {.doc = "Inputs per sample.",
           .min = 1,
           .max = 1e5,
           .when_key = "source",
           .when = {"blobs", "teacher"}});
  v.field("classes", &d.classes,
          {.doc = "Classes; for `teacher` the outputs.",
           .min = 1,
           .max = 1e4,
           .when_key = "source",
           .when = {"blobs", "spirals", "teacher"}});
  v.field("noise", &d.noise,
          {.doc = "Standard deviation of a sample around its place, or of a target.",
           .min = 0,
           .max = 1e3,
           .when_key = "source",
           .when = {"blobs", "spirals", "teacher"}});
  v.field("inputs", &d.inputs,
          {.doc = "The samples, one row each.", .when_key = "source", .when = {"inline"}});
  v.field("targets", &d.targets,
          {.doc = "Their targets, one row each.", .when_key = "source", .when = {"inline"}});
  v.field("partition", choice(d.partition),
          {.doc = "How the training samples are dealt out to the workers."});
  v.field("dirichlet_alpha", &d.dirichlet_alpha,
          {.doc = "Concentration: small means that a worker sees few classes.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "partition",
           .when = {"dirichlet"}});
}

void describe_model(FieldVisitor& v, ModelSpec& m) {
  v.field("kind", choice(m.kind), {.doc = "What is learned."});
  v.field("layers", &m.mlp.layers,
          {.doc = "Widths of the layers, inputs first, outputs last.",
           .min = 1,
           .max = 1e6,
           .when_key = "kind",
           .when = {"mlp"}});
  v.field("bias", &m.mlp.bias,
          {.doc = "Whether the layers have biases.", .when_key = "kind", .when = {"mlp"}});
  v.field("activation", choice(m.mlp.activation),
          {.doc = "Activation of the hidden layers; the output layer is linear.",
           .when_key = "kind",
           .when = {"mlp"}});
  v.field("loss", choice(m.mlp.loss),
          {.doc = "The loss of one sample; a batch takes the mean.", .when_key = "kind", .when = {"mlp"}});
  v.field("init", choice(m.init),
          {.doc = "How the weights are drawn; biases start at zero.", .when_key = "kind", .when = {"mlp"}});
  v.field("weights", &m.weights,
          {.doc = "Initial weights instead of drawn ones: per layer, its rows (outputs x inputs).",
           .when_key = "kind",
           .when = {"mlp"}});
  v.field(
      "biases", &m.biases,
      {.doc = "Initial biases instead of zeros: one row per layer.", .when_key = "kind", .when = {"mlp"}});
  v.field("precision", choice(m.precision), {.doc = "Precision of weights, gradients and messages."});
  v.field("parameters", &m.parameters,
          {.doc = "Number of parameters.", .min = 1, .max = 1e10, .when_key = "kind", .when = {"phantom"}});
  v.field("flops_per_sample", &m.flops_per_sample,
          {.doc = "Floating-point operations of one sample's gradient.",
           .min = 0,
           .max = 1e18,
           .when_key = "kind",
           .when = {"phantom"}});
}

void describe_optimizer(FieldVisitor& v, OptimizerSpec& o) {
  v.field("momentum", &o.momentum,
          {.doc = "Share of the last step that is kept.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "optimizer",
           .when = {"momentum", "nesterov"}});
  v.field("decay", &o.decay,
          {.doc = "Share of the running mean of squares that is kept.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "optimizer",
           .when = {"rmsprop"}});
  v.field("beta1", &o.beta1,
          {.doc = "Decay of the first moment.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "optimizer",
           .when = {"adam"}});
  v.field("beta2", &o.beta2,
          {.doc = "Decay of the second moment.",
           .min = 0,
           .max = 1,
           .below_max = true,
           .when_key = "optimizer",
           .when = {"adam"}});
  v.field("epsilon", &o.epsilon,
          {.doc = "Added to the root in the divisor.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "optimizer",
           .when = {"adagrad", "rmsprop", "adam"}});
  v.field("weight_decay", &o.weight_decay,
          {.doc = "L2: this times the weight is added to its gradient.", .min = 0, .max = 1e3});
}

void describe_training(FieldVisitor& v, TrainingSpec& t) {
  v.field("batch_size", &t.batch_size, {.doc = "Samples per worker and step.", .min = 1, .max = 1e7});
  v.field("steps", &t.steps, {.doc = "End after so many clocks of each worker.", .min = 1, .max = 1e9});
  v.field("epochs", &t.epochs,
          {.doc = "End after so many passes over the training set, counted as steps of all workers.",
           .min = 0,
           .max = 1e6,
           .above_min = true});
  v.field("duration", &t.duration,
          {.doc = "End after so much simulated time.", .min = 0, .max = 1e9, .above_min = true});
  v.field("optimizer", choice(t.optimizer.kind), {.doc = "How the servers apply an aggregated gradient."});
  v.field("learning_rate", &t.learning_rate, {.doc = "Step size.", .min = 0, .max = 1e6});
  v.field("schedule", choice(t.schedule), {.doc = "How the learning rate changes."});
  v.field("schedule_every", &t.schedule_every,
          {.doc = "Epochs between two drops.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "schedule",
           .when = {"step"}});
  v.field("schedule_factor", &t.schedule_factor,
          {.doc = "Factor of each drop.", .min = 0, .max = 1, .when_key = "schedule", .when = {"step"}});
  v.field("staleness_aware", &t.staleness_aware,
          {.doc = "Divide each gradient by its staleness in updates, if that is above 1 (Zhang et al., IJCAI "
                  "2016)."});
  describe_optimizer(v, t.optimizer);
  v.field("evaluate_every", &t.evaluate_every,
          {.doc = "Time between evaluations, or a number of updates such as \"10 updates\"; evaluating takes "
                  "no simulated time.",
           .default_text = "at the start and the end"});
  v.table("target", "A goal; the time to reach it is reported.", [&] {
    v.field("accuracy", &t.target.accuracy,
            {.doc = "Reached when the accuracy is at least this.", .min = 0, .max = 1});
    v.field("loss", &t.target.loss,
            {.doc = "Reached when the loss is at most this.", .min = 0, .max = 1e300});
    v.field("stop", &t.target.stop, {.doc = "Whether the run ends when the target is reached."});
  });
}

void describe_consistency(FieldVisitor& v, ConsistencySpec& c) {
  v.field("model", choice(c.model),
          {.doc = "When a worker may start a clock and when a server applies a push."});
  v.field("staleness", &c.staleness,
          {.doc = "Clocks that a worker may be ahead of the slowest; for dssp the least such bound.",
           .min = 0,
           .max = 1e9,
           .when_key = "model",
           .when = {"ssp", "dssp"}});
  v.field("staleness_max", &c.staleness_max,
          {.doc = "The largest bound that dssp may choose.",
           .min = 0,
           .max = 1e9,
           .when_key = "model",
           .when = {"dssp"}});
  v.field("staleness_schedule", &c.staleness_schedule,
          {.doc = "Rows [clock, staleness]: the bound from that clock on.",
           .when_key = "model",
           .when = {"ssp"}});
  v.field("k", &c.k,
          {.doc = "Pushes per update.",
           .min = 1,
           .max = 4096,
           .when_key = "model",
           .when = {"k-sync", "k-batch-sync", "k-async", "k-batch-async"},
           .default_text = "the number of workers"});
  v.field("backup", &c.backup,
          {.doc = "Backup workers: k is the number of workers less this.",
           .min = 0,
           .max = 4095,
           .when_key = "model",
           .when = {"k-sync"}});
  v.field("late", choice(c.late),
          {.doc = "What happens to a worker whose push would come too late.",
           .when_key = "model",
           .when = {"k-sync", "k-batch-sync"}});
  v.field("aggregation", choice(c.aggregation), {.doc = "How the gradients of one update are combined."});
}

void describe_network(FieldVisitor& v, NetworkSpec& n) {
  v.field("topology", choice(n.topology), {.doc = "How the nodes are wired."});
  v.field("racks", &n.racks,
          {.doc = "Number of racks; nodes are dealt out to them in turn.",
           .min = 1,
           .max = 1024,
           .when_key = "topology",
           .when = {"two-tier"}});
  v.field("oversubscription", &n.oversubscription,
          {.doc = "A rack's links together over its uplink.",
           .min = 0,
           .max = 1e6,
           .above_min = true,
           .when_key = "topology",
           .when = {"two-tier"}});
  v.field("bandwidth", &n.bandwidth,
          {.doc = "Bandwidth of every node's link, each way.", .min = 1, .max = 1e30});
  v.field("latency", &n.latency,
          {.doc = "One-way latency of every node's link; a path has two.", .min = 0, .max = 3600});
  v.field("model", choice(n.model), {.doc = "How transfers share the links."});
  v.field("simgrid_model", choice(n.simgrid_model), {.doc = "Which of SimGrid's flow models."});
  v.field("cross_traffic", &n.cross_traffic,
          {.doc = "Whether a flow loads the way back with 5 % for acknowledgements."});
  v.field("share_spread", &n.share_spread,
          {.doc = "Unequal connections: each has its own latency, latency * exp(share_spread * U(-1, 1)); 0 "
                  "shares links ideally.",
           .min = 0,
           .max = 3});
  v.field("tcp_window", &n.tcp_window,
          {.doc = "A flow is no faster than this per round trip; 0 is no limit.",
           .min = 0,
           .max = 1e15,
           .default_text = "\"4MiB\" for lv08, none for cm02"});
  v.field("header", &n.header,
          {.doc = "Framing and metadata added to every message; a dense message is else its values alone.",
           .min = 0,
           .max = 1e6});
}

void describe_cluster(FieldVisitor& v, ClusterSpec& c) {
  v.field("workers", &c.workers, {.doc = "Number of workers.", .min = 1, .max = 4096});
  v.field("servers", &c.servers,
          {.doc = "Number of servers; the model is cut in as many equal ranges.", .min = 1, .max = 1024});
  v.table("worker", "Every worker's machine.", [&] {
    v.field("speed", &c.worker.speed,
            {.doc = "Computing speed: one for all, or a list with one for each.", .min = 1, .max = 1e30});
  });
  v.table("server", "Every server's machine.", [&] {
    v.field("speed", &c.server.speed,
            {.doc = "Computing speed: one for all, or a list with one for each.", .min = 1, .max = 1e30});
    v.field("flops_per_value", &c.server.flops_per_value,
            {.doc = "Work of a server for each value that it receives; 0 makes servers infinitely fast.",
             .min = 0,
             .max = 1e12});
  });
  v.table("network", "The network between them.", [&] { describe_network(v, c.network); });
}

void describe_compute(FieldVisitor& v, ComputeSpec& c) {
  v.field("distribution", choice(c.distribution),
          {.doc = "How the time of a step varies; the mean stays the same."});
  v.field("cv", &c.cv,
          {.doc = "Coefficient of variation.",
           .min = 0,
           .max = 10,
           .when_key = "distribution",
           .when = {"uniform", "gamma", "lognormal"}});
  v.field(
      "time", &c.time,
      {.doc = "Mean time of a step.", .min = 0, .max = 1e9, .default_text = "flops of the gradient / speed"});
  v.field("alpha", &c.alpha,
          {.doc = "Tail exponent.",
           .min = 1,
           .max = 1e3,
           .above_min = true,
           .when_key = "distribution",
           .when = {"pareto"}});
  v.field("shift", &c.shift,
          {.doc = "The part of a step's time that is always there.",
           .min = 0,
           .max = 1e9,
           .when_key = "distribution",
           .when = {"shifted-exponential"}});
  v.field("slowdown", &c.slowdown,
          {.doc = "How much slower the slow state is.",
           .min = 1,
           .max = 1e6,
           .when_key = "distribution",
           .when = {"markov"}});
  v.field("enter", &c.enter,
          {.doc = "Probability per step of becoming slow.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "distribution",
           .when = {"markov"}});
  v.field("leave", &c.leave,
          {.doc = "Probability per step of becoming normal again.",
           .min = 0,
           .max = 1,
           .above_min = true,
           .when_key = "distribution",
           .when = {"markov"}});
  v.field("trace", &c.trace,
          {.doc = "File of factors, one row per step, with one column or one per worker.",
           .when_key = "distribution",
           .when = {"trace"}});
}

void describe_straggler(FieldVisitor& v, StragglerSpec& s) {
  v.field("workers", &s.workers,
          {.doc = "Which workers, counted from 0.", .min = 0, .max = 4095, .required = true});
  v.field("slowdown", &s.slowdown, {.doc = "How much slower they are.", .min = 1, .max = 1e6});
  v.field("from", &s.from,
          {.doc = "Start of the slow time.", .min = 0, .max = 1e9, .default_text = "the beginning"});
  v.field(
      "until", &s.until,
      {.doc = "End of the slow time.", .min = 0, .max = 1e9, .above_min = true, .default_text = "the end"});
  v.field("every", &s.every,
          {.doc = "Repeat the slow time with this period.",
           .min = 0,
           .max = 1e9,
           .above_min = true,
           .default_text = "once"});
  v.field("probability", &s.probability,
          {.doc = "Slow in each step with this probability instead of by the clock.",
           .min = 0,
           .max = 1,
           .default_text = "by the clock"});
}

}  // namespace

void describe(FieldVisitor& v, Scenario& s) {
  v.field("title", &s.title, {.doc = "The question that this scenario answers."});
  v.field("seed", &s.seed, {.doc = "Root of every random draw.", .min = 0, .max = 9e15});
  v.table("data", "What is learned from.", [&] { describe_data(v, s.data); });
  v.table("model", "What is learned.", [&] { describe_model(v, s.model); });
  v.table("training", "How it is learned, and when the run ends.", [&] { describe_training(v, s.training); });
  v.table("consistency", "Who waits for whom.", [&] { describe_consistency(v, s.consistency); });
  v.table("cluster", "The machines and the network.", [&] { describe_cluster(v, s.cluster); });
  v.table("compute", "How long a step's computation takes.", [&] { describe_compute(v, s.compute); });
  v.tables(
      "straggler", "Workers that are slow, always or at times.", s.stragglers.size(),
      [&](std::size_t count) { s.stragglers.resize(count); },
      [&](std::size_t i) { describe_straggler(v, s.stragglers[i]); });
}

}  // namespace psim
