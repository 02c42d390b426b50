#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

namespace {

// Only with sources, or kinds of models, that have the field.
auto of_source(std::string_view field) {
  return when("source",
              names_of_rows<DataSourceRow>([field](const auto& row) { return lists(row.fields, field); }));
}
auto of_kind(std::string_view field) {
  return when("kind", names_of_rows<ModelRow>([field](const auto& row) { return lists(row.fields, field); }));
}

void describe_generated(FieldVisitor& v, DataSpec& d) {
  v.field("samples", &d.samples, "How many samples to generate.", within(2, 1e7), of_source("samples"));
  v.field("features", &d.features, "Inputs per sample; for `clicks` the number of all features.",
          within(1, 1e6), of_source("features"));
  v.field("classes", &d.classes, "Number of classes; for `teacher` of outputs.", within(1, 1e4),
          of_source("classes"));
  v.field("noise", &d.noise,
          "Standard deviation of the noise: of a sample's position (blobs, spirals), of a target (teacher), "
          "of the log-odds (clicks).",
          within(0, 1e3), of_source("noise"));
  v.field("nonzeros", &d.nonzeros, "Features of a sample, one from each categorical field.", within(1, 1e4),
          of_source("nonzeros"));
  v.field(
      "exponent", &d.exponent,
      "Zipf's law: the share of the r-th most frequent feature of a field is proportional to r^-exponent.",
      within(0, 10), of_source("exponent"));
}

}  // namespace

void describe_data(FieldVisitor& v, DataSpec& d) {
  v.field("source", choice(d.source), "Where the samples come from.");
  describe_settings<DataSourceRow>(v, "source", d.settings);
  v.field("path", &d.path,
          "csv, libsvm: the file; idx: the folder. Relative paths are looked up in --data-dir, PSIM_DATA and "
          "the scenario's folder.",
          when("source", names_of_rows<DataSourceRow>([](const auto& row) { return row.reads_files; })));
  v.field("test_fraction", &d.test_fraction,
          "Share of the samples set aside for the test; 0: the validation set, or else the training set, "
          "takes the test set's place.",
          below(0, 1), of_source("test_fraction"));
  v.field("validation_fraction", &d.validation_fraction,
          "Share of the remaining samples set aside to judge the run while it goes on: its curve, its "
          "target, and conditions of faults on loss or accuracy. The test set is then evaluated once, on the "
          "last weights. Samples of every class are set aside alike. 0: the test set does both.",
          below(0, 1));
  v.field("split_seed", &d.split_seed,
          "Seed that draws the test and validation samples. Runs that share it set the same samples aside, "
          "whatever their own seeds are. With [tune] all runs share it, trials included, so that no trial "
          "learns from a test sample of the comparison.",
          within(0, 1e15), otherwise("the run's seed; 1 with [tune]"));
  describe_generated(v, d);
  v.field("inputs", &d.inputs, "The samples, one row each.", of_source("inputs"));
  v.field("targets", &d.targets, "Their targets, one row each.", of_source("targets"));
  v.field("partition", choice(d.partition), "How the training samples are distributed over the workers.");
  v.field("dirichlet_alpha", &d.dirichlet_alpha, "Concentration: small means that a worker sees few classes.",
          above(0, 1e6), when("partition", {"dirichlet"}));
}

namespace {

void describe_phantom(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("parameters", &m.parameters, "Number of parameters.", within(1, 1e10), of_kind("parameters"));
  v.field("arrays", &m.phantom_arrays,
          "Size of each parameter array, from the input layer on; replaces `parameters`.", within(1, 1e10),
          filled, of_kind("arrays"), otherwise("one array"));
  v.field("work", &m.phantom_work,
          "Part of each array in the computing of a step, in the order of `arrays`: numbers that count in "
          "proportion to each other.",
          within(0, 1e12), filled, of_kind("work"), otherwise("in proportion to its size"));
  v.field("flops_per_sample", &m.flops_per_sample, "Floating-point operations of one sample's gradient.",
          within(0, 1e18), of_kind("flops_per_sample"),
          only({.keys = {"compute.time", "inference", "group"},
                .text = "without compute.time",
                .met =
                    [&s] {
                      const InferenceSpec& inference = s.cluster.inference;
                      return !s.compute.time || !s.groups.empty() ||
                             (inference.given && !inference.flops_per_request);
                    },
                .kept = m.flops_per_sample != ModelSpec{}.flops_per_sample}));
  v.field("activations", &m.activations, "Values of one sample that a pipeline stage passes to the next.",
          within(0, 1e9), of_kind("activations"));
  v.field("activations_per_sample", &s.activations_per_sample,
          "What the backward pass of one sample needs of its forward pass: memory of the nodes that compute "
          "gradients. Arrays, or stages of a pipeline, have equal parts of it.",
          within(0, 1e15), of_kind("activations_per_sample"));
}

}  // namespace

void describe_model(FieldVisitor& v, Scenario& s) {
  ModelSpec& m = s.model;
  v.field("kind", choice(m.kind), "The kind of model. A phantom model has no data and no loss.");
  describe_settings<ModelRow>(v, "kind", m.settings);
  v.field("layers", &m.mlp.layers, "Widths of the layers, inputs first, outputs last.", within(1, 1e6),
          of_kind("layers"));
  v.field(
      "bias", &m.mlp.bias,
      "Whether the layers have biases; for `logistic`, whether there is one more feature that is always 1.",
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
          "Initial weights instead of drawn ones: per layer, its rows (outputs x inputs).",
          of_kind("weights"));
  v.field("biases", &m.biases, "Initial biases instead of zeros: one row per layer.", of_kind("biases"));
  v.field("precision", choice(m.precision),
          "Precision of weights, gradients and messages. Values are rounded to half precision where weights "
          "are stored and values are sent; workers compute in single precision.");
  describe_phantom(v, s);
}

