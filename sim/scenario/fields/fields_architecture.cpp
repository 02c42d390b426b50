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

}  // namespace psim
