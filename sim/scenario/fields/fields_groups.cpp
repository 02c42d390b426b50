// Groups of workers on one cluster.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_group(FieldVisitor& v, GroupSpec& g) {
  v.field("name", &g.name, "Name of the group in results; each group has a different one.", required);
  v.field("workers", &g.workers, "Number of workers. The groups take them from `cluster.workers` in order.",
          within(1, 20'000), otherwise("an equal share of the workers that no other group takes"));
  v.field("namespace", choice(g.space), "Which parameters the group trains.");
  v.field(
      "set", &g.set,
      "Fields that differ from the rest of the scenario, as in --set: \"training.batch_size = 64\". A group "
      "may set `seed`, `compute.time`, and fields of [data], [model], [training], [consistency], "
      "[placement], [messages] and [[filter]]. In a shared namespace it may set only `training.batch_size`.");
}

}  // namespace psim
