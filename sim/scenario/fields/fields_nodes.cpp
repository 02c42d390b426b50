// Start-up, price, power, slowness and profiles of nodes.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_startup(FieldVisitor& v, StartupSpec& s, std::string_view table) {
  const bool is_server = table == "cluster.server";
  const auto where = [is_server](FieldInfo& field) {
    if (is_server) with_servers(field);
  };
  v.field("startup", &s.mean,
          "Mean time from the beginning of the run until a node is up and asks the scheduler to join; for a "
          "spare worker, from the date when it has to replace a worker. A node that a fault restarts or lets "
          "join is up at once.",
          within(0, 1e6), where);
  const Need need{.keys = {is_server ? "cluster.server.startup" : "cluster.worker.startup"},
                  .text = "with startup",
                  .met = [&s] { return s.given(); }};
  v.field("startup_distribution", choice(s.distribution),
          "How the start-up time varies from node to node. A node's start counts as its first step.", where,
          only(need));
  describe_settings<DistributionRow>(v, "startup_distribution", s.settings,
                                     {.prefix = "startup_", .need = need, .without = "correlation"});
}

void describe_economy(FieldVisitor& v, EconomySpec& e) {
  v.field("price", &e.price,
          "Price of an hour of a node, in dollars, from the beginning of its start until it leaves or the "
          "run ends.",
          within(0, 1e9));
  v.table("power",
          "Electric power of each node. It grows linearly from `idle` to `full` with the share of time in "
          "which the node computes or copies.",
          [&] {
            v.field("idle", &e.power.idle, "Power while the node does nothing.", within(0, 1e9));
            v.field("full", &e.power.full, "Power while the node computes or copies; at least `idle`.",
                    within(0, 1e9));
          });
}

void describe_slow(FieldVisitor& v, Scenario& s) {
  SlowSpec& slow = s.recovery.slow;
  v.table(
      "slow",
      "The scheduler searches for workers that compute slowly for a long time. Workers report their time per "
      "sample after every clock (latency-induced probation: Dean, Barroso, CACM 2013). Without this table it "
      "does not search.",
      [&] {
        v.field("factor", &slow.factor,
                "A worker is slow when its mean time per sample is more than `factor` times the median of "
                "the other workers' means.",
                above(1, 1e6));
        v.field("window", &slow.window, "Number of clocks of each worker's mean.", within(1, 1e6));
        v.field("action", choice(slow.action), "What the scheduler does with a slow worker.");
      },
      &slow.given);
}

void describe_profile(FieldVisitor& v, ProfileSpec& p) {
  v.field("of", choice(p.of), "Meaning of the values in the file.");
  v.field("file", &p.file,
          "File with a date in seconds and a value in each line, in the order of the dates. Its content is "
          "part of the run's identity.",
          required);
  v.field("workers", &p.workers, "Which workers, counted from 0.", within(0, 19'999), filled,
          when("of", {"speed", "availability"}), otherwise("all"));
  v.field("nodes", &p.nodes, "The nodes whose links change, named as in [[fault]].", filled,
          when("of", {"bandwidth", "latency"}), otherwise("all nodes"));
  v.field("unit", choice(p.unit), "Unit of a bandwidth.", when("of", {"bandwidth"}));
  v.field("every", &p.every, "Repeat the profile with this period.", above(0, 1e9), otherwise("once"));
  v.field(
      "resample", &p.resample,
      "How a run takes the file. \"as it is\": from its beginning. \"blocks of TIME\": spans of the "
      "duration TIME from random places, one after the other (moving block bootstrap); the seed draws the "
      "places for each node.",
      when("of", {"speed", "bandwidth", "latency"}));
}

}  // namespace psim
