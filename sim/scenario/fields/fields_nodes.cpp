// What nodes are like over time.
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"

namespace psim {

void describe_startup(FieldVisitor& v, StartupSpec& s, std::string_view table) {
  const bool is_server = table == "cluster.server";
  const auto where = [is_server](FieldInfo& field) {
    if (is_server) with_servers(field);
  };
  v.field("startup", &s.mean,
          "Mean time from the beginning of the run until a node is up and asks the scheduler to join. A "
          "restart or a join of a fault has it behind it.",
          within(0, 1e6), where);
  const Need need{.keys = {is_server ? "cluster.server.startup" : "cluster.worker.startup"},
                  .text = "with startup",
                  .met = [&s] { return s.given(); }};
  v.field("startup_distribution", choice(s.distribution),
          "How that time varies from node to node; a node's start counts as the first step.", where,
          only(need));
  describe_settings<DistributionRow>(v, "startup_distribution", s.settings,
                                     {.prefix = "startup_", .need = need});
}

void describe_economy(FieldVisitor& v, EconomySpec& e) {
  v.field("price", &e.price,
          "Dollars for an hour of a node, from when it begins to start until it leaves or the run ends.",
          within(0, 1e9));
  v.table(
      "power",
      "Electric power of each: linear between the two, by the share of time in which it computes or copies.",
      [&] {
        v.field("idle", &e.power.idle, "Power while it does nothing.", within(0, 1e9));
        v.field("full", &e.power.full, "Power while it computes or copies; at least `idle`.", within(0, 1e9));
      });
}

void describe_slow(FieldVisitor& v, Scenario& s) {
  SlowSpec& slow = s.recovery.slow;
  v.table(
      "slow",
      "The scheduler looks for workers that compute slowly for long, by the times per sample that they "
      "report after every clock (latency-induced probation: Dean, Barroso, CACM 2013). Without this table it "
      "does not.",
      [&] {
        v.field("factor", &slow.factor,
                "A worker is slow when its mean time per sample is more than so many times the median of the "
                "others'.",
                above(1, 1e6));
        v.field("window", &slow.window, "Clocks over which each worker's mean is taken.", within(1, 1e6));
        v.field("action", choice(slow.action), "What becomes of it.");
      },
      &slow.given);
}

void describe_profile(FieldVisitor& v, ProfileSpec& p) {
  v.field("of", choice(p.of), "What the file tells.");
  v.field(
      "file", &p.file,
      "File with a date in seconds and a value in each line, dates rising; it is part of the run's identity.",
      required);
  v.field("workers", &p.workers, "Which workers, counted from 0.", within(0, 19'999), filled,
          otherwise("all"));
  v.field("every", &p.every, "Repeat the profile with this period.", above(0, 1e9), otherwise("once"));
}

}  // namespace psim
