// Checks of groups of workers: how they divide the cluster.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

bool can_load_jobs(const Check& check) {
  const std::vector<GroupSpec>& groups = check.s.groups;
  std::int64_t sum = 0;
  for (const GroupSpec& group : groups) {
    if (group.workers.value_or(0) < 1) return false;
    sum += *group.workers;
  }
  return check.reading.complete && check.reading.reliable("group") &&
         check.reading.reliable("cluster.workers") && sum == check.s.cluster.workers &&
         groups.front().space == Namespace::own;
}

void check_groups(const Check& check) {
  const std::vector<GroupSpec>& groups = check.s.groups;
  if (groups.empty() || !check.s.architecture.has_servers()) return;
  if (groups.size() == 1)
    check.add({"group"}, "one group alone has no effect", "only one [[group]]", "remove it, or add a second");
  if (groups.front().space == Namespace::shared)
    check.add({"group.0.namespace"}, "the first group cannot share a namespace",
              "there is no group before it", "namespace = \"own\"");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = fmt::format("group.{}.name", i);
    sum += groups[i].workers.value_or(0);
    if (groups[i].name.empty())
      check.add({name}, "a group needs a name", "an empty text", "for example name = \"vision\"");
    if (!fits_in_a_line(groups[i].name))
      check.add({name}, "the name of a group cannot be printed", "it has control characters",
                "for example name = \"vision\"");
    for (std::size_t j = 0; j < i; ++j) {
      if (groups[j].name != groups[i].name || groups[i].name.empty()) continue;
      check.add({name, fmt::format("group.{}.name", j)},
                fmt::format("two groups are called `{}`", groups[i].name),
                "every group needs a different name");
      break;
    }
  }
  const auto empty =
      std::ranges::find_if(groups, [](const GroupSpec& g) { return g.workers.value_or(0) < 1; });
  if (empty != groups.end())
    return check.add({fmt::format("group.{}", empty - groups.begin()), "group", "cluster.workers"},
                     fmt::format("no worker is left for group `{}`", empty->name),
                     there_are(check.s.cluster.workers, "worker"),
                     "`cluster.workers` is the number of workers of all groups together");
  if (sum != check.s.cluster.workers)
    check.add({"group", "cluster.workers"}, fmt::format("the groups have {}", counted(sum, "worker")),
              fmt::format("`cluster.workers` is {}", check.s.cluster.workers),
              "the numbers of the groups must add up to `cluster.workers`");
}

}  // namespace psim
