#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe(FieldVisitor& v, Scenario& s) {
  v.field("title", &s.title, "The question that this scenario answers.");
  v.field("preset", choice(s.preset), "A real system; the scenario uses its defaults (see Presets).");
  v.field("seed", &s.seed, "Seed of every random draw.", within(0, 9e15));
  v.table("architecture", "How the machines divide the work.", [&] { describe_architecture(v, s); });
  v.table("data", "The data set, and how samples reach the workers.", [&] {
    describe_data(v, s);
    describe_delivery(v, s);
  });
  v.table("model", "The model to train.", [&] { describe_model(v, s); });
  v.table(
      "training",
      "How the model is trained, and when the run ends. The run ends when the first of steps, epochs, "
      "samples, duration and a target with `stop` is reached. The scenario must give at least one of them.",
      [&] { describe_training(v, s); });
  v.table("consistency", "When workers wait for each other, and how servers apply pushes.",
          [&] { describe_consistency(v, s); });
  v.table("placement", "Which server holds which parameters.", [&] { describe_placement(v, s.placement); });
  v.table("messages", "Which values travel in one message, and in which order messages travel.",
          [&] { describe_messages(v, s); });
  v.table("cluster", "The machines and the network.", [&] { describe_cluster(v, s); });
  v.table(
      "inference",
      "Nodes that answer requests while the workers train. Without this table no node answers requests.",
      [&] { describe_inference(v, s.cluster.inference); }, &s.cluster.inference.given);
  v.table("compute", "How long a step's computation takes.", [&] { describe_compute(v, s.compute); });
  v.table("recovery", "How failures are detected and handled.", [&] { describe_recovery(v, s); });
  v.table("replication", "Copies of every shard on other servers.",
          [&] { describe_replication(v, s.replication); });
  v.table("snapshot", "Copies of every shard on a storage node.", [&] { describe_snapshot(v, s.snapshot); });
  v.tables("group", "Groups of workers. Each group has its own parameters or shares those of another group.",
           s.groups, describe_group);
  v.tables("task",
           "Tasks that the scheduler gives to workers and servers in every clock, under the model \"tasks\". "
           "`steps` is the number of clocks.",
           s.tasks, describe_task);
  v.tables("straggler", "Workers that are slow, always or at times.", s.stragglers, describe_straggler);
  v.tables("profile", "Speed, availability, bandwidth or latency over time, read from a file.", s.profiles,
           describe_profile);
  v.tables("filter", "Filters that every message passes before it is sent, in this order.", s.filters,
           describe_filter);
  v.tables("fault", "Faults: their kinds, nodes and times.", s.faults, describe_fault);
}

}  // namespace psim
