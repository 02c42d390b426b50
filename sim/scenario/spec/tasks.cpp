#include "sim/scenario/spec/tasks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

constexpr std::string_view any_worker = "any worker", all_workers = "workers", one_worker = "worker ";

class ProgramParser {
 public:
  ProgramParser(const std::vector<TaskSpec>& specs, std::int64_t workers)
      : specs_(specs), workers_(workers) {}

  ParsedProgram parse() {
    for (std::size_t i = 0; i < specs_.size(); ++i) read_name(i);
    for (std::size_t i = 0; i < specs_.size(); ++i) read_inputs(i);
    if (result_.findings.empty()) check_circles();
    if (!result_.findings.empty()) return std::move(result_);
    for (std::size_t i = 0; i < specs_.size(); ++i) read_place(i);
    for (std::size_t i = 0; i < specs_.size(); ++i) inherit_place(i);
    for (std::size_t i = 0; i < specs_.size(); ++i) check_result(i);
    return std::move(result_);
  }

 private:
  void find(std::size_t task, std::string_view key, std::string message, std::string label,
            std::string help) {
    result_.findings.push_back(
        {fmt::format("task.{}.{}", task, key), std::move(message), std::move(label), std::move(help)});
  }

  void read_name(std::size_t i) {
    const TaskSpec& spec = specs_[i];
    result_.program.push_back({.name = spec.name, .kind = spec.kind, .amount = spec.amount.value_or(0)});
    const auto before = std::ranges::find(specs_.begin(), specs_.begin() + static_cast<std::ptrdiff_t>(i),
                                          spec.name, &TaskSpec::name);
    if (before - specs_.begin() < static_cast<std::ptrdiff_t>(i))
      find(i, "name", fmt::format("two tasks are called `{}`", spec.name),
           "every task needs a different name", "");
    if (spec.name.empty() || spec.name.find_first_of(" []") != std::string::npos ||
        !fits_in_a_line(spec.name))
      find(i, "name", "a task's name is one word without brackets", "not one word without brackets",
           "for example name = \"first_push\"");
  }

  // "[all ]NAME[[-K]]".
  void read_inputs(std::size_t i) {
    for (std::size_t a = 0; a < specs_[i].after.size(); ++a) {
      std::string_view rest = specs_[i].after[a];
      const std::string key = fmt::format("after.{}", a);
      TaskInput input;
      constexpr std::string_view all = "all ";
      if (rest.starts_with(all)) {
        input.all = true;
        rest.remove_prefix(all.size());
      }
      if (const std::size_t open = rest.find('['); open != std::string_view::npos) {
        const std::string_view inside = rest.substr(open);
        const bool fits = inside.size() > 3 && inside.starts_with("[-") && inside.ends_with(']');
        const std::optional<std::int64_t> back =
            fits ? number_in<std::int64_t>(inside.substr(2, inside.size() - 3)) : std::nullopt;
        if (!back || *back < 1) {
          find(i, key, fmt::format("`{}` does not name an earlier clock", inside), "not understood",
               "[-1] is the previous clock, [-2] the clock before it");
          continue;
        }
        input.clocks_back = [back = *back](std::int64_t) { return back; };
        rest = rest.substr(0, open);
      }
      const auto named = std::ranges::find(specs_, rest, &TaskSpec::name);
      if (named == specs_.end()) {
        std::vector<std::string> names;
        for (const TaskSpec& spec : specs_) names.push_back(spec.name);
        find(i, key, fmt::format("there is no task `{}`", rest), "no task has this name",
             fmt::format("the tasks are {}", fmt::join(names, ", ")));
        continue;
      }
      input.task = static_cast<std::size_t>(named - specs_.begin());
      result_.program[i].after.push_back(std::move(input));
    }
  }

  void check_circles() {
    const std::vector<std::size_t> circle = circle_in(result_.program);
    if (circle.empty()) return;
    std::string text = result_.program[circle.front()].name;
    for (std::size_t i = 1; i < circle.size(); ++i)
      text += fmt::format(" waits for {}, which", result_.program[circle[i]].name);
    find(circle.front(), "after", "tasks of one clock wait for each other in a circle",
         fmt::format("{} waits for {}", text, result_.program[circle.front()].name),
         fmt::format("\"{}[-1]\" is the task of the previous clock", result_.program[circle.front()].name));
  }

