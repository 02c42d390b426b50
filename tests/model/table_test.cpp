// Goal: a scenario's choice of a row and the settings of rows say what they should.
#include "model/base/table.hpp"

#include <set>

#include "model/optimizer.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a row is chosen by its name, and no other name will do", "[table]") {
  CHECK(OptimizerKind()->name == all_rows<OptimizerRow>().front().name);
  CHECK(OptimizerKind("adam")->state_arrays == 2);
  CHECK(OptimizerKind("adam") == OptimizerKind::at(OptimizerKind("adam").index()));
  CHECK(OptimizerKind("adam") != OptimizerKind("sgd"));
  CHECK_THROWS_AS(OptimizerKind("adams"), std::logic_error);
}

TEST_CASE("a row answers to its name and to whole aliases", "[table]") {
  const struct { std::string_view name, aliases; } row{"bsp", "sequential dist_sync"};
  for (const auto* name : {"bsp", "sequential", "dist_sync"}) CHECK(answers_to(row, name));
  for (const auto* name : {"dist", "sync", "sequential dist_sync2"}) CHECK_FALSE(answers_to(row, name));
}

TEST_CASE("no two optimizers have the same name", "[table]") {
  std::set<std::string_view> names;
  for (const OptimizerRow& row : all_rows<OptimizerRow>()) CHECK(names.insert(row.name).second);
}

TEST_CASE("a setting is its default until a scenario says otherwise", "[table]") {
  const Setting share{.key = "share", .doc = "A share.", .value = 0.25},
      time{.key = "time", .doc = "A time.", .value = Seconds{2}},
      count{.key = "count", .doc = "A count.", .value = std::int64_t{3}};
  Settings settings{{"share", 0.5}};
  CHECK(settings.of(share) == 0.5);
  CHECK(settings.of(time) == 2);
  CHECK(settings.of(count) == 3);
  std::get<std::int64_t>(settings.place_of(count)) = 7;
  CHECK(settings.of(count) == 7);
  CHECK(std::get<double>(settings.place_of(share)) == 0.5);
}
