// What is learned, from which data, in which rhythm, and who computes what.
#include <fmt/format.h>

#include <functional>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_architecture(FieldVisitor& v, Scenario& s) {
  ArchitectureSpec& a = s.architecture;
  v.field("kind", choice(a.kind), "Which nodes hold the model, and how they exchange it.");
  v.field("algorithm", choice(a.algorithm), "How the workers sum their gradients.",
          when("kind", {"all-reduce"}));
  v.field("ranks", choice(a.rank_order),
          "Order of the workers in an all-reduce. When workers are lost, the others keep their order.",
          when("kind", {"all-reduce"}));
  v.field("divide_first", &a.divide_first,
          "Whether each worker divides its gradient by the number of workers before the sum, as PyTorch's "
          "fp16_compress_hook does, and not the sum afterwards. Partial sums then stay in the range of half "
          "precision, and very small gradients become less exact.",
          when("kind", {"all-reduce"}),
          only({.keys = {"filter", "model.precision"},
                .text = "with partial sums in half precision (the filter fp16 or model.precision)",
                .met = [&s] { return s.sums_in_half(); }}),
          otherwise("true"));
  v.field("micro_batches", &a.micro_batches,
          "Number of parts into which a step's batch (of all workers together) is cut. The parts pass "
          "through the stages one after the other.",
          within(1, 1e6), when("kind", {"model-parallel"}),
          otherwise("four per worker, but at most one per sample"));
  v.field("over", choice(a.over), "What runs the stages of the pipeline.", when("kind", {"model-parallel"}));
  v.field("schedule", choice(a.schedule), "The order in which a stage computes.",
          when("kind", {"model-parallel"}));
}

// Groups of workers on one cluster.
void describe_group(FieldVisitor& v, GroupSpec& g) {
  v.field("name", &g.name, "Name of the group in results; each group has a different one.", required);
  v.field("workers", &g.workers, "Number of workers. The groups take them from `cluster.workers` in order.",
          within(1, most_workers), otherwise("an equal share of the workers that no other group takes"));
  v.field("namespace", choice(g.space), "Which parameters the group trains.");
  v.field(
      "set", &g.set,
      "Fields that differ from the rest of the scenario, as in --set: \"training.batch_size = 64\". A group "
      "may set `seed`, `compute.time`, and fields of [data], [model], [training], [consistency], "
      "[placement], [messages] and [[filter]]. In a shared namespace it may set only `training.batch_size`.");
}

// The nodes that answer requests with the weights that the workers train.

namespace {

// Which parameters the nodes serve, and how psim reports it.
void describe_served(FieldVisitor& v, InferenceSpec& i) {
  v.field("group", &i.group, "Name of the [[group]] whose parameters the nodes pull.", with_servers,
          otherwise("the first group"));
  v.field("window", &i.window,
          "Length of the time windows in which psim counts answers (`over_time` in summary.json, table "
          "`serving` of run.db). psim doubles the length until there are at most 10000 windows.",
          within(1e-6, 1e9), with_servers,
          otherwise("1, 2 or 5 times a power of ten, so that there are at most 50 windows"));
}

}  // namespace

void describe_inference(FieldVisitor& v, InferenceSpec& i) {
  v.field("nodes", &i.nodes, "Number of inference nodes. Each starts with the initial weights.",
          within(1, 1024), with_servers);
  v.field("rate", &i.rate,
          "Number of requests per second to all nodes together, whether or not the nodes keep up. Each node "
          "gets an equal share.",
          above(0, 1e9), with_servers);
  v.field("arrivals", choice(i.arrivals),
          "The time between requests. A node answers them one at a time, in the order of arrival.",
          with_servers);
  v.field("refresh", &i.refresh, "Time from one pull of a node to its next pull. The nodes pull in turn.",
          above(0, 1e9), with_servers);
  v.field("samples_per_request", &i.samples_per_request, "Number of test samples in a request.",
          within(1, 1e6), with_servers);
  v.field("flops_per_request", &i.flops_per_request, "Floating-point operations of one answer.",
          within(0, 1e18), with_servers,
          otherwise("a third of the operations of a gradient of these samples: the forward pass"));
  v.field("speed", &i.speed, "Computing speed: one for all nodes, or a list with one for each.",
          within(1, 1e30), with_servers);
  describe_served(v, i);
}

