#include "sim/protocol/gradient_aggregation.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace psim {
namespace {

const Setting trimmed{.key = "trimmed_share",
                      .doc =
                          "Share of an update's gradients that is left out at each end, weight by weight; "
                          "rounded down to whole gradients.",
                      .value = 0.2,
                      .min = 0,
                      .max = 0.5,
                      .below_max = true,
                      .draws = {"0.25", "0.4"}};
const Setting byzantine{
    .key = "byzantine",
    .doc =
        "How many gradients of an update may have arbitrary values (f in the paper, which "
        "needs 2 f + 3 gradients; with fewer, each has at least one neighbour).",
    .value = std::int64_t{1},
    .min = 0,
    .max = 1e6,
    .draws = {"0", "2"}};

// NaN counts as larger than all numbers.
constexpr auto in_order = [](auto a, auto b) { return std::isnan(b) ? !std::isnan(a) : a < b; };

// The mean of the middle values at each place, without `left_out(n)` of n values at each end.
template <class Scalar, class LeftOut>
void middle_mean(Aggregating<Scalar>& a, LeftOut left_out) {
  std::vector<Scalar> at_place(a.gradients.size());
  const std::size_t out = left_out(at_place.size());
  for (std::size_t i = 0; i < a.result.size(); ++i) {
    for (std::size_t g = 0; g < at_place.size(); ++g) at_place[g] = a.gradients[g][i];
    std::ranges::sort(at_place, in_order);
    double sum = 0;
    for (std::size_t g = out; g + out < at_place.size(); ++g) sum += static_cast<double>(at_place[g]);
    a.result[i] = static_cast<Scalar>(sum / static_cast<double>(at_place.size() - 2 * out));
  }
}

// Blanchard et al., NIPS 2017: the gradient with the smallest sum of squared distances to its n - f - 2
// nearest gradients; the first among equal sums. With too few gradients for that: the smallest distance to
// its nearest gradient, or the only gradient.
template <class Scalar>
void krum(Aggregating<Scalar>& a) {
  const auto n = static_cast<std::int64_t>(a.gradients.size());
  const auto f = static_cast<std::int64_t>(a(byzantine));
  const std::size_t nearest =
      static_cast<std::size_t>(std::clamp<std::int64_t>(n - f - 2, 1, std::max<std::int64_t>(n - 1, 1)));
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < a.gradients.size(); ++g) {
    std::vector<double> distances;
    for (std::size_t other = 0; other < a.gradients.size(); ++other) {
      if (other == g) continue;
      double sum = 0;
      for (std::size_t i = 0; i < a.result.size(); ++i) {
        const double d = static_cast<double>(a.gradients[g][i]) - static_cast<double>(a.gradients[other][i]);
        sum += d * d;
      }
      distances.push_back(std::isnan(sum) ? HUGE_VAL : sum);
    }
    std::ranges::sort(distances);
    double score = 0;
    for (std::size_t i = 0; i < std::min(nearest, distances.size()); ++i) score += distances[i];
    if (score < least) {
      least = score;
      best = g;
    }
  }
  std::ranges::copy(a.gradients[best], a.result.begin());
}

// Of 1, 0 and -1 the sign of their sum. NaN has no sign.
template <class Scalar>
void majority(Aggregating<Scalar>& a) {
  for (std::size_t i = 0; i < a.result.size(); ++i) {
    std::int64_t votes = 0;
    for (const auto& gradient : a.gradients) votes += (gradient[i] > 0) - (gradient[i] < 0);
    a.result[i] = static_cast<Scalar>((votes > 0) - (votes < 0));
  }
}

template <class Scalar>
void mean_of_workers(Aggregating<Scalar>& a) {
  std::map<std::uint32_t, double> pushes;  // by worker
  for (const std::uint32_t worker : a.workers) ++pushes[worker];
  const auto workers = static_cast<double>(pushes.size());
  for (std::size_t i = 0; i < a.result.size(); ++i) {
    double sum = 0;
    for (std::size_t g = 0; g < a.gradients.size(); ++g)
      sum += static_cast<double>(a.gradients[g][i]) / (workers * pushes[a.workers[g]]);
    a.result[i] = static_cast<Scalar>(sum);
  }
}

template <class Scalar>
void mean_of_kept(Aggregating<Scalar>& a) {
  if (a.kept.empty()) return;  // all workers that pushed have gone since
  for (std::size_t i = 0; i < a.result.size(); ++i) {
    double sum = 0;
    for (const auto& gradient : a.kept) sum += static_cast<double>(gradient[i]);
    a.result[i] = static_cast<Scalar>(sum / static_cast<double>(a.kept.size()));
  }
}

}  // namespace

