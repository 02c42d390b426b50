// An inference group against theory: queues, staleness by the period of its pulls, and what it serves. The
// network is so fast that it takes no time that shows.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Workers of a phantom, a step a second; each answer takes 10 ms: 1e4 operations at 1 Mf.
Json serve(const std::string& inference, int seconds, const std::string& consistency = "bsp", int workers = 1,
           const std::string& flops = "1e4") {
  return phantom(100)
      .set({"cluster.servers=2", "compute.time=1s", "inference.speed=1Mf"})
      .links("1000Tbps", "0s")
      .set("training.duration", fmt::format("{}s", seconds))
      .set("consistency.model", consistency)
      .set("cluster.workers", workers)
      .set("inference.flops_per_request", flops)
      .with("inference", inference)
      .run()["inference"];
}

double mean(const Json& inference, const char* what) { return inference[what]["mean"].get<double>(); }

constexpr double service = 0.01;

}  // namespace

// Pollaczek, Khinchine: the mean wait of an M/D/1 queue is rho s / (2 (1 - rho)). Its waits are correlated
// over some (1 + rho) / (1 - rho)^2 customers, so that the mean of 50 000 is within 3 % (one sigma).
TEST_CASE("requests that come by chance wait as in an M/D/1 queue", "[inference]") {
  const auto check = [](int nodes, double rho, int seconds) {
    const double rate = rho / service * nodes;
    const Json run = serve(fmt::format("nodes = {}\nrate = {}\nrefresh = \"1h\"", nodes, rate), seconds);
    INFO(nodes << " nodes, load " << rho << ": " << run["requests"]);
    CHECK(run["requests"].get<double>() == Approx(rate * seconds).epsilon(4 / std::sqrt(rate * seconds)));
    CHECK(mean(run, "latency_s") - service == Approx(rho * service / (2 * (1 - rho))).epsilon(0.06));
    CHECK(run["latency_s"]["p50"].get<double>() >= service * (1 - 1e-9));
    CHECK(run["requests"].get<int>() - run["answered"].get<int>() < 20 * nodes);
  };
  check(1, 0.5, 1000);
  check(2, 0.3, 800);
}

TEST_CASE("constant arrivals never wait, or wait longer and longer", "[inference]") {
  const Json idle = serve("rate = 90\narrivals = \"constant\"\nrefresh = \"1h\"", 20);
  CHECK(idle["latency_s"]["p99"].get<double>() == Approx(service).epsilon(1e-6));
  CHECK(mean(idle, "latency_s") == Approx(service).epsilon(1e-6));
  // 200 a second come and 100 are answered: the i-th comes at 5 i ms and is answered 10 ms after the one
  // before, the first at 15 ms.
  const Json busy = serve("rate = 200\narrivals = \"constant\"\nrefresh = \"1h\"", 10);
  CHECK(busy["requests"].get<double>() == Approx(2000).margin(1));
  CHECK(busy["answered"].get<double>() == Approx(999).margin(1));
  CHECK(mean(busy, "latency_s") == Approx(0.005 + 0.005 * (999 + 1) / 2).epsilon(0.003));
  // Two nodes are enough for them.
  const Json two = serve("nodes = 2\nrate = 190\narrivals = \"constant\"\nrefresh = \"1h\"", 10);
  CHECK(mean(two, "latency_s") == Approx(service).epsilon(1e-6));
}

// A worker's update each second, and answers that take no time.
TEST_CASE("staleness is the updates since the last pull", "[inference]") {
  const double period = 9.7371, rate = 7.3113;  // hardly ever at the second, when the server updates
  const Json run = serve(fmt::format("rate = {}\narrivals = \"constant\"\nrefresh = \"{}s\"", rate, period),
                         1000, "bsp", 1, "0");
  double staleness = 0, age = 0, most = 0;
  const int requests = static_cast<int>(1000 * rate);
  for (int i = 1; i <= requests; ++i) {
    const double t = i / rate, pulled = std::floor(t / period) * period;
    staleness += std::floor(t) - std::floor(pulled);
    most = std::max(most, std::floor(t) - std::floor(pulled));
    age += t - pulled;
  }
  CHECK(run["answered"].get<double>() == Approx(requests).margin(1));
  CHECK(run["pulls"] == 102);
  CHECK(mean(run, "staleness") == Approx(staleness / requests).margin(0.002));
  CHECK(run["staleness"]["max"].get<double>() == most);
  CHECK(mean(run, "age_s") == Approx(age / requests).epsilon(1e-3));
  CHECK(run["age_s"]["max"].get<double>() == Approx(period).margin(1 / rate));
  CHECK(run["accuracy"].is_null());
  // Twice as many nodes, twice as many pulls, as old weights.
  const Json two =
      serve(fmt::format("nodes = 2\nrate = {}\nrefresh = \"{}s\"", rate, period), 1000, "bsp", 1, "0");
  CHECK(two["pulls"] == 102 + 103);
  CHECK(mean(two, "age_s") == Approx(period / 2).epsilon(0.03));
}

