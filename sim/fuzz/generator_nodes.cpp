// Draws start-up, power and profiles of a scenario's nodes.
#include <fmt/format.h>

#include <algorithm>

#include "sim/fuzz/generator.hpp"
#include "sim/scenario/spec/distributions.hpp"

namespace psim::fuzz {
namespace {

void draw_startup(Table& table, Dice& dice) {
  table.rows.push_back({"startup", dice.time(100, 20'000)});
  const auto& row = drawn_row<DistributionRow>(
      dice, [](const DistributionRow& one) { return !one.reads_trace && one.misfit == nullptr; });
  table.rows.push_back({"startup_distribution", fmt::format("\"{}\"", row.name)});
}

void draw_economy(Draft& draft, const std::string& table, Dice& dice) {
  draft[table].rows.push_back({"price", dice.number(0, 5)});
  draft[table + ".power"].rows = {{"idle", "\"100W\""}, {"full", dice.text_of({"100W", "300W"})}};
}

// The search needs a slow worker.
void draw_search(Draft& draft, const Victims& v, Dice& dice) {
  Table& slow = draft["recovery.slow"];
  slow.rows = {{"factor", std::string(dice.one_of({"1.5", "3.0"}))}, {"window", dice.number(1, 4)}};
  const std::string action(dice.one_of({"flag", "remove", "replace"}));
  slow.rows.push_back({"action", '"' + action + '"'});
  if (action == "replace") draft["cluster"].rows.push_back({"spares", "1"});
  draft.tables.push_back({.name = "straggler",
                          .many = true,
                          .rows = {{"workers", fmt::format("[{}]", dice.between(0, v.workers - 1))},
                                   {"slowdown", dice.number(2, 8)}}});
}

}  // namespace

void draw_node_life(Draft& draft, const Victims& v, bool sturdy, Dice& dice) {
  if (dice.chance(0.15)) draw_startup(draft["cluster.worker"], dice);
  if (v.servers > 0 && dice.chance(0.15)) draw_startup(draft["cluster.server"], dice);
  if (v.servers > 0 && draft.find("training", "warmup_steps") != nullptr && dice.chance(0.5))
    draft["training"].rows.push_back({"warmup", dice.text_of({"after-pull", "before-servers"})});
  if (dice.chance(0.1)) draw_economy(draft, "cluster.worker", dice);
  if (v.servers > 0 && dice.chance(0.1)) draw_economy(draft, "cluster.server", dice);
  if (v.servers > 0 && !sturdy && dice.chance(0.1)) draw_search(draft, v, dice);
  const bool racks = draft.find("cluster.network", "racks") != nullptr;
  if (v.servers > 0 && sturdy && racks && dice.chance(0.6))
    draft["cluster.network"].rows.push_back({"aggregate", dice.text_of({"rack", "switch"})});
}

}  // namespace psim::fuzz
