// Data sets without a file. Sample i draws from its own stream, so more samples, or other noise, do not
// change the draws of the samples before.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "model/base/random.hpp"
#include "model/data/files.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"

namespace psim {
namespace {

void require_sizes(const DataSpec& spec) {
  // Sample indices are 32 bits wide; the other bound is a memory of 16 GiB.
  constexpr std::int64_t samples_max = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t values_max = std::int64_t{1} << 32;
  if (spec.samples < 1 || spec.samples > samples_max || spec.features < 1 || spec.classes < 1 ||
      spec.features > values_max / spec.samples || spec.classes > values_max / spec.samples)
    throw DataError(
        fmt::format("cannot generate data with samples = {}, features = {} and classes or outputs = {}",
                    spec.samples, spec.features, spec.classes));
}

// The classes have equal numbers of samples, to within one.
Dataset balanced(const DataSpec& spec, std::int64_t features) {
  require_sizes(spec);
  Dataset data;
  data.inputs.resize(spec.samples, features);
  data.classes = static_cast<int>(spec.classes);
  for (std::int64_t i = 0; i < spec.samples; ++i)
    data.labels.push_back(static_cast<std::int32_t>(i % spec.classes));
  return data;
}

}  // namespace

// Gaussian clusters around centres that are uniform in [-1, 1]^features.
Dataset make_blobs(const DataSpec& spec, std::uint64_t seed) {
  Dataset data = balanced(spec, spec.features);
  std::vector<std::vector<double>> centres(static_cast<std::size_t>(spec.classes));
  for (std::size_t c = 0; c < centres.size(); ++c) {
    Stream stream(seed, "data.blobs.centre", c);
    for (std::int64_t j = 0; j < spec.features; ++j) centres[c].push_back(stream.uniform(-1.0, 1.0));
  }
  for (std::int64_t i = 0; i < spec.samples; ++i) {
    Stream stream(seed, "data.blobs", i);
    const std::vector<double>& centre = centres[i % spec.classes];
    for (std::int64_t j = 0; j < spec.features; ++j)
      data.inputs(i, j) = static_cast<float>(centre[j] + spec.noise * stream.normal());
  }
  return data;
}

// One arm per class, each three quarters of a turn from the origin to radius 1, displaced in the plane.
Dataset make_spirals(const DataSpec& spec, std::uint64_t seed) {
  constexpr double turns = 0.75;
  Dataset data = balanced(spec, 2);
  for (std::int64_t i = 0; i < spec.samples; ++i) {
    Stream stream(seed, "data.spirals", i);
    const double radius = stream.uniform();
    const double arm = static_cast<double>(data.labels[i]) / static_cast<double>(spec.classes);
    const double angle = arm + turns * radius;
    data.inputs(i, 0) =
        static_cast<float>(radius * numerics::cos_of_turns(angle) + spec.noise * stream.normal());
    data.inputs(i, 1) =
        static_cast<float>(radius * numerics::sin_of_turns(angle) + spec.noise * stream.normal());
  }
  return data;
}

// x ~ N(0, I), y = V tanh(W x + b) + noise * N(0, I), with 16 hidden units. The teacher's own numbers are
// normal too: W with variance 1/features, b with variance 1, V with variance 1/16. So neither its hidden
// units nor its outputs grow with the sizes.
Dataset make_teacher(const DataSpec& spec, std::uint64_t seed) {
  constexpr std::size_t units = 16;
  require_sizes(spec);
  const double input_scale = 1.0 / std::sqrt(static_cast<double>(spec.features));
  std::array<std::vector<double>, units> W;
  std::array<double, units> b{};
  for (std::size_t u = 0; u < units; ++u) {
    Stream stream(seed, "data.teacher.hidden", u);
    b[u] = stream.normal();
    for (std::int64_t j = 0; j < spec.features; ++j) W[u].push_back(input_scale * stream.normal());
  }
  std::vector<std::array<double, units>> V(static_cast<std::size_t>(spec.classes));
  for (std::size_t k = 0; k < V.size(); ++k) {
    Stream stream(seed, "data.teacher.output", k);
    for (double& v : V[k]) v = stream.normal() / std::sqrt(static_cast<double>(units));
  }

  Dataset data;
  data.inputs.resize(spec.samples, spec.features);
  data.targets.resize(spec.samples, spec.classes);
  for (std::int64_t i = 0; i < spec.samples; ++i) {
    Stream stream(seed, "data.teacher", i);
    std::array<double, units> hidden = b;
    for (std::int64_t j = 0; j < spec.features; ++j) {
      const double x = stream.normal();
      data.inputs(i, j) = static_cast<float>(x);
      for (std::size_t u = 0; u < units; ++u) hidden[u] += W[u][j] * x;
    }
    for (double& h : hidden) h = numerics::tanh(h);
    for (std::int64_t k = 0; k < spec.classes; ++k) {
      double y = spec.noise * stream.normal();
      for (std::size_t u = 0; u < units; ++u) y += V[k][u] * hidden[u];
      data.targets(i, k) = static_cast<float>(y);
    }
  }
  return data;
}

namespace {

SampleMatrix matrix(const std::vector<std::vector<double>>& rows, const char* what) {
  if (rows.empty() || rows.front().empty())
    throw DataError(fmt::format("inline data: `{}` holds no numbers", what));
  const std::size_t columns = rows.front().size();
  SampleMatrix values(rows.size(), columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != columns)
      throw DataError(fmt::format("inline data: row {} of `{}` has length {}, expected {}", i + 1, what,
                                  rows[i].size(), columns));
    for (std::size_t j = 0; j < columns; ++j) {
      // Written so that NaN fails it as well.
      if (!(std::abs(rows[i][j]) <= std::numeric_limits<float>::max()))
        throw DataError(fmt::format("inline data: row {} of `{}` holds {}", i + 1, what, rows[i][j]));
      values(i, j) = static_cast<float>(rows[i][j]);
    }
  }
  return values;
}

}  // namespace

