// Different words for the same algorithm learn the same numbers: losses after every update are compared bit
// for bit, whole runs by their digest.

#include "tests/properties/training.hpp"
#include "tests/support/catch.hpp"

using namespace psim::test;

TEST_CASE("models that wait for all workers learn what bsp learns, bit for bit", "[equivalence][slow]") {
  for (const std::string& optimizer : optimizers) {
    for (const int servers : {1, 3}) {
      const Training base{.servers = servers, .optimizer = optimizer};
      const Losses bsp = losses(base);
      REQUIRE(bsp.size() == 26);
      for (const char* same : {"model = \"ssp\"\nstaleness = 0", "model = \"bounded-delay\"\nstaleness = 0",
                               "model = \"k-sync\"\nk = 4", "model = \"k-sync\"\nk = 4\nlate = \"drop\"",
                               "model = \"backup-workers\"\nbackup = 0", "model = \"k-async\"\nk = 4"}) {
        INFO(same << "\n" << optimizer << "\nS = " << servers);
        CHECK(losses(with(base, same)) == bsp);
      }
    }
  }
}

TEST_CASE("with one worker every model is plain gradient descent", "[equivalence][slow]") {
  const Training base{.workers = 1, .servers = 2};
  const Losses bsp = losses(base);
  REQUIRE(bsp.size() == 26);
  for (const char* same :
       {"model = \"ssp\"\nstaleness = 3", "model = \"asp\"", "model = \"dssp\"", "model = \"k-sync\"\nk = 1",
        "model = \"k-batch-sync\"\nk = 1", "model = \"k-batch-sync\"\nk = 1\nlate = \"drop\"",
        "model = \"k-async\"\nk = 1", "model = \"k-batch-async\"\nk = 1"}) {
    INFO(same);
    CHECK(losses(with(base, same)) == bsp);
  }
}

TEST_CASE("aliases and degenerate cases are the same run", "[equivalence][slow]") {
  const std::vector<std::vector<std::string>> classes{
      {"model = \"bsp\"", "model = \"sequential\"", "model = \"dist_sync\"",
       "model = \"bounded-delay\"\nstaleness = 0"},
      {"model = \"asp\"", "model = \"eventual\"", "model = \"dist_async\"",
       "model = \"ssp\"\nstaleness = 1000000", "model = \"k-async\"\nk = 1",
       "model = \"k-batch-async\"\nk = 1"},
      {"model = \"ssp\"\nstaleness = 2", "model = \"bounded-delay\"\nstaleness = 2",
       "model = \"dssp\"\nstaleness = 2\nstaleness_max = 2",
       "model = \"ssp\"\nstaleness_schedule = [[0, 2]]"},
      {"model = \"k-batch-async\"\nk = 3", "model = \"softsync\"\nk = 3"},
      {"model = \"k-sync\"\nk = 3", "model = \"backup-workers\"\nbackup = 1"}};
  for (const auto& members : classes) {
    const std::string expected = digest(with({}, members[0]));
    for (const std::string& member : members) {
      INFO(member);
      CHECK(digest(with({}, member)) == expected);
    }
  }
}

TEST_CASE("stragglers that are not slower change nothing", "[equivalence]") {
  Training base;
  const std::string expected = digest(base);
  base.more +=
      "[[straggler]]\nworkers = [1]\nslowdown = 1.0\n[[straggler]]\nworkers = [0, 2]\nslowdown = "
      "9.0\nprobability = 0.0\n";
  CHECK(digest(base) == expected);
}

TEST_CASE("W workers with batches of b are one worker with batches of W b", "[equivalence][slow]") {
  for (const auto& [precision, relative] :
       std::map<std::string, double>{{"float32", 1e-5}, {"float64", 1e-12}}) {
    for (const std::string& optimizer : {optimizers[0], optimizers[2]}) {
      INFO(precision << "\n" << optimizer);
      const std::string model = fmt::format("layers = [64, 16, 10]\nprecision = \"{}\"", precision);
      const Losses one = losses({.workers = 1, .batch = 24, .optimizer = optimizer, .model = model});
      REQUIRE(one.size() == 26);
      check_close(one, losses({.workers = 3, .batch = 8, .optimizer = optimizer, .model = model}), relative);
      check_close(one,
                  losses({.workers = 8, .servers = 2, .batch = 3, .optimizer = optimizer, .model = model}),
                  relative);
    }
  }
}

TEST_CASE("under bsp the number of servers does not change a bit", "[equivalence][slow]") {
  for (const std::string& optimizer : optimizers) {
    const Losses one = losses({.optimizer = optimizer});
    for (const int servers : {2, 5, 16}) {
      INFO(optimizer << "\nS = " << servers);
      CHECK(losses({.servers = servers, .optimizer = optimizer}) == one);
    }
  }
}

TEST_CASE("aggregation sum at rate / W is mean", "[equivalence]") {
  // W is a power of two, so that dividing by it does not round.
  for (const std::string consistency :
       {"model = \"bsp\"", "model = \"asp\"", "model = \"ssp\"\nstaleness = 1"}) {
    INFO(consistency);
    const Losses mean =
        losses({.consistency = consistency, .workers = 8, .optimizer = "learning_rate = 0.5"});
    CHECK(losses({.consistency = consistency + "\naggregation = \"sum\"",
                  .workers = 8,
                  .optimizer = "learning_rate = 0.0625"}) == mean);
  }
}

TEST_CASE("the network and the speeds change when bsp learns, never what", "[equivalence]") {
  const Losses expected = losses({});
  for (const std::string more : {"[cluster.network]\nbandwidth = \"1Mbps\"\nlatency = \"5ms\"\n",
                                 "[[straggler]]\nworkers = [1, 3]\nslowdown = 7.0\n",
                                 "[compute]\ndistribution = \"pareto\"\ntime = \"1s\"\n",
                                 "[cluster.network]\nsimgrid_model = \"lv08\"\ntopology = \"two-tier\"\n"}) {
    INFO(more);
    CHECK(losses({.more = more}) == expected);
  }
}
