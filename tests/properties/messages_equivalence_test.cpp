// Where parameters are, how they are cut into messages, in which order those go and who runs the optimizer
// changes when training learns, never what: losses after every update are compared bit for bit.

#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const std::vector<std::string> placements{"even", "hash-ring\"\nvirtual_nodes = 3 # \"",
                                          "kvstore\"\nbigarray_bound = 200 # \"", "greedy", "round-robin"};
const std::vector<std::string> messages{
    "", "unit = \"array\"\n", "unit = \"array\"\nslice = 50\n",
    "unit = \"array\"\nslice = 301\noverlap = true\norder = \"priority\"\n"};

std::string tables(const std::string& placement, const std::string& message) {
  return Training{}.more + "[placement]\nkind = \"" + placement + "\"\n[messages]\n" + message;
}

// Step times differ, so that no two workers push at once; the network is infinitely fast.
const std::string ideal =
    "[compute]\ndistribution = \"lognormal\"\ncv = 0.5\n[cluster.network]\nlatency = \"0s\"\nbandwidth = "
    "\"1000Tbps\"\nshare_spread = 0.0\nsimgrid_model = \"cm02\"\n";

const std::vector<std::string> all_optimizers{
    "learning_rate = 0.25",
    "learning_rate = 0.1\noptimizer = \"momentum\"\nschedule = \"cosine\"",
    "learning_rate = 0.1\noptimizer = \"nesterov\"\nschedule = \"inverse-sqrt\"\nweight_decay = 0.001",
    "learning_rate = 0.1\noptimizer = \"adagrad\"\nschedule = \"step\"",
    "learning_rate = 0.01\noptimizer = \"rmsprop\"",
    "learning_rate = 0.01\noptimizer = \"adam\""};

}  // namespace

TEST_CASE("under bsp no placement and no unit changes a bit", "[equivalence][placement][slow]") {
  for (const std::string& optimizer : optimizers) {
    const Losses even = losses({.optimizer = optimizer});
    REQUIRE(even.size() == 26);
    for (const std::string& placement : placements) {
      for (const std::string& message : messages) {
        const int servers = message.empty() ? 3 : 2;
        INFO(optimizer << "\n" << placement << "\n" << message);
        CHECK(losses({.servers = servers, .optimizer = optimizer, .more = tables(placement, message)}) ==
              even);
      }
    }
  }
}

TEST_CASE("under asp one server with many messages learns what it learns with one", "[equivalence]") {
  for (const std::string& optimizer : optimizers) {
    const Training base{.consistency = "model = \"asp\"", .optimizer = optimizer, .more = ideal};
    const Losses one = losses(base);
    for (const std::size_t i : {1U, 2U}) {
      Training many = base;
      many.more += "[messages]\n" + messages[i];
      INFO(optimizer << "\n" << messages[i]);
      // Every shard has versions of its own; the last shard's update completes a step.
      const Json summary = run(many);
      CHECK(summary["final"]["loss"] == one.rbegin()->second);
      CHECK(summary["steps"] == 100);
    }
  }
}

TEST_CASE("on an infinitely fast network overlap changes neither time nor weights", "[equivalence]") {
  const std::string bsp = "model = \"bsp\"";
  for (const std::string& consistency :
       {bsp, std::string("model = \"ssp\"\nstaleness = 2"), std::string("model = \"asp\"")}) {
    Training t{.consistency = consistency, .more = ideal + "[messages]\nunit = \"array\"\n"};
    const Json without = run(t);
    t.more += "overlap = true\n";
    const Json with = run(t);
    INFO(consistency);
    // Under asp and ssp others see a layer's gradient while the layers before it are still computed.
    if (consistency == bsp) CHECK(losses_of(with) == losses_of(without));
    CHECK(with["sim_time_s"].get<double>() == Approx(without["sim_time_s"].get<double>()).epsilon(1e-6));
    CHECK(with["digest"] != without["digest"]);  // it did push layer by layer
  }
}