namespace {

// The field has a meaning only with sources, or kinds of models, that have it.
auto of_source(std::string_view field) {
  return when("source",
              names_of_rows<DataSourceRow>([field](const auto& row) { return lists(row.fields, field); }));
}
auto of_kind(std::string_view field) {
  return when("kind", names_of_rows<ModelRow>([field](const auto& row) { return lists(row.fields, field); }));
}

void describe_generated(FieldVisitor& v, DataSpec& d) {
  v.field("samples", &d.samples, "Number of samples to generate.", within(2, 1e7), of_source("samples"));
  v.field("features", &d.features, "Number of inputs of a sample; for `clicks` the number of all features.",
          within(1, 1e6), of_source("features"));
  v.field("classes", &d.classes, "Number of classes; for `teacher` the number of outputs.", within(1, 1e4),
          of_source("classes"));
  v.field("noise", &d.noise,
          "Standard deviation of the noise: of a sample's position (blobs, spirals), of a target (teacher), "
          "of the log-odds (clicks).",
          within(0, 1e3), of_source("noise"));
  v.field("nonzeros", &d.nonzeros, "Number of features of a sample, one from each categorical field.",
          within(1, 1e4), of_source("nonzeros"));
  v.field(
      "exponent", &d.exponent,
      "Zipf's law: the share of the r-th most frequent feature of a field is proportional to r^-exponent.",
      within(0, 10), of_source("exponent"));
}

}  // namespace

void describe_data(FieldVisitor& v, Scenario& s) {
  DataSpec& d = s.data;
  v.field("source", choice(d.source), "Where the samples come from.",
          only({.keys = {"model.kind", "group"}, .text = "with a model that learns", .met = [&s] {
                  return s.model.kind->has_numbers || !s.groups.empty();
                }}));
  describe_settings<DataSourceRow>(v, "source", d.settings);
  v.field("path", &d.path,
          "The file (csv, libsvm) or the folder (idx). psim looks for a relative path in --data-dir, "
          "PSIM_DATA and the scenario's folder, and for a folder also in /usr/share/datasets, where Debian's "
          "packages put data sets.",
          when("source", names_of_rows<DataSourceRow>([](const auto& row) { return row.reads_files; })));
  v.field("label", &d.label,
          "The column with the class, by its name in the header or its number from 1. Classes are integers "
          "from 0, or names, which psim numbers in the order of their bytes.",
          or_number, of_source("label"), otherwise("the last column that is not dropped"));
  v.field("drop", &d.drop, "Columns that are no features, by name or number.", or_number, of_source("drop"));
  v.field("standardize", &d.standardize,
          "Whether each feature x becomes (x - mean) / sd, with the mean and the standard deviation of the "
          "training samples. A feature that is constant in these becomes 0.",
          of_source("standardize"));
  v.field("test_fraction", &d.test_fraction,
          "Share of the samples in the test set. With 0 the validation set serves as the test set, or the "
          "training set if there is no validation set.",
          below(0, 1), of_source("test_fraction"));
  v.field(
      "validation_fraction", &d.validation_fraction,
      "Share of the remaining samples in the validation set, with the same share of every class. It judges "
      "the run while it goes on: its curve, its target, and conditions of faults on loss or accuracy. psim "
      "then evaluates the test set once, on the last weights. With 0 the test set serves both purposes.",
      below(0, 1));
  v.field("split_seed", &d.split_seed,
          "Seed that draws the test and validation samples. Runs with the same split_seed have the same test "
          "and validation sets, whatever their own seeds are. With [tune] all runs and trials share it, so "
          "that no trial learns from a test sample of the comparison.",
          within(0, 1e15), otherwise("the run's seed; 1 with [tune]"));
  describe_generated(v, d);
  v.field("inputs", &d.inputs, "The samples, one row each.", of_source("inputs"));
  v.field("targets", &d.targets, "Their targets, one row each.", of_source("targets"));
  v.field("partition", choice(d.partition), "How the training samples are divided among the workers.");
  v.field("dirichlet_alpha", &d.dirichlet_alpha,
          "Concentration of the distribution: with a small value each worker sees few classes.",
          above(0, 1e6), when("partition", {"dirichlet"}));
}

