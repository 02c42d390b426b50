#include "sim/apps/cli/explain_tasks.hpp"

#include <fmt/format.h>

#include "sim/apps/cli/command.hpp"
#include "sim/protocol/task_dag.hpp"
#include "sim/runs/record_run.hpp"
#include "sim/runs/refused.hpp"
#include "sim/runs/request.hpp"
#include "sim/runs/shell.hpp"
#include "sim/runs/shipped.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim::cli {
namespace {

// A picture of the tasks of `row`'s model; empty if they form no fixed graph.
std::string picture_of(const ConsistencyRow& row) {
  constexpr std::int64_t workers = 3, clocks = 4;
  const ConsistencySpec spec{.model = row.name, .staleness = 1, .k = 2};
  const bool bounded = row.gate == Gate::staleness;
  const std::optional<Program> program = program_of(make_rule(spec, workers));
  if (!program) return "";
  return fmt::format("\n{}{}. When a worker may start clock t: {}\n{}", row.name,
                     bounded ? " with staleness 1" : "", row.may_start,
                     draw_pulls(TaskDag(*program, clocks), clocks));
}

// The dependencies between tasks under a consistency model; under all models if `model` is empty.
std::string explain_models(const std::string& model) {
  std::string pictures, others;
  std::vector<std::string> names;
  for (const ConsistencyRow& row : all_rows<ConsistencyRow>()) {
    names.emplace_back(row.name);
    if (row.has_tasks()) continue;
    if (!model.empty() && !answers_to(row, model)) continue;
    const std::string picture = row.has_own_logic() ? std::string() : picture_of(row);
    pictures += picture;
    if (picture.empty())
      others += fmt::format(
          "\n{}: no fixed graph.\n  when a worker may start clock t: {}\n  a server applies:                "
          "{}\n",
          row.name, row.may_start, row.applies);
  }
  if (pictures.empty() && others.empty())
    throw nothing_called(model, names, "or a scenario with [[task]]; `psim list` shows the models");
  return fmt::format(
      "tasks: what each pull waits for, with 3 workers in their first 4 clocks\n\n"
      "A consistency model is a set of dependencies between tasks; without them all tasks run at once\n"
      "(Li et al., OSDI 2014). w.t stands for worker w at clock t, and * for every worker. A push waits for\n"
      "the pull of its clock. `push`: the push has arrived. `applied`: it is in the weights. `update` t:\n"
      "the one update of clock t.\n{}{}",
      pictures, others);
}

// The tasks of a scenario.
std::string explain_program(const std::string& path) {
  constexpr std::int64_t clocks = 2;
  const Scenario scenario = load_for_run({.scenario = path}).scenario;
  if (scenario.tasks.empty()) {
    const std::string model(name_of(scenario.consistency.model));
    return fmt::format("{} has no [[task]]; it trains under {}\n\n{}", path, model, explain_models(model));
  }
  const Program program = parse_program(scenario.tasks, scenario.cluster.workers).program;
  return fmt::format(
      "tasks of {}: each runs once a clock, or once for each unit of a clock, when all its requirements\n"
      "are done. NAME[-1] is the task of the previous clock; \"all NAME\" are the tasks of all units.\n\n{}\n"
      "  in {} clocks: {}\n",
      path, draw_program(program), clocks, sizes_of(TaskDag(program, clocks)));
}

}  // namespace

Refused nothing_called(const std::string& name, const std::vector<std::string>& names,
                       std::string_view help) {
  std::string longer;  // the shortest name that begins with it
  for (const std::string& one : names) {
    if (name.size() > 3 && one.starts_with(name) && (longer.empty() || one.size() < longer.size()))
      longer = one;
  }
  return {fmt::format("psim cannot explain `{}`", name),
          longer.empty() ? did_you_mean(name, names, std::string(help))
                         : fmt::format("did you mean `{}`? psim explain {}", longer, shell_word(longer))};
}

std::string explain_tasks(const std::string& what) {
  const auto is_model = [&](const ConsistencyRow& row) { return answers_to(row, what); };
  const bool is_name = std::ranges::any_of(all_rows<ConsistencyRow>(), is_model);
  if (what.empty() || (is_name && what != "tasks")) return explain_models(what);
  try {
    return explain_program(find_scenario(what));
  } catch (const Refused&) {
    return explain_models(what);
  }
}

}  // namespace psim::cli
