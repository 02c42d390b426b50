// Draws the consistency model of a scenario, and its treatment of stale weights and pushes.
#include <algorithm>
#include <array>
#include <string_view>

#include "sim/fuzz/generator.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace psim::fuzz {

namespace {

// Custom models in all forms.
struct CustomDraw {
  std::string_view start, update, too_late, promise;
};
constexpr std::array<CustomDraw, 6> customs{{
    {"version > computed_on", "pushes >= min(k, members)", "age > 0", "pushes <= workers"},
    {"version > computed_on", "pushes >= (version < 4 ? min(k, members) : members)", "age > 0",
     "pushes <= workers"},
    {"clock - min_clock <= staleness", "pushes >= 1", "false", "clock_gap <= staleness + 4"},
    {"applied >= pushed", "pushes >= min(k, members)", "false", "pushes >= 1"},
    {"applied >= pushed", "pushes >= (min_clock < 3 ? 1 : min(k, members))", "false", "pushes >= 1"},
    {"true", "pushes >= k", "age > 4", "age <= 4"},
}};

void draw_custom(Table& table, Dice& dice) {
  const CustomDraw& one = customs[static_cast<std::size_t>(dice.between(0, std::ssize(customs) - 1))];
  table.rows.push_back({"start", in_quotes(one.start)});
  table.rows.push_back({"update", in_quotes(one.update)});
  table.rows.push_back({"too_late", in_quotes(one.too_late)});
  table.rows.push_back({"weight", dice.text_of({"1", "1 / (1 + age)", "exp(-age / 3)"})});
  table.rows.push_back({"staleness", dice.number(0, 4)});
  table.rows.push_back({"promises", "[" + in_quotes(one.promise) + "]"});
}

}  // namespace

void draw_consistency(Draft& draft, std::int64_t workers, Dice& dice) {
  Table& table = draft["consistency"];
  const auto& row = draw_row<ConsistencyRow>(table, "model", dice);
  if (row.has_bound()) table.rows.push_back({"staleness", dice.number(0, 4)});
  if (row.has_bound() && row.dynamic) table.rows.push_back({"staleness_max", dice.number(4, 8)});
  if (row.has_k()) table.rows.push_back({"k", dice.number(1, workers)});
  if (row.has_late() && !row.has_limit() && row.has_k())
    table.rows.push_back({"late", dice.text_of({"drop", "cancel"})});
  if (row.is_custom()) draw_custom(table, dice);
  if (dice.chance(0.2)) draw_row<AggregationRow>(table, "aggregation", dice);
}

void draw_staleness(Draft& draft, Dice& dice) {
  Table& consistency = draft["consistency"];
  const auto& row = *ConsistencyModel(
      std::string_view(consistency.rows[0].value).substr(1, consistency.rows[0].value.size() - 2));
  if (row.has_closing() && dice.chance(0.15))
    consistency.rows.push_back({"window", dice.time(0, 2 * step_us)});
  if (row.has_closing() && dice.chance(0.15))
    consistency.rows.push_back({"deadline", dice.time(0, 4 * step_us)});
  const bool by_date = consistency.rows.back().key == "window" || consistency.rows.back().key == "deadline";
  if (by_date && row.drops_stale && dice.chance(0.7)) {
    std::erase_if(consistency.rows, [](const Row& one) { return one.key == "late"; });
    consistency.rows.push_back({"late", dice.text_of({"drop", "cancel", "next"})});
  }
  if (row.has_limit() && dice.chance(0.15)) {
    consistency.rows.push_back({"max_staleness", dice.number(0, 6)});
    consistency.rows.push_back({"too_stale", dice.text_of({"drop", "damp"})});
  }
  if (row.has_bound() && dice.chance(0.3)) consistency.rows.push_back({"cache", "true"});
  const std::string* const unit = draft.find("messages", "unit");
  if (row.has_schedule() && unit != nullptr && *unit == "\"array\"" && dice.chance(0.5))
    draft.tables.push_back({.name = "consistency.array",
                            .many = true,
                            .rows = {{"layer", "0"}, {"staleness", dice.number(0, 5)}}});
  std::vector<Row>& training = draft["training"].rows;
  if (draft.find("training", "staleness_aware") != nullptr)
    draw_row<StalenessWeightRow>(draft["training"], "staleness_weight", dice);
  if (draft.find("training", "local_steps") == nullptr && dice.chance(0.06))
    training.push_back({"local_time", dice.time(step_us / 2, 6 * step_us)});
}

void draw_ages(Draft& draft, Dice dice) {
  Table& consistency = draft["consistency"];
  const auto has = [&](std::string_view key, std::string_view value) {
    const std::string* const found = draft.find("consistency", key);
    return found != nullptr && (value.empty() || *found == value);
  };
  const bool is_custom = has("too_late", "");
  if (!is_custom && !has("max_staleness", "")) return;
  if (dice.chance(0.5)) consistency.rows.push_back({"age", "\"gradient\""});
  if (!is_custom && has("too_stale", "\"drop\"") && dice.chance(0.5))
    consistency.rows.push_back({"late", "\"cancel\""});
}

}  // namespace psim::fuzz
