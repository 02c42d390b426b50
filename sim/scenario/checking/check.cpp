#include "sim/scenario/checking/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/features.hpp"
#include "sim/scenario/spec/memory.hpp"
#include "sim/scenario/spec/tasks.hpp"

namespace psim {
namespace {

// With several groups, each job checks the fields that its group may set, and the cluster checks the others.
enum class Of { job, cluster, both };

struct Subject {
  void (*check)(const Check&);
  Of of;
};

constexpr Subject subjects[] = {
    {check_features, Of::both},     {check_source, Of::job},         {check_model, Of::job},
    {check_parameters, Of::job},    {check_devices, Of::job},        {check_memory, Of::job},
    {check_training, Of::job},      {check_consistency, Of::job},    {check_filters, Of::job},
    {check_pace, Of::job},          {check_recovery, Of::cluster},   {check_cluster, Of::cluster},
    {check_inference, Of::cluster}, {check_network, Of::cluster},    {check_architecture, Of::cluster},
    {check_compute, Of::cluster},   {check_stragglers, Of::cluster}, {check_faults, Of::cluster},
    {check_slowness, Of::cluster},  {check_groups, Of::cluster},     {check_tasks, Of::cluster},
    {check_nodes, Of::cluster},
};

}  // namespace

Place Check::place(std::string path) const {
  for (;;) {
    if (const auto it = reading.places.find(path); it != reading.places.end()) return it->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
  }
}

void Check::note_data(const std::string& field, std::string message, std::string help) const {
  diagnostics.note({"data", place(field), std::move(message), "", std::move(help)});
}

void Check::report(std::string code, const std::vector<std::string>& fields, std::string message,
                   std::string label, std::string help) const {
  if (!std::ranges::all_of(fields, [this](const std::string& field) { return reading.reliable(field); }))
    return;
  for (const std::string& field : fields) {
    if (!reading.by_preset(field)) continue;
    std::string origin = fmt::format("`{}` is from preset {}", field, reading.preset);
    if (&field == &fields.front()) {
      origin =
          field.starts_with("filter.")
              ? fmt::format("filter = [] above all tables removes the filters of preset {}", reading.preset)
              : fmt::format("a value in your file overrides preset {}", reading.preset);
    }
    help += (help.empty() ? "" : "; ") + origin;
  }
  if (!group.empty()) message += fmt::format(" in group `{}`", group);
  diagnostics.add(
      {std::move(code), place(fields.front()), std::move(message), std::move(label), std::move(help)});
}

void Check::add(const std::vector<std::string>& fields, std::string message, std::string label,
                std::string help) const {
  report("contradiction", fields, std::move(message), std::move(label), std::move(help));
}

void Check::add_inside(std::string code, const std::string& field, const Inside& inside, std::string message,
                       std::string label, std::string help) const {
  if (!reading.reliable(field)) return;
  const auto [text, begin, length] = inside;
  Place where = place(field);
  // Only if the source has this text unchanged between quotes.
  const bool plain = where.line == where.end_line && where.end_column == where.column + code_points(text) + 2;
  if (plain) {
    where.column += 1 + code_points(text.substr(0, begin));
    where.end_column = where.column + code_points(text.substr(begin, length));
  }
  diagnostics.add({std::move(code), where, std::move(message), std::move(label), std::move(help)});
}

void Check::add_data(const std::vector<std::string>& fields, std::string message, std::string label,
                     std::string help) const {
  report("data", fields, std::move(message), std::move(label), std::move(help));
}

void check_scenario(const Check& check) {
  for (const Subject& subject : subjects) {
    if (check.s.groups.empty() || subject.of != Of::job) subject.check(check);
  }
}

void check_job(const Check& check) {
  for (const Subject& subject : subjects) {
    if (subject.of != Of::cluster) subject.check(check);
  }
}

// Checks of the numbers of architectures without servers.
void check_architecture(const Check& check) {
  const ArchitectureSpec& a = check.s.architecture;
  const std::int64_t workers = check.s.cluster.workers;
  const std::string kind = "architecture.kind", micro_batches = "architecture.micro_batches",
                    cluster = a.is_on_one_machine() ? "cluster.worker.device.count" : "cluster.workers",
                    layers = "model.layers", batch = "training.batch_size";
  if (a.kind != Architecture::model_parallel) return;
  const std::int64_t depth = static_cast<std::int64_t>(check.s.model.mlp.layers.size()) - 1;
  if (check.s.model.kind->has_layers && depth >= 1 && workers > depth) {
    check.add({cluster, kind, layers, "model.kind"}, fmt::format("`{}` is {}", cluster, workers),
              fmt::format("the model has only {} with weights", counted(depth, "layer")),
              "a stage has at least one layer; use fewer stages, or more `layers`");
  }
  const std::int64_t samples = check.s.training.batch_size * workers;
  if (a.micro_batches && *a.micro_batches > samples) {
    check.add({micro_batches, kind, cluster, batch},
              fmt::format("`architecture.micro_batches` is {}", *a.micro_batches),
              fmt::format("a step's batch has only {}", counted(samples, "sample")),
              fmt::format("that is {} x {} (`batch_size`)", counted(workers, "stage"),
                          counted(check.s.training.batch_size, "sample")));
  }
}

// Checks of groups of workers: how they divide the cluster.
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

// The inference group.
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

// Checks of a program of tasks: the dependencies and the number of tasks.

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

// Checks that the memory of each node has room for its contents.

namespace {

// Ways to use less of a node's memory, the largest part first.
std::vector<std::string> remedies(const Scenario& s, const NodeMemory& memory, const std::string& field) {
  std::vector<std::string> all;
  const bool is_server = memory.node == "server", is_stage = memory.node.starts_with("stage");
  const double activations = memory.of("activations");
  if (memory.of("sums of devices") > 0) all.emplace_back("aggregate = \"host\" in [cluster.worker.device]");
  if (activations > 0) {
    if (is_stage)
      all.emplace_back(
          "more micro_batches and schedule = \"1f1b\" in [architecture], or a smaller batch_size");
    else if (s.training.batch_size > 1)
      all.emplace_back(s.architecture.has_servers() ? "a smaller batch_size, with more of `accumulate`"
                                                    : "a smaller batch_size");
    if (!s.training.recompute) all.emplace_back("recompute = true in [training]");
  }
  if (memory.of("optimizer state") > 0) all.emplace_back("an optimizer with less state");
  if (is_server) all.emplace_back("more servers");
  else if (is_stage) all.emplace_back("more stages");
  else if (memory.bytes() - activations > activations)
    all.emplace_back("kind = \"model-parallel\" in [architecture]");
  all.push_back(fmt::format("more `{}`", field));
  return all;
}

void check_room(const Check& check, const NodeMemory& memory) {
  for (const MemoryLimit& limit : memory.limits) {
    if (memory.bytes() <= limit.bytes) continue;
    const std::string help = fmt::format("{}; less with {}", parts_text(memory),
                                         fmt::join(remedies(check.s, memory, limit.field), ", or "));
    check.add({limit.field, "model", "training", "architecture", "cluster.worker.device.count",
               "cluster.worker.device.aggregate", "cluster.servers", "cluster.workers"},
              fmt::format("not enough memory: {} needs {}", memory.node, size_text(memory.bytes(), 6)),
              fmt::format("it has {}", size_text(limit.bytes, 6)), help);
  }
}

}  // namespace

void check_memory(const Check& check) {
  const std::size_t speeds = check.s.cluster.worker_devices.speeds.values.size();
  const bool sound = knows_model(check) && check.s.cluster.workers > 0 && speeds < 65;
  const bool is_pipeline = check.s.architecture.kind == Architecture::model_parallel;
  const std::int64_t layers = std::ssize(check.s.model.mlp.layers) - 1;
  const bool has_stages = !check.s.model.kind->has_layers || check.s.cluster.workers <= layers;
  if (!sound || (is_pipeline && !has_stages) || !check.reading.reliable("cluster")) return;
  const std::vector<NodeMemory> workers = worker_memory(check.s);
  // Stages are alike, so psim reports only the fullest.
  const bool is_over =
      std::ranges::any_of(workers, [](const NodeMemory& one) { return !one.limits.empty(); });
  if (is_pipeline && is_over)
    check_room(check, *std::ranges::max_element(workers, {}, [](const auto& one) { return one.bytes(); }));
  else if (!is_pipeline)
    for (const NodeMemory& one : workers) check_room(check, one);
  if (check.group.empty() && check.s.architecture.has_servers() && check.s.cluster.server.memory &&
      check.s.cluster.servers <= parameter_count(check.s.model)) {
    const Scenario* const job = &check.s;
    check_room(check, server_memory({&job, 1}));
  }
}

void check_servers_of(const Check& check, const std::vector<const Scenario*>& jobs) {
  if (check.s.cluster.server.memory) check_room(check, server_memory(jobs));
}

// Checks for features that exclude each other: one needs a property that another takes away.

namespace {

struct Active {
  const Feature* feature;
  std::string place;
  Demands demands;

