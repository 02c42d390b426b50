#include "model/data/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "model/base/random.hpp"
#include "model/dataset.hpp"

namespace psim {
namespace {

using Samples = std::vector<std::uint32_t>;

Dataset select(const Dataset& data, const Samples& samples) {
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

// Keeps the samples of `kept`, which rise. Dense samples move within their memory: a second copy of a large
// data set costs as much time as reading it.
void keep(Dataset& data, const Samples& kept) {
  if (data.is_sparse()) {
    data = select(data, kept);
    return;
  }
  const auto pack = [&kept](SampleMatrix& rows) {
    if (rows.rows() == 0) return;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] != i) rows.row(static_cast<Eigen::Index>(i)) = rows.row(kept[i]);
    }
    rows.conservativeResize(static_cast<Eigen::Index>(kept.size()), Eigen::NoChange);
  };
  pack(data.inputs);
  pack(data.targets);
  if (data.classes == 0) return;
  for (std::size_t i = 0; i < kept.size(); ++i) data.labels[i] = data.labels[kept[i]];
  data.labels.resize(kept.size());
}

// How many samples each class gives, by largest remainder, so that they sum to the share of all. Data without
// classes count as one class.
std::vector<std::int64_t> quotas(const std::vector<std::int64_t>& sizes, double fraction) {
  std::vector<std::int64_t> quota;
  std::vector<double> remainder;
  for (const std::int64_t size : sizes) {
    const double exact = fraction * static_cast<double>(size);
    quota.push_back(static_cast<std::int64_t>(exact));
    remainder.push_back(exact - static_cast<double>(quota.back()));
  }
  Samples order(sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return remainder[i]; });
  std::int64_t missing = share_of(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), fraction) -
                         std::accumulate(quota.begin(), quota.end(), std::int64_t{0});
  for (const std::uint32_t i : order) {
    if (missing <= 0) break;
    ++quota[i];
    --missing;
  }
  return quota;
}

[[noreturn]] void refuse(const std::string& what, std::string help) {
  throw DataError(what, std::move(help), "validation_fraction");
}

void check_quotas(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& quota,
                  double fraction, bool classes) {
  const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const auto held_out = std::accumulate(quota.begin(), quota.end(), std::int64_t{0});
  const std::string share = fmt::format("a validation fraction of {} of {} training samples", fraction, all);
  if (held_out == 0)
    refuse(share + " gives no sample", fmt::format("give at least {:.2g}, or 0 for no validation set",
                                                   1 / static_cast<double>(std::max<std::int64_t>(all, 1))));
  if (held_out == all) refuse(share + " leaves none to train on", "give a smaller fraction, or more samples");
  for (std::size_t c = 0; classes && c < sizes.size(); ++c) {
    if (sizes[c] == 0 || (quota[c] > 0 && quota[c] < sizes[c])) continue;
    refuse(fmt::format("{} {} class {}, which has only {}", share,
                       quota[c] == 0 ? "takes no sample of" : "leaves no sample of", c, sizes[c]),
           "give another fraction, or more samples of each class");
  }
}

}  // namespace

std::int64_t share_of(std::int64_t samples, double fraction) {
  return std::lround(fraction * static_cast<double>(samples));
}

DataSplit split_test(Dataset data, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0.0 && fraction < 1.0))
    throw DataError(fmt::format("the test fraction is {}, not in [0, 1)", fraction));
  if (data.size() > std::numeric_limits<std::int32_t>::max())
    throw DataError(fmt::format("{} samples are too many", data.size()));
  const std::int64_t test_size = share_of(data.size(), fraction);
  if (test_size >= data.size())
    throw DataError(fmt::format("a test fraction of {} leaves no sample to train on; all samples: {}",
                                fraction, data.size()));
  if (test_size == 0) {
    Dataset none = select(data, {});
    return {.train = std::move(data), .test = std::move(none)};
  }
  const auto size = static_cast<std::uint32_t>(data.size());
  const Samples order = permutation(size, Stream(seed, "data.split"));
  Samples test(order.begin(), order.begin() + test_size);
  Samples train(order.begin() + test_size, order.end());
  std::sort(test.begin(), test.end());
  std::sort(train.begin(), train.end());
  Dataset chosen = select(data, test);
  keep(data, train);
  return {.train = std::move(data), .test = std::move(chosen)};
}

DataSplit hold_out(DataSplit data, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0.0 && fraction < 1.0))
    throw DataError(fmt::format("the validation fraction is {}, not in [0, 1)", fraction));
  if (fraction == 0) return data;
  const Dataset& all = data.train;
  const bool stratified = all.classes > 0;
  const auto class_of = [&](std::uint32_t i) {
    return stratified ? static_cast<std::size_t>(all.labels[i]) : 0U;
  };
  const auto size = static_cast<std::uint32_t>(all.size());
  std::vector<std::int64_t> sizes(stratified ? static_cast<std::size_t>(all.classes) : 1U);
  for (std::uint32_t i = 0; i < size; ++i) ++sizes[class_of(i)];
  std::vector<std::int64_t> quota = quotas(sizes, fraction);
  check_quotas(sizes, quota, fraction, stratified);

  std::vector<bool> held_out(size);
  for (const std::uint32_t i : permutation(size, Stream(seed, "data.validation"))) {
    if (quota[class_of(i)] == 0) continue;
    --quota[class_of(i)];
    held_out[i] = true;
  }
  Samples train, validation;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (held_out[i]) validation.push_back(i);
    if (!held_out[i]) train.push_back(i);
  }
  data.validation = select(all, validation);
  keep(data.train, train);
  return data;
}

}  // namespace psim