namespace {

void describe_phantom(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("parameters", &m.parameters, "Number of parameters.", within(1, 1e10), of_kind("parameters"));
  v.field("arrays", &m.phantom_arrays,
          "Number of parameters of each array, from the input layer on; replaces `parameters`.",
          within(1, 1e10), filled, of_kind("arrays"), otherwise("one array"));
  v.field("work", &m.phantom_work,
          "Relative work of each array in a step, in the order of `arrays`. The share of an array is its "
          "number divided by the sum of all.",
          within(0, 1e12), filled, of_kind("work"), otherwise("in proportion to the arrays' sizes"));
  v.field("flops_per_sample", &m.flops_per_sample, "Floating-point operations for one sample's gradient.",
          within(0, 1e18), of_kind("flops_per_sample"),
          only({.keys = {"compute.time", "compute.trace_unit", "inference", "group"},
                .text = "without a given time of a step",
                .met =
                    [&s] {
                      const InferenceSpec& inference = s.cluster.inference;
                      return !(s.compute.time || s.compute.is_in_seconds()) || !s.groups.empty() ||
                             (inference.given && !inference.flops_per_request);
                    },
                .kept = m.flops_per_sample != ModelSpec{}.flops_per_sample}));
  v.field("activations", &m.activations,
          "Number of values of one sample that a pipeline stage passes to the next.", within(0, 1e9),
          of_kind("activations"), only({.keys = {"architecture.kind"}, .text = "in a pipeline", .met = [&s] {
                                          return s.architecture.kind == Architecture::model_parallel;
                                        }}));
  v.field("activations_per_sample", &s.activations_per_sample,
          "Memory that the forward pass of one sample keeps for the backward pass, on the nodes that compute "
          "gradients. Arrays, or stages of a pipeline, have equal parts of it.",
          within(0, 1e15), of_kind("activations_per_sample"));
}

}  // namespace

void describe_model(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("kind", choice(m.kind), "The kind of model. A phantom model has no data and no loss.");
  describe_settings<ModelRow>(v, "kind", m.settings);
  v.field("layers", &m.mlp.layers, "Widths of the layers, inputs first, outputs last.", within(1, 1e6),
          at_least(2), of_kind("layers"));
  v.field("bias", &m.mlp.bias,
          "Whether the layers have biases. A `logistic` model then has one more feature, which is always 1.",
          of_kind("bias"));
  v.field("activation", choice(m.mlp.activation),
          "Activation of the hidden layers; the output layer is linear.", of_kind("activation"),
          only({.keys = {"model.layers", "group"}, .text = "with hidden layers", .met = [&s] {
                  return s.model.mlp.layers.size() > 2 || !s.groups.empty();
                }}));
  v.field("loss", choice(m.mlp.loss), "The loss of one sample; a batch takes the mean.", of_kind("loss"));
  v.field("init", choice(m.init), "How the weights are drawn; biases start at zero.", of_kind("init"),
          only({.keys = {"model.weights"}, .text = "without weights", .met = [&m] {
                  return m.weights.empty();
                }}));
  v.field("weights", &m.weights,
          "Initial weights, instead of random ones: for each layer its rows (outputs x inputs).",
          of_kind("weights"));
  v.field("biases", &m.biases, "Initial biases instead of zeros: one row per layer.", of_kind("biases"));
  v.field("precision", choice(m.precision),
          "Precision of weights, gradients and messages. With half precision, nodes round weights when they "
          "store them and values when they send them; workers compute in single precision.");
  describe_phantom(v, s);
}

namespace {

// `need`: of a field of [training] that [training.inner] replaces.
void describe_optimizer(FieldVisitor& v, OptimizerSpec& o, const Need& need = {}) {
  const auto with_net = names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; });
  const auto without = names_of_rows<OptimizerRow>([](const auto& row) { return !row.elastic_net; });
  describe_settings<OptimizerRow>(v, "optimizer", o.settings);
  v.field(
      "weight_decay", &o.weight_decay,
      "L2 regularisation: adds weight_decay times the weight to its gradient. adamw multiplies the weight "
      "by 1 - learning_rate * weight_decay instead.",
      within(0, 1e3), when("optimizer", without), only(need));
  v.field("l1", &o.l1,
          "Penalty: adds l1 times the sum of the absolute weights to the loss, which makes some weights "
          "exactly 0.",
          within(0, 1e3), when("optimizer", with_net));
  v.field("l2", &o.l2, "Penalty: adds l2 times half the sum of the squared weights to the loss.",
          within(0, 1e3), when("optimizer", with_net));
}

