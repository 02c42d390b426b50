// Goal: the table of features says what it should. Method: of the rows themselves that each property has
// somebody who needs it and somebody who takes it away, and of the rows whose numbers decide, both sides of
// the border. That pairs run, or are refused, is tests/pairs.
#include "sim/scenario/spec/features.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "sim/scenario/reference/reference.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

const Feature& feature_called(std::string_view name) {
  return *std::ranges::find(features(), name, &Feature::name);
}

// What the model of `c` takes away among 4 workers.
Properties taken_by(const ConsistencySpec& c) {
  Scenario s;
  s.cluster.workers = 4;
  s.consistency = c;
  return feature_called(c.model->name).demands_in(s).takes;
}

}  // namespace

TEST_CASE("every property is needed by a feature and taken away by another", "[features]") {
  for (const PropertyRow& row : properties()) {
    CAPTURE(row.name);
    CHECK(
        std::ranges::any_of(features(), [&](const Feature& f) { return f.demands.needs.has(row.property); }));
    CHECK(
        std::ranges::any_of(features(), [&](const Feature& f) { return f.demands.takes.has(row.property); }));
    CHECK(in_words(row.property) == row.name);
  }
}

TEST_CASE("no two features have one name, and a field of the scenario switches each on", "[features]") {
  const std::vector<std::string> fields = field_names();
  std::set<std::string_view> names;
  for (const Feature& feature : features()) {
    CAPTURE(feature.name);
    CHECK(names.insert(feature.name).second);
    CHECK(std::ranges::any_of(fields, [&](const std::string& known) {
      return known == feature.field() || known.starts_with(std::string(feature.field()) + ".");
    }));
  }
}

TEST_CASE("numbers decide what a consistency model takes away", "[features]") {
  CHECK(taken_by({.model = "k-sync", .k = 3}).has(Property::same_clock));
  CHECK_FALSE(taken_by({.model = "k-sync", .k = 4}).has(Property::same_clock));
  CHECK_FALSE(taken_by({.model = "k-sync", .k = 4}).has(Property::counts_alone));
  CHECK(taken_by({.model = "k-batch-sync", .k = 4}).has(Property::counts_alone));
  CHECK(taken_by({.model = "k-async", .k = 2}).has(Property::counts_alone));
  CHECK_FALSE(taken_by({.model = "k-async", .k = 1}).has(Property::counts_alone));
  CHECK(taken_by({.model = "ssp", .staleness = 1}).has(Property::same_clock));
  CHECK_FALSE(taken_by({.model = "ssp", .staleness = 0}).has(Property::same_clock));
  CHECK(taken_by({.model = "ssp", .staleness = 0}).has(Property::late_pushes));
}

TEST_CASE("groups may differ in what is learned, and share machines and failures", "[features]") {
  for (const std::string_view own : {"training.work", "filter", "consistency.model", "compute.time"})
    CHECK(is_of_group(own));
  for (const std::string_view shared : {"data.delivery", "fault", "inference", "architecture.kind", "group"})
    CHECK_FALSE(is_of_group(shared));
}
