// Goal: rows that a program adds are refused before they do harm, all at once. Method: wrong rows in psim's
// tables for the time of one test.
#include "sim/scenario/additions.hpp"

#include <algorithm>

#include "model/data_source.hpp"
#include "model/model_row.hpp"
#include "sim/protocol/consistency.hpp"
#include "sim/protocol/filter.hpp"
#include "sim/scenario/spec/distributions.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("psim's own rows are right", "[additions]") {
  CHECK(wrong_rows().empty());
  CHECK_NOTHROW(check_additions());
}

TEST_CASE("rows that cannot be used are named, all at once", "[additions]") {
  static const Setting layers{.key = "layers", .doc = "a key of [model]", .value = 1.0};
  static const Setting shared{.key = "cv", .doc = "a key that other distributions have", .value = 1.0};
  {
    const Addition<ModelRow> model{{.name = "empty-model", .settings = {&layers}}},
        sizes{{.name = "phantom-two",
               .has_numbers = false,
               .parameters = [](const ModelSpec&) { return std::int64_t{1}; },
               .flops_per_sample = [](const ModelSpec&) { return 1.0; }}};
    const Addition<DataSourceRow> source{{.name = "blobs"}};
    const Addition<ConsistencyRow> policy{
        {.name = "mine", .aliases = "yours sequential", .gate = Gate::none, .group = Group::own}};
    const Addition<FilterRow> filter{{.name = "Half Way", .stage = FilterStage::bytes}};
    const Addition<DistributionRow> distribution{
        {.name = "flat", .settings = {&shared}, .draw = [](StepDraw&) { return 1.0; }}};
    const Addition<FaultKindRow> fault{{.name = "nothing", .on = FaultOn::messages}};
    const std::vector<std::string> wrong = wrong_rows();
    CHECK(wrong == std::vector<std::string>{
                       "model \"empty-model\": the row has no `parameters`",
                       "data source \"blobs\": another row has this name",
                       "data source \"blobs\": the row has no `load`",
                       "consistency model \"sequential\": another row has this name",
                       "consistency model \"mine\": the row has no `policy`",
                       "filter \"Half Way\": a name may have only small letters, digits, - _ and .",
                       "filter \"Half Way\": the row has no `compress`",
                       "fault \"nothing\": the row has no `meet`",
                       "setting `model.layers`: another field has this key",
                   });
  }
  CHECK(wrong_rows().empty());
}
