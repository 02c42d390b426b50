// What nodes hold, by hand: an mlp of layers 6-4-3 with biases has 24 + 4 + 12 + 3 = 43 parameters, and keeps
// 6 + 4 + 3 = 13 values of a sample.
#include "sim/scenario/spec/memory.hpp"

#include <map>
#include <numeric>

#include "sim/scenario/spec/activations.hpp"
#include "sim/scenario/spec/devices.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

Scenario small() {
  Scenario s;
  s.model.mlp.layers = {6, 4, 3};
  s.training.batch_size = 10;
  s.cluster.workers = 4;
  s.cluster.servers = 2;
  return s;
}

using Parts = std::map<std::string, double>;
Parts parts(const NodeMemory& memory) {
  Parts all;
  for (const NodePart& part : memory.parts) all[std::string(part.name)] = part.bytes;
  return all;
}
Parts worker(const Scenario& s) { return parts(worker_memory(s).front()); }
Parts server(const Scenario& s) {
  const Scenario* const job = &s;
  return parts(server_memory({&job, 1}));
}

}  // namespace

TEST_CASE("a worker: weights, gradients, and the activations of its batch", "[memory]") {
  Scenario s = small();
  CHECK(worker(s) == Parts{{"weights", 172}, {"gradients", 172}, {"activations", 10 * 13 * 4}});
  s.training.batch_size = 4096;
  CHECK(worker(s)["activations"] == 4096 * 13 * 4);
  s.model.precision = Precision::float64;
  CHECK(worker(s) == Parts{{"weights", 344}, {"gradients", 344}, {"activations", 4096 * 13 * 8}});
  s = small();
  s.training.accumulate = 8;  // in place
  CHECK(worker_memory(s).front().bytes() == worker_memory(small()).front().bytes());
  s.training.local_steps = 3;
  CHECK(worker(s)["weights before local steps"] == 172);
  s.training.optimizer.kind = "adam";  // of the workers
  CHECK(worker(s)["optimizer state"] == 2 * 172);
  CHECK(server(s)["optimizer state"] == 0);
  s = small();
  s.training.update = UpdateAt::worker;
  s.training.optimizer.kind = "adam";
  CHECK(worker(s)["optimizer state"] == 2 * 172);
  CHECK(worker(s)["sums of all workers"] == 172);
}

TEST_CASE("a server: its half, and what its consistency model and optimizer need", "[memory]") {
  Scenario s = small();
  s.training.optimizer.kind = "adam";
  // Ranges of 21 and 22 values.
  CHECK(server(s) ==
        Parts{{"weights", 88}, {"optimizer state", 176}, {"sum of gradients", 88}, {"a push", 88}});
  s.model.precision = Precision::float16;
  s.training.multi_precision = true;
  CHECK(server(s) == Parts{{"weights", 44},
                           {"optimizer state", 176},
                           {"master copy", 88},
                           {"sum of gradients", 88},
                           {"a push", 44}});
  s = small();
  s.consistency.model = "asp";
  s.training.delay_compensation = 0.5;
  CHECK(server(s) == Parts{{"weights", 88}, {"a push", 88}, {"weights that workers have", 4 * 88}});
  s.training.delay_compensation_decay = 0.9;
  CHECK(server(s)["mean squares"] == 88);
  s = small();
  s.replication.copies = 1;  // the other server's 21 values beside its own 22
  CHECK(server(s)["replicas"] == 84);
  s = small();
  s.training.update = UpdateAt::worker;
  CHECK(server(s) == Parts{{"sum of gradients", 88}, {"a push", 88}});
}

TEST_CASE("servers of several jobs hold the models of all", "[memory]") {
  const Scenario a = small(), b = small();
  const std::vector<const Scenario*> both{&a, &b};
  CHECK(server_memory(both).bytes() == 2 * server_memory({both.data(), 1}).bytes());
}

TEST_CASE("devices hold their parts of a batch, and the sums of the arrays that they add up", "[memory]") {
  Scenario s = small();
  s.cluster.worker_devices.count = 4;
  std::vector<NodeMemory> all = worker_memory(s);
  REQUIRE(all.size() == 2);
  CHECK(parts(all[0]) == Parts{{"weights", 172}, {"gradients", 4 * 172}});
  CHECK(parts(all[1]) == Parts{{"weights", 172}, {"gradients", 172}, {"activations", 3 * 13 * 4}});
  s.cluster.worker_devices.aggregate = DeviceAggregation::device;
  all = worker_memory(s);
  CHECK(parts(all[0]) == Parts{{"weights", 172}, {"gradients", 172}});
  CHECK(parts(all[1])["sums of devices"] == 4 * 24 * 4);  // of the largest array
  s.training.update = UpdateAt::worker;
  s.training.optimizer.kind = "adam";
  CHECK(parts(worker_memory(s)[0])["optimizer state"] == 2 * 172);
  s.cluster.worker_devices.update = DeviceUpdate::device;
  CHECK(parts(worker_memory(s)[0]) == Parts{{"gradients", 172}, {"sums of all workers", 172}});
  CHECK(parts(worker_memory(s)[1])["optimizer state"] == 2 * 172);
}