template <>
std::deque<AggregationRow> built_in_rows() {
  return {
      {.name = "mean",
       .doc = "one clock of all workers moves the weights by their mean gradient, under every model"},
      {.name = "sum",
       .doc = "every gradient is applied at the full learning rate, as MXNet's dist_async does",
       .is_sum = true},
      {.name = "trimmed-mean",
       .doc = "for each weight the mean of the gradients' values, without the smallest and the largest ones "
              "(`trimmed_share` of them at each end; Yin et al., ICML 2018)",
       .settings = {&trimmed},
       .combine =
           [](auto& a) {
             const double share = a(trimmed);
             middle_mean(a, [share](std::size_t n) {
               return static_cast<std::size_t>(std::floor(share * static_cast<double>(n) + 1e-9));
             });
           }},
      {.name = "median",
       .doc = "for each weight the median of the gradients' values (Yin et al., ICML 2018)",
       .combine = [](auto& a) { middle_mean(a, [](std::size_t n) { return (n - 1) / 2; }); }},
      {.name = "krum",
       .doc = "the gradient of the update that is nearest to the others; up to `byzantine` of them may have "
              "arbitrary values; each shard chooses by its own values (Blanchard et al., NIPS 2017)",
       .settings = {&byzantine},
       .combine = [](auto& a) { krum(a); }},
      {.name = "vote",
       .doc =
           "for each weight the sign of most gradients: 1, -1, or 0 for a tie (signSGD with majority vote: "
           "Bernstein et al., ICML 2018)",
       .combine = [](auto& a) { majority(a); }},
      {.name = "worker-mean",
       .doc =
           "the mean over the workers of the mean of each worker's gradients in the update, so that a fast "
           "worker counts no more than a slow one (Malenia SGD: Tyurin and Richtarik, NeurIPS 2023)",
       .combine = [](auto& a) { mean_of_workers(a); }},
      {.name = "last",
       .doc =
           "the mean of the last gradients of all workers that take part (incremental aggregated gradient: "
           "Blatt et al., SIAM Journal on Optimization 2007)",
       .combine = [](auto& a) { mean_of_kept(a); },
       .keeps = true},
  };
}

GradientAggregation::GradientAggregation(AggregationRule rule, std::size_t workers, std::size_t count)
    : rule_(std::move(rule)), count_(count), kept_(rule_.row->keeps ? workers : 0) {
  const AggregationRow& row = *rule_.row;
  if (row.combine ? row.is_sum : row.keeps)
    throw std::logic_error("the aggregation " + std::string(row.name) + " contradicts itself");
}

void GradientAggregation::combine(std::vector<WeightedGradient>& gradients,
                                  std::span<const std::uint32_t> workers, Precision precision,
                                  const IsHere& is_here) {
  if (!rule_.row->combine) return;
  const auto size = static_cast<double>(gradients.size());
  std::vector<Values> whole;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    WeightedGradient one = gradients[i];
    one.weight *= size;
    const bool is_phantom = one.gradient.values == nullptr;
    if (!is_phantom) whole.push_back(weighted_sum({&one, 1}, precision, count_));
    if (!rule_.row->keeps) continue;
    Slice& kept = kept_[workers[i]];
    kept = {nullptr, 0, count_};
    if (!is_phantom) kept.values = std::make_shared<Values>(Values(whole.back()));
  }
  if (whole.size() < gradients.size()) return;
  Values one = with_scalar(
      precision, [&](auto zero) { return combined<decltype(zero)>(whole, workers, precision, is_here); });
  gradients.assign(1, {{std::make_shared<Values>(std::move(one)), 0, count_}, 1.0, nullptr});
}

template <class Scalar>
Values GradientAggregation::combined(const std::vector<Values>& gradients,
                                     std::span<const std::uint32_t> workers, Precision precision,
                                     const IsHere& is_here) const {
  Values result = Values::zeros(precision, count_);
  std::vector<std::span<const Scalar>> given, kept;
  for (const Values& one : gradients) given.push_back(one.as<Scalar>());
  for (std::size_t w = 0; w < kept_.size(); ++w) {
    if (kept_[w].values && is_here(w)) kept.push_back(kept_[w].as<Scalar>());
  }
  Aggregating<Scalar> work{rule_.settings, given, workers, kept, result.as<Scalar>()};
  rule_.row->combine(work);
  return result;
}

std::vector<KeptGradient> GradientAggregation::kept_of(std::span<const std::uint32_t> workers) const {
  std::vector<KeptGradient> all;
  if (kept_.empty()) return all;
  for (const std::uint32_t worker : workers) {
    if (std::ranges::find(all, worker, &KeptGradient::worker) == all.end())
      all.push_back({worker, kept_[worker]});
  }
  return all;
}

void GradientAggregation::keep(const std::vector<KeptGradient>& gradients) {
  for (const KeptGradient& one : gradients) kept_[one.worker] = one.gradient;
}

GradientAggregation GradientAggregation::part(Range range) const {
  GradientAggregation result = *this;
  result.count_ = range.count;
  for (Slice& one : result.kept_) {
    if (one.count > 0) one = {one.values, one.begin + range.begin, range.count, one.version};
  }
  return result;
}

std::uint64_t GradientAggregation::hash(std::uint64_t hash) const {
  for (const Slice& one : kept_) {
    if (!one.values) continue;
    with_scalar(one.values->precision(), [&](auto zero) {
      const auto values = one.as<decltype(zero)>();
      hash = XXH3_64bits_withSeed(values.data(), values.size_bytes(), hash);
    });
  }
  return hash;
}

std::uint64_t GradientAggregation::bytes(std::size_t bytes_per_value) const {
  const auto kept = std::ranges::count_if(kept_, [](const Slice& one) { return one.count > 0; });
  return static_cast<std::uint64_t>(kept) * count_ * bytes_per_value;
}

}  // namespace psim
