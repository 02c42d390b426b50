#include "sim/scenario/reference/compare_reference.hpp"

namespace psim {

namespace {

using Json = nlohmann::ordered_json;

Json seeds_schema() {
  return {{"type", "array"},
          {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", 1e15}}},
          {"minItems", 1},
          {"uniqueItems", true}};
}

}  // namespace

Json compare_schema() {
  return {{"type", "object"},
          {"description",
           "Axes of `psim compare`: a dotted field or a table, each with a list of values; arm; and seeds."},
          {"properties",
           {{"arm",
             {{"type", "array"},
              {"description", "Each element has a name, and sets any fields together."},
              {"items",
               {{"type", "object"},
                {"required", Json::array({"name"})},
                {"properties", {{"name", {{"type", "string"}, {"minLength", 1}}}}}}}}},
            {"seeds", seeds_schema()}}},
          {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}};
}

Json tune_schema() {
  const auto one_of = [](std::initializer_list<const char*> names) {
    return Json{{"type", "string"}, {"enum", Json(std::vector<std::string>(names.begin(), names.end()))}};
  };
  return {{"type", "object"},
          {"description",
           "Fields that psim compare tunes for every arm: a dotted field with a list of values, or with a "
           "range."},
          {"properties",
           {{"method", one_of({"grid", "random", "halving"})},
            {"measure", one_of({"time-to-target", "loss", "accuracy"})},
            {"trials", {{"type", "integer"}, {"minimum", 2}, {"maximum", 1000}}},
            {"seeds", seeds_schema()}}},
          {"additionalProperties",
           {{"anyOf", Json::array({{{"type", "array"}},
                                   {{"type", "object"},
                                    {"required", Json::array({"from", "to"})},
                                    {"properties",
                                     {{"from", {{"type", "number"}}},
                                      {"to", {{"type", "number"}}},
                                      {"points", {{"type", "integer"}}}}}}})}}}};
}

std::string compare_reference() {
  return R"(
## [compare]

Axes of `psim compare`. Each key is a dotted field (`"consistency.model"`) or a table
(`consistency`), and each value is a list. psim runs every combination with every seed of `seeds`.
If a field has no meaning with the value of an axis, psim ignores the field in this run. An axis over a
table changes the fields that it names; `{}` changes no field.

`arm` is an axis whose values set any fields together. Each arm is a table with a `name`, which tables
show, and any fields, as dotted keys in quotes or as tables. An arm with only a name is the unchanged
scenario. A field that an arm sets cannot be an axis.

```toml
[compare]
"cluster.workers" = [4, 8]
seeds = [1, 2, 3]

[[compare.arm]]
name = "bsp"

[[compare.arm]]
name = "asp, smaller steps"
"consistency.model" = "asp"
"training.learning_rate" = 0.02
```

## [tune]

Finds the best fields for every arm under every condition, before psim compares the arms. The table
then shows each arm twice, `untuned` and `tuned`. All arms try the same settings. Trials have separate
seeds, and psim judges them on the validation set, so [tune] needs `data.validation_fraction`.

- Each dotted field, in quotes, has a list of values to try, or a range `{ from, to, points }` of
  numbers with equal ratios (5 numbers if `points` is not given).
- `method` is `"grid"` (every combination, the default), `"random"` (settings drawn from the values or
  the whole range) or `"halving"` (drawn settings, of which the better half continues with twice the
  seeds until one is left).
- `trials` is the number of settings for each arm, for `random` and `halving`.
- `seeds` are the seeds of the trials only; the default is `[1001, 1002, 1003]`.
- `measure` is the measure of the best setting, on the validation set: `"time-to-target"` (the default
  with a target), `"loss"` (the default without a target) or `"accuracy"`.

```toml
[data]
validation_fraction = 0.2
[tune]
"training.learning_rate" = { from = 0.01, to = 1.0, points = 5 }
```

If the best value is the first or the last of its list, a better value may lie beyond it. psim reports
this.
)";
}

}  // namespace psim
