// All-reduce with what servers have too: filters, several steps or batches between two sums, buckets,
// devices. Times and bytes on a raw network: alpha is twice a link's latency, links carry 125 MB/s each way.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

constexpr int steps = 5;

struct Cluster {
  std::string algorithm = "ring";
  int workers = 4;
  std::string time = "0s";
  std::string model = "parameters = 840_000";  // fields of [model]
  std::string training = "";                   // fields of [training]
  std::string more = "";
  int steps = 5;
};

Json run(const Cluster& c) {
  return ScenarioBuilder({"architecture.kind=all-reduce", "model.kind=phantom", "training.batch_size=2",
                          "cluster.network.tcp_window=0B"})
      .links("1Gbps", "50us")
      .set("architecture.algorithm", c.algorithm)
      .with("model", c.model)
      .set("training.steps", c.steps)
      .with("training", c.training)
      .set("compute.time", c.time)
      .set("cluster.workers", c.workers)
      .with(c.more)
      .run();
}

double step_time(const Json& summary) { return summary["workers"][0]["mean_step_s"].get<double>(); }

Approx near(double t) { return Approx(t).epsilon(0).margin(1e-8 + 1e-9 * t); }

constexpr double alpha = 100e-6, bandwidth = 125e6;
constexpr int values = 840'000;

std::string filter(const std::string& fields) { return fmt::format("[[filter]]\n{}\n", fields); }

double ring(int n, double model_bytes) { return 2 * (n - 1) * (alpha + model_bytes / (n * bandwidth)); }

// Bytes of `n` values behind a filter that quantises.
struct Quantiser {
  std::string fields;
  std::function<double(int)> bytes;
};
const std::vector<Quantiser> quantisers{
    {"kind = \"fp16\"", [](int n) { return 2.0 * n; }},
    {"kind = \"fixed-point\"\nbits = 8", [](int n) { return 4.0 + n; }},
    {"kind = \"one-bit\"", [](int n) { return 8.0 + (n + 7) / 8; }},
    {"kind = \"two-bit\"", [](int n) { return 4.0 * ((n + 15) / 16); }},
};

}  // namespace

TEST_CASE("a ring of quantised chunks takes 2 (N - 1) (alpha + c(M / N) / B)", "[oracle][rings][slow]") {
  for (const Quantiser& q : quantisers) {
    for (const int n : {2, 3, 4, 8}) {
      INFO(q.fields << ", N = " << n);
      const Json summary = run({.workers = n, .more = filter(q.fields)});
      const double chunk = q.bytes(values / n);
      CHECK(step_time(summary) == near(2 * (n - 1) * (alpha + chunk / bandwidth)));
      CHECK(summary["bytes_sent"].get<double>() == steps * n * 2.0 * (n - 1) * chunk);
    }
  }
}

TEST_CASE("quantised along a tree, and by halving-doubling", "[oracle][rings]") {
  for (const Quantiser& q : quantisers) {
    INFO(q.fields);
    const Json tree = run({.algorithm = "tree", .more = filter(q.fields)});
    CHECK(step_time(tree) == near(2 * 2 * (alpha + q.bytes(values) / bandwidth)));
    CHECK(tree["bytes_sent"].get<double>() == steps * 2.0 * 3 * q.bytes(values));
    // Halves, quarters; then the quarters that each has, coded one by one.
    const double half = q.bytes(values / 2), quarter = q.bytes(values / 4);
    const Json doubling = run({.algorithm = "halving-doubling", .more = filter(q.fields)});
    CHECK(step_time(doubling) == near(4 * alpha + (half + quarter + 3 * quarter) / bandwidth));
    CHECK(doubling["bytes_sent"].get<double>() == steps * 4 * (half + 4 * quarter));
  }
}

TEST_CASE("what selects is gathered: (N - 1) (alpha + k (4 + 4) / B) around a ring",
          "[oracle][rings][slow]") {
  const double gradient = 0.01 * values * 8;
  for (const std::string kind : {"top-k", "random-k"}) {
    const std::string one_percent = filter(fmt::format("kind = \"{}\"\nfraction = 0.01", kind));
    for (const int n : {2, 3, 4, 8}) {
      INFO(kind << ", N = " << n);
      const Json summary = run({.workers = n, .more = one_percent});
      CHECK(step_time(summary) == near((n - 1) * (alpha + gradient / bandwidth)));
      CHECK(summary["bytes_sent"].get<double>() == steps * n * (n - 1.0) * gradient);
    }
    // Up: one, then two workers' gradients; down: all, twice.
    const Json tree = run({.algorithm = "tree", .more = one_percent});
    CHECK(step_time(tree) == near(4 * alpha + (1 + 2 + 4 + 4) * gradient / bandwidth));
    const Json doubling = run({.algorithm = "halving-doubling", .more = one_percent});
    CHECK(step_time(doubling) == near(2 * alpha + (1 + 2) * gradient / bandwidth));
    CHECK(doubling["bytes_sent"].get<double>() == steps * 4 * 3.0 * gradient);
  }
}

