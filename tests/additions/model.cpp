// A model: a linear support vector machine for each class against the others, with the squared hinge.
#include <Eigen/Core>
#include <algorithm>

#include "model/dataset.hpp"
#include "model/learner.hpp"

namespace {

using namespace psim;

const Setting margin{.key = "margin",
                     .doc = "How far on the right side of its plane a sample must be to cost nothing.",
                     .value = 1.0,
                     .min = 0,
                     .max = 1e6,
                     .draws = {"0.5", "2.0"}};

class LinearSvm final : public Learner {
 public:
  LinearSvm(const ModelSpec& spec, const DataSplit& data)
      : precision_(spec.precision), margin_(spec.settings.of(margin)), data_(data) {}

  Values initial_weights(std::uint64_t) const override {
    const Dataset& train = data_.train;
    return Values::zeros(precision_, static_cast<std::size_t>(train.features() * train.outputs()));
  }
  Values gradient(const Values& weights, std::span<const std::uint32_t> samples) const override {
    Values result = Values::zeros(precision_, weights.size());
    with_scalar(precision_, [&](auto zero) {
      using Scalar = decltype(zero);
      const auto share = static_cast<Scalar>(1.0 / static_cast<double>(samples.size()));
      const std::span<Scalar> sum = result.as<Scalar>();
      each_slack<Scalar>(weights, data_.train, samples, [&](std::int64_t i, std::size_t first, Scalar slack) {
        const bool is_right = data_.train.labels[static_cast<std::size_t>(i)] == index_of(first);
        const Scalar by = (is_right ? -2 : 2) * slack * share;
        for (std::int64_t j = 0; slack > 0 && j < data_.train.features(); ++j)
          sum[first + static_cast<std::size_t>(j)] += by * static_cast<Scalar>(data_.train.inputs(i, j));
      });
    });
    return result;
  }
  void to_gradient(Values& weights, std::span<const std::uint32_t> samples) const override {
    weights = gradient(weights, samples);
  }
  Evaluation evaluate(const Values& weights, const Dataset& set) const override {
    std::vector<std::uint32_t> all(static_cast<std::size_t>(set.size()));
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    double loss = 0;
    with_scalar(precision_, [&](auto zero) {
      using Scalar = decltype(zero);
      each_slack<Scalar>(weights, set, all, [&](std::int64_t, std::size_t, Scalar slack) {
        loss += static_cast<double>(slack) * static_cast<double>(slack);
      });
    });
    const auto n = static_cast<double>(set.size());
    return {.loss = loss / n, .accuracy = static_cast<double>(hits(weights, set, all)) / n};
  }
  std::int64_t hits(const Values& weights, const Dataset& set,
                    std::span<const std::uint32_t> samples) const override {
    return with_scalar(precision_, [&](auto zero) {
      using Scalar = decltype(zero);
      return std::ranges::count_if(samples, [&](std::uint32_t i) {
        std::int64_t best = 0;
        for (std::int64_t c = 1; c < set.classes; ++c) {
          if (score<Scalar>(weights, set, i, c) > score<Scalar>(weights, set, i, best)) best = c;
        }
        return set.labels[i] == best;
      });
    });
  }

 private:
  // The class whose weights begin at `first`.
  std::int64_t index_of(std::size_t first) const {
    return static_cast<std::int64_t>(first) / data_.train.features();
  }
  template <class Scalar>
  Scalar score(const Values& weights, const Dataset& set, std::int64_t sample, std::int64_t of) const {
    const std::span<const Scalar> w = weights.as<Scalar>();
    Scalar sum = 0;
    for (std::int64_t j = 0; j < set.features(); ++j)
      sum +=
          w[static_cast<std::size_t>(of * set.features() + j)] * static_cast<Scalar>(set.inputs(sample, j));
    return sum;
  }
  // Calls `f` with each sample, the place of each class's weights, and what the sample lacks of the margin.
  template <class Scalar>
  void each_slack(const Values& weights, const Dataset& set, std::span<const std::uint32_t> samples,
                  auto&& f) const {
    for (const std::uint32_t i : samples) {
      for (std::int64_t c = 0; c < set.classes; ++c) {
        const Scalar s = score<Scalar>(weights, set, i, c);
        f(std::int64_t{i}, static_cast<std::size_t>(c * set.features()),
          std::max(Scalar{0}, static_cast<Scalar>(margin_) - (set.labels[i] == c ? s : -s)));
      }
    }
  }

  Precision precision_;
  double margin_;
  const DataSplit& data_;
};

const Addition<ModelRow> svm{
    {.name = "svm",
     .doc = "linear support vector machines, one class against the others, squared hinge (Tang 2013)",
     .settings = {&margin},
     .learns = Learns::classes,
     .size_field = "data.features",
     .parameters = [](const ModelSpec& spec) { return spec.features * spec.outputs; },
     .flops_per_sample =
         [](const ModelSpec& spec) { return 4.0 * static_cast<double>(spec.features * spec.outputs); },
     .learner = [](const ModelSpec& spec, const DataSplit& data) -> std::unique_ptr<Learner> {
       return std::make_unique<LinearSvm>(spec, data);
     }}};

}  // namespace