namespace {

void describe_optimizer(FieldVisitor& v, OptimizerSpec& o) {
  const auto with_net = names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; });
  const auto without = names_of_rows<OptimizerRow>([](const auto& row) { return !row.elastic_net; });
  describe_settings<OptimizerRow>(v, "optimizer", o.settings);
  v.field("weight_decay", &o.weight_decay, "L2 regularisation: adds this times the weight to its gradient.",
          within(0, 1e3), when("optimizer", without));
  v.field(
      "l1", &o.l1,
      "Penalty: adds this times the sum of the absolute weights to the loss, and makes weights exactly 0.",
      within(0, 1e3), when("optimizer", with_net));
  v.field("l2", &o.l2, "Penalty: adds this times half the sum of the squared weights to the loss.",
          within(0, 1e3), when("optimizer", with_net));
}

void describe_half_precision(FieldVisitor& v, TrainingSpec& t) {
  v.field("multi_precision", &t.multi_precision,
          "Whether the nodes that run the optimizer keep a copy of the weights in single precision. Without "
          "it, small updates are rounded away (Micikevicius et al., ICLR 2018; MXNet's multi_precision).",
          when("model.precision", {"float16", "bfloat16"}));
  v.field("loss_scale", &t.loss_scale,
          "Gradients are multiplied by this before rounding and divided by it afterwards, so that small ones "
          "do not vanish.",
          above(0, 16'777'216), when("model.precision", {"float16", "bfloat16"}));
}

void describe_target(FieldVisitor& v, TrainingSpec& t) {
  v.table("target", "A goal; psim reports the time to reach it.", [&] {
    v.field("accuracy", &t.target.accuracy, "Reached when the accuracy is at least this.", within(0, 1));
    v.field("loss", &t.target.loss, "Reached when the loss is at most this.", within(0, 1e300));
    v.field("hold", &t.target.hold,
            "Reached only when this many evaluations in a row are at least as good. The time to the target "
            "is that of the first one of them. With `stop` the run ends at the last one of them.",
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
          "When the weights are evaluated: whenever this much time has passed, or whenever the number of "
          "updates, or of samples whose gradients the model has taken in, passes a multiple of this. A crash "
          "may set the weights back to an older version: passing a multiple downwards counts too. The first "
          "and the last weights are always evaluated. Evaluations take no simulated time.",
          otherwise("about once an epoch"));
  describe_target(v, t);
}

}  // namespace

void describe_training(FieldVisitor& v, TrainingSpec& t, const ModelSpec& m) {
  v.field("batch_size", &t.batch_size, "Samples per worker and step.", within(1, 1e7));
  v.field("steps", &t.steps, "The run ends after this many clocks of each worker.", within(1, 1e9));
  v.field(
      "epochs", &t.epochs,
      "The run ends after this many passes over the training set, counted in batches of all workers. Each "
      "worker has local_steps * accumulate batches in a clock, and warmup_steps * accumulate in the first.",
      above(0, 1e6));
  v.field("samples", &t.samples,
          "The run ends after this many samples, counted as `epochs` counts them: in batches of all workers. "
          "A phantom model may have it too.",
          within(1, 1e15));
  v.field("duration", &t.duration, "The run ends after this simulated time.", above(0, 1e9));
  v.field("optimizer", choice(t.optimizer.kind), "How the servers apply an aggregated gradient.");
  describe_half_precision(v, t);
  v.field("learning_rate", &t.learning_rate, "Step size.", within(0, 1e6),
          only({.keys = {"model.kind"}, .text = "with a model that learns", .met = [&m] {
                  return m.kind->has_numbers;
                }}));
  v.field("schedule", choice(t.schedule), "How the learning rate changes.");
  v.field("schedule_every", &t.schedule_every, "Epochs between two drops.", above(0, 1e6),
          when("schedule", {"step"}));
  v.field("schedule_factor", &t.schedule_factor, "Factor of each drop.", within(0, 1),
          when("schedule", {"step"}));
  v.field("staleness_aware", &t.staleness_aware, "Whether a stale gradient counts less.", with_servers);
  v.field("staleness_weight", choice(t.staleness_weight), "How much less, by its staleness in updates.",
          only({.keys = {"training.staleness_aware"}, .text = "with staleness_aware", .met = [&t] {
                  return t.staleness_aware;
                }}));
  describe_settings<StalenessWeightRow>(v, "staleness_weight", t.staleness_settings);
  describe_optimizer(v, t.optimizer);
  v.field("feature_blocks", &t.feature_blocks,
          "Number of blocks of consecutive features. Clock t changes only the weights of block t mod "
          "feature_blocks (Li et al., NIPS 2014).",
          within(1, 1e6),
          when("optimizer", names_of_rows<OptimizerRow>([](const auto& row) { return row.elastic_net; })));
  describe_rhythm(v, t);
  describe_work(v, t);
  describe_evaluation(v, t);
}

}  // namespace psim
