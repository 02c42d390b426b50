// Local SGD and elastic averaging against calculations of their own.
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/oracles/two_workers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

std::size_t count(const TracedRun& run, const std::string& table, const std::string& message, int node) {
  std::size_t n = 0;
  for (const RecordedEvent& e : run.events) n += e.is(table, message) && e.node == node;
  return n;
}

}  // namespace

TEST_CASE("local SGD: the servers' weights are the mean of the workers' after H steps", "[oracle][rhythm]") {
  for (const int local : {1, 2, 5}) {
    for (const int warmup : {0, 7}) {
      INFO("H = " << local << ", warm-up " << warmup);
      const double rate = 0.1;
      std::vector<double> weights{start};
      for (int t = 0; t < 8; ++t) {
        double sum = 0;
        for (const int worker : {0, 1}) {
          double w = weights.back();
          for (int h = 0; h < (t == 0 && warmup > 0 ? warmup : local); ++h) w -= rate * gradient(worker, w);
          sum += w;
        }
        weights.push_back(sum / 2);
      }
      const Json run =
          of_two_workers({.training = fmt::format("learning_rate = {}\nlocal_steps = {}\nwarmup_steps = {}",
                                                  rate, local, warmup)})
              .run();
      check_losses(run, weights);
      // Every batch takes its time; the network takes none.
      CHECK(run["sim_time_s"].get<double>() == Approx(0.1 * (warmup > 0 ? warmup + 7 * local : 8 * local)));
    }
  }
}

TEST_CASE("local SGD with momentum, decay and a schedule: the mean of copies that each train alone",
          "[oracle][rhythm]") {
  const double rate = 0.05, mu = 0.9, decay = 0.2;
  for (const int local : {2, 5}) {
    std::array<double, 2> v{0, 0};
    std::vector<double> weights{start};
    for (int t = 0; t < 6; ++t) {
      double sum = 0;
      for (const std::size_t worker : {0U, 1U}) {
        double w = weights.back();
        for (int h = 0; h < local; ++h) {
          // A step of both workers is an epoch.
          const double now = rate * std::pow(0.5, (t * local + h) / 3);
          v[worker] = mu * v[worker] + gradient(static_cast<int>(worker), w) + decay * w;
          w -= now * v[worker];
        }
        sum += w;
      }
      weights.push_back(sum / 2);
    }
    const std::string training = fmt::format(
        "learning_rate = {}\noptimizer = \"momentum\"\nweight_decay = {}\nlocal_steps = {}\nschedule = "
        "\"step\"\nschedule_every = 3.0\nschedule_factor = 0.5",
        rate, decay, local);
    for (const char* nodes : {"", "architecture.kind=all-reduce", "training.update=worker"}) {
      INFO("H = " << local << " " << nodes);
      const bool peers = std::string_view(nodes).starts_with("architecture");
      ScenarioBuilder scenario =
          of_two_workers({.training = training, .steps = 6, .consistency = peers ? "" : "model = \"bsp\""});
      if (*nodes != 0) scenario = scenario.set({nodes});
      check_losses(scenario.run(), weights);
    }
  }
}

TEST_CASE("one worker's local steps are its steps with every optimizer", "[oracle][rhythm]") {
  const std::string schedule = "\nschedule = \"step\"\nschedule_every = 3.0\nschedule_factor = 0.7";
  for (const char* optimizer :
       {"weight_decay = 0.1", "optimizer = \"momentum\"", "optimizer = \"nesterov\"\nweight_decay = 0.1",
        "optimizer = \"adagrad\"", "optimizer = \"rmsprop\"", "optimizer = \"adam\"",
        "optimizer = \"proximal\"\nl1 = 0.01"}) {
    const auto loss_of = [&](int steps, const std::string& rhythm, std::vector<std::string> more) {
      const bool peers = !more.empty() && more[0].starts_with("architecture");
      more.emplace_back("cluster.workers=1");
      const std::string training = fmt::format("learning_rate = 0.03\n{}{}\n{}", optimizer, schedule, rhythm);
      const TwoWorkers fit{training, steps, peers ? "" : "model = \"bsp\""};
      return of_two_workers(fit).set(more).run()["final"]["loss"].get<double>();
    };
    const double alone = loss_of(40, "", {});
    const auto near = Approx(alone).epsilon(1e-11);
    INFO(optimizer);
    CHECK(loss_of(4, "local_steps = 10", {}) == near);
    CHECK(loss_of(4, "local_steps = 10", {"consistency.model=asp"}) == near);
    CHECK(loss_of(4, "local_steps = 10", {"architecture.kind=all-reduce"}) == near);
    CHECK(loss_of(31, "warmup_steps = 10", {}) == near);
    CHECK(loss_of(40, "pull_every = 10", {"consistency.model=asp"}) == near);
    CHECK(loss_of(8, "pull_every = 2\nlocal_steps = 5", {"consistency.model=asp"}) == near);
    CHECK(loss_of(40, "update = \"worker\"", {"consistency.model=asp"}) == near);
  }
}

