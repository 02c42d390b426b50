// Goal: a data source of a program's own cannot mislead the checks. Method: one that tells wrong sizes.
#include <stdexcept>

#include "model/data_spec.hpp"
#include "model/dataset.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

TEST_CASE("a source loads samples of the sizes that it tells before", "[data]") {
  // Four samples of two features and two classes, all for training.
  const auto load = [](const DataRequest&) {
    DataSplit split;
    split.train = {.inputs = SampleMatrix::Zero(4, 2), .labels = {0, 1, 0, 1}, .classes = 2};
    return split;
  };
  static DataShape told;
  const Addition<DataSourceRow> source{{.name = "of-a-test",
                                        .doc = "",
                                        .shape = [](const DataSpec&, DataShape& shape) { shape = told; },
                                        .load = load}};
  const auto refusal = [](const DataShape& shape) -> std::string {
    told = shape;
    try {
      load_data({.source = "of-a-test"}, 1, {});
      return "";
    } catch (const std::logic_error& error) {
      return error.what();
    }
  };
  const DataShape right{.samples = 4, .features = 2, .outputs = 2};
  CHECK(refusal(right).empty());
  DataShape wrong = right;
  wrong.samples = 5;
  CHECK(refusal(wrong) == "data source of-a-test: its `shape` says 5 training samples, but it loads 4");
  wrong = right;
  wrong.features = 3;
  CHECK(refusal(wrong) == "data source of-a-test: its `shape` says 3 features, but it loads 2");
  wrong = right;
  wrong.outputs = 1;
  CHECK(refusal(wrong) == "data source of-a-test: its `shape` says 1 outputs, but it loads 2");
  wrong = right;
  wrong.classification = false;
  CHECK(refusal(wrong) == "data source of-a-test: `classification` of its `shape` is wrong");
}
