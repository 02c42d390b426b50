// Groups of workers: how they share the cluster, and what does not go together with them.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void Checker::check_machines() {
  check_recovery();
  check_cluster();
  check_architecture();
  check_compute();
  check_stragglers();
  check_faults();
  check_slowness();
  check_groups();
}

void Checker::check_job() {
  check_learning();
  check_pace();
  check_filters();
  if (s_.training.work != WorkPolicy::fixed)
    add({"training.work"}, fmt::format("`training.work` is {}", name_of(s_.training.work)),
        "not with several groups", "work = \"static\"");
}

bool Checker::can_load_jobs() const {
  const std::vector<GroupSpec>& groups = s_.groups;
  std::int64_t sum = 0;
  for (const GroupSpec& group : groups) {
    if (group.workers.value_or(0) < 1) return false;
    sum += *group.workers;
  }
  return reading_.complete && reading_.reliable("group") && reading_.reliable("cluster.workers") &&
         sum == s_.cluster.workers && groups.front().space == Namespace::own;
}

void Checker::check_groups() {
  const std::vector<GroupSpec>& groups = s_.groups;
  const auto refuse = [this](const std::string& field, const std::string& what, const std::string& help) {
    add({field, "group"}, what, "there are several groups of workers", help);
  };
  if (!s_.architecture.has_servers())
    return refuse("architecture.kind", "groups share servers", "kind = \"parameter-server\"");
  if (s_.cluster.inference.given)
    refuse("inference", "inference nodes serve one namespace only", "remove [inference] or the groups");
  if (s_.may_fail() || !s_.faults.empty())
    refuse(!s_.faults.empty()              ? "fault"
           : s_.replication.copies > 0     ? "replication.copies"
           : s_.snapshot.every.has_value() ? "snapshot.every"
                                           : "recovery.enabled",
           "failures are simulated with one group only", "remove the groups, or what is about failures");
  if (s_.cluster.delivery.source == Delivery::database)
    refuse("data.delivery", "a database delivers the samples of one group only", "delivery = \"local\"");
  if (groups.size() == 1)
    add({"group"}, "a single group is all there is anyway", "only one [[group]]",
        "remove it, or add a second");
  if (groups.front().space == Namespace::shared)
    add({"group.0.namespace"}, "the first group has nobody to share a namespace with", "there is none before",
        "namespace = \"own\"");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = fmt::format("group.{}.name", i);
    sum += groups[i].workers.value_or(0);
    if (groups[i].name.empty())
      add({name}, "a group needs a name", "an empty text", "for example name = \"vision\"");
    for (std::size_t j = 0; j < i; ++j) {
      if (groups[j].name != groups[i].name || groups[i].name.empty()) continue;
      add({name, fmt::format("group.{}.name", j)}, fmt::format("two groups are called `{}`", groups[i].name),
          "its name must be its own");
      break;
    }
  }
  const auto empty =
      std::ranges::find_if(groups, [](const GroupSpec& g) { return g.workers.value_or(0) < 1; });
  if (empty != groups.end())
    return add({fmt::format("group.{}", empty - groups.begin()), "group", "cluster.workers"},
               fmt::format("no worker is left for group {}", empty->name),
               there_are(s_.cluster.workers, "worker"), "`cluster.workers` is the number for all groups");
  if (sum != s_.cluster.workers)
    add({"group", "cluster.workers"}, fmt::format("the groups have {}", counted(sum, "worker")),
        fmt::format("`cluster.workers` is {}", s_.cluster.workers),
        "the numbers of the groups must add up to it");
}

}  // namespace psim
