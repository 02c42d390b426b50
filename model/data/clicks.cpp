// Clicks on advertisements, as in real logs: a sample has a few categorical fields (user, place, item), each
// one-hot over a vocabulary whose values follow Zipf's law.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/base/random.hpp"
#include "model/data/sources.hpp"
#include "model/dataset.hpp"
#include "model/numerics/functions.hpp"

namespace psim {

namespace {

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