TEST_CASE("halving-doubling of any number: twice the whole model more", "[oracle][rings]") {
  // Rabenseifner: those beyond a power of two give their vector to a partner first, and get the sum at last.
  const double model = 4.0 * values;
  for (const auto& [n, power, log2] :
       std::vector<std::tuple<int, int, int>>{{3, 2, 1}, {6, 4, 2}, {7, 4, 2}}) {
    INFO("N = " << n);
    const auto with = [n = n](int number) {
      return run({.algorithm = "halving-doubling", .workers = n, .steps = number});
    };
    // In the first step those that need not wait send halves into the links on which whole vectors come.
    const Json summary = with(steps), longer = with(2 * steps);
    CHECK((longer["sim_time_s"].get<double>() - summary["sim_time_s"].get<double>()) / steps ==
          near(2 * (alpha + model / bandwidth) + 2 * log2 * alpha +
               2.0 * (power - 1) / power * model / bandwidth));
    CHECK(summary["bytes_sent"].get<double>() == steps * 2.0 * (n - power + power - 1) * model);
  }
}

TEST_CASE("between two sums: k steps, or k batches", "[oracle][rings]") {
  const double sum = ring(4, 4.0 * values);
  for (const std::string several : {"local_steps = 4", "accumulate = 4"}) {
    INFO(several);
    const Json summary = run({.time = "10ms", .training = several});
    CHECK(step_time(summary) == near(4 * 0.010 + sum));
    CHECK(summary["workers"][1]["samples"] == steps * 4 * 2);
    CHECK(summary["bytes_sent"].get<double>() == steps * 2.0 * 3 * 4 * values);
  }
  const Json warm = run({.time = "10ms", .training = "warmup_steps = 7\nlocal_steps = 2"});
  CHECK(warm["sim_time_s"].get<double>() ==
        Approx((7 + (steps - 1) * 2) * 0.010 + steps * sum + 2 * 2 * 50e-6).epsilon(1e-5));
}

