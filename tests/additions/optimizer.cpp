// An optimizer: the sign of a running mean of gradients.
#include "model/optimizer.hpp"

namespace {

const psim::Setting kept{.key = "kept_share",
                         .doc = "Share of the running mean that is kept.",
                         .value = 0.9,
                         .min = 0,
                         .max = 1,
                         .below_max = true,
                         .draws = {"0.5"}};

const psim::Addition<psim::OptimizerRow> signum{
    {.name = "signum",
     .doc = "w -= rate * sign(running mean of g) (Bernstein et al., ICML 2018)",
     .settings = {&kept},
     .state_arrays = 1,
     .rule = [](const auto& step) {
       return [rate = step.rate(), b = step(kept)](auto* w, auto* g, auto* mean, auto*, std::size_t n) {
         for (std::size_t i = 0; i < n; ++i) {
           mean[i] = b * mean[i] + (1 - b) * g[i];
           w[i] -= mean[i] > 0 ? rate : mean[i] < 0 ? -rate : 0 * rate;
         }
       };
     }}};

}  // namespace