void describe_half_precision(FieldVisitor& v, TrainingSpec& t) {
  v.field(
      "multi_precision", &t.multi_precision,
      "Whether the nodes that run the optimizer keep a copy of the weights in single precision. Without this "
      "copy, rounding removes small updates (Micikevicius et al., ICLR 2018; MXNet's multi_precision).",
      when("model.precision", {"float16", "bfloat16"}));
  v.field("loss_scale", &t.loss_scale,
          "Nodes multiply gradients by loss_scale before they round them, and divide them by it afterwards, "
          "so that small gradients do not vanish.",
          above(0, 16'777'216), when("model.precision", {"float16", "bfloat16"}));
}

void describe_target(FieldVisitor& v, TrainingSpec& t) {
  v.table("target", "An accuracy or a loss to reach; psim reports the time to it.", [&] {
    v.field("accuracy", &t.target.accuracy, "The target is reached when the accuracy is at least this value.",
            within(0, 1));
    v.field("loss", &t.target.loss, "The target is reached when the loss is at most this value.",
            within(0, 1e300));
    v.field(
        "hold", &t.target.hold,
        "The target is reached only when this number of consecutive evaluations are at least as good. The "
        "time to the target is the time of the first of them. With `stop` the run ends at the last of them.",
        within(1, 1e6),
        only({.keys = {"training.target.accuracy", "training.target.loss"},
              .text = "with an accuracy or a loss to reach",
              .met = [&t] { return t.target.given(); }}),
        otherwise("1"));
    v.field("stop", &t.target.stop, "Whether the run ends when the target is reached.",
            only({.keys = {"training.target.accuracy", "training.target.loss"},
                  .text = "with an accuracy or a loss to reach",
                  .met = [&t] { return t.target.given(); }}));
  });
}

void describe_evaluation(FieldVisitor& v, TrainingSpec& t) {
  v.field("evaluate_every", &t.evaluate_every,
          "Time, number of updates, or number of samples from one evaluation of the weights to the next. "
          "Samples count when the model has applied their gradients. With updates or samples psim evaluates "
          "whenever the number passes a multiple of this value. A crash may set the weights back to an older "
          "version: psim also evaluates when the number passes a multiple downwards. psim always evaluates "
          "the first and the last weights. Evaluations take no simulated time.",
          otherwise("about once an epoch"));
  describe_target(v, t);
}

// Whether some pushes may weigh less because they are stale.
bool weighs_stale(const Scenario& s) {
  const bool damps = s.consistency.max_staleness && s.consistency.too_stale == TooStale::damp;
  return s.training.staleness_aware || damps || s.consistency.custom.weight != CustomTexts{}.weight ||
         !s.groups.empty();
}
// Whether servers run an optimizer for which the rate is more than a factor of the gradient.
bool steps_on_servers(const Scenario& s) {
  return !s.groups.empty() ||
         (!s.training.common_optimizer().is_plain() && !s.consistency.aggregation.row->keeps);
}

}  // namespace

