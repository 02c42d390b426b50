// Goal: what a value of an axis sets has the sentences of psim explain. Method: values, and the rows and
// fields that they name.
#include "sim/scenario/definition.hpp"

#include "model/base/table.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a model is told by its row, and its number by its field", "[scenario]") {
  for (const char* set : {"consistency=\"ssp 3\"", "consistency={ model = \"ssp\", staleness = 3 }"}) {
    INFO(set);
    const std::vector<Definition> all = definitions({.label = "ssp 3", .sets = {set}});
    REQUIRE(all.size() == 2);
    CHECK(all[0].field == "consistency.model");
    CHECK(all[0].value == "ssp");
    CHECK(all[0].of_value);
    CHECK(all[0].doc.find(ConsistencyModel("ssp")->may_start) != std::string::npos);
    CHECK(all[0].doc.find(ConsistencyModel("ssp")->applies) != std::string::npos);
    CHECK(all[1].field == "consistency.staleness");
    CHECK(all[1].value == "3");
    CHECK(!all[1].of_value);
    CHECK(explain_field("consistency.staleness").find(all[1].doc) != std::string::npos);
  }
}

TEST_CASE("an arm's fields are told one by one, names by what they are", "[scenario]") {
  const std::vector<Definition> all =
      definitions({.label = "mine",
                   .sets = {"placement.kind=\"even\"", "straggler.0.slowdown=2.0",
                            "filter=[{ kind = \"top-k\", fraction = 0.01 }]"}});
  REQUIRE(all.size() == 4);
  CHECK(all[0].of_value);
  CHECK(explain_field("placement.kind").find(all[0].doc) != std::string::npos);
  CHECK(all[1].field == "straggler.slowdown");
  CHECK(explain_field("straggler.slowdown").find(all[1].doc) != std::string::npos);
  for (const Definition& one : all) {
    INFO(one.field);
    CHECK(!one.doc.empty());
  }
}