  bool of_group() const { return is_of_group(feature->field()); }
};

std::vector<Active> active_in(const Scenario& s) {
  std::vector<Active> result;
  for (const Feature& feature : features()) {
    for (std::string& place : feature.places(s))
      result.push_back({&feature, std::move(place), feature.demands_in(s)});
  }
  return result;
}

bool is_model(const Feature& feature) { return static_cast<bool>(feature.by); }

// What to write instead of `feature` of `s` if `property` is in `part` of its demands.
std::string remedy(const Scenario& s, const Feature& feature, Property property, Properties Demands::*part) {
  if (!is_model(feature)) return std::string(feature.instead);
  std::vector<std::string_view> models;
  for (const Feature& other : features()) {
    if (is_model(other) && !(other.demands.*part).has(property)) models.push_back(other.name);
  }
  if (models.empty()) return std::string(feature.instead);
  Scenario waiting = s;  // late pushes go into the next update
  waiting.consistency.late = Late::next;
  const bool may_wait = s.consistency.model->has_k() && !(feature.by(waiting).*part).has(property);
  return fmt::format("{}model = \"{}\" in [consistency]", may_wait ? "late = \"next\" or " : "",
                     fmt::join(models, "\" or \""));
}

}  // namespace

void check_features(const Check& check) {
  const std::vector<Active> all = active_in(check.s);
  // With several groups, a job checks the fields that its group may set, and the cluster checks the others.
  const auto is_asked = [&](const Active& a, const Active& b) {
    return check.s.groups.empty() || (a.of_group() || b.of_group()) != check.group.empty();
  };
  for (const Active& one : all) {
    for (const PropertyRow& row : properties()) {
      if (!one.demands.needs.has(row.property)) continue;
      std::vector<std::string> fields{one.place}, takers, remedies;
      for (const Active& other : all) {
        if (!other.demands.takes.has(row.property) || !is_asked(one, other)) continue;
        if (!check.reading.reliable(other.place)) continue;
        fields.push_back(other.place);
        takers.emplace_back(other.feature->name);
        std::string instead = remedy(check.s, *other.feature, row.property, &Demands::takes);
        if (std::ranges::find(remedies, instead) == remedies.end()) remedies.push_back(std::move(instead));
      }
      if (takers.empty()) continue;
      check.report("incompatible", fields, fmt::format("{} needs {}", one.feature->name, row.name),
                   fmt::format("not with {}", fmt::join(takers, ", ")),
                   fmt::format("either {}, or {}", fmt::join(remedies, " and "),
                               remedy(check.s, *one.feature, row.property, &Demands::needs)));
    }
  }
}

}  // namespace psim
