// A data source: two half circles that reach into each other.
#include "model/base/random.hpp"
#include "model/data/split.hpp"
#include "model/data_spec.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"

namespace {

using namespace psim;

const Setting gap{.key = "gap",
                  .doc = "Distance between the circles' centres, in radii.",
                  .value = 1.0,
                  .min = 0,
                  .max = 10,
                  .draws = {"0.5", "1.5"}};

DataSplit load(const DataRequest& request) {
  const DataSpec& spec = request.spec;
  Dataset data{.inputs = SampleMatrix(spec.samples, 2), .classes = 2};
  for (std::int64_t i = 0; i < spec.samples; ++i) {
    Stream stream(request.seed, "data.moons", static_cast<std::uint64_t>(i));
    const auto label = static_cast<std::int32_t>(i % 2);
    const double turns = 0.5 * stream.uniform(), side = label == 0 ? 1 : -1;
    const double x = label * spec.settings.of(gap) + side * numerics::cos_of_turns(turns);
    const double y = side * numerics::sin_of_turns(turns);
    data.inputs(i, 0) = static_cast<float>(x + spec.noise * stream.normal());
    data.inputs(i, 1) = static_cast<float>(y + spec.noise * stream.normal());
    data.labels.push_back(label);
  }
  return split_test(std::move(data), spec.test_fraction, request.split_seed);
}

const Addition<DataSourceRow> moons{
    {.name = "moons",
     .doc = "two half circles, one per class",
     .settings = {&gap},
     .fields = "samples noise test_fraction",
     .shape = [](const DataSpec&, DataShape& shape) { shape.features = shape.outputs = 2; },
     .numbers = [](const DataSpec& spec) { return 2.0 * static_cast<double>(spec.samples); },
     .load = load}};

}  // namespace
