// A program of tasks: what each waits for, and how many there are.
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
    return check.report("no-meaning", {"task"}, "tasks are followed under the model \"tasks\" only",
                        fmt::format("under {} they have no meaning", s.consistency.model->name),
                        "consistency = \"tasks\"");
  if (!follows) return;
  if (s.tasks.empty())
    return check.add({"consistency.model"}, "the model \"tasks\" needs tasks", "there is no [[task]]",
                     "`psim explain task` shows their fields, scenarios/tasks.toml has an example");
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
    check.add({"task"}, "no task pushes anything, so nothing is learned", "no task with do = \"push\"",
              "after a pull and a gradient");
  double in_clock = 0;
  for (const ProgramTask& task : parsed.program) in_clock += static_cast<double>(task.count());
  const double all = in_clock * static_cast<double>(s.training.steps.value_or(1));
  if (all > most_tasks)
    check.add(
        {"training.steps", "task"},
        fmt::format("{:.0f} tasks in each of {} clocks are too many", in_clock, s.training.steps.value_or(1)),
        "at most a million in all", "");
}

}  // namespace psim
