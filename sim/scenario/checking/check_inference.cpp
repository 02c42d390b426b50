// The inference group.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void check_inference(const Check& check) {
  const InferenceSpec& i = check.s.cluster.inference;
  if (i.count() == 0) return;
  const auto is_its_name = [&i](const GroupSpec& group) { return group.name == i.group; };
  if (!i.group.empty() && std::ranges::none_of(check.s.groups, is_its_name)) {
    std::vector<std::string> names;
    for (const GroupSpec& group : check.s.groups) names.push_back(group.name);
    const std::string near = nearest(i.group, names);
    check.add({"inference.group", "group"}, fmt::format("there is no group `{}`", i.group),
              names.empty() ? "there is no [[group]]: all workers train one model"
                            : fmt::format("groups are {}", fmt::join(names, ", ")),
              near.empty() ? "without `group` the nodes serve the first group"
                           : fmt::format("did you mean \"{}\"?", near));
  }
  const std::string refresh = "inference.refresh", rate = "inference.rate";
  double clock = 0;
  for (const double step : mean_steps(check)) clock = std::max(clock, step);
  constexpr double most_pulls = 1e4, most_requests = 1e6;  // in a clock
  const auto too_often = [&](const std::string& field, const std::string& value, double times, double most,
                             std::string_view what) {
    if (times <= most) return;
    check.add(
        {field, "compute.time", "cluster.worker.speed", "cluster.workers", "training.batch_size", "model"},
        fmt::format("`{}` is {}", field, value),
        fmt::format("too often: {:.3g} {} in a worker's clock", times, what),
        fmt::format("a clock takes about {:.3g} s", clock));
  };
  too_often(refresh, fmt::format("{} s", i.refresh.value), clock / i.refresh.value, most_pulls,
            "pulls by each node");
  too_often(rate, fmt::to_string(i.rate), i.rate * clock, most_requests, "requests");
}

}  // namespace psim
