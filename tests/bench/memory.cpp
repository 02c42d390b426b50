// The most memory that the shipped binary holds, against what a run of its size may take.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

struct Case {
  std::string name;
  std::string toml;
  int workers, servers, threads;
  double data_bytes;
  double model_bytes;  // held values of one copy of the model; none for phantom models
};

Line measure(const Case& c) {
  const TemporaryFile file(c.toml);
  const Usage usage = run_psim({"run", file.path().string(), "--threads", std::to_string(c.threads)});
  const double nodes = 1.0 + c.servers + c.workers;
  const double limit = 60e6 + c.data_bytes + (c.workers + 2) * c.model_bytes + 20e3 * nodes;
  return {.name = fmt::format("peak memory over its allowance: {}", c.name),
          .ratio = usage.peak_bytes / limit,
          .bound = Bound::at_most,
          .limit = 1,
          .detail = fmt::format("{:.1f} of {:.1f} MB; {:.0f} page faults", usage.peak_bytes / 1e6,
                                limit / 1e6, usage.faults)};
}

Case training(const std::string& consistency, int servers, int threads, bool quick) {
  constexpr double samples = 2000, features = 784;
  const std::vector<int> layers =
      quick ? std::vector<int>{784, 32, 10} : std::vector<int>{784, 1920, 512, 10};
  double parameters = 0;
  for (std::size_t l = 1; l < layers.size(); ++l) parameters += (layers[l - 1] + 1.0) * layers[l];
  return {
      .name = fmt::format("{:.1f} MB mlp, 8 workers, {}, {} server{}, {} thread{}", parameters * 4 / 1e6,
                          consistency, servers, servers == 1 ? "" : "s", threads, threads == 1 ? "" : "s"),
      .toml = fmt::format(R"([data]
source = "blobs"
samples = {}
features = {}
classes = 10
[model]
layers = [{}]
[training]
batch_size = 16
steps = {}
[consistency]
model = "{}"
[cluster]
workers = 8
servers = {}
[compute]
distribution = "lognormal"
cv = 0.3
)",
                          samples, features, fmt::join(layers, ", "), quick ? 2 : 12, consistency, servers),
      .workers = 8,
      .servers = servers,
      .threads = threads,
      .data_bytes = samples * (features + 1) * 4,
      .model_bytes = parameters * 4};
}

Case phantom(int workers, int servers, double share_spread) {
  return {
      .name = fmt::format("phantom, {} workers, {} servers, share_spread {}", workers, servers, share_spread),
      .toml = fmt::format(R"([model]
kind = "phantom"
parameters = 1_000_000
[training]
steps = 1
[consistency]
model = "asp"
[cluster]
workers = {}
servers = {}
[cluster.network]
share_spread = {:.1f}
[compute]
time = "1s"
distribution = "uniform"
cv = 0.5
)",
                          workers, servers, share_spread),
      .workers = workers,
      .servers = servers,
      .threads = 1,
      .data_bytes = 0,
      .model_bytes = 0};
}

}  // namespace

std::vector<Line> peak_memory(const Settings& settings) {
  std::vector<Line> lines;
  for (const char* consistency : {"bsp", "asp"}) {
    for (const int servers : {1, 2}) {
      for (const int threads : {1, 2})
        lines.push_back(measure(training(consistency, servers, threads, settings.quick)));
    }
  }
  for (const double share_spread : {0.0, 0.5}) {
    lines.push_back(measure(settings.quick ? phantom(20, 2, share_spread) : phantom(1000, 8, share_spread)));
  }
  return lines;
}

}  // namespace psim::bench
