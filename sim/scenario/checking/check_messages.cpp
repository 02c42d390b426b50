// Checks of the order and direction of filters.
#include <fmt/format.h>

#include <optional>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"

namespace psim {
namespace {

void check_neighbours(const Check& check, std::size_t first, std::size_t second, std::string_view what) {
  const FilterSpec &a = check.s.filters[first], &b = check.s.filters[second];
  const std::string_view name_a = a.kind->name, name_b = b.kind->name;
  const std::vector<std::string> fields{
      fmt::format("filter.{}.kind", second), fmt::format("filter.{}.on", second),
      fmt::format("filter.{}.kind", first), fmt::format("filter.{}.on", first)};
  if (a.kind == b.kind) {
    check.add(fields, fmt::format("{} pass {} twice", what, name_b), "this is the second time", "remove one");
  } else if (a.stage() == FilterStage::quantize && b.stage() == FilterStage::quantize) {
    check.add(fields, fmt::format("{} are quantised twice", what), fmt::format("after {}", name_a),
              "remove one, or give it another `on`");
  } else if (b.stage() < a.stage()) {
    check.add(fields, fmt::format("filter {} cannot come after {}", name_b, name_a),
              fmt::format("{} pass {} first", what, name_a),
              "the order is: filters that select, one filter that quantises, key-caching, snappy");
  }
}

// The order in each direction: select, quantise, key-caching, snappy. Several filters may select; each other
// stage has at most one filter.
void check_order(const Check& check, bool push) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < check.s.filters.size(); ++i) {
    if (!check.s.filters[i].works_on(push) || !check.reading.given(fmt::format("filter.{}.kind", i)))
      continue;
    if (before) check_neighbours(check, *before, i, push ? "pushes" : "pulls");
    before = i;
  }
}

}  // namespace

void check_filters(const Check& check) {
  for (std::size_t i = 0; i < check.s.filters.size(); ++i) {
    const FilterSpec& filter = check.s.filters[i];
    const FilterRow& row = *filter.kind;
    const std::string path = fmt::format("filter.{}.", i);
    const std::string kind = path + "kind", on = path + "on";
    if (!check.reading.given(kind)) continue;
    if (row.push_only && filter.direction() != FilterOn::push) {
      check.add({on, kind}, fmt::format("filter {} cannot work on pulls", row.name),
                "it works only on gradients", "on = \"push\"");
    }
    for (const Setting* setting : row.settings) {
      const std::string field = path + std::string(setting->key);
      if (!setting->required || check.reading.given(field)) continue;
      check.add({kind, field}, fmt::format("filter {} needs `{}`", row.name, setting->key),
                fmt::format("`{}` is missing", setting->key),
                fmt::format("for example {} = {}", setting->key, setting->draws.front()));
    }
    if (filter.error_feedback == true && filter.direction() == FilterOn::pull) {
      check.add({path + "error_feedback", on, kind}, "pulls have no error feedback",
                "every pull sends the current weights", "on = \"push\", or remove `error_feedback`");
    }
  }
  for (const bool push : {true, false}) check_order(check, push);
}

}  // namespace psim
