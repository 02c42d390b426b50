// What a scenario makes of a job: who is who, which shards are whose, and the numbers that follow.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/dataset.hpp"
#include "model/sampler.hpp"
#include "sim/nodes/job/job_plan.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string phantom(const std::string& model, const std::string& cluster, const std::string& more = "") {
  const std::string end = more.find("[training]") == std::string::npos ? "\n[training]\nsteps = 9" : "";
  return "[model]\nkind = \"phantom\"\n" + model + end + "\n[compute]\ntime = \"1s\"\n[cluster]\n" + cluster +
         "\n" + more;
}

// 23 weights: 12, 3, 6 and 2.
std::string learned(const std::string& training, const std::string& cluster, const std::string& more = "") {
  return "[data]\nsource = \"blobs\"\nsamples = 60\nfeatures = 4\nclasses = 2\n[model]\nlayers = [4, 3, 2]\n"
         "[training]\nbatch_size = 5\n" +
         training + "\n[cluster]\n" + cluster + "\n" + more;
}

}  // namespace

TEST_CASE("plan: nodes are the scheduler, the servers, the workers and then the database", "[roles][plan]") {
  const Planned planned(phantom("parameters = 9", "workers = 4\nservers = 3",
                                "[data]\ndelivery = \"database\"\nbytes_per_sample = \"1B\"\n"));
  const JobPlan& plan = planned.plan();
  CHECK(plan.first_server() == 1);
  CHECK(plan.first_worker() == 4);
  CHECK(plan.past_workers() == 8);
  CHECK(plan.database() == 8);
  CHECK_FALSE(plan.is_server(0));
  CHECK(plan.is_server(1));
  CHECK(plan.is_server(3));
  CHECK_FALSE(plan.is_server(4));
  CHECK_FALSE(plan.is_worker(3));
  CHECK(plan.is_worker(4));
  CHECK(plan.is_worker(7));
  CHECK_FALSE(plan.is_worker(8));
  CHECK(plan.snapshot_node() == 0);  // there is none
}

TEST_CASE("plan: jobs number workers and shards of their own over the run", "[roles][plan]") {
  const Planned planned(phantom(
      "arrays = [6, 2, 4]", "workers = 5\nservers = 2",
      "[training]\nsteps = 3\n[messages]\nunit = \"array\"\n[[group]]\nname = \"a\"\nworkers = 2\n"
      "[[group]]\nname = \"b\"\nworkers = 3\nset = [\"model.arrays = [3, 3]\", \"training.steps = 7\"]\n"));
  REQUIRE(planned.plans.size() == 2);
  const JobPlan &a = planned.plans[0], &b = planned.plans[1];
  CHECK(a.workers() == 2);
  CHECK(b.workers() == 3);
  CHECK(a.steps == 3);
  CHECK(b.steps == 7);
  CHECK(a.first_worker() == 3);
  CHECK(b.first_worker() == 5);
  CHECK(b.past_workers() == 8);
  CHECK(b.database() == a.database());
  const auto shards = static_cast<std::uint32_t>(a.keys.shards.size());
  CHECK(a.first_shard == 0);
  CHECK(b.first_shard == shards);
  CHECK(a.has_shard(shards - 1));
  CHECK_FALSE(a.has_shard(shards));
  CHECK_FALSE(b.has_shard(shards - 1));
  CHECK(b.has_shard(shards));
  CHECK(b.has_shard(shards + 1000));  // those that are cut off while the run goes on
  View view{.owners = std::vector<Owner>(shards + b.keys.shards.size()),
            .workers = {true, false, false, true, true}};
  view.owners[shards + 1].primary = 2;
  CHECK(a.members_in(view) == std::vector<bool>{true, false});
  CHECK(b.members_in(view) == std::vector<bool>{false, true, true});
  CHECK(b.owner_in(view, 1).primary == 2);
  CHECK(a.owner_in(view, 1).primary == 0);
}

TEST_CASE("plan: a shard is on the server that its keys are placed on", "[roles][plan]") {
  const Planned planned(phantom("arrays = [6, 2, 4]", "workers = 2\nservers = 2",
                                "[messages]\nunit = \"array\"\n[placement]\nkind = \"round-robin\"\n"));
  const JobPlan& plan = planned.plan();
  for (std::uint32_t s = 0; s < plan.keys.shards.size(); ++s)
    CHECK(plan.server_of(s) == 1 + plan.keys.shards[s].server);
  CHECK(plan.server_of(0) != plan.server_of(1));
}