TEST_CASE("a step that begins before all weights are here has the clock of those that are", "[equivalence]") {
  const std::string order = GENERATE("fifo", "priority");
  const Json run =
      ScenarioBuilder({"model.layers=[64, 12, 10]", "training.batch_size=8", "training.steps=6",
                       "cluster.workers=3", "cluster.servers=2", "cluster.network.bandwidth=10Mbps",
                       "messages.unit=array", "messages.overlap=true", "messages.order=" + order})
          .run();
  CHECK(run["steps"] == 18);
  for (const Json& worker : run["workers"]) CHECK(worker["clocks"] == 6);
}

TEST_CASE("a hash of the final weights tells whether they are the same, however they are cut",
          "[equivalence]") {
  const Json even = run({.servers = 1})["model"]["weights"];
  for (const std::string& placement : placements)
    CHECK(run({.servers = 3, .more = tables(placement, messages[2])})["model"]["weights"] == even);
  CHECK(run({.servers = 1, .optimizer = "learning_rate = 0.2"})["model"]["weights"] != even);
}

TEST_CASE("where workers run the optimizer nothing is stale, so nothing is compensated", "[equivalence]") {
  const std::string optimizer = "learning_rate = 0.25\nupdate = \"worker\"";
  CHECK(losses({.optimizer = optimizer + "\ndelay_compensation = 1.0"}) == losses({.optimizer = optimizer}));
}

TEST_CASE("workers that run the optimizer learn what servers learn, bit for bit", "[equivalence][slow]") {
  for (const std::string& optimizer : all_optimizers) {
    const Losses server = losses({.optimizer = optimizer});
    for (const std::string& message : messages) {
      for (const char* aggregation : {"mean", "sum"}) {
        if (std::string(aggregation) == "sum" && !message.empty()) continue;
        const std::string consistency = std::string("model = \"bsp\"\naggregation = \"") + aggregation + "\"";
        INFO(optimizer << "\n" << message << "\n" << aggregation);
        const Training t{.consistency = consistency,
                         .servers = 3,
                         .optimizer = optimizer + "\nupdate = \"worker\"",
                         .more = tables("even", message)};
        CHECK(losses(t) == (aggregation == std::string("mean")
                                ? server
                                : losses({.consistency = consistency, .optimizer = optimizer})));
      }
    }
  }
}

TEST_CASE("filters without loss change nothing that is learned", "[equivalence][filter][slow]") {
  const std::string lossless = "[[filter]]\nkind = \"key-caching\"\n[[filter]]\nkind = \"snappy\"\n";
  for (const std::string& message : messages) {
    const Training t{.servers = 2, .more = tables("even", message + "keys = \"per-value\"\n")};
    Training filtered = t;
    filtered.more += lossless;
    const Json plain = run(t), summary = run(filtered);
    INFO(message);
    CHECK(losses_of(summary) == losses_of(plain));
    CHECK(summary["bytes_sent"] < plain["bytes_sent"]);
    filtered.more += "flops_per_value = 100.0\n";  // of snappy: slower, but the same numbers
    const Json slower = run(filtered);
    CHECK(losses_of(slower) == losses_of(plain));
    CHECK(slower["sim_time_s"] > summary["sim_time_s"]);
  }
}

TEST_CASE("filters do not depend on threads", "[filter]") {
  const Training t{.consistency = "model = \"ssp\"\nstaleness = 2",
                   .servers = 3,
                   .more = tables("greedy", messages[3]) +
                           "[[filter]]\nkind = \"random-k\"\nfraction = 0.2\n[[filter]]\nkind = "
                           "\"fixed-point\"\nbits = 4\n[[filter]]\nkind = \"fp16\"\non = \"pull\"\n"};
  const Json one = toml(t).run({.threads = 1});
  CHECK(one == toml(t).run({.threads = 4}));
}

TEST_CASE("overlap with several batches in a clock changes neither time nor weights", "[equivalence]") {
  for (const std::string rhythm : {"accumulate = 3", "local_steps = 2", "warmup_steps = 4"}) {
    Training t{.optimizer = "learning_rate = 0.05\n" + rhythm,
               .more = ideal + "[messages]\nunit = \"array\"\n"};
    const Json without = run(t);
    t.more += "overlap = true\n";
    const Json with = run(t);
    INFO(rhythm);
    CHECK(losses_of(with) == losses_of(without));
    CHECK(with["sim_time_s"].get<double>() == Approx(without["sim_time_s"].get<double>()).epsilon(1e-6));
    CHECK(with["digest"] != without["digest"]);
  }
}