TEST_CASE("where workers push their steps a server has the weights", "[memory]") {
  Scenario s = small();
  s.training.update = UpdateAt::worker;
  s.training.optimizer.kind = "adam";
  s.consistency.model = "asp";
  CHECK(worker(s).contains("optimizer state"));
  CHECK(!worker(s).contains("sums of all workers"));
  const Parts of_server = server(s);
  CHECK(of_server.contains("weights"));
  CHECK(!of_server.contains("optimizer state"));
  s.consistency.model = "bsp";
  CHECK(worker(s).contains("sums of all workers"));
  CHECK(!server(s).contains("weights"));
}

TEST_CASE("a worker of an all-reduce receives parts of the sum", "[memory]") {
  Scenario s = small();
  s.cluster.servers = 0;
  s.architecture.kind = Architecture::all_reduce;
  const auto [algorithm, values] =
      GENERATE(std::pair{AllReduceAlgorithm::ring, 11}, std::pair{AllReduceAlgorithm::tree, 43},
               std::pair{AllReduceAlgorithm::halving_doubling, 22});
  s.architecture.algorithm = algorithm;
  CHECK(worker(s) == Parts{{"weights", 172},
                           {"gradients", 172},
                           {"activations", 10 * 13 * 4},
                           {"a part of the sum", 4.0 * values}});
}

TEST_CASE("of five workers that halve and double, one folds into another: it receives all of the sum",
          "[memory]") {
  Scenario s = small();
  s.cluster.servers = 0;
  s.cluster.workers = 5;
  s.architecture = {.kind = Architecture::all_reduce, .algorithm = AllReduceAlgorithm::halving_doubling};
  CHECK(worker(s)["a part of the sum"] == 172);
}

TEST_CASE("gpipe's stages hold the whole batch, those of 1f1b a few micro-batches", "[memory]") {
  CHECK(samples_held(PipelineSchedule::gpipe, 4, 0, 8, 40) == 40);
  CHECK(samples_held(PipelineSchedule::gpipe, 4, 3, 8, 40) == 40);
  for (const int stage : {0, 1, 2, 3})
    CHECK(samples_held(PipelineSchedule::one_forward_one_backward, 4, stage, 8, 40) == 5 * (4 - stage));
  Scenario s = small();
  s.cluster.servers = 0;
  s.cluster.workers = 2;
  s.architecture = {.kind = Architecture::model_parallel, .micro_batches = 4};
  std::vector<NodeMemory> stages = worker_memory(s);  // 20 samples
  REQUIRE(stages.size() == 2);
  CHECK(parts(stages[0]) ==
        Parts{{"weights", 112}, {"gradients", 112}, {"activations", 20 * 10 * 4}, {"errors", 5 * 4 * 4}});
  CHECK(parts(stages[1]) == Parts{{"weights", 60}, {"gradients", 60}, {"activations", 20 * 7 * 4}});
  s.training.recompute = true;
  stages = worker_memory(s);
  CHECK(parts(stages[0])["activations"] == (20 * 6 + 5 * 4) * 4);
  s.architecture.over = PipelineOver::devices;  // the batch of one machine
  CHECK(parts(worker_memory(s)[1])["activations"] == (10 * 4 + 3 * 3) * 4);
}

TEST_CASE("recomputation keeps the inputs of runs, and the values of one run", "[memory]") {
  // 16 equal layers: four runs of four, whose inputs and one of whose values are 4 + 4, of 17.
  const Recomputation equal = least_recomputation(std::vector<double>(17, 1.0));
  CHECK(equal.ends == std::vector<std::size_t>{4, 8, 12, 16});
  CHECK(equal.bytes == 8);
  CHECK(least_recomputation({5, 1}).bytes == 6);  // one layer: nothing to save
  // For every model it is at most what is kept without it.
  for (std::size_t layers = 1; layers < 40; ++layers) {
    std::vector<double> bytes;
    for (std::size_t l = 0; l <= layers; ++l) bytes.push_back(1 + static_cast<double>(l * 7919 % 13));
    CHECK(least_recomputation(bytes).bytes <= std::accumulate(bytes.begin(), bytes.end(), 0.0));
    CHECK(least_recomputation(bytes).ends.back() == layers);
  }
}

TEST_CASE("recomputation takes one more forward pass", "[memory]") {
  Scenario s = small();
  const double without = mean_step_seconds(s, 0);
  s.training.recompute = true;
  // 24 + 12 products forward, and as many for the weights' gradients, and 12 to pass the error on.
  CHECK(mean_step_seconds(s, 0) == Approx(without * (1 + 36.0 / 84)).epsilon(1e-14));
  s.model.kind = ModelKind("phantom");
  CHECK(recompute_factor(s) == Approx(4.0 / 3).epsilon(1e-14));
}

TEST_CASE("a phantom model has the activations that it is given, a sparse one those of its features",
          "[memory]") {
  Scenario s = small();
  s.model.kind = ModelKind("phantom");
  s.activations_per_sample = {16000};
  CHECK(kept_activations(s) == 16000);
  s.model.phantom_arrays = std::vector<std::int64_t>(16, 10);
  CHECK(kept_activations(s) == Approx(16000).epsilon(1e-14));
  s.training.recompute = true;  // of each of 16 layers an equal part, and nothing behind the last
  CHECK(kept_activations(s) == 7 * 1000);
  s = small();
  s.model.kind = ModelKind("logistic");
  s.model.features = 1000;
  s.model.nonzeros = 5;
  CHECK(kept_activations(s) == 6 * 8 + 4);  // with the bias
  CHECK(worker(s)["weights"] == (10 * 5 + 1) * 4);
}
