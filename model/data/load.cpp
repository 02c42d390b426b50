// From a DataSpec to training, validation and test samples: which source serves it. split.cpp says which
// samples are kept for what.
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/data/sources.hpp"
#include "model/data/split.hpp"
#include "model/data_shape.hpp"
#include "model/dataset.hpp"

namespace psim {

namespace {

struct Request {
  const DataSpec& spec;
  std::uint64_t seed, split_seed;
  const Folders& search;
};

DataSplit split(Dataset data, const Request& request) {
  return split_test(std::move(data), request.spec.test_fraction, request.split_seed);
}

struct Source {
  DataSource source;
  DataSplit (*load)(const Request&);
};

constexpr std::array sources{
    Source{DataSource::digits, [](const Request& r) { return split(load_digits(), r); }},
    Source{DataSource::idx, [](const Request& r) { return load_idx(r.spec.path, r.search); }},
    Source{DataSource::csv, [](const Request& r) { return split(load_csv(r.spec.path, r.search), r); }},
    Source{DataSource::libsvm, [](const Request& r) { return split(load_libsvm(r.spec.path, r.search), r); }},
    Source{DataSource::blobs, [](const Request& r) { return split(make_blobs(r.spec, r.seed), r); }},
    Source{DataSource::spirals, [](const Request& r) { return split(make_spirals(r.spec, r.seed), r); }},
    Source{DataSource::teacher, [](const Request& r) { return split(make_teacher(r.spec, r.seed), r); }},
    Source{DataSource::clicks, [](const Request& r) { return split(make_clicks(r.spec, r.seed), r); }},
    Source{DataSource::inline_samples,
           [](const Request& r) { return split_test(make_inline(r.spec), 0, r.split_seed); }},
};

}  // namespace

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
  switch (spec.source) {
    case DataSource::blobs: return shape;
    case DataSource::spirals: shape.features = 2; return shape;
    case DataSource::teacher: shape.classification = false; return shape;
    case DataSource::clicks:
      shape.outputs = 2;
      shape.nonzeros = static_cast<double>(spec.nonzeros);
      return shape;
    default: return std::nullopt;
  }
}

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
  for (const Source& row : sources) {
    if (row.source == spec.source)
      return hold_out(row.load({spec, seed, split_seed, search}), spec.validation_fraction, split_seed);
  }
  throw std::logic_error("a data source without a row in the table");
}

}  // namespace psim