TEST_CASE("local steps of a sparse model change the weights of their own batches only", "[oracle][rhythm]") {
  const auto loss_of = [](int steps, int local, const char* optimizer) {
    return ScenarioBuilder({"data.source=clicks", "data.samples=200", "data.features=300", "data.nonzeros=5",
                            "model.kind=logistic", "model.precision=float64", "training.batch_size=4",
                            "training.weight_decay=0.3", "cluster.workers=1", "cluster.servers=2"})
        .set("training.steps", steps)
        .set("training.local_steps", local)
        .set("training.optimizer", optimizer)
        .run()["final"]["loss"]
        .get<double>();
  };
  for (const char* optimizer : {"sgd", "momentum", "adagrad"})
    CHECK(loss_of(3, 8, optimizer) == Approx(loss_of(24, 1, optimizer)).epsilon(1e-12));
}

TEST_CASE("epochs count the batches of a warm-up", "[oracle][rhythm]") {
  // A batch of both workers is a tenth of an epoch.
  const auto run = [](double epochs, int warmup) {
    return ScenarioBuilder({"data.source=blobs", "data.samples=100", "data.features=4", "data.classes=2",
                            "data.test_fraction=0.0", "model.layers=[4, 2]", "training.batch_size=5",
                            "training.evaluate_every=1 update", "cluster.workers=2"})
        .set("training.epochs", epochs)
        .set("training.warmup_steps", warmup)
        .run();
  };
  struct Case {
    double epochs;
    int warmup, clocks;
    std::vector<double> curve;
  };
  for (const Case& c : {Case{.epochs = 2, .warmup = 16, .clocks = 5, .curve = {0, 1.6, 1.7, 1.8, 1.9, 2}},
                        Case{.epochs = 1, .warmup = 100, .clocks = 1, .curve = {0, 10}},
                        Case{.epochs = 0.3, .warmup = 0, .clocks = 3, .curve = {0, 0.1, 0.2, 0.3}}}) {
    const Json result = run(c.epochs, c.warmup);
    INFO(c.epochs << " epochs, warm-up " << c.warmup);
    CHECK(result["updates"].get<int>() == c.clocks);
    for (std::size_t i = 0; i < c.curve.size(); ++i)
      CHECK(result["curve"][i]["epoch"].get<double>() == Approx(c.curve[i]));
  }
}

TEST_CASE("local SGD sends once where bsp sends H times", "[oracle][rhythm]") {
  const auto bytes = [](int steps, int local) {
    return of_two_workers({.training = fmt::format("local_steps = {}", local), .steps = steps})
        .run()["bytes_sent"]
        .get<std::int64_t>();
  };
  CHECK(bytes(24, 1) == 4 * bytes(6, 4));
}

TEST_CASE("accumulated batches take their time", "[oracle][rhythm]") {
  const Json run = of_two_workers({.training = "accumulate = 3"}).run();
  CHECK(run["sim_time_s"].get<double>() == Approx(0.1 * 3 * 8));
}

TEST_CASE("elastic averaging, synchronous, is the paper's recursion", "[oracle][rhythm]") {
  // Zhang, Choromanska, LeCun 2015, equations 5 and 6: x_i <- x_i - rate g(x_i) - alpha (x_i - c), and
  // c <- c + alpha sum_i (x_i - c); with tau steps the elastic part comes with the first of each tau.
  for (const int tau : {1, 3}) {
    for (const double alpha : {0.45, 0.1}) {
      const double decay = tau == 3 ? 0.2 : 0;  // of the workers' own weights, never of the centre
      INFO("tau = " << tau << ", alpha = " << alpha);
      const double rate = 0.05;
      std::array<double, 2> x{start, start};
      std::vector<double> centre{start};
      for (int t = 0; t < 8; ++t) {
        const double c = centre.back();
        double pull = 0;
        for (const int worker : {0, 1}) {
          double& own = x[static_cast<std::size_t>(worker)];
          const double move = alpha * (own - c);
          pull += move;
          for (int h = 0; h < tau; ++h) {
            const double slope = gradient(worker, own);
            if (h == 0) own -= move;
            own -= rate * (slope + decay * own);
          }
        }
        centre.push_back(c + pull);
      }
      const std::string rate_of = alpha == 0.45 ? "" : fmt::format("elastic_rate = {}\n", alpha);  // 0.9 / 2
      check_losses(
          of_two_workers(
              {.training = fmt::format(
                   "algorithm = \"elastic\"\nlearning_rate = {}\n{}local_steps = {}\nweight_decay = {}", rate,
                   rate_of, tau, decay)})
              .run(),
          centre);
    }
  }
}

TEST_CASE("elastic averaging at rate 0 moves nothing", "[oracle][rhythm]") {
  for (const char* consistency : {"model = \"bsp\"", "model = \"asp\""}) {
    const Json run = of_two_workers({.training = "algorithm = \"elastic\"\nlearning_rate = 0.0",
                                     .consistency = consistency})
                         .run();
    CHECK(run["final"]["loss"] == run["initial"]["loss"]);
    CHECK(run["updates"] >= 8);
  }
}

TEST_CASE("a worker pulls every K clocks, and pushes every clock", "[oracle][rhythm]") {
  for (const int every : {1, 3, 8}) {
    INFO("K = " << every);
    const TracedRun run = of_two_workers({.training = fmt::format("pull_every = {}", every),
                                          .steps = 12,
                                          .consistency = "model = \"asp\""})
                              .trace();
    const std::size_t pulls = (12 + static_cast<std::size_t>(every) - 1) / static_cast<std::size_t>(every);
    for (const int worker : {2, 3}) {
      CHECK(count(run, "received", "weights", worker) == pulls);
      CHECK(count(run, "sent", "push", worker) == 12);
    }
    CHECK(run.summary["pushes"]["applied"] == 24);
  }
}
