// Goal: a run says what was asked for and had no effect, and what went wrong without an error. Method:
// results made by hand, each with and without the cause.
#include "sim/record/notes.hpp"

#include <algorithm>
#include <cmath>

#include "model/optimizer.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

// Two workers that compute half of their time, for 10 simulated seconds; the loss falls.
RunResult good_run() {
  RunResult r;
  r.sim_time = 10;
  r.stats.workers.resize(2);
  for (WorkerStats& worker : r.stats.workers) worker.time = {.compute = 5, .network = 4, .wait = 1};
  r.curve = {{.at = 0, .updates = 0, .result = {.loss = 2}},
             {.at = 5, .updates = 3, .result = {.loss = 1}},
             {.at = 10, .updates = 6, .result = {.loss = 0.5}}};
  return r;
}

std::string text_of(std::string_view name, const Scenario& scenario, const RunResult& run) {
  const std::vector<Note> all = notes(scenario, run);
  const auto one = std::ranges::find(all, name, &Note::name);
  return one == all.end() ? "" : one->text;
}

bool says(std::string_view name, const Scenario& scenario, const RunResult& run, std::string_view part) {
  const std::string text = text_of(name, scenario, run);
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a run without surprises has no notes", "[notes]") { CHECK(notes({}, good_run()).empty()); }

TEST_CASE("a straggler that begins after the end is noted, one that begins before is not", "[notes]") {
  Scenario scenario;
  scenario.stragglers = {{.workers = {0}, .from = Seconds{9}}, {.workers = {0}, .from = Seconds{10}}};
  CHECK(says("late-straggler", scenario, good_run(), "straggler.1 slowed no worker down: it begins at 10 s"));
  scenario.stragglers.pop_back();
  CHECK(notes(scenario, good_run()).empty());
}

TEST_CASE("a straggler that is as fast as others is noted", "[notes]") {
  Scenario scenario;
  scenario.stragglers = {{.workers = {0}}, {.workers = {0}, .probability = 0.5}};
  CHECK(notes(scenario, good_run()).empty());
  scenario.stragglers[0].slowdown = 1;
  CHECK(says("idle-straggler", scenario, good_run(), "straggler.0 slowed no worker down: its slowdown is 1"));
  scenario.stragglers[0].slowdown = 2;
  scenario.stragglers[1].probability = 0;
  CHECK(says("idle-straggler", scenario, good_run(),
             "straggler.1 slowed no worker down: its probability is 0"));
}

TEST_CASE("a detector that is faster than a heartbeat is noted once it has been wrong", "[notes]") {
  Scenario scenario;
  scenario.recovery.enabled = true;  // a heartbeat each 0.5 s, a timeout of 2 s
  RunResult run = good_run();
  run.slowest_heartbeat = 1.6;
  run.failures = FailureStats{};
  CHECK(notes(scenario, run).empty());
  run.failures->suspicions = 5;
  run.failures->false_suspicions = 4;
  CHECK(says("hasty-detector", scenario, run, "4 false suspicions among 5: recovery.timeout, 2 s, is not"));
  CHECK(says("hasty-detector", scenario, run, "takes up to 1.6 s to the scheduler"));
  CHECK(says("hasty-detector", scenario, run, "--set recovery.timeout=4.2s"));
  run.slowest_heartbeat = 1.4;  // the network is not why
  CHECK(notes(scenario, run).empty());
  run.slowest_heartbeat = 1.6;
  scenario.recovery.detector = DetectorKind::phi_accrual;  // it learns how long the gaps are
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("what acts on late pushes is noted where none was late enough", "[notes]") {
  Scenario scenario;
  RunResult run = good_run();
  scenario.training.delay_compensation = 0.04;
  CHECK(says("idle-correction", scenario, run, "no push was late, so training.delay_compensation changed"));
  run.stats.workers[1].staleness.applied = {{0, 7}, {1, 1}};
  CHECK(notes(scenario, run).empty());
  scenario.training.delay_compensation = 0;
  scenario.training.staleness_aware = true;
  CHECK(says("idle-correction", scenario, run,
             "no push was more than one update late, so training.staleness_aware changed"));
  run.stats.workers[1].staleness.applied[2] = 1;
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("of each group its own pushes say whether any was late", "[notes]") {
  Scenario scenario;
  scenario.groups.resize(2);
  scenario.groups[0].name = "vision";
  scenario.groups[1].name = "text";
  RunResult run = good_run();
  run.stats.spaces = {{.first_worker = 0, .workers = 1}, {.first_worker = 1, .workers = 1}};
  run.spaces = {SpaceResult{{.curve = run.curve}, {}, {0}}, SpaceResult{{.curve = run.curve}, {}, {1}}};
  for (SpaceResult& space : run.spaces) space.scenario.consistency.max_staleness = 2;
  run.stats.staleness_max = 5;  // of all workers
  run.stats.workers[0].staleness.applied = {{5, 1}};
  run.stats.workers[1].staleness.applied = {{2, 1}};
  CHECK(says("idle-correction", scenario, run, "text: no push was more than 2 updates stale"));
  CHECK(notes(scenario, run).size() == 1);
  run.stats.workers[1].staleness.dropped = {{3, 1}};
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("a fault that never happened is noted with the reason", "[notes]") {
  Scenario scenario;
  RunResult run = good_run();
  scenario.faults = {{.kind = "crash", .at = Seconds{20}}};
  run.faults = {{.happened = false, .mattered = false}};
  CHECK(says("idle-fault", scenario, run, "fault.0 (crash) never happened: it comes at 20 s"));
  scenario.faults[0] = {.kind = "crash", .when = "loss < 0.1"};
  CHECK(says("idle-fault", scenario, run, "its condition `loss < 0.1` never held"));
  scenario.faults[0] = {.kind = "crash", .mtbf = Seconds{50}};
  CHECK(says("idle-fault", scenario, run, "before it came for the first time"));
  run.faults = {{.happened = true, .mattered = true}};
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("a fault that happened and changed nothing is noted", "[notes]") {
  Scenario scenario;
  RunResult run = good_run();
  scenario.faults = {{.kind = "drop", .probability = 1e-9}};
  run.faults = {{.happened = true, .mattered = false}};
  CHECK(says("idle-fault", scenario, run, "fault.0 (drop) changed nothing: it met no message"));
  scenario.faults[0] = {.kind = "slow", .factor = 1.0};
  CHECK(says("idle-fault", scenario, run, "its factor is 1"));
  scenario.faults[0] = {.kind = "restart", .at = Seconds{2}};
  CHECK(says("idle-fault", scenario, run, "its nodes were up already"));
}

TEST_CASE("a filter is noted for the direction in which it never made a message smaller", "[notes]") {
  Scenario scenario;
  RunResult run = good_run();
  scenario.filters = {{.kind = "fp16", .on = FilterOn::both}};
  run.filters_used = {{"fp16", true}};
  CHECK(text_of("idle-filter", scenario, run) == "filter fp16 never made a pull smaller");
  run.filters_used.insert({"fp16", false});
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("a target that was looked at only at both ends is noted", "[notes]") {
  Scenario scenario;
  scenario.training.target.accuracy = 0.9;
  RunResult run = good_run();
  CHECK(notes(scenario, run).empty());
  run.curve.erase(run.curve.begin() + 1);
  CHECK(says("unseen-target", scenario, run, "training.evaluate_every"));
  CHECK(notes({}, run).empty());  // no target
}

TEST_CASE("a target that the first weights reach is noted", "[notes]") {
  Scenario scenario;
  scenario.training.target.loss = 3;
  RunResult run = good_run();
  run.target = run.curve[1];
  CHECK(notes(scenario, run).empty());
  run.target = run.curve[0];
  CHECK(says("early-target", scenario, run, "the initial weights"));
}

TEST_CASE("computing below a twentieth of every worker's time is noted, with a speed that helps", "[notes]") {
  Scenario scenario;
  scenario.cluster.worker.speed.values = {FlopsPerSecond{10e9}};
  RunResult run = good_run();
  for (WorkerStats& worker : run.stats.workers) worker.time = {.compute = 0.01, .network = 9.99, .wait = 0};
  CHECK(says("little-computing", scenario, run, "computing is 0.1 % of the time"));
  CHECK(says("little-computing", scenario, run, "--set cluster.worker.speed=10Mf"));
  scenario.compute.time = Seconds{1e-3};
  CHECK(says("little-computing", scenario, run, "give a longer compute.time"));
  scenario.compute.distribution = "trace";
  scenario.compute.trace_unit = TraceUnit::seconds;
  CHECK(says("little-computing", scenario, run, "check cluster.network.bandwidth"));
  run.stats.workers[1].time = {.compute = 1, .network = 9, .wait = 0};  // one that computes is enough
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("a loss that rose or is no number is noted with a smaller learning rate", "[notes]") {
  Scenario scenario;
  scenario.training.learning_rate = 50;
  RunResult run = good_run();
  run.curve.back().result.loss = 14.45;
  CHECK(says("diverged", scenario, run, "the loss went from 2 to 14.45"));
  CHECK(says("diverged", scenario, run, "--set training.learning_rate=5"));
  run.curve.back().result.loss = NAN;
  CHECK(says("diverged", scenario, run, "to NaN"));
}

TEST_CASE("a loss that rose with wrong pushes is noted with a median, where that leaves them out",
          "[notes]") {
  Scenario scenario;
  scenario.cluster.workers = 8;
  scenario.faults = {{.kind = "corrupt"}};
  RunResult run = good_run();
  run.curve.back().result.loss = NAN;
  CHECK(says("diverged", scenario, run, "push wrong values; --set consistency.aggregation=median"));
  scenario.consistency.model = "asp";
  CHECK(!says("diverged", scenario, run, "median"));
  scenario.consistency.model = "bsp";
  scenario.consistency.aggregation.row = "krum";
  CHECK(says("diverged", scenario, run, "workers push wrong values"));
  CHECK(!says("diverged", scenario, run, "median"));
}

TEST_CASE("of several namespaces each is noted by the name of its groups", "[notes]") {
  Scenario scenario;
  scenario.groups.resize(2);
  scenario.groups[0].name = "vision";
  scenario.groups[1].name = "text";
  RunResult run = good_run();
  run.spaces = {SpaceResult{{.curve = run.curve}, {}, {0}}, SpaceResult{{.curve = run.curve}, {}, {1}}};
  run.stats.spaces = {{.first_worker = 0, .workers = 1}, {.first_worker = 1, .workers = 1}};
  run.spaces[1].curve.back().result.loss = 3;
  CHECK(says("diverged", scenario, run, "text: diverged"));
  CHECK(notes(scenario, run).size() == 1);
}

TEST_CASE("a bound on staleness that held nobody back is noted", "[notes]") {
  Scenario scenario;
  scenario.consistency = {.model = "ssp", .staleness = 30};
  RunResult run = good_run();
  run.stats.clock_gap_max = 5;
  CHECK(
      says("idle-bound", scenario, run, "the bound of 30 clocks never mattered: no worker was more than 5"));
  run.stats.clock_gap_max = 30;
  CHECK(notes(scenario, run).empty());
}

TEST_CASE("an inference group that answered nothing is noted", "[notes]") {
  RunResult run = good_run();
  run.inference = InferenceStats{.requests = 3};
  CHECK(says("silent-inference", {}, run, "got 3 requests and answered none"));
  run.inference->answers = {{.latency = 0.1}};
  CHECK(notes({}, run).empty());
}

TEST_CASE("servers that hold nothing are noted, with the reason", "[notes]") {
  Scenario scenario;
  scenario.model.mlp.layers = {3, 2};
  RunResult run = good_run();
  run.server_parameters = {{4, 4}, {4, 4}};
  CHECK(notes(scenario, run).empty());
  run.server_parameters = {{0, 8}, {8, 0}};  // one took over from the other
  CHECK(notes(scenario, run).empty());
  scenario.placement.kind = PlacementKind::greedy;
  run.server_parameters = {{6, 6}, {0, 0}, {2, 2}};
  CHECK(says(
      "empty-server", scenario, run,
      "1 of 3 servers hold no parameters, because of placement.kind = \"greedy\": it keeps arrays whole, "
      "and the model has 2 arrays; --set cluster.servers=2"));
  scenario.placement.kind = PlacementKind::hash_ring;
  CHECK(says("empty-server", scenario, run, "the ring leaves them no keys"));
}

TEST_CASE("an overflow in a filter or a sum is not blamed on the learning rate", "[notes]") {
  Scenario scenario;
  scenario.architecture.kind = Architecture::all_reduce;
  scenario.filters.push_back({.kind = "fp16"});
  RunResult run = good_run();
  run.curve.back().result.loss = std::nan("");
  run.filters_overflowed.insert("fp16");
  CHECK(says("diverged", scenario, run, "filter fp16 made a value infinite"));
  CHECK(says("diverged", scenario, run, "such as fixed-point"));
  scenario.architecture.divide_first = false;
  CHECK(says("diverged", scenario, run, "--set architecture.divide_first=true"));
  run.filters_overflowed.clear();
  run.sum_overflows = true;
  scenario.model.precision = Precision::float16;
  CHECK(says("diverged", scenario, run, "a sum of gradients is larger than float16 can be"));
}

TEST_CASE("an overflow by the loss scale is not blamed on the learning rate", "[notes]") {
  Scenario scenario;
  scenario.model.precision = Precision::float16;
  scenario.training.loss_scale = 65536;
  RunResult run = good_run();
  run.curve.back().result.loss = std::nan("");
  CHECK(says("diverged", scenario, run, "a smaller learning rate"));
  run.scale_overflows = true;
  CHECK(says("diverged", scenario, run, "--set training.loss_scale=4096"));
  run.curve.back().result.loss = 3;
  CHECK(says("diverged", scenario, run, "a smaller learning rate"));
}

TEST_CASE("a job without servers that waits for a crashed worker waits for ever", "[notes]") {
  Scenario s;
  s.cluster.workers = 3;
  s.architecture.kind = Architecture::all_reduce;
  s.recovery.workers = LostWorkers::wait;
  CHECK(waits_for_ever(s).empty());  // nothing crashes
  s.faults.push_back({.kind = FaultKind("crash"), .nodes = {"worker 1"}});
  CHECK(waits_for_ever(s).find("restart, or remove") != std::string::npos);
  s.architecture.kind = Architecture::model_parallel;
  CHECK(waits_for_ever(s).find("default of a pipeline") != std::string::npos);
  s.recovery.workers = LostWorkers::restart;
  CHECK(waits_for_ever(s).empty());
}
