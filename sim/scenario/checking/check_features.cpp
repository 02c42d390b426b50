// Checks for features that exclude each other: one needs a property that another takes away.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/spec/features.hpp"

namespace psim {
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

// What to write instead of `feature` if `property` is in `part` of its demands.
std::string remedy(const Feature& feature, Property property, Properties Demands::*part) {
  if (!is_model(feature)) return std::string(feature.instead);
  std::vector<std::string_view> models;
  for (const Feature& other : features()) {
    if (is_model(other) && !(other.demands.*part).has(property)) models.push_back(other.name);
  }
  if (models.empty()) return std::string(feature.instead);
  return fmt::format("model = \"{}\" in [consistency]", fmt::join(models, "\" or \""));
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
        std::string instead = remedy(*other.feature, row.property, &Demands::takes);
        if (std::ranges::find(remedies, instead) == remedies.end()) remedies.push_back(std::move(instead));
      }
      if (takers.empty()) continue;
      check.report("incompatible", fields, fmt::format("{} needs {}", one.feature->name, row.name),
                   fmt::format("not with {}", fmt::join(takers, ", ")),
                   fmt::format("either {}, or {}", fmt::join(remedies, " and "),
                               remedy(*one.feature, row.property, &Demands::needs)));
    }
  }
}

}  // namespace psim
