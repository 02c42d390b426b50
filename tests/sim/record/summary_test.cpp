// Goal: the one document about a run says what the recorder counted, and nothing where there is nothing.
#include "sim/record/summary.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using Json = nlohmann::ordered_json;

namespace {

RunResult two_workers() {
  RunResult r;
  r.stats.workers.resize(2);
  r.stats.workers[0].time = {.compute = 2, .network = 1, .wait = 1};
  r.stats.workers[1].time = {.compute = 8, .network = 0, .wait = 4};
  r.stats.workers[0].clocks = 3;
  r.stats.workers[1].clocks = 4;
  r.stats.servers.resize(2);
  r.stats.shard_server = {0, 1};
  r.stats.shard_owner = {0, 1};
  r.stats.shard_updates = {7, 5};
  r.server_parameters = {{6, 6}, {8, 5}};
  r.server_ranges = {{1, 0}, {3, 4}};
  r.stats.pushes_applied = 4;
  r.stats.staleness_sum = 6;
  r.stats.staleness_max = 3;
  r.sim_time = 12;
  return r;
}

Json summary(const RunResult& result, const Scenario& scenario = {}) {
  return make_summary({.name = "name", .title = "title", .seed = 4, .scenario_hash = "hash"}, scenario,
                      result);
}

}  // namespace

TEST_CASE("a summary shares out every worker's time, and everybody's", "[record]") {
  const Json s = summary(two_workers());
  CHECK(s["workers"][0]["compute_share"] == 0.5);
  CHECK(s["workers"][0]["network_share"] == 0.25);
  CHECK(s["workers"][0]["wait_share"] == 0.25);
  CHECK(s["workers"][1]["time"]["total_s"] == 12.0);
  CHECK(s["time"]["compute_share"] == 10.0 / 16);
  CHECK(s["time"]["network_share"] == 1.0 / 16);
  CHECK(s["time"]["wait_share"] == 5.0 / 16);
  CHECK(s["time"]["total_s"] == 16.0);
  CHECK(s["workers"][0]["absent_share"] == 0.0);

  RunResult away = two_workers();
  away.stats.workers[0].time.absent = 4;
  const Json with_absence = summary(away);
  CHECK(with_absence["workers"][0]["compute_share"] == 0.25);
  CHECK(with_absence["workers"][0]["absent_share"] == 0.5);
  CHECK(with_absence["time"]["absent_share"] == 0.2);
}

TEST_CASE("a summary's counts are the recorder's", "[record]") {
  const Json s = summary(two_workers());
  CHECK(s["seed"] == 4);
  CHECK(s["updates"] == 5);  // versions that both servers have
  CHECK(s["steps"] == 7);
  CHECK(s["servers"][0]["updates"] == 7);
  CHECK(s["servers"][1]["updates"] == 5);
  CHECK(s["servers"][1]["parameters"] == 5);
  CHECK(s["servers"][1]["parameters_at_first"] == 8);
  CHECK(s["servers"][0]["ranges"] == 1);
  CHECK(s["servers"][1]["ranges"] == 3);
  CHECK(s["servers"][1]["range_splits"] == 4);
  CHECK(s["staleness"]["mean"] == 1.5);
  CHECK(s["staleness"]["max"] == 3);
  CHECK(s["sim_time_s"] == 12.0);
}

TEST_CASE("a server has the shards that it holds at the end", "[record]") {
  RunResult r = two_workers();
  r.stats.shard_owner = {1, 1};
  const Json moved = summary(r);
  CHECK(moved["servers"][0]["shards"] == 0);
  CHECK(moved["servers"][0]["shards_at_first"] == 1);
  CHECK(moved["servers"][0]["updates"] == 0);
  CHECK(moved["servers"][1]["shards"] == 2);
  CHECK(moved["servers"][1]["updates"] == 5);
  r.stats.shard_owner = {std::nullopt, 1};  // its server is down
  CHECK(summary(r)["servers"][0]["shards"] == 0);
}

TEST_CASE("the parts of a recovery count from when the scheduler announces the crash", "[record]") {
  RunResult r = two_workers();
  r.failures.emplace();
  r.failures->recoveries = {
      {.node = 1, .crash = 1, .detected = 1.5, .fetching = 1.75, .owned = 2, .caught_up = 3},
      {.node = 2, .crash = 1, .detected = 1.5, .fetching = 1.25, .owned = 2}};
  const Json s = summary(r)["failures"]["recoveries"];
  CHECK(s[0]["detection_s"] == 0.5);
  CHECK(s[0]["takeover_s"] == 0.25);
  CHECK(s[0]["total_s"] == 2.0);
  CHECK(s[1]["takeover_s"] == 0.0);  // the shards were on their way to another server when it crashed
  CHECK(s[1]["transfer_s"] == 0.75);
  CHECK(s[1]["total_s"].is_null());
}