TEST_CASE("overlap: a bucket is summed when its backward pass is done, and those before it",
          "[oracle][rings][slow]") {
  // Two equal layers: of a gradient's 10 ms the backward pass of the second ends at 8, of the first at 10.
  for (const int n : {20'000, 400'000}) {
    const double sum = ring(4, 4.0 * n);
    const std::string model = fmt::format("arrays = [{0}, {0}]", n);
    const auto overlapped = [&](const std::string& messages, const std::string& training = "") {
      return step_time(run({.time = "10ms",
                            .model = model,
                            .training = training,
                            .more = "[messages]\nunit = \"array\"\noverlap = true\n" + messages}));
    };
    INFO(n << " values, a bucket takes " << sum);
    CHECK((sum < 0.002) == (n == 20'000));
    const double whole = std::max(0.008 + sum, 0.010) + sum;
    CHECK(overlapped("") == near(whole));
    CHECK(overlapped("", "accumulate = 3") == near(0.020 + whole));
    CHECK(overlapped("", "local_steps = 3") == near(0.020 + whole));
    CHECK(overlapped(fmt::format("bucket = \"{}B\"", 8 * n)) == near(0.010 + ring(4, 8.0 * n)));
    // Halves of each layer: two of the second at 8 ms, two of the first at 10.
    const double half = ring(4, 2.0 * n);
    CHECK(overlapped(fmt::format("slice = {}", n / 2)) == near(std::max(0.008 + 2 * half, 0.010) + 2 * half));
  }
}

TEST_CASE("overlap of compressed buckets: one all-gather after the other", "[oracle][rings]") {
  const double sum = 3 * (alpha + 4000 * 8 / bandwidth);
  const Json summary = run({.time = "10ms",
                            .model = "arrays = [400_000, 400_000]",
                            .more = "[messages]\nunit = \"array\"\noverlap = true\n" +
                                    filter("kind = \"top-k\"\nfraction = 0.01")});
  CHECK(step_time(summary) == near(std::max(0.008 + sum, 0.010) + sum));
}

TEST_CASE("a filter's work is the sender's", "[oracle][rings]") {
  // Each worker codes its whole gradient once, 840,000 values of 5 operations at 10 Gflop/s.
  const double code = values * 5 / 10e9, gradient = 0.01 * values * 8;
  const Json summary = run({.more = filter("kind = \"top-k\"\nfraction = 0.01\nflops_per_value = 5")});
  CHECK(step_time(summary) == near(code + 3 * (alpha + gradient / bandwidth)));
  // Around a ring four quarters, each before it is sent; the last before the sums go around.
  const Json quantised = run({.more = filter("kind = \"fp16\"\nflops_per_value = 5")});
  CHECK(step_time(quantised) == near(code + 6 * (alpha + 2.0 * values / 4 / bandwidth)));
}

TEST_CASE("a worker's devices: copies over the bus, and then the sum over the network", "[oracle][rings]") {
  const Json summary =
      run({.time = "10ms", .more = "[cluster.worker.device]\ncount = 2\nbus_bandwidth = \"10GBps\"\n"});
  const double copy = 2 * 4.0 * values / 10e9 + 2 * 10e-6;
  CHECK(step_time(summary) == near(0.5 * 0.010 + 2 * copy + ring(4, 4.0 * values)));
}

TEST_CASE("an all-reduce says what it cannot", "[oracle][rings]") {
  const auto refusal = [](const std::vector<std::string>& sets) {
    const TemporaryFolder folder;
    std::vector<std::string> words{"run",   "quickstart", "--set", "architecture.kind=all-reduce",
                                   "--out", "run"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Outcome told = psim::test::psim(words, folder.path());
    CHECK(told.code == 2);
    return told.err;
  };
  const auto says = [&](const std::vector<std::string>& sets, const std::string& what) {
    const std::string told = refusal(sets);
    INFO(told);
    CHECK(told.find(what) != std::string::npos);
  };
  says({"filter=[{kind=\"key-caching\"}]"}, "key-caching needs a key with every value");
  says({"filter=[{kind=\"fp16\", on=\"pull\"}]"}, "a filter on pulls needs parameter servers");
  says({"training.delay_compensation=0.04"}, "delay compensation needs parameter servers");
  says({"training.work=stealing"}, "work stealing needs parameter servers");
  says({"architecture.kind=model-parallel", "cluster.workers=2", "training.local_steps=2"},
       "needs separate batches for each worker");
}

// Two workers fit y = w x to one sample each, x = 1 and y = -40,000, from w = 0: the gradients are 40,000,
// whose sum half precision cannot hold, and their mean is 40,000.
TEST_CASE("half precision divides by the workers before the sum", "[oracle][rings]") {
  const auto first = [](int workers, const std::string& algorithm, const std::vector<std::string>& more) {
    std::string rows;
    for (int w = 0; w < workers; ++w) rows += "[-40000.0], ";
    const std::string ones = fmt::format("[{}]", rows);
    const ScenarioBuilder builder({"data.source=inline", "data.partition=contiguous", "model.layers=[1, 1]",
                                   "model.bias=false", "model.activation=identity", "model.loss=half-sse",
                                   "model.weights=[[[0.0]]]", "training.batch_size=1", "training.steps=1",
                                   "training.learning_rate=0.25", "compute.time=1ms",
                                   "architecture.kind=all-reduce"});
    std::string inputs;
    for (int w = 0; w < workers; ++w) inputs += "[1.0], ";
    return builder.set("data.inputs", fmt::format("[{}]", inputs))
        .set("data.targets", ones)
        .set("cluster.workers", workers)
        .set("architecture.algorithm", algorithm)
        .set(more)
        .run();
  };
  const std::string fp16 = "filter=[{kind = \"fp16\"}]";
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"}) {
    for (const int workers : {2, 4, 3}) {
      for (const std::string& half : {fp16, std::string("model.precision=float16")}) {
        INFO(algorithm << " of " << workers << ", " << half);
        // w = -0.25 * 40,000; half precision rounds a third of 40,000 to 13,336.
        const double w = -0.25 * (workers == 3 ? 40'008 : 40'000), miss = w + 40'000;
        const Json run = first(workers, algorithm, {half});
        CHECK(run["final"]["loss"].get<double>() == Approx(0.5 * miss * miss).epsilon(2e-3));
        const Json sum = first(workers, algorithm, {half, "architecture.divide_first=false"});
        CHECK(!sum["final"]["loss"].is_number());
      }
    }
  }
}
