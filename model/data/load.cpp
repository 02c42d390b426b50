// From a DataSpec to training and test samples: which source serves it, and which samples are kept for
// the test.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "model/data/sources.hpp"
#include "model/data_shape.hpp"
#include "model/random.hpp"

namespace psim {

namespace {

struct Request {
  const DataSpec& spec;
  std::uint64_t seed;
  const Folders& search;
};

Dataset select(const Dataset& data, const std::vector<std::uint32_t>& samples) {
  Dataset part;
  part.classes = data.classes;
  if (data.is_sparse()) {
    part.sparse_inputs.cols = data.sparse_inputs.cols;
    for (const std::uint32_t i : samples) part.sparse_inputs.add_row(data.sparse_inputs.row(i));
  } else {
    part.inputs = data.inputs(samples, Eigen::all);
  }
  if (data.classes == 0) {
    part.targets = data.targets(samples, Eigen::all);
  } else {
    for (const std::uint32_t i : samples) part.labels.push_back(data.labels[i]);
  }
  return part;
}

DataSplit train_only(Dataset data) {
  Dataset none = select(data, {});
  return {.train = std::move(data), .test = std::move(none)};
}

// Samples that `split` keeps for the test.
std::int64_t test_samples(std::int64_t samples, double fraction) {
  return std::lround(fraction * static_cast<double>(samples));
}

// The test samples are a random choice; within both parts the samples keep their order, so that
// `contiguous` shards still follow the file.
DataSplit split(Dataset data, const Request& request) {
  const double fraction = request.spec.test_fraction;
  if (!(fraction >= 0.0 && fraction < 1.0))
    throw DataError(fmt::format("the test fraction is {}, not in [0, 1)", fraction));
  if (data.size() > std::numeric_limits<std::int32_t>::max())
    throw DataError(fmt::format("{} samples are too many", data.size()));
  const std::int64_t test_size = test_samples(data.size(), fraction);
  if (test_size >= data.size())
    throw DataError(
        fmt::format("a test fraction of {} leaves none of {} samples to train on", fraction, data.size()));
  if (test_size == 0) return train_only(std::move(data));

  const auto size = static_cast<std::uint32_t>(data.size());
  const std::vector<std::uint32_t> order = permutation(size, Stream(request.seed, "data.split"));
  std::vector<std::uint32_t> test(order.begin(), order.begin() + test_size);
  std::vector<std::uint32_t> train(order.begin() + test_size, order.end());
  std::sort(test.begin(), test.end());
  std::sort(train.begin(), train.end());
  return {.train = select(data, train), .test = select(data, test)};
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
    Source{DataSource::inline_samples, [](const Request& r) { return train_only(make_inline(r.spec)); }},
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
  DataShape shape{.samples = spec.samples - test_samples(spec.samples, spec.test_fraction),
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

DataSplit load_data(const DataSpec& spec, std::uint64_t seed, const Folders& search) {
  for (const Source& row : sources)
    if (row.source == spec.source) return row.load({spec, seed, search});
  throw std::logic_error("a data source without a row in the table");
}

}  // namespace psim
