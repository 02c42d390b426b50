// How near a gradient comes to what the core can do: the FLOP rate of a large product of Eigen's.
#include <fmt/format.h>
#include <Eigen/Core>

#include "model/dataset.hpp"
#include "model/learner.hpp"
#include "model/sampler.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

DataSplit images(std::int64_t samples) {
  return load_data({.source = DataSource("blobs"),
                    .test_fraction = 0.1,
                    .samples = samples,
                    .features = 784,
                    .classes = 10},
                   1, {});
}

}  // namespace

// Both sides in one process, on one thread, by processor time.
std::vector<Line> gradient_against_product(const Settings& settings) {
  const Usage usage = in_child([&]() -> Json {
    constexpr std::int64_t batch = 64;
    const ModelSpec spec{
        .kind = ModelKind("mlp"), .mlp = {.layers = {784, 128, 10}}, .weights = {}, .biases = {}};
    const DataSplit data = images(settings.quick ? 256 : 20'000);
    const auto learner = make_learner(spec, data);
    const Values weights = learner->initial_weights(1);
    Sampler sampler(data.train, {.workers = 1, .batch = batch, .seed = 1});
    std::vector<std::vector<std::uint32_t>> batches;
    for (int i = 0; i < (settings.quick ? 2 : 200); ++i) batches.push_back(sampler.batch(0, i));

    const Eigen::Index n = settings.quick ? 64 : 1024;
    const int products = settings.quick ? 1 : 2;
    const Eigen::MatrixXf a = Eigen::MatrixXf::Random(n, n), b = Eigen::MatrixXf::Random(n, n);
    Eigen::MatrixXf c(n, n);
    const double product_flops =
        2.0 * products * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    const double gradient_flops =
        flops_per_sample(spec) * static_cast<double>(batch) * static_cast<double>(batches.size());

    // Seconds per GFLOP of each.
    const auto gradients = [&] {
      return timed([&] {
               for (const auto& samples : batches) static_cast<void>(learner->gradient(weights, samples));
             }).cpu *
             1e9 / gradient_flops;
    };
    const auto product = [&] {
      return timed([&] {
               for (int i = 0; i < products; ++i) c.noalias() = a * b;
             }).cpu *
             1e9 / product_flops;
    };
    const auto measured = alternate(settings.quick ? 1 : 5 * settings.repeats, 0, {product, gradients});
    return {{"product", measured[0]}, {"gradient", measured[1]}};
  });
  const auto product = usage.result["product"].get<std::vector<double>>();
  const auto gradient = usage.result["gradient"].get<std::vector<double>>();
  return {{.name = "FLOP rate of a gradient (784-128-10, batch 64) over Eigen's 1024-cubed float product",
           .ratio = ratio_of_least(product, gradient),
           .bound = Bound::at_least,
           .limit = 0.75,
           .detail = fmt::format("{:.1f} of {:.1f} Gflop/s; {}", 1 / least(gradient), 1 / least(product),
                                 spread(product, gradient))}};
}

}  // namespace psim::bench
