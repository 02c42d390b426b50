#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {
namespace {

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
          within(1, 1e6));
  v.field("local_time", &t.local_time,
          "Time of a clock, instead of a number of local steps. A clock has as many local steps as fit in "
          "this time, at least 1 and at most 1000000. Each worker computes the number from the time of a "
          "step when its clock begins. Servers give all workers' weights the same share of the mean, "
          "whatever their numbers of steps (Anytime Minibatch: Ferdinand et al., ICLR 2019; local SGD).",
          above(0, 1e9), otherwise("a clock has local_steps steps"));
  v.field("accumulate", &t.accumulate, "Number of batches whose gradients a worker averages before a step.",
          within(1, 1e6));
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

}  // namespace psim