namespace {

Need with_numbers(const ModelSpec& m) {
  return {.keys = {"model.kind"}, .text = "with a model that learns", .met = [&m] {
            return m.kind->has_numbers;
          }};
}

void describe_inner(FieldVisitor& v, Scenario& s) {
  InnerLoop& inner = s.training.inner;
  v.field("optimizer", choice(inner.optimizer.kind), "How a gradient moves the worker's copy.");
  describe_optimizer(v, inner.optimizer);
  v.field("learning_rate", &inner.learning_rate,
          "Step size of the worker. `schedule` of [training] changes it during the run.", within(0, 1e6),
          only(with_numbers(s.model)));
  v.field("steps", &inner.steps, "Number of steps between pull and push (H of DiLoCo).", within(1, 1e6));
  v.field("state", choice(inner.state), "What happens to the optimizer's state between two clocks.");
  v.field(
      "dynamic", &inner.dynamic,
      "Whether slower workers take fewer steps: `steps` times the time of a step on the fastest worker, "
      "divided by the worker's own, at least 1. Both are times of the last clock (DyLU: Liu et al., arXiv "
      "2401.09135, 2024).");
}

// Streaming DiLoCo.
void describe_fragments(FieldVisitor& v, Scenario& s) {
  OuterLoop& outer = s.training.outer;
  const Need parts{.keys = {"training.outer.fragments"}, .text = "with several fragments", .met = [&outer] {
                     return outer.fragments > 1;
                   }};
  v.field("fragments", &outer.fragments,
          "Number of equal parts of consecutive weights that take turns: a clock has steps / fragments local "
          "steps, and clock t pushes and pulls fragment t modulo fragments (streaming DiLoCo: Douillard et "
          "al., arXiv 2501.18512, 2025). Workers train all weights all the time.",
          within(1, 1e4), only({.keys = {"training.inner"}, .text = "with [training.inner]", .met = [&s] {
                                  return s.training.inner.given;
                                }}));
  v.field("delay", &outer.delay,
          "Number of local steps that a worker takes between the push of a fragment and its new values; they "
          "travel meanwhile.",
          within(0, 1e6), only(parts));
  v.field(
      "mix", &outer.mix,
      "Share of the worker's own weights in the fragment that it gets (alpha of streaming DiLoCo); the rest "
      "are the new common weights.",
      within(0, 1), only(parts));
}

void describe_loops(FieldVisitor& v, Scenario& s) {
  TrainingSpec& t = s.training;
  v.table(
      "inner",
      "The inner loop of a worker: steps of an optimizer of its own between a pull and a push (DiLoCo: "
      "Douillard et al., arXiv 2311.08105, 2023). The worker pushes the weights before these steps minus "
      "those after them. Without this table workers step as `optimizer`, `learning_rate` and `local_steps` "
      "of "
      "[training] say.",
      [&] { describe_inner(v, s); }, &t.inner.given);
  v.table(
      "outer",
      "The outer loop of the nodes with the common weights: an optimizer whose gradient is the mean of the "
      "workers' pushes, each the weights before its steps minus those after them. Without this table the "
      "mean "
      "is subtracted, as with sgd and learning_rate = 1.",
      [&] {
        v.field("optimizer", choice(t.outer.optimizer.kind), "How the mean push moves the weights.");
        describe_optimizer(v, t.outer.optimizer);
        v.field("learning_rate", &t.outer.learning_rate, "Step size of the outer loop.", within(0, 1e6),
                only(with_numbers(s.model)));
        describe_fragments(v, s);
      },
      &t.outer.given);
}

// Of a field of [training] that a field of [training.inner] replaces.
Need without_inner(const TrainingSpec& t) {
  return {
      .keys = {"training.inner"}, .text = "without [training.inner]", .met = [&t] { return !t.inner.given; }};
}

}  // namespace

