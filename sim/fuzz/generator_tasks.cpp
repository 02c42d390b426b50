// Programs of tasks: known shapes, with additional dependencies that make no circle.
#include <fmt/format.h>

#include "sim/fuzz/generator.hpp"

namespace psim::fuzz {
namespace {

void add_task(Draft& draft, const std::string& name, std::string_view does, const std::string& after,
              std::vector<Row> more = {}) {
  Table task{.name = "task", .many = true, .rows = {{"name", '"' + name + '"', true}}};
  task.rows.push_back({"do", fmt::format("\"{}\"", does), true});
  if (!after.empty()) task.rows.push_back({"after", '[' + after + ']', true});
  for (Row& row : more) task.rows.push_back(std::move(row));
  draft.tables.push_back(std::move(task));
}

// Pull, gradient and push. The names of the tasks that change the weights afterwards begin in the same way.
void add_chain(Draft& draft, const std::string& name, std::int64_t workers, bool each, Dice& dice) {
  const std::string change = name + (each ? "apply" : "update");
  std::string after =
      fmt::format("\"{}{}[-{}]\"", dice.chance(0.5) ? "all " : "", change, dice.between(1, 3));
  if (dice.chance(0.4)) after += fmt::format(", \"{}push[-1]\"", name);
  std::vector<Row> place;
  if (dice.chance(0.4)) {
    place = {{"on", "\"any worker\""}, {"count", dice.number(1, 2 * workers)}};
  } else if (dice.chance(0.2)) {
    place = {{"on", fmt::format("\"worker {}\"", dice.between(0, workers - 1))}};
  }
  add_task(draft, name + "pull", "pull", after, std::move(place));
  add_task(draft, name + "gradient", "gradient", fmt::format("\"{}pull\"", name));
  add_task(draft, name + "push", "push", fmt::format("\"{}gradient\"", name));
  add_task(draft, change, each ? "apply" : "update",
           fmt::format("\"{}push\"{}", name, each ? "" : fmt::format(", \"all {}gradient[-1]\"", name)));
  if (dice.chance(0.3))
    add_task(draft, name + "shrink", dice.chance(0.5) ? "scale" : "clip", fmt::format("\"{}\"", change),
             {{"amount", "0.99", true}});
  if (dice.chance(0.3)) add_task(draft, name + "length", "norm", fmt::format("\"{}[-1]\"", change));
}

}  // namespace

Draft with_tasks(Dice& dice) {
  Draft draft;
  draft[""].rows = {{"seed", dice.number(0, 1'000'000)}};
  const std::int64_t workers = dice.between(1, 5);
  const bool learns = dice.chance(0.5);
  draft["consistency"].rows = {{"model", "\"tasks\"", true}};
  draft["training"].rows = {{"batch_size", dice.number(1, 8)}, {"steps", dice.number(1, 12), true}};
  if (learns) {
    draft["model"].rows = {{"kind", "\"mlp\"", true}, {"layers", "[4, 5, 3]", true}};
    draft["data"].rows = {
        {"source", "\"blobs\"", true}, {"samples", "60"}, {"features", "4"}, {"classes", "3"}};
    if (dice.chance(0.3)) draft["training"].rows.push_back({"optimizer", "\"adam\""});
  } else {
    draft["model"].rows = {{"kind", "\"phantom\"", true}, {"arrays", "[100, 7, 1000]", true}};
  }
  if (dice.chance(0.4)) draft["messages"].rows = {{"unit", "\"array\""}};
  draft["cluster"].rows = {{"workers", std::to_string(workers), true}, {"servers", dice.number(1, 3), true}};
  draft["cluster.network"].rows = {{"bandwidth", dice.text_of({"10Gbps", "200Mbps"}), true},
                                   {"latency", dice.text_of({"1us", "30us"}), true}};
  if (dice.chance(0.3)) draft["cluster.network"].rows.push_back({"model", "\"nic\""});
  if (dice.chance(0.2)) draft["cluster.server"].rows = {{"flops_per_value", "1000"}};
  draft["compute"].rows = {{"time", "\"1ms\"", true},
                           {"distribution", dice.text_of({"constant", "exponential"})}};
  const bool each = dice.chance(0.5);
  add_chain(draft, "", workers, each, dice);
  if (dice.chance(0.3)) add_chain(draft, "second_", workers, dice.chance(0.5), dice);
  return draft;
}

}  // namespace psim::fuzz
