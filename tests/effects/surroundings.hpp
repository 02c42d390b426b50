// The scenarios in which psim_effects looks at fields: models, architectures and networks, and what may stand
// beside a field so that it acts.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/scenario/fields/field_list.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/features.hpp"
#include "tests/support/feature_runs.hpp"

namespace psim::test {

using Texts = std::vector<std::string>;

struct Setting {
  std::string name;
  Assignments sets;
  Texts fields = {};  // it is for them alone; none: for all
};

inline std::string example_of(const FaultKindRow& kind) {
  std::string text = fmt::format("fault = [{{kind = \"{}\"", kind.name);
  if (kind.corrupts) text += ", nodes = [\"worker 0\"]";
  else if (kind.on == FaultOn::nodes) text += ", nodes = [\"worker 0\", \"server 1\"]";
  if (kind.on == FaultOn::sides) text += ", between = [[\"worker 0\"], [\"server 1\"]]";
  text +=
      kind.window || kind.on == FaultOn::messages ? ", from = \"2ms\", until = \"6ms\"" : ", at = \"3ms\"";
  if (kind.takes_factor()) text += ", factor = 0.3";
  if (kind.takes_delay) text += ", delay = \"2ms\"";
  if (kind.crashes) text += ", restart_after = \"7ms\"";
  return text + "}]";
}

// Surroundings for a few fields, which no example of a feature makes act.
inline void add_own(std::vector<Setting>& all) {
  const auto add = [&all](Texts fields, const std::string& example) {
    all.push_back({fields.front(), assignments_of(example), fields});
  };
  const std::string network = "cluster.network.";
  const Texts shares{network + "share_spread", network + "share_turn",  network + "share_cv",
                     network + "share_queue",  network + "share_start", network + "cross_traffic"};
  const std::string large = "model.layers = [4, 1000, 2]\n",
                    at_once = "compute.distribution = \"constant\"\n",
                    database = "data.delivery = \"database\"\ndata.bytes_per_sample = \"30kB\"\n",
                    slow = "cluster.network.bandwidth = \"5MBps\"\n";
  add(shares, large + at_once + slow);
  add(shares, large + at_once);
  add(shares, large + slow);
  add(shares, large + slow + database);
  add({network + "segments"}, large + slow + "cluster.network.share_spread = 0");
  add({network + "segments"}, large + "cluster.network.share_spread = 0");
  add({network + "segments"}, large + slow + database + "cluster.network.share_spread = 0");
  add({"data.source"}, "model.loss = \"half-sse\"");
  for (const char* loss : {"0.75", "0.72"})
    add({"training.target.stop", "training.target.hold"},
        fmt::format("training.target = {{loss = {}}}\ntraining.evaluate_every = \"2ms\"", loss));
  add({"training.schedule_factor", "training.schedule_every"},
      "training.schedule = \"step\"\ntraining.schedule_every = 0.05");
  add({"training.work"}, "cluster.worker.speed = [\"1Gf\", \"2Gf\", \"1Gf\", \"3Gf\"]");
  add({"training.work_piece"},
      "straggler = [{workers = [0], slowdown = 6}]\ntraining.work = \"stealing\"\ntraining.accumulate = 2");
  add({"training.staleness_slope", "training.staleness_scales"},
      "training.staleness_aware = true\ntraining.staleness_knee = 0\ntraining.staleness_weight = \"hinge\"\n"
      "training.optimizer = \"adam\"");
  add({"consistency.staleness"}, "consistency.start = \"clock - min_clock <= staleness\"");
  add({"consistency.trimmed_share", "consistency.byzantine"}, "consistency.update = \"pushes >= 4\"");
  add({"consistency.staleness_max"}, "consistency.staleness = 0");
  add({"consistency.late"}, "straggler = [{workers = [0], slowdown = 6}]");
  add({"cluster.server.speed"}, "cluster.server.flops_per_value = 10000");
  add({"cluster.worker.speed"}, "filter = [{kind = \"snappy\", flops_per_value = 1000}]");
  add({"compute.effect.shared"}, "compute.effect = [{distribution = \"ar1\", cv = 0.3}]");
  add({"group.workers"},
      "cluster.workers = 6\ngroup = [{name = \"a\"}, {name = \"b\", set = [\"seed = 2\"]}]");
  add({network + "platform_speeds"},
      "cluster.network.hosts = [\"node-0\", \"node-8\", \"node-1\", \"node-9\", \"node-2\", \"node-10\", "
      "\"node-3\"]\ncluster.network.topology = \"simgrid-xml\"\ncluster.network.platform = \"cluster.xml\"");
  add({network + "hosts_per_router"},
      large + slow + "cluster.network.topology = \"dragonfly\"\ncluster.network.routers = 2");
  add({"architecture.ranks"}, large + slow + "cluster.workers = 8\ncluster.network.topology = \"two-tier\"");
  add({"architecture.ranks"}, large + slow + "cluster.network.topology = \"two-tier\"");
  add({"architecture.divide_first"}, "cluster.workers = 3\nmodel.precision = \"float16\"");
  add({"replication.layout"}, "cluster.servers = 3\nreplication.copies = 2");
  add({"recovery.detector"}, "fault = [{kind = \"crash\", nodes = [\"worker 0\"], at = \"9.5ms\"}]");
  add({"recovery.patience"},
      "fault = [{kind = \"crash\", nodes = [\"worker 0\"], at = \"3ms\"}]\nrecovery.workers = \"wait\"");
  add({"recovery.longest_retry", "recovery.backoff", "recovery.retry_limit"},
      "fault = [{kind = \"link-down\", nodes = [\"worker 0\"], from = \"2ms\", until = \"70ms\"}]");
}

// The surroundings in which a field may act.
inline std::vector<Setting> surroundings() {
  std::vector<Setting> all;
  add_own(all);
  all.push_back({"nothing else", {}});
  const auto add = [&all](std::string name, const std::string& example) {
    all.push_back({std::move(name), assignments_of(example)});
  };
  for (const Feature& feature : features()) add(std::string(feature.name), feature.example);
  for (const FaultKindRow& kind : all_rows<FaultKindRow>())
    add("a fault: " + std::string(kind.name), example_of(kind));
  add("a straggler",
      "straggler = [{workers = [0], slowdown = 3, from = \"1ms\", until = \"5ms\", every = \"9ms\"}]");
  add("a straggler by chance", "straggler = [{workers = [0], slowdown = 3, probability = 0.5}]");
  for (const char* of : {"speed", "availability", "latency"})
    add(fmt::format("a profile of {}", of),
        fmt::format("profile = [{{of = \"{}\", file = \"links.csv\"}}]", of));
  return all;
}

// Models, architectures and networks. First asp, where most fields act: what acts in one cell is tried first
// in the others.
inline std::vector<Setting> cells() {
  const std::string asp = "consistency.model = \"asp\"\n";
  std::vector<Setting> all{{"asp", assignments_of(asp)}};
  for (const Feature& feature : features()) {
    if (feature.by != nullptr && feature.name != "asp")
      all.push_back({std::string(feature.name), assignments_of(feature.example)});
  }
  const auto add = [&all](std::string name, const std::string& example) {
    all.push_back({std::move(name), assignments_of(example)});
  };
  add("a custom model with an age", "consistency.model = \"custom\"\nconsistency.too_late = \"age >= 3\"");
  const auto choices_of = [](const char* path) {
    return std::get<ChoiceField>(all_fields().find(path)->target).choices;
  };
  for (const Choice& one : choices_of("architecture.algorithm"))
    add(fmt::format("all-reduce: {}", one.name),
        fmt::format("architecture.kind = \"all-reduce\"\narchitecture.algorithm = \"{}\"", one.name));
  add("a pipeline", "architecture.kind = \"model-parallel\"\ncluster.workers = 2");
  add("a pipeline of devices",
      "architecture.over = \"devices\"\narchitecture.kind = \"model-parallel\"\n"
      "cluster.worker.device.count = 2\ncluster.workers = 1");
  add("nic", asp + "cluster.network.model = \"nic\"");
  for (const Choice& one : choices_of("cluster.network.topology")) {
    if (one.name == "graph") continue;
    add(fmt::format("the network {}", one.name),
        asp + fmt::format("cluster.network.topology = \"{}\"{}", one.name,
                          one.name == "simgrid-xml" ? "\ncluster.network.platform = \"cluster.xml\"" : ""));
  }
  return all;
}

}  // namespace psim::test