void describe_training(FieldVisitor& v, Scenario& s) {
  TrainingSpec& t = s.training;
  const ModelSpec& m = s.model;
  const Need one_loop = without_inner(t);
  v.field("batch_size", &t.batch_size, "Number of samples of a worker's step.", within(1, 1e7));
  v.field("steps", &t.steps, "The run ends when each worker has finished this number of clocks.",
          within(1, 1e9));
  v.field("epochs", &t.epochs,
          "The run ends after this number of passes over the training set, counted in batches of all "
          "workers. Each worker computes local_steps * accumulate batches in a clock, and warmup_steps * "
          "accumulate in the first clock.",
          above(0, 1e6));
  v.field("samples", &t.samples,
          "The run ends after this number of samples, counted in batches of all workers, as for `epochs`. A "
          "phantom model may also use it.",
          within(1, 1e15));
  v.field("duration", &t.duration, "The run ends after this simulated time.", above(0, 1e9));
  v.field(
      "optimizer", choice(t.optimizer.kind),
      "How a gradient moves the weights. Servers apply it to aggregated gradients; workers apply it in their "
      "own steps (local_steps, local_time, warmup_steps, pull_every, elastic averaging, update = "
      "\"worker\").",
      only(one_loop));
  describe_half_precision(v, t);
  v.field("learning_rate", &t.learning_rate, "Step size.", within(0, 1e6),
          only({.keys = {"model.kind", "training.inner"},
                .text = "with a model that learns, and without [training.inner]",
                .met = [&] { return m.kind->has_numbers && !t.inner.given; }}));
  v.field("schedule", choice(t.schedule), "How the learning rate changes during the run.");
  v.field("schedule_every", &t.schedule_every, "Number of epochs from one drop of the rate to the next.",
          above(0, 1e6), when("schedule", {"step"}));
  v.field("schedule_factor", &t.schedule_factor, "Factor by which each drop multiplies the rate.",
          within(0, 1), when("schedule", {"step"}));
  v.field("staleness_aware", &t.staleness_aware, "Whether a stale gradient counts less.", with_servers);
  v.field("staleness_weight", choice(t.staleness_weight),
          "How much less a stale gradient counts, by its staleness in updates.",
          only({.keys = {"training.staleness_aware"}, .text = "with staleness_aware", .met = [&t] {
                  return t.staleness_aware;
                }}));
  describe_settings<StalenessWeightRow>(v, "staleness_weight", t.staleness_settings);
  v.field("staleness_scales", choice(t.staleness_scales),
          "What the weight of a stale gradient multiplies. If an update has several gradients, their weights "
          "divided by the mean weight multiply the gradients, and the mean weight multiplies the rate. With "
          "plain sgd both are equal.",
          with_servers,
          only({.keys = {"training.optimizer", "training.weight_decay", "training.staleness_aware",
                         "consistency.too_stale", "consistency.weight", "training.local_steps"},
                .text = "with weights of stale gradients, and servers that run another optimizer than sgd or "
                        "decay the weights",
                .met = [&s] { return weighs_stale(s) && steps_on_servers(s); }}));
  describe_optimizer(v, t.optimizer, one_loop);
  v.field("feature_blocks", &t.feature_blocks,
          "Number of blocks of consecutive features. Clock t changes only the weights of block t modulo "
          "feature_blocks (Li et al., NIPS 2014).",
          within(1, 1e6),
          when("optimizer", names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; })));
  describe_rhythm(v, t);
  describe_work(v, t);
  describe_evaluation(v, t);
  describe_loops(v, s);
}

namespace {

// How many batches a computation has, and how long it takes.
void describe_accumulation(FieldVisitor& v, TrainingSpec& t) {
  v.field("accumulate", &t.accumulate, "Number of batches whose gradients a worker averages before a step.",
          within(1, 1e6));
  v.field(
      "accumulate_time", &t.accumulate_time,
      "Time of computing in a clock: a worker averages those of its `accumulate` batches that fit, at least "
      "one, and drops the others. It computes their number from the time of a batch when its clock begins. "
      "In an update a gradient counts by its samples (DropCompute: Giladi et al., arXiv 2306.10598, 2023).",
      above(0, 1e9), otherwise("all batches"),
      only({.keys = {"training.accumulate"}, .text = "with accumulate", .met = [&t] {
              return t.accumulate > 1;
            }}));
  v.field("give_up", &t.give_up,
          "Longest time of a computation. If it would take longer, the worker gives it up after this time, "
          "and begins another one on the same weights, with other samples and another step time "
          "(MindFlayer SGD: Maranjyan et al., arXiv 2410.04285, 2024).",
          above(0, 1e9), otherwise("no limit"));
}

void describe_warmup(FieldVisitor& v, TrainingSpec& t) {
  v.field("warmup", choice(t.warmup), "When workers do the first clock's local steps.",
          only({.keys = {"training.warmup_steps"},
                .text = "with warmup_steps",
                .met = [&t] { return t.warmup_steps > 0; }}),
          otherwise("`\"before-servers\"` where nodes take time to start, else `\"after-pull\"`"));
}

}  // namespace

