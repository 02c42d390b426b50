#include "sim/runs/digest_promise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/spec/one_machine.hpp"

namespace psim {
namespace {

bool always(const LoadedScenario&) { return true; }

// Under nic psim computes all dates itself; under fluid SimGrid computes those of messages, and its releases
// round them differently. A pipeline over the devices of one machine has its bus as its network, and a bus is
// always fluid.
bool is_fluid(const LoadedScenario& loaded) {
  return on_its_bus(loaded.scenario).cluster.network.model == NetworkModel::fluid;
}

bool uses_snappy(const LoadedScenario& loaded) {
  const auto has_snappy = [](const Scenario& scenario) {
    return std::ranges::any_of(scenario.filters,
                               [](const FilterSpec& filter) { return filter.kind->name == "snappy"; });
  };
  return has_snappy(loaded.scenario) ||
         std::ranges::any_of(loaded.jobs, [&](const LoadedJob& job) { return has_snappy(job.scenario); });
}

// A property of the program that decides digests of some scenarios.
struct Property {
  const char* path;  // in a summary
  const char* name;  // for people
  bool (*decides)(const LoadedScenario&);
  bool only_fluid = false;
};
constexpr Property properties[] = {
    {"/psim", "psim", always},
    {"/libraries/snappy", "Snappy", uses_snappy},
    {"/libraries/simgrid", "SimGrid", is_fluid, true},
    {"/cpu_family", "the processor", is_fluid, true},
};

std::string value_in(const Json& summary, const char* path) {
  const Json::json_pointer pointer(path);
  if (!summary.contains(pointer)) return "unknown";
  const Json& value = summary.at(pointer);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

constexpr const char* nic_rule =
    "promise under nic: the same digest on every processor and with every release of SimGrid";
constexpr const char* fluid_rule =
    "promise under fluid: the same digest on every x86-64 processor with the same release of SimGrid";
constexpr const char* fluid_elsewhere_rule =
    "promise under fluid for another release of SimGrid, or for a processor other than x86-64: under bsp the "
    "same weights bit for bit, and dates to 1e-9";

}  // namespace

std::string DigestPromise::verdict() const {
  if (exceptions.empty()) return "no difference was to be expected";
  return fmt::format("a difference was to be expected: {}", exceptions);
}

DigestPromise promise_on_digest(const LoadedScenario& loaded, const Json& recorded, const Json& here) {
  std::string exceptions;
  const bool fluid = is_fluid(loaded);
  bool is_elsewhere = fluid && value_in(here, "/cpu_family") != "x86-64";
  for (const Property& property : properties) {
    const std::string then = value_in(recorded, property.path), now = value_in(here, property.path);
    if (then == now || !property.decides(loaded)) continue;
    exceptions +=
        fmt::format("{}{} was {} and is {}", exceptions.empty() ? "" : ", ", property.name, then, now);
    is_elsewhere = is_elsewhere || property.only_fluid;
  }
  if (is_elsewhere && exceptions.empty())
    exceptions = "under fluid psim promises no digest on this processor";
  const char* rule = !fluid ? nic_rule : is_elsewhere ? fluid_elsewhere_rule : fluid_rule;
  return {.rule = rule, .exceptions = std::move(exceptions)};
}

}  // namespace psim
