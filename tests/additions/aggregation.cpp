// An aggregation: each gradient is cut to a length, and then their mean is taken.
#include <algorithm>
#include <cmath>

#include "sim/protocol/gradient_aggregation.hpp"

namespace {

const psim::Setting longest{.key = "longest",
                            .doc = "Euclidean length to which a longer gradient is cut.",
                            .value = 1.0,
                            .min = 0,
                            .max = 1e9,
                            .above_min = true,
                            .draws = {"0.5"}};

const psim::Addition<psim::AggregationRow> clipped{
    {.name = "clipped-mean",
     .doc = "the mean of gradients, each cut to the length `longest` (Pascanu et al., ICML 2013)",
     .settings = {&longest},
     .combine = []<class Scalar>(psim::Aggregating<Scalar>& a) {
       for (const auto& gradient : a.gradients) {
         double square = 0;
         for (const Scalar x : gradient) square += static_cast<double>(x) * static_cast<double>(x);
         const double cut = square > 0 ? std::min(1.0, a(longest) / std::sqrt(square)) : 1;
         const auto share = static_cast<Scalar>(cut / static_cast<double>(a.gradients.size()));
         for (std::size_t i = 0; i < gradient.size(); ++i) a.result[i] += share * gradient[i];
       }
     }}};

}  // namespace