void describe_rhythm(FieldVisitor& v, TrainingSpec& t) {
  v.field("algorithm", choice(t.algorithm), "What a worker pushes.");
  v.field("elastic_rate", &t.elastic_rate,
          "Share of the distance between a worker and the centre by which both move (alpha).", within(0, 1),
          when("algorithm", {"elastic"}), otherwise("0.9 / workers"));
  v.field("update", choice(t.update), "Which nodes run the optimizer.");
  v.field("local_steps", &t.local_steps,
          "Steps that a worker takes on its own copy of the weights between pull and push (local SGD: Stich, "
          "ICLR 2019). Each step computes one batch, and runs the optimizer with its rate, weight decay and "
          "the worker's own state. The worker pushes how far the steps moved its copy.",
          within(1, 1e6),
          only({.keys = {"training.inner"},
                .text = "without [training.inner], whose `steps` replace it",
                .met = [&t] { return !t.inner.given; }}));
  v.field("local_time", &t.local_time,
          "Time of a clock, instead of a number of local steps. A clock has as many local steps as fit in "
          "this time, at least 1 and at most 1000000. Each worker computes the number from the time of a "
          "step when its clock begins. Servers give all workers' weights the same share of the mean, "
          "whatever their numbers of steps (Anytime Minibatch: Ferdinand et al., ICLR 2019; local SGD).",
          above(0, 1e9), otherwise("a clock has local_steps steps"));
  describe_accumulation(v, t);
  v.field("recompute", &t.recompute,
          "Whether workers keep the activations of only some layers, and compute the others again in the "
          "backward pass. This needs less memory, and the time of one more forward pass (Chen et al., arXiv "
          "1604.06174, 2016). Gradients stay the same.");
  v.field("warmup_steps", &t.warmup_steps,
          "Number of local steps in the first clock, in which workers train alone before they synchronise. "
          "(In the warm-up of PyTorch's post-local SGD they synchronise in every step.)",
          within(0, 1e6), otherwise("local_steps"));
  describe_warmup(v, t);
  v.field(
      "pull_every", &t.pull_every,
      "Number of clocks from one pull to the next. In between, a worker continues with its own copy and "
      "applies its own gradients to it, with an optimizer of its own (n_fetch of Dean et al., NIPS 2012).",
      within(1, 1e6));
  v.field("delay_compensation", &t.delay_compensation,
          "lambda of DC-ASGD (Zheng et al., ICML 2017), which adds lambda * g * g * (w now - w at the "
          "computation of g) to a late gradient g. 0 adds nothing.",
          within(0, 1e6));
  v.field("delay_compensation_decay", &t.delay_compensation_decay,
          "Decay of DC-ASGD-a, which divides lambda by the root of the running mean of g * g. 0 keeps lambda "
          "constant.",
          below(0, 1),
          only({.keys = {"training.delay_compensation"}, .text = "with delay_compensation", .met = [&t] {
                  return t.delay_compensation > 0;
                }}));
}

// How the samples are divided among the workers, and how they reach them.
void describe_work(FieldVisitor& v, TrainingSpec& t) {
  v.field("work", choice(t.work),
          "How many of a clock's samples each worker computes. A gradient's weight is its number of samples.",
          when("architecture.kind", {"parameter-server", "all-reduce"}));
  v.field("work_every", &t.work_every,
          "Number of clocks from one decision about batch sizes to the next. Workers wait for each decision.",
          within(1, 1e6), when("work", {"dynamic"}));
  v.field("work_smoothing", &t.work_smoothing,
          "Weight of the newest measurement in the exponential mean of the time per sample.", above(0, 1),
          when("work", {"dynamic"}));
  v.field("work_piece", &t.work_piece,
          "Size of the first piece that a helping worker gets, as a share of batch_size. Later pieces are "
          "twice as large.",
          above(0, 1), when("work", {"stealing"}));
}

void describe_delivery(FieldVisitor& v, Scenario& s) {
  DeliverySpec& d = s.cluster.delivery;
  v.field("delivery", choice(d.source), "How training samples reach the workers.",
          when("architecture.kind", {"parameter-server", "all-reduce"}));
  v.field("prefetch", &d.prefetch, "Number of steps for which a worker requests batches in advance.",
          within(0, 1e4), when("delivery", {"database"}));
  v.field("bytes_per_sample", &d.bytes_per_sample, "Size of a sample on the network.", within(0, 1e12),
          only({.keys = {"data.delivery", "recovery.data_from"},
                .text = "where samples travel: delivery = \"database\", or data_from in [recovery]",
                .met = [&s] { return s.cluster.delivery.source == Delivery::database || s.moves_data(); }}),
          otherwise("4 per feature and for the label; 8 per nonzero of a sparse sample"));
}

}  // namespace psim
