#include "sim/scenario/reference/compare_reference.hpp"

namespace psim {

nlohmann::ordered_json compare_schema() {
  using Json = nlohmann::ordered_json;
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
            {"seeds", {{"type", "array"}, {"items", {{"type", "integer"}}}}}}},
          {"additionalProperties", {{"type", "array"}}}};
}

std::string compare_reference() {
  return R"(
## [compare]

Axes of `psim compare`. Each key is a dotted field (`"consistency.model"`) or a table
(`consistency`), and each value is a list. psim runs every combination with every seed of `seeds`.
If a field has no meaning together with an axis' value, that run leaves it out. An axis over a table
changes the fields that it names; `{}` changes none.

`arm` is an axis whose values set any fields together. Each arm is a table with a `name`, which tables
show, and any fields, as dotted keys in quotes or as tables. An arm with a name only is the scenario
as it is. What an arm sets cannot be an axis beside it.

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

Gives every arm, under every condition, the fields that suit it best, before arms are compared. The
table then shows each arm twice, `untuned` and `tuned`. All arms get the same settings to try. Trials
have seeds of their own and are judged on the validation set, so `data.validation_fraction` is needed.

| key | type | default | meaning |
|---|---|---|---|
| a field | list, or `{ from, to, points }` | | values to try; a range has numbers at equal ratios, 5 if `points` is not given |
| `method` | `grid`, `random` or `halving` | `grid` | every combination; settings drawn from the values or the whole range; of drawn settings the better half goes on with twice the seeds, until one is left |
| `trials` | integer | | random and halving: settings for each arm |
| `seeds` | list | `[1001, 1002, 1003]` | of the trials alone |
| `measure` | `time-to-target`, `loss` or `accuracy` | time to target, or loss without a target | what the best setting is best in, on the validation set |

```toml
[data]
validation_fraction = 0.2
[tune]
"training.learning_rate" = { from = 0.01, to = 1.0, points = 5 }
```

If the best value is the first or the last of its list, a better one may lie beyond: psim says so.
)";
}

}  // namespace psim
