// The inference group.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void check_inference(const Check& check) {
  const InferenceSpec& i = check.s.cluster.inference;
  if (i.count() == 0) return;
  const std::string refresh = "inference.refresh", rate = "inference.rate";
  double clock = 0;
  for (const double step : mean_steps(check)) clock = std::max(clock, step);
  constexpr double most_pulls = 1e4, most_requests = 1e6;  // in a clock
  const auto too_often = [&](const std::string& field, const std::string& value, double times, double most,
                             std::string_view what) {
    if (times <= most) return;
    check.add(
        {field, "compute.time", "cluster.worker.speed", "cluster.workers", "training.batch_size", "model"},
        fmt::format("`{}` is {}", field, value), fmt::format("{:.3g} {} in a clock of a worker", times, what),
        fmt::format("a clock takes about {:.3g} s", clock));
  };
  too_often(refresh, fmt::format("{} s", i.refresh.value), clock / i.refresh.value, most_pulls,
            "pulls of a node");
  too_often(rate, fmt::to_string(i.rate), i.rate * clock, most_requests, "requests");
}

}  // namespace psim
