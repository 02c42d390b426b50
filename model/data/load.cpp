// From a DataSpec to training, validation and test samples: chooses the source. split.cpp divides the
// samples.
#include <fmt/format.h>

#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/data/files.hpp"
#include "model/data/split.hpp"
#include "model/data/text.hpp"
#include "model/data_spec.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace {

DataSplit split(Dataset data, const DataRequest& request) {
  return split_test(std::move(data), request.spec.test_fraction, request.split_seed);
}

double number(std::int64_t count) { return static_cast<double>(count); }

double numbers_of_teacher(const DataSpec& d) {
  return number(d.samples) * number(d.features + d.classes) + number(d.classes) * number(d.features);
}

}  // namespace

template <>
std::deque<DataSourceRow> built_in_rows() {
  return {
      {.name = "digits",
       .doc = "1,797 handwritten digits of 8x8 pixels, ten classes (UCI: Alpaydin, Kaynak 1998), embedded in "
              "the program",
       .fields = "test_fraction",
       .load = [](const DataRequest& r) { return split(load_digits(), r); }},
      {.name = "idx",
       .doc =
           "a folder with the four files of MNIST (LeCun et al. 1998) or Fashion-MNIST (Xiao et al. 2017), "
           "plain or gzip",
       .reads_files = true,
       .load = [](const DataRequest& r) { return load_idx(r.spec.path, r.search); }},
      {.name = "csv",
       .doc = "a table with a sample a row, columns divided by comma, semicolon or tab, plain or gzip",
       .reads_files = true,
       .fields = "label drop standardize test_fraction",
       .load = [](const DataRequest& r) { return split(load_csv(r.spec, r.search), r); }},
      {.name = "libsvm",
       .doc =
           "sparse samples of two classes, `label index:value ...` a row, indices from 1 or 0, plain or gzip",
       .is_sparse = true,
       .reads_files = true,
       .fields = "test_fraction",
       .load = [](const DataRequest& r) { return split(load_libsvm(r.spec.path, r.search), r); }},
      {.name = "blobs",
       .doc = "Gaussian clusters, one per class",
       .fields = "samples features classes noise test_fraction",
       .shape = [](const DataSpec&, DataShape&) {},
       .numbers = [](const DataSpec& d) { return number(d.samples + d.classes) * number(d.features); },
       .load = [](const DataRequest& r) { return split(make_blobs(r.spec, r.seed), r); }},
      {.name = "spirals",
       .doc = "interleaved two-dimensional spirals, one arm per class",
       .fields = "samples classes noise test_fraction",
       .shape = [](const DataSpec&, DataShape& shape) { shape.features = 2; },
       .numbers = [](const DataSpec& d) { return number(d.samples + d.classes) * 2; },
       .load = [](const DataRequest& r) { return split(make_spirals(r.spec, r.seed), r); }},
      {.name = "teacher",
       .doc = "regression on the outputs of a fixed random network",
       .fields = "samples features classes noise test_fraction",
       .shape = [](const DataSpec&, DataShape& shape) { shape.classification = false; },
       .numbers = numbers_of_teacher,
       .load = [](const DataRequest& r) { return split(make_teacher(r.spec, r.seed), r); }},
      {.name = "clicks",
       .doc = "sparse samples of two classes: features by Zipf's law, labels from a hidden logistic model",
       .is_sparse = true,
       .fields = "samples features noise nonzeros exponent test_fraction",
       .shape =
           [](const DataSpec& d, DataShape& shape) {
             shape.outputs = 2;
             shape.nonzeros = number(d.nonzeros);
           },
       .numbers = [](const DataSpec& d) { return number(d.samples) * number(d.nonzeros); },
       .load = [](const DataRequest& r) { return split(make_clicks(r.spec, r.seed), r); }},
      {.name = "inline",
       .doc = "samples written in the scenario itself",
       .fields = "inputs targets",
       .load = [](const DataRequest& r) { return split_test(make_inline(r.spec), 0, r.split_seed); }}};
}

DataShape shape_of(const Dataset& train) {
  DataShape shape{.samples = train.size(),
                  .features = train.features(),
                  .outputs = train.outputs(),
                  .classification = train.classes > 0};
  if (train.is_sparse())
    shape.nonzeros =
        static_cast<double>(train.sparse_inputs.index.size()) / static_cast<double>(train.size());
  return shape;
}

std::optional<DataShape> known_shape(const DataSpec& spec) {
  const std::int64_t rest = spec.samples - share_of(spec.samples, spec.test_fraction);
  DataShape shape{.samples = rest - share_of(rest, spec.validation_fraction),
                  .features = spec.features,
                  .outputs = spec.classes};
  if (shape.samples < 1) return std::nullopt;
  if (spec.source->shape == nullptr) return std::nullopt;
  spec.source->shape(spec, shape);
  return shape;
}

namespace {

// Checks and estimates rely on the sizes that a source reports before it loads.
void check_told(const DataShape& told, const DataShape& loaded, const DataSpec& spec) {
  const auto check = [&spec](std::string_view what, std::int64_t before, std::int64_t after) {
    if (before != after)
      throw std::logic_error(fmt::format("data source {}: its `shape` says {} {}, but it loads {}",
                                         spec.source->name, before, what, after));
  };
  check("training samples", told.samples, loaded.samples);
  check("features", told.features, loaded.features);
  check("outputs", told.outputs, loaded.outputs);
  if (told.classification != loaded.classification)
    throw std::logic_error(
        fmt::format("data source {}: `classification` of its `shape` is wrong", spec.source->name));
}

}  // namespace

const Dataset& DataSplit::part(DataPart which) const {
  switch (which) {
    case DataPart::training: return train;
    case DataPart::validation: return validation;
    case DataPart::test: break;
  }
  return test;
}

DataPart DataSplit::judged_on() const {
  const bool validates = validation.size() > 0;
  return validates ? DataPart::validation : reported_on();
}

DataPart DataSplit::reported_on() const {
  if (test.size() > 0) return DataPart::test;
  return validation.size() > 0 ? DataPart::validation : DataPart::training;
}

DataSplit load_data(const DataSpec& spec, std::uint64_t seed, const Folders& search) {
  const std::uint64_t split_seed = spec.split_seed ? static_cast<std::uint64_t>(*spec.split_seed) : seed;
  DataSplit data =
      hold_out(spec.source->load({spec, seed, split_seed, search}), spec.validation_fraction, split_seed);
  if (spec.standardize) standardize(data);
  if (const std::optional<DataShape> told = known_shape(spec)) check_told(*told, shape_of(data.train), spec);
  return data;
}

}  // namespace psim
