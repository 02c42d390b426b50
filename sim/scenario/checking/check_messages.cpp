// Filters that cannot work where they stand.
#include <fmt/format.h>

#include <optional>

#include "sim/scenario/checking/check.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {

void Checker::check_filters() {
  for (std::size_t i = 0; i < s_.filters.size(); ++i) {
    const FilterSpec& filter = s_.filters[i];
    const FilterRow& row = *filter.kind;
    const std::string path = fmt::format("filter.{}.", i);
    const std::string kind = path + "kind", on = path + "on";
    if (!reading_.given(kind)) continue;
    if (row.push_only && filter.direction() != FilterOn::push) {
      add({on, kind}, fmt::format("{} cannot work on pulls", row.name), "it makes sense of gradients only",
          "on = \"push\"");
    }
    if (row.needs_numbers && s_.model.kind == ModelKind::phantom) {
      add({kind, "model.kind"}, fmt::format("{} needs numbers to work on", row.name), "the model is phantom",
          "remove the filter, or use kind = \"mlp\" in [model]");
    }
    for (const Setting* setting : row.settings) {
      const std::string field = path + std::string(setting->key);
      if (!setting->required || reading_.given(field)) continue;
      add({kind, field}, fmt::format("{} needs `{}`", row.name, setting->key),
          fmt::format("`{}` is missing", setting->key),
          fmt::format("for example {} = {}", setting->key, setting->draws.front()));
    }
    if (row.stage == FilterStage::keys && s_.messages.keys == KeyFormat::range) {
      add({kind, "messages.keys"}, "there are no keys to cache", "`messages.keys` is range",
          "keys = \"per-value\" in [messages] sends each value with its key");
    }
    if (row.is_half && is_half(s_.model.precision)) {
      add({kind, "model.precision"}, fmt::format("{} has nothing to do", row.name),
          fmt::format("values of {} take 2 bytes already", name_of(s_.model.precision)),
          "remove the filter, or use precision = \"float32\" in [model]");
    }
    if (filter.error_feedback == true && filter.direction() == FilterOn::pull) {
      add({path + "error_feedback", on, kind}, "pulls have no error feedback",
          "the next pull has the weights anew", "on = \"push\", or remove `error_feedback`");
    }
  }
  for (const bool push : {true, false}) check_order(push);
}

// Of each direction: select, quantise, key-caching, snappy; any number that select, of the rest one each.
void Checker::check_order(bool push) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < s_.filters.size(); ++i) {
    if (!s_.filters[i].works_on(push) || !reading_.given(fmt::format("filter.{}.kind", i))) continue;
    if (before) check_neighbours(*before, i, push ? "pushes" : "pulls");
    before = i;
  }
}

void Checker::check_neighbours(std::size_t first, std::size_t second, std::string_view what) {
  const FilterSpec &a = s_.filters[first], &b = s_.filters[second];
  const std::string_view name_a = a.kind->name, name_b = b.kind->name;
  const std::vector<std::string> fields{
      fmt::format("filter.{}.kind", second), fmt::format("filter.{}.on", second),
      fmt::format("filter.{}.kind", first), fmt::format("filter.{}.on", first)};
  if (a.kind == b.kind) {
    add(fields, fmt::format("{} go through {} twice", what, name_b), "the second time", "remove one");
  } else if (a.stage() == FilterStage::quantize && b.stage() == FilterStage::quantize) {
    add(fields, fmt::format("{} are quantised twice", what), fmt::format("after {}", name_a),
        "remove one, or give it another `on`");
  } else if (b.stage() < a.stage()) {
    add(fields, fmt::format("{} cannot come after {}", name_b, name_a),
        fmt::format("{} go through {} first", what, name_a),
        "the order is: filters that select, one that quantises, key-caching, snappy");
  }
}

}  // namespace psim
