#include "sim/scenario/fields/fields.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/fields/field_tables.hpp"
#include "sim/scenario/text/toml_text.hpp"

namespace psim {

void describe(FieldVisitor& v, Scenario& s) {
  v.field("title", &s.title, "The question that this scenario answers.");
  v.field("preset", choice(s.preset), "A real system; the scenario uses its defaults (see Presets).");
  v.field("seed", &s.seed, "Seed of every random draw.", within(0, 9e15));
  v.table("architecture", "How the machines divide the work.", [&] { describe_architecture(v, s); });
  v.table("data", "The data set, and how samples reach the workers.", [&] {
    describe_data(v, s);
    describe_delivery(v, s);
  });
  v.table("model", "The model to train.", [&] { describe_model(v, s); });
  v.table(
      "training",
      "How the model is trained, and when the run ends. The run ends when the first of steps, epochs, "
      "samples, duration and a target with `stop` is reached. The scenario must give at least one of them.",
      [&] { describe_training(v, s); });
  v.table("consistency", "When workers wait for each other, and how servers apply pushes.",
          [&] { describe_consistency(v, s); });
  v.table("placement", "Which server holds which parameters.", [&] { describe_placement(v, s.placement); });
  v.table("messages", "Which values travel in one message, and in which order messages travel.",
          [&] { describe_messages(v, s); });
  v.table("cluster", "The machines and the network.", [&] { describe_cluster(v, s); });
  v.table(
      "inference",
      "Nodes that answer requests while the workers train. Without this table no node answers requests.",
      [&] { describe_inference(v, s.cluster.inference); }, &s.cluster.inference.given);
  v.table("compute", "How long a step's computation takes.", [&] { describe_compute(v, s.compute); });
  v.table("recovery", "How failures are detected and handled.", [&] { describe_recovery(v, s); });
  v.table("replication", "Copies of every shard on other servers.",
          [&] { describe_replication(v, s.replication); });
  v.table("snapshot", "Copies of every shard on a storage node.", [&] { describe_snapshot(v, s.snapshot); });
  v.tables("group", "Groups of workers. Each group has its own parameters or shares those of another group.",
           s.groups, describe_group);
  v.tables("task",
           "Tasks that the scheduler gives to workers and servers in every clock, under the model \"tasks\". "
           "`steps` is the number of clocks.",
           s.tasks, describe_task);
  v.tables("straggler", "Workers that are slow, always or at times.", s.stragglers, describe_straggler);
  v.tables("profile", "Speed, availability, bandwidth or latency over time, read from a file.", s.profiles,
           describe_profile);
  v.tables("filter", "Filters that every message passes before it is sent, in this order.", s.filters,
           describe_filter);
  v.tables("fault", "Faults: their kinds, nodes and times.", s.faults, describe_fault);
}

namespace {

void describe_arm(FieldVisitor& v, ArmSpec& arm) {
  v.field("name", &arm.name, "Name of the arm, which tables show.", required);
  v.any_field({AnyField::Values::one, "The value of this field or table in this arm."});
}

}  // namespace

void describe_compare(FieldVisitor& v, CompareSpec& compare) {
  v.table("compare",
          "Axes of `psim compare`, which runs every combination of their values with every seed. If a field "
          "has no meaning with the value of an axis, psim ignores the field in this run.",
          [&] {
            v.field("seeds", &compare.seeds, "Seeds of the runs.", within(0, 9e15), filled,
                    otherwise("the seed of the scenario"));
            v.any_field({AnyField::Values::list,
                         "The values of this field or table. A table changes the fields that it names; `{}` "
                         "changes no field."});
            v.tables("arm",
                     "The values of one more axis, which set any fields together. An arm with only a name is "
                     "the unchanged scenario. A field that an arm sets cannot be an axis.",
                     compare.arms, describe_arm);
          });
}

void describe_tune(FieldVisitor& v, TuneSpec& tune) {
  v.table("tune",
          "Finds the best fields for every arm under every condition, before psim compares the arms. The "
          "table then shows each arm twice, `untuned` and `tuned`. All arms try the same settings. psim "
          "judges them on the validation set, so [tune] needs `data.validation_fraction`. If the best value "
          "is the first or the last of its list, a better value may lie beyond it. psim reports this.",
          [&] {
            v.field("method", choice(tune.method), "How psim chooses the settings to try.");
            v.field("trials", &tune.trials, "Number of settings for each arm.", within(2, 1000),
                    when("method", {"random", "halving"}), otherwise("must be given"));
            v.field("seeds", &tune.seeds, "Seeds of the trials only.", within(0, 9e15), filled);
            v.field("measure", choice(tune.measure), "Measure of the best setting, on the validation set.",
                    otherwise("`\"time-to-target\"` with a target, otherwise `\"loss\"`"));
            v.any_field({AnyField::Values::list_or_range,
                         "The values to try, or a range `{ from, to, points }` of numbers with equal ratios "
                         "(5 numbers if `points` is not given)."});
          });
}

namespace {

// A TOML float needs a point or an exponent.
std::string number(double value) {
  std::string text = shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::optional<std::string> text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::int64_t>) return fmt::to_string(value);
  else if constexpr (std::is_same_v<T, double>) return number(value);
  else if constexpr (std::is_same_v<T, std::string>) return toml_string(value);
  else if constexpr (std::is_base_of_v<Period, T>) {
    if constexpr (std::is_same_v<T, EvaluationPeriod>)
      if (value.by_samples()) return fmt::format("\"{} samples\"", value.samples);
    return value.by_updates() ? fmt::format("\"{} updates\"", value.updates)
                              : fmt::format("\"{}\"", format_quantity(value.time));
  } else if constexpr (std::is_same_v<T, Speeds>) {
    if (!value.of_platform.empty()) return std::nullopt;
    if (value.values.size() == 1) return text_of(value.values[0]);
    return text_of(value.values);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? text_of(*value) : std::nullopt;
  } else if constexpr (requires { typename T::value_type; }) {
    if (value.empty()) return std::nullopt;
    std::string out = "[";
    for (const auto& element : value) {
      if (out.size() > 1) out += ", ";
      out += text_of(element).value_or("[]");
    }
    return out + "]";
  } else {
    return fmt::format("\"{}\"", format_quantity(value));
  }
}

}  // namespace

std::optional<std::string> toml_text(const FieldTarget& target) {
  return std::visit(
      [](const auto& value) -> std::optional<std::string> {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>) return text_of(*value);
        else return toml_string(value.choices[value.get()].name);
      },
      target);
}

}  // namespace psim