TEST_CASE("readers are answered at once under every model, while workers wait for each other",
          "[inference]") {
  for (const std::string model : {"bsp", "ssp", "asp", "k-sync", "k-batch-async"}) {
    const Json run =
        serve("rate = 1\nrefresh = \"100ms\"" + std::string(model[0] == 'k' ? "\n[consistency]\nk = 2" : ""),
              50, model, 3);
    INFO(model);
    // No pull waits for a worker's step.
    CHECK(run["pulls"].get<int>() >= 498);
    CHECK(run["age_s"]["max"].get<double>() < 0.1 + service + 1e-6);
    CHECK(run["bytes_pulled"].get<int>() == run["pulls"].get<int>() * 400);
  }
}

namespace {

ScenarioBuilder learner(const std::string& more) {
  return ScenarioBuilder({"model.layers=[64, 16, 10]", "training.batch_size=16", "training.steps=40",
                          "training.learning_rate=0.2", "consistency.model=asp", "cluster.workers=3",
                          "cluster.worker.speed=10Mf", "compute.distribution=lognormal", "compute.cv=0.5"})
      .with(more);
}

}  // namespace

TEST_CASE("a group that never pulls changes nothing for the workers", "[inference]") {
  const Json alone = learner("").run(), served = learner("[inference]\nrate = 500\nrefresh = \"1h\"").run();
  for (const char* key : {"curve", "workers", "sim_time_s", "pushes", "messages", "bytes_sent", "staleness"})
    CHECK(served[key] == alone[key]);
  CHECK(served["inference"]["pulls"] == 0);
  CHECK(served["inference"]["bytes_pulled"] == 0);
  CHECK(!alone.contains("inference"));
}

TEST_CASE("accuracy served is that of the weights used", "[inference]") {
  // Never pulled: the initial weights'. A hundred thousand samples: sigma is 0.1 %.
  const Json first =
      learner("[inference]\nrate = 500\nrefresh = \"1h\"\nsamples_per_request = 1000\nspeed = \"1Tf\"").run();
  const Json& inference = first["inference"];
  REQUIRE(inference["answered"].get<int>() > 100);
  CHECK(inference["accuracy"].get<double>() ==
        Approx(first["initial"]["accuracy"].get<double>()).margin(0.004));
  CHECK(first["final"]["accuracy"].get<double>() > first["initial"]["accuracy"].get<double>() + 0.2);
  // The fresher, the nearer to what has been learned.
  double last = 0;
  for (const char* refresh : {"1h", "100ms", "5ms"}) {
    const Json run =
        learner(fmt::format(
                    "[inference]\nrate = 500\nrefresh = \"{}\"\nsamples_per_request = 100\nspeed = \"1Tf\"",
                    refresh))
            .run();
    const double accuracy = run["inference"]["accuracy"];
    CHECK(accuracy > last);
    last = accuracy;
  }
}

TEST_CASE("an inference group's answers do not depend on threads", "[inference][determinism]") {
  const std::string text =
      "[inference]\nnodes = 2\nrate = 800\nrefresh = \"10ms\"\nsamples_per_request = 20\nspeed = \"20Mf\"";
  const Json one = learner(text).run({.threads = 1}), two = learner(text).run({.threads = 2});
  CHECK(one == two);
  CHECK(one["digest"] != learner(text + "\narrivals = \"constant\"").run()["digest"]);
}

// Under bsp the order of messages decides nothing, so that pulls in between may shift times but no weight.
TEST_CASE("readers change nothing that is learned", "[inference][equivalence][slow]") {
  const std::string group = "[inference]\nnodes = 3\nrate = 300\nrefresh = \"1ms\"\nspeed = \"100Mf\"\n";
  for (const std::string& more :
       {std::string(), std::string("[messages]\nunit = \"array\"\nacknowledge = true\n"),
        std::string("[[filter]]\nkind = \"significant\"\nthreshold = 0.01\non = \"both\"\n"),
        std::string("[data]\ndelivery = \"database\"\n")}) {
    Training training{.servers = 3};
    training.more += more;
    const Losses alone = losses(training);
    training.more += group;
    INFO(more);
    const Json served = run(training);
    CHECK(losses_of(served) == alone);
    CHECK(served["inference"]["pulls"].get<int>() > 10);
  }
}

TEST_CASE("a reader does not make up for the pulls that it missed", "[inference]") {
  // A pull takes 130 ms, and the next one begins at the next of the dates 20 ms, 40 ms, ...: every 140 ms.
  const Json run = phantom(13'000)
                       .set({"compute.time=100s", "training.duration=10s", "cluster.workers=1",
                             "cluster.servers=1", "inference.nodes=1", "inference.rate=1",
                             "inference.refresh=20ms", "cluster.network.header=0B"})
                       .links("400kBps", "0s")
                       .run();
  CHECK(run["inference"]["pulls"].get<double>() == Approx(10 / 0.14).margin(2));
}