TEST_CASE("plan: nodes that join without having left are absent at first, and so are spares",
          "[roles][plan]") {
  const std::string faults =
      "[[fault]]\nkind = \"join\"\nnodes = [\"worker 1\"]\nat = \"3s\"\n"
      "[[fault]]\nkind = \"leave\"\nnodes = [\"worker 2\"]\nat = \"2s\"\n"
      "[[fault]]\nkind = \"join\"\nnodes = [\"worker 2\"]\nat = \"5s\"\n"
      "[[fault]]\nkind = \"crash\"\nnodes = [\"worker 0\"]\nat = \"5s\"\n";
  const Planned planned(phantom("parameters = 9", "workers = 4\nservers = 2", faults));
  CHECK(planned.plan().absent == std::vector<NodeId>{4});
  CHECK(planned.plan().spares.empty());
}

TEST_CASE("plan: a shard's part of an array is a copy only if it is not in one piece", "[roles][plan]") {
  const auto whole = values_of({0, 1, 2, 3, 4, 5, 6});
  const Shard one{.ranges = {{2, 3}}, .count = 3}, two{.ranges = {{1, 2}, {5, 1}}, .count = 3};
  const Slice in_place = JobPlan::part_of(one, whole), copied = JobPlan::part_of(two, whole);
  CHECK(in_place.values == whole);
  CHECK(numbers_of(in_place) == Numbers{2, 3, 4});
  CHECK(copied.values != whole);
  CHECK(numbers_of(copied) == Numbers{1, 2, 5});
  const Slice phantom_part = JobPlan::part_of(two, nullptr);
  CHECK(phantom_part.values == nullptr);
  CHECK(phantom_part.count == 3);
}

TEST_CASE("plan: a shard's first weights are its part of the model's, and a phantom has none",
          "[roles][plan]") {
  const Planned planned(learned("steps = 2", "workers = 2\nservers = 3"));
  const JobPlan& plan = planned.plan();
  const Values whole = plan.learner->initial_weights(static_cast<std::uint64_t>(plan.scenario.seed));
  std::size_t values = 0;
  for (const Shard& shard : plan.keys.shards) {
    const std::optional<Values> part = plan.initial(shard);
    REQUIRE(part);
    REQUIRE(part->size() == shard.count);
    std::size_t i = 0;
    for (const Range& range : shard.ranges) {
      for (std::size_t k = 0; k < range.count; ++k, ++i)
        CHECK(std::as_const(*part).as<float>()[i] == whole.as<float>()[range.begin + k]);
    }
    values += i;
  }
  CHECK(values == 23);
  const Planned phantoms(phantom("parameters = 9", "workers = 2\nservers = 2"));
  CHECK_FALSE(phantoms.plan().initial(phantoms.plan().keys.shards[1]));
}

TEST_CASE("plan: the shards of a view are those of its layout, or those of the plan", "[roles][plan]") {
  const Planned planned(phantom("parameters = 9", "workers = 2\nservers = 2"));
  const JobPlan& plan = planned.plan();
  CHECK(&plan.keys_in(nullptr) == &plan.keys);
  CHECK(plan.places_in(nullptr) == &plan.places);
  KeySpace keys = plan.keys;
  keys.cut({1, 2});
  const Layout layout(keys);
  CHECK(plan.keys_in(&layout).shards.size() == 3);
  CHECK(plan.places_in(&layout) == &layout.places);
}

TEST_CASE("plan: a layer's own bound is its shards', and the others have that of all", "[roles][plan]") {
  const Planned planned(phantom("arrays = [6, 2, 4]", "workers = 3\nservers = 1",
                                "[consistency]\nmodel = \"ssp\"\nstaleness_schedule = [[0, 4], [10, 6]]\n"
                                "array = [{layer = 1, staleness = 9}]\n[messages]\nunit = \"array\"\n"));
  const JobPlan& plan = planned.plan();
  for (const Shard& shard : plan.keys.shards) {
    const auto rule = plan.rule_of(shard);
    CHECK((plan.own_bound_of(shard) != nullptr) == (shard.layer == 1));
    CHECK(rule->bound.at(0) == (shard.layer == 1 ? 9 : 4));
    CHECK(rule->bound.at(10) == (shard.layer == 1 ? 9 : 6));
  }
}