TEST_CASE("a summary is empty where there is nothing to say", "[record]") {
  RunResult nothing;
  nothing.stats.workers.resize(1);
  const Json s = summary(nothing);
  CHECK(s["final"]["loss"].is_null());
  CHECK(s["final"]["accuracy"].is_null());
  CHECK(s["target"]["given"] == false);
  CHECK(s["target"]["sim_time_s"].is_null());
  CHECK(s["time"]["wait_share"] == 1.0);
  CHECK(s["curve"].empty());
  CHECK(s["final_validation"].is_null());
  CHECK(s["evaluated_on"].is_null());
}

TEST_CASE("with a validation set a summary has the last weights on both sets", "[record]") {
  RunResult r = two_workers();
  r.curve = {{.at = 9, .updates = 4, .epoch = 1, .bytes = 80, .result = {.loss = 1, .accuracy = 0.5}}};
  r.judged_on = DataPart::validation;
  r.tested = {.loss = 2, .accuracy = 0.25};
  const Json s = summary(r);
  CHECK(s["initial"]["loss"] == 1.0);
  CHECK(s["final"]["loss"] == 2.0);
  CHECK(s["final"]["accuracy"] == 0.25);
  CHECK(s["final_validation"]["loss"] == 1.0);
  CHECK(s["evaluated_on"] == Json{{"curve", "validation"}, {"target", "validation"}, {"final", "test"}});
  r.tested.reset();  // there is no test set
  const Json without = summary(r);
  CHECK(without["final"] == without["final_validation"]);
  CHECK(without["evaluated_on"]["final"] == "validation");
}

TEST_CASE("a summary tells the first and the last point of the curve, and when the target was reached",
          "[record]") {
  RunResult r = two_workers();
  r.curve = {{.at = 0, .updates = 0, .epoch = 0, .bytes = 0, .result = {.loss = 3, .accuracy = 0.25}},
             {.at = 9, .updates = 4, .epoch = 1, .bytes = 80, .result = {.loss = 1, .accuracy = {}}}};
  r.target = r.curve[1];
  Scenario scenario;
  scenario.training.target.loss = 1.5;
  const Json s = summary(r, scenario);
  CHECK(s["initial"]["loss"] == 3.0);
  CHECK(s["initial"]["accuracy"] == 0.25);
  CHECK(s["final"]["loss"] == 1.0);
  CHECK(s["final"]["accuracy"].is_null());
  CHECK(s["final_validation"].is_null());
  CHECK(s["evaluated_on"] == Json{{"curve", "test"}, {"target", "test"}, {"final", "test"}});
  CHECK(s["curve"][1]["bytes_sent"] == 80);
  CHECK(s["target"]["given"] == true);
  CHECK(s["target"]["reached"] == true);
  CHECK(s["target"]["loss"] == 1.5);
  CHECK(s["target"]["sim_time_s"] == 9.0);
  CHECK(s["target"]["updates"] == 4);
}

TEST_CASE("a summary tells what an inference group served", "[record]") {
  RunResult r = two_workers();
  CHECK(!summary(r).contains("inference"));
  InferenceStats stats{.requests = 202, .samples = 400, .hits = 100, .pulls = 3, .bytes_pulled = 120};
  for (int i = 200; i >= 1; --i)
    stats.answers.push_back(
        {.arrival = 0, .latency = double(i), .age = i <= 1 ? 2 : 48.0 / 199, .staleness = 0});
  for (int i = 0; i < 50; ++i) stats.answers[i].staleness = i < 25 ? 9 : 3;
  r.inference = stats;
  const Json s = summary(r)["inference"];
  CHECK(s["requests"] == 202);
  CHECK(s["answered"] == 200);
  CHECK(s["latency_s"]["mean"] == 100.5);
  CHECK(s["latency_s"]["p50"] == 100.0);
  CHECK(s["latency_s"]["p99"] == 198.0);
  CHECK(s["staleness"]["mean"] == 1.5);
  CHECK(s["staleness"]["max"] == 9);
  CHECK(s["age_s"]["mean"].get<double>() == Approx(0.25));
  CHECK(s["age_s"]["max"] == 2.0);
  CHECK(s["accuracy"] == 0.25);
  CHECK(s["bytes_pulled"] == 120);
  r.inference = InferenceStats{.requests = 1};
  const Json none = summary(r)["inference"];
  CHECK(none["latency_s"]["p99"].is_null());
  CHECK(none["accuracy"].is_null());
}
