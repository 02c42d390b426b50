// Half precision in whole runs: bytes, and numbers that can be followed by hand.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// One weight w, trained on samples (x, t): the gradient is (w x - t) x, the loss (w x - t)^2 / 2.
struct Line {
  double x, t, w, rate;
  std::string training;   // more fields of [training]
  std::string more = "";  // tables
  std::string precision = "float16";
  int workers = 4;
};

std::vector<double> losses(const Line& line) {
  const Json run =
      ScenarioBuilder({"data.source=inline", "model.layers=[1, 1]", "model.bias=false",
                       "model.activation=identity", "model.loss=half-sse", "training.batch_size=1",
                       "training.steps=7", "training.evaluate_every=1 updates"})
          .set("data.inputs",
               fmt::format("[[{:.17g}], [{:.17g}], [{:.17g}], [{:.17g}]]", line.x, line.x, line.x, line.x))
          .set("data.targets",
               fmt::format("[[{:.17g}], [{:.17g}], [{:.17g}], [{:.17g}]]", line.t, line.t, line.t, line.t))
          .set("model.weights", fmt::format("[[[{:.17g}]]]", line.w))
          .set("model.precision", line.precision)
          .set("training.learning_rate", line.rate)
          .with("training", line.training)
          .set("cluster.workers", line.workers)
          .with(line.more)
          .run();
  CHECK(run["stuck"].empty());
  std::vector<double> result;
  for (const Json& point : run["curve"])
    result.push_back(point["loss"].is_number() ? point["loss"].get<double>() : HUGE_VAL);
  return result;
}

struct Run {
  std::string more;
  int workers = 4;
};

// Every way to update the same weights.
std::vector<Run> ways() {
  std::vector<Run> result{{""},
                          {"[consistency]\nmodel = \"k-sync\"\nk = 4\n"},
                          {"[[filter]]\nkind = \"top-k\"\nfraction = 1.0\n"},
                          {"[architecture]\nkind = \"model-parallel\"\n", 1}};
  for (const char* algorithm : {"ring", "tree", "halving-doubling"})
    result.push_back({fmt::format("[architecture]\nkind = \"all-reduce\"\nalgorithm = \"{}\"\n", algorithm)});
  return result;
}

const std::string master = "multi_precision = true";

double half_square(double x) { return x * x / 2; }

}  // namespace

TEST_CASE("updates below half the distance to the next number vanish without a master copy",
          "[oracle][precision][slow]") {
  // From w = 1 towards 2 in steps of 2^-12 (1 - what was seen to change), a quarter of that distance.
  const double quarter = std::ldexp(1, -12), start = half_square(1);
  const std::vector<double> stands(8, start);
  for (const Run& way : ways()) {
    INFO(way.more);
    const Line line{.x = 1, .t = 2, .w = 1, .rate = quarter, .more = way.more, .workers = way.workers};
    CHECK(losses(line) == stands);
    Line kept = line;
    kept.training = master;
    const std::vector<double> all = losses(kept);
    REQUIRE(all.size() == 8);
    // Three steps of a gradient of -1 are rounded up, to 1 + 2^-10; then it is a little less.
    for (const int i : {0, 1, 2}) CHECK(all[i] == start);
    for (const int i : {3, 4, 5}) CHECK(all[i] == half_square(1 - 4 * quarter));
  }
  Line on_workers{.x = 1, .t = 2, .w = 1, .rate = quarter, .training = "update = \"worker\""};
  CHECK(losses(on_workers) == stands);
  on_workers.training += "\n" + master;
  CHECK(losses(on_workers) == losses({.x = 1, .t = 2, .w = 1, .rate = quarter, .training = master}));
}

TEST_CASE("numbers that half precision can represent train as in single precision", "[oracle][precision]") {
  // w - 3 is halved in each of seven steps, from 1: 10 bits are enough.
  for (const char* precision : {"float16", "bfloat16", "float32"}) {
    INFO(precision);
    const std::vector<double> all =
        losses({.x = 1, .t = 3, .w = 4, .rate = 0.5, .training = "", .precision = precision});
    const double bits = std::string(precision) == "bfloat16" ? 6 : 7;
    for (int i = 0; i <= bits; ++i) CHECK(all[i] == half_square(std::ldexp(1, -i)));
  }
}

