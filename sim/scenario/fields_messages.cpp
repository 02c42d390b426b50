#include "sim/scenario/choices.hpp"
#include "sim/scenario/field_tables.hpp"

namespace psim {

void describe_placement(FieldVisitor& v, PlacementSpec& p) {
  v.field("kind", choice(p.kind), {.doc = "How parameters are dealt out to the servers."});
  v.field("virtual_nodes", &p.virtual_nodes,
          {.doc = "Points of each server on the ring.",
           .min = 1,
           .max = 1e5,
           .when_key = "kind",
           .when = {"hash-ring"}});
  v.field("bigarray_bound", &p.bigarray_bound,
          {.doc = "Arrays of so many values or more are split over all servers.",
           .min = 1,
           .max = 1e12,
           .when_key = "kind",
           .when = {"kvstore"}});
}

void describe_messages(FieldVisitor& v, MessagesSpec& m) {
  v.field("unit", choice(m.unit), {.doc = "What is pushed, pulled and versioned as one message."});
  v.field("slice", &m.slice,
          {.doc = "Arrays longer than so many values are cut; 0 cuts nothing.",
           .min = 0,
           .max = 1e12,
           .when_key = "unit",
           .when = {"array"}});
  v.field("overlap", &m.overlap,
          {.doc = "Whether a layer's gradient is pushed as soon as the backward pass has it, and the forward "
                  "pass begins when the first layer's weights are here.",
           .when_key = "unit",
           .when = {"array"}});
  v.field("order", choice(m.order), {.doc = "Which of the messages from one node to another goes first."});
  v.field(
      "acknowledge", &m.acknowledge,
      {.doc = "Whether servers answer every push when it is applied or dropped, and workers wait for that "
              "before they pull (ps-lite)."});
}

}  // namespace psim