  void read_place(std::size_t i) {
    const TaskSpec& spec = specs_[i];
    ProgramTask& task = result_.program[i];
    if (spec.kind != TaskKind::pull) {
      if (!spec.on.empty())
        find(i, "on", fmt::format("only a pull may have `on`, and `{}` is not a pull", spec.name),
             "not a pull",
             is_of_server(spec.kind) ? "the servers run this task" : "the worker of its pull runs this task");
      if (spec.count) find(i, "count", "only a pull on any worker has a count", "no pull", "");
      return;
    }
    task.units = workers_;
    task.anywhere = spec.on == any_worker;
    if (task.anywhere) {
      task.units = spec.count.value_or(workers_);
    } else if (spec.count) {
      find(i, "count", "only a pull on any worker has a count", "each worker runs it once",
           "on = \"any worker\"");
    }
    if (spec.on.empty() || spec.on == all_workers || task.anywhere) return;
    const std::optional<std::int64_t> number =
        spec.on.starts_with(one_worker)
            ? number_in<std::int64_t>(std::string_view(spec.on).substr(one_worker.size()))
            : std::nullopt;
    if (!number || *number < 0 || *number >= workers_) {
      find(i, "on", fmt::format("no worker is called `{}`", spec.on), "not understood",
           fmt::format("possible are \"workers\", \"any worker\" and \"worker 0\" to \"worker {}\"",
                       workers_ - 1));
      return;
    }
    task.units.reset();
    task.worker = static_cast<std::uint32_t>(*number);
  }

  // A gradient and a push run on the worker of their pull. A push is applied once.
  void inherit_place(std::size_t i) {
    std::size_t at = i;
    for (std::size_t steps = 0; steps < specs_.size(); ++steps) {
      const std::optional<std::size_t> source = source_of(result_.program, at);
      if (!source) break;
      at = *source;
    }
    if (at == i) return;
    const ProgramTask place = result_.program[at];
    ProgramTask& task = result_.program[i];
    task.units = place.units;
    if (is_of_server(task.kind)) return;
    task.worker = place.worker;
    task.anywhere = place.anywhere;
  }

  // A task takes a result of its own clock and unit, and each result is taken once.
  void check_result(std::size_t i) {
    const std::optional<TaskKind> wanted = takes_result_of(specs_[i].kind);
    if (!wanted) return;
    const std::string what = fmt::format("`{}` needs the result of one {}", specs_[i].name, name_of(*wanted));
    std::size_t sources = 0;
    bool is_own = true;
    for (const TaskInput& input : result_.program[i].after) {
      if (result_.program[input.task].kind != *wanted) continue;
      ++sources;
      is_own = is_own && !input.all && input.clocks_back(0) == 0;
    }
    if (sources != 1 || !is_own)
      return find(i, sources == 0 ? "do" : "after", what,
                  sources == 0 ? "it comes after no such task" : "must be exactly one, of the same clock",
                  fmt::format("name it in `after`, once and without \"all\" or [-1]: after = [\"{}\"]",
                              name_of(*wanted)));
    const std::optional<std::size_t> source = source_of(result_.program, i);
    for (std::size_t other = 0; other < i; ++other) {
      if (specs_[other].kind == specs_[i].kind && source_of(result_.program, other) == source)
        return find(i, "after",
                    fmt::format("`{}` and `{}` take the same result", specs_[other].name, specs_[i].name),
                    "only one of them can take it", "give the other task a separate result");
    }
  }

  const std::vector<TaskSpec>& specs_;
  std::int64_t workers_;
  ParsedProgram result_;
};

}  // namespace

ParsedProgram parse_program(const std::vector<TaskSpec>& tasks, std::int64_t workers) {
  return ProgramParser(tasks, workers).parse();
}

}  // namespace psim
