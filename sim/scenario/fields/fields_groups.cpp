// Groups of workers on one cluster.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_group(FieldVisitor& v, GroupSpec& g) {
  v.field("name", &g.name, {.doc = "What results call it; no two groups have the same.", .required = true});
  v.field("workers", &g.workers,
          {.doc = "How many; the workers of `cluster.workers` are dealt out in the order of the groups.",
           .min = 1,
           .max = 4096,
           .default_text = "an equal share of what the other groups leave"});
  v.field("namespace", choice(g.space), {.doc = "Whose parameters it trains."});
  v.field("set", &g.set,
          {.doc = "What is otherwise in this group than in the rest of the scenario, field by field as in "
                  "--set: \"training.batch_size = 64\". Of [data], [model], [training], [consistency], "
                  "[placement], [messages] and [[filter]], and `seed` and `compute.time`; in a shared "
                  "namespace only `training.batch_size`."});
}

}  // namespace psim
