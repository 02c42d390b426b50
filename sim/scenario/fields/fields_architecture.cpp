#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_architecture(FieldVisitor& v, ArchitectureSpec& a) {
  v.field("kind", choice(a.kind), {.doc = "Which nodes hold the model, and how they exchange it."});
  v.field("algorithm", choice(a.algorithm),
          {.doc = "How the workers sum their gradients.", .when_key = "kind", .when = {"all-reduce"}});
  v.field(
      "ranks", choice(a.rank_order),
      {.doc = "By which order workers are neighbours in an all-reduce. A group that has lost workers keeps "
              "the order of the others.",
       .when_key = "kind",
       .when = {"all-reduce"}});
  v.field("micro_batches", &a.micro_batches,
          {.doc = "Number of parts of a step's batch (of all workers together) that pass through the stages "
                  "one after the other.",
           .min = 1,
           .max = 1e6,
           .when_key = "kind",
           .when = {"model-parallel"},
           .default_text = "four per worker, but no more than there are samples"});
  v.field("over", choice(a.over),
          {.doc = "What the stages of the pipeline are.", .when_key = "kind", .when = {"model-parallel"}});
  v.field("schedule", choice(a.schedule),
          {.doc = "In which order a stage computes.", .when_key = "kind", .when = {"model-parallel"}});
}

}  // namespace psim