Dataset make_inline(const DataSpec& spec) {
  if (spec.inputs.size() != spec.targets.size())
    throw DataError(
        fmt::format("inline data: the number of rows of `inputs` is {}, but that of `targets` is {}",
                    spec.inputs.size(), spec.targets.size()));
  Dataset data;
  data.inputs = matrix(spec.inputs, "inputs");
  data.targets = matrix(spec.targets, "targets");
  return data;
}

namespace {

// Clicks on advertisements, as in real logs: a sample has a few categorical fields (user, place, item), each
// one-hot over a vocabulary whose values follow Zipf's law.

// The hidden model: one of five features matters, and most samples are no clicks. The weights are scaled so
// that a sample's margin has a standard deviation of about 2, for any number of fields.
constexpr double share_of_weights = 0.2;
constexpr double margin_deviation = 2.0;
constexpr double intercept = -1.0;

double hidden_weight(std::uint64_t seed, std::uint32_t feature, double scale) {
  Stream stream(seed, "data.clicks.weight", feature);
  return stream.uniform() < share_of_weights ? scale * stream.normal() : 0.0;
}

// Draws ranks 0..n-1 with probabilities in proportion to (rank + 1)^-exponent.
class Zipf {
 public:
  Zipf(std::int64_t largest, double exponent) {
    double sum = 0.0;
    for (std::int64_t rank = 0; rank < largest; ++rank)
      cumulative_.push_back(sum += numerics::pow(static_cast<double>(rank + 1), -exponent));
  }
  std::uint32_t draw(Stream& stream, std::int64_t n) const {
    const auto end = cumulative_.begin() + (n - 1);
    return static_cast<std::uint32_t>(std::upper_bound(cumulative_.begin(), end, stream.uniform() * *end) -
                                      cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace

// P(click) = 1 / (1 + exp(-(intercept + sum of the features' hidden weights + noise * N(0, 1)))).
// Field f holds the features from features * f / nonzeros on, the most frequent one first.
Dataset make_clicks(const DataSpec& spec, std::uint64_t seed) {
  const std::int64_t fields = spec.nonzeros;
  if (spec.samples < 1 || fields < 1 || spec.features < fields)
    throw DataError(fmt::format("cannot generate data with samples = {}, nonzeros = {} and features = {}",
                                spec.samples, fields, spec.features));
  const auto begin_of = [&](std::int64_t field) { return spec.features * field / fields; };
  const Zipf zipf(spec.features / fields + 1, spec.exponent);
  const double scale = margin_deviation / std::sqrt(share_of_weights * static_cast<double>(fields));
  std::vector<double> weights;
  for (std::uint32_t j = 0; j < spec.features; ++j) weights.push_back(hidden_weight(seed, j, scale));

  Dataset data;
  data.classes = 2;
  data.sparse_inputs.cols = spec.features;
  std::vector<std::uint32_t> index(static_cast<std::size_t>(fields));
  const std::vector<float> ones(index.size(), 1.0F);
  for (std::int64_t i = 0; i < spec.samples; ++i) {
    Stream stream(seed, "data.clicks", static_cast<std::uint64_t>(i));
    double margin = intercept + spec.noise * stream.normal();
    for (std::int64_t f = 0; f < fields; ++f) {
      const std::int64_t begin = begin_of(f);
      const std::uint32_t feature =
          static_cast<std::uint32_t>(begin) + zipf.draw(stream, begin_of(f + 1) - begin);
      index[static_cast<std::size_t>(f)] = feature;
      margin += weights[feature];
    }
    data.sparse_inputs.add_row({index, ones});
    data.labels.push_back(stream.uniform() < 1.0 / (1.0 + numerics::exp(-margin)) ? 1 : 0);
  }
  return data;
}

}  // namespace psim