TEST_CASE("plan: retries and the detector are as the scenario says", "[roles][plan]") {
  const Planned planned(phantom("parameters = 9", "workers = 2\nservers = 2",
                                "[recovery]\nheartbeat = \"1s\"\ntimeout = \"7s\"\nretry = \"3s\"\n"
                                "backoff = 1.5\nlongest_retry = \"11s\"\nretry_limit = 4\n"
                                "detector = \"phi-accrual\"\nthreshold = 5.5\nenabled = true\n"));
  const RetrySpec retry = planned.plan().retry();
  CHECK(retry.timeout == 3);
  CHECK(retry.backoff == 1.5);
  CHECK(retry.longest == 11);
  CHECK(retry.limit == 4);
  const DetectorSpec detector = planned.plan().detector();
  CHECK(detector.kind == DetectorKind::phi_accrual);
  CHECK(detector.timeout == 7);
  CHECK(detector.threshold == 5.5);
}

TEST_CASE("plan: epochs are passes over the training set, and a phantom counts clocks", "[roles][plan]") {
  // 3 workers, 2 local steps of 2 batches of 5: 60 samples a clock, and 40 more of 2 warm-up steps more.
  const Planned planned(
      learned("steps = 8\nlocal_steps = 2\naccumulate = 2\nwarmup_steps = 3\n"
              "schedule = \"cosine\"",
              "workers = 3\nservers = 2"));
  const JobPlan& plan = planned.plan();
  const double samples = static_cast<double>(plan.data->size());
  CHECK(plan.epochs().per_clock == Approx(60 / samples));
  CHECK(plan.epochs().first_more == Approx(30 / samples));
  CHECK(plan.learning_rate().total_epochs == Approx((8 * 60 + 30) / samples));
  const Planned phantoms(phantom("parameters = 9", "workers = 3\nservers = 2", "[training]\nsteps = 5\n"));
  CHECK(phantoms.plan().epochs().per_clock == 1);
  CHECK(phantoms.plan().epochs().first_more == 0);
}

TEST_CASE("plan: workers that update see every sum under bsp, and push steps of their own elsewhere",
          "[roles][plan]") {
  for (const std::string model : {"bsp", "asp"}) {
    for (const std::string update : {"worker", "server"}) {
      const Planned planned(learned("steps = 4\nupdate = \"" + update + "\"", "workers = 2\nservers = 1",
                                    "[consistency]\nmodel = \"" + model + "\"\n"));
      CHECK(planned.plan().workers_update() == (update == "worker"));
      CHECK(planned.plan().workers_sum() == (update == "worker" && model == "bsp"));
      CHECK(planned.plan().pushes_moves() == (update == "worker" && model == "asp"));
    }
  }
}

TEST_CASE("plan: key caching works on the direction that it is for", "[roles][plan]") {
  for (const std::string on : {"push", "pull", "both"}) {
    const Planned planned(learned(
        "steps = 4", "workers = 2\nservers = 1",
        "[messages]\nkeys = \"per-value\"\n[[filter]]\nkind = \"key-caching\"\non = \"" + on + "\"\n"));
    CHECK(planned.plan().caches_keys(true) == (on != "pull"));
    CHECK(planned.plan().caches_keys(false) == (on != "push"));
  }
  CHECK_FALSE(Planned(learned("steps = 4", "workers = 2\nservers = 1")).plan().caches_keys(true));
}

TEST_CASE("plan: the ranges of an array stand one after the other", "[roles][plan]") {
  const auto whole = values_of({0, 1, 2, 3, 4, 5, 6});
  const auto some = gathered(*whole, {{5, 2}, {0, 1}, {3, 1}}, 4);
  CHECK(numbers_of({some, 0, 4}) == Numbers{5, 6, 0, 3});
  CHECK(gathered(*whole, {}, 0)->size() == 0);
}