TEST_CASE("small gradients vanish unless the loss is scaled", "[oracle][precision][slow]") {
  // The gradient at w = 0 is -2^-26, less than half of float16's least number.
  const double x = std::ldexp(1, -13), start = half_square(x), rate = 524'288;  // 2^19
  for (const Run& way : ways()) {
    INFO(way.more);
    const Line line{.x = x, .t = x, .w = 0, .rate = rate, .more = way.more, .workers = way.workers};
    CHECK(losses(line) == std::vector<double>(8, start));
    Line scaled = line;
    scaled.training = "loss_scale = 1024";
    CHECK(losses(scaled)[1] == half_square(x * (1 - std::ldexp(1, -7))));
    Line wide = line;
    wide.precision = "bfloat16";
    CHECK(losses(wide)[1] == losses(scaled)[1]);
  }
}

TEST_CASE("gradients beyond 65504 are infinite", "[oracle][precision]") {
  const Line line{.x = 256, .t = 0, .w = 1, .rate = std::ldexp(1, -17)};  // 2^16
  CHECK_FALSE(std::isfinite(losses(line)[1]));
  Line wide = line;
  wide.precision = "bfloat16";
  CHECK(std::isfinite(losses(wide)[1]));
}

namespace {

Json bytes_of(const std::string& precision, const std::string& model, const std::string& more) {
  return ScenarioBuilder({"training.batch_size=8", "training.steps=5", "cluster.workers=3"})
      .with("model", model)
      .set("model.precision", precision)
      .with("cluster", more)
      .run();
}

}  // namespace

TEST_CASE("half precision halves every byte that is a value's", "[oracle][precision][slow]") {
  const std::string mlp = "layers = [64, 16, 10]", phantom = "kind = \"phantom\"\nparameters = 1000";
  for (const std::string& model : {mlp, phantom}) {
    for (const std::string more :
         {"", "servers = 2\n[messages]\nunit = \"array\"", "[architecture]\nkind = \"all-reduce\"",
          "[cluster.worker.device]\ncount = 2"}) {
      INFO(model << "\n" << more);
      const Json single = bytes_of("float32", model, more);
      for (const char* precision : {"float16", "bfloat16"}) {
        const Json half = bytes_of(precision, model, more);
        CHECK(2 * half["bytes_sent"].get<long>() == single["bytes_sent"].get<long>());
        if (more.find("device") == std::string::npos) continue;
        const auto bus = [](const Json& run) { return run["workers"][0]["bus_bytes"].get<long>(); };
        CHECK(2 * bus(half) == bus(single));
        CHECK(bus(half) > 0);
      }
      CHECK(single["bytes_sent"].get<long>() > 0);
    }
  }
}

TEST_CASE("half precision under filters: keys, selected values, and compressed bytes",
          "[oracle][precision]") {
  constexpr long n = 64 * 16 + 16 + 16 * 10 + 10, workers = 3, steps = 5;
  const std::string model = "layers = [64, 16, 10]", keys = "[messages]\nkeys = \"per-value\"\n";
  const auto bytes = [&](const std::string& more) {
    return bytes_of("float16", model, more)["bytes_sent"].get<long>();
  };
  CHECK(bytes(keys) == workers * 2 * steps * n * (8 + 2));
  CHECK(bytes(keys + "[[filter]]\nkind = \"key-caching\"") == workers * 2 * (steps * (8 + 2 * n) + 8 * n));
  const long k = std::lround(0.1 * n);
  CHECK(bytes("[[filter]]\nkind = \"top-k\"\nfraction = 0.1") == workers * steps * (k * (4 + 2) + 2 * n));
  CHECK(bytes("[[filter]]\nkind = \"snappy\"") < workers * 2 * steps * 2 * n + workers * 2 * steps * 64);
  CHECK(bytes("[[filter]]\nkind = \"snappy\"") > workers * steps * 2 * n);
}
