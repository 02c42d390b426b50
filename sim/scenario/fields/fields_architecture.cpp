#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_architecture(FieldVisitor& v, ArchitectureSpec& a) {
  v.field("kind", choice(a.kind), "Which nodes hold the model, and how they exchange it.");
  v.field("algorithm", choice(a.algorithm), "How the workers sum their gradients.",
          when("kind", {"all-reduce"}));
  v.field("ranks", choice(a.rank_order),
          "By which order workers are neighbours in an all-reduce. A group that has lost workers keeps the "
          "order of the others.",
          when("kind", {"all-reduce"}));
  v.field("micro_batches", &a.micro_batches,
          "Number of parts of a step's batch (of all workers together) that pass through the stages one "
          "after the other.",
          within(1, 1e6), when("kind", {"model-parallel"}),
          otherwise("four per worker, but no more than there are samples"));
  v.field("over", choice(a.over), "What the stages of the pipeline are.", when("kind", {"model-parallel"}));
  v.field("schedule", choice(a.schedule), "In which order a stage computes.",
          when("kind", {"model-parallel"}));
}

}  // namespace psim
