// Checks of start-up, power, spares and profiles.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"

namespace psim {
namespace {

void check_startup(const Check& check, const StartupSpec& startup, const std::string& table) {
  if (!startup.given()) return;
  const std::string distribution = table + ".startup_distribution";
  if (startup.distribution->reads_trace) {
    check.add({distribution}, "a start-up time cannot come from a trace",
              "a trace gives one factor for each step", "choose another distribution");
    return;
  }
  if (startup.distribution->misfit == nullptr) return;
  for (const std::optional<double> mean : {std::optional<double>{}, std::optional(startup.mean.value)}) {
    const std::optional<Misfit> misfit = startup.distribution->misfit(startup.settings, mean);
    if (!misfit) continue;
    check.add({fmt::format("{}.startup_{}", table, misfit->setting.key), distribution, table + ".startup"},
              fmt::format("`{}.startup_{}` is {}", table, misfit->setting.key,
                          startup.settings.of(misfit->setting)),
              mean ? fmt::format("must be at most the mean start-up time, {:.4g} s", *mean) : misfit->label,
              misfit->help);
    return;
  }
}

void check_power(const Check& check, const PowerSpec& power, const std::string& table) {
  if (power.full.value >= power.idle.value) return;
  check.add({table + ".power.full", table + ".power.idle"},
            fmt::format("a node draws {} W when it works and {} W when it does not", power.full.value,
                        power.idle.value),
            "`full` must be at least `idle`");
}

void check_spares(const Check& check) {
  const std::int64_t spares = check.s.cluster.spares, workers = check.s.cluster.workers;
  const SlowSpec& slow = check.s.recovery.slow;
  const bool replaces = slow.given && slow.action == SlowAction::replace;
  if (spares >= workers && spares > 0)
    check.add({"cluster.spares", "cluster.workers"},
              fmt::format("{} among {}", counted(spares, "spare"), counted(workers, "worker")),
              "no worker is left for the start", "`workers` includes the spares");
  if (replaces && spares == 0)
    check.add({"recovery.slow.action", "cluster.spares"}, "no spare can replace a slow worker",
              "`cluster.spares` is 0",
              "spares = 1 in [cluster] makes the last worker a spare; or use action = \"remove\"");
}

void check_profiles(const Check& check) {
  for (std::size_t i = 0; i < check.s.profiles.size(); ++i) {
    const std::string path = fmt::format("profile.{}.", i);
    check_workers(check, path, check.s.profiles[i].workers);
    for (const std::string& name : check.s.profiles[i].nodes) check_node_name(check, path + "nodes", name);
  }
}

}  // namespace

void check_nodes(const Check& check) {
  check_startup(check, check.s.cluster.worker.startup, "cluster.worker");
  check_power(check, check.s.cluster.worker.economy.power, "cluster.worker");
  if (check.s.architecture.has_servers()) {
    check_startup(check, check.s.cluster.server.startup, "cluster.server");
    check_power(check, check.s.cluster.server.economy.power, "cluster.server");
  }
  check_spares(check);
  check_profiles(check);
}

}  // namespace psim
