// Checks of a program of tasks: the dependencies and the number of tasks.
#include <fmt/format.h>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/tasks.hpp"

namespace psim {
namespace {

constexpr double most_tasks = 1e6;

}  // namespace

void check_tasks(const Check& check) {
  const Scenario& s = check.s;
  const bool follows = s.consistency.model->has_tasks() && s.architecture.has_servers();
  if (!follows && !s.tasks.empty())
    return check.report("no-meaning", {"task"}, "only the model \"tasks\" uses [[task]]",
                        fmt::format("the model {} ignores tasks", s.consistency.model->name),
                        "consistency = \"tasks\"");
  if (!follows) return;
  if (s.tasks.empty())
    return check.add(
        {"consistency.model"}, "the model \"tasks\" needs tasks", "there is no [[task]]",
        "`psim explain task` shows the fields of a task, and scenarios/tasks.toml is an example");
  if (!s.training.steps && !s.training.epochs && !s.training.samples &&
      (s.training.duration || s.training.target.given()))
    check.add({"training", "task"}, "how many clocks of tasks are there?",
              "no `steps`, `epochs` or `samples`", "for example steps = 100");
  for (std::size_t i = 0; i < s.tasks.size(); ++i) {
    if (changes_weights(s.tasks[i].kind) && !s.tasks[i].amount)
      check.add({fmt::format("task.{}.do", i), fmt::format("task.{}.amount", i)},
                fmt::format("`{}` needs an amount", name_of(s.tasks[i].kind)), "by which number?",
                "for example amount = 0.99");
  }
  const ParsedProgram parsed = parse_program(s.tasks, s.cluster.workers);
  for (const TaskFinding& finding : parsed.findings)
    check.add({finding.field}, finding.message, finding.label, finding.help);
  if (!parsed.findings.empty()) return;
  if (tasks_of(parsed.program, TaskKind::push) == 0)
    check.add({"task"}, "no task pushes a gradient, so the weights never change",
              "no task with do = \"push\"", "add one after a pull and a gradient");
  double in_clock = 0;
  for (const ProgramTask& task : parsed.program) in_clock += static_cast<double>(task.count());
  const double all = in_clock * static_cast<double>(s.training.steps.value_or(1));
  if (all > most_tasks)
    check.add({"training.steps", "task"},
              fmt::format("too many tasks: {:.0f} in a clock, and {}", in_clock,
                          counted(s.training.steps.value_or(1), "clock")),
              "at most one million tasks in the run", "");
}

}  // namespace psim
