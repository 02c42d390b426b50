#include "sim/scenario/choices.hpp"
#include "sim/scenario/field_tables.hpp"

namespace psim {

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
  v.field("activations", &m.activations,
          {.doc = "Values of one sample that a stage of a pipeline hands to the next.",
           .min = 0,
           .max = 1e9,
           .when_key = "kind",
           .when = {"phantom"}});
}

namespace {

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

}  // namespace

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
                  "2016).",
           .when_key = "architecture.kind",
           .when = {"parameter-server"}});
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

}  // namespace psim
