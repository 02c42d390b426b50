// The scheduler of a scenario with tasks: which it gives out when, to whom, and what it makes of the answers.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/nodes/scheduler/scheduler_actor.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

// Nodes: scheduler 0, servers 1 and 2, workers 3, 4 and 5. No message takes any time to speak of.
std::string scenario(int clocks, const std::string& tasks) {
  return fmt::format(
      "consistency = \"tasks\"\n[model]\nkind = \"phantom\"\narrays = [30, 12]\n[training]\nsteps = {}\n"
      "batch_size = 6\n[compute]\ntime = \"1s\"\n[cluster]\nworkers = 3\nservers = 2\nnetwork = {{latency = "
      "\"1ns\", bandwidth = \"1000GBps\", share_spread = 0.0, simgrid_model = \"cm02\"}}\n{}",
      clocks, tasks);
}
std::string task(const std::string& what, const std::string& after = "", const std::string& more = "") {
  return fmt::format("[[task]]\nname = \"{0}\"\ndo = \"{0}\"\nafter = [{1}]\n{2}\n", what, after, more);
}
std::string batches(int count, const std::string& where = "any worker") {
  return task("pull", "\"update[-1]\"", fmt::format("on = \"{}\"\ncount = {}", where, count)) +
         task("gradient", "\"pull\"") + task("push", "\"gradient\"");
}

// How long a worker takes for a gradient; and what each server answers to a call of a norm.
struct Parts {
  std::map<NodeId, double> seconds;
  std::map<NodeId, double> norms;
};

std::string words(const RunTask& order) {
  if (!order.task) return "end";
  const std::string batch =
      order.kind == TaskKind::gradient ? fmt::format(" of batch {}", order.batch) : std::string();
  return fmt::format("{} {}{}", name_of(order.kind), order.clock, batch);
}

// The workers do what they are told, one after the other; servers answer after half a second and a second.
Lines play(const std::string& toml, const Parts& parts, const std::function<void(Stage&)>& at_end = {}) {
  return on_stage(toml, [&](Stage& stage) {
    Network& network = stage.job().network;
    stage.act(scheduler_node, [&] { run_tasks(stage.job()); });
    for (const NodeId node : {3U, 4U, 5U}) {
      stage.act(node, [&, node] {
        std::int64_t pushes = 10 * node;
        for (;;) {
          const Message message = network.receive(node);
          const RunTask& order = *message.as<RunTask>();
          stage.say(fmt::format("{}: {}", node, words(order)));
          if (!order.task) return;
          if (order.kind == TaskKind::gradient) stage.sleep(parts.seconds.at(node));
          if (order.kind == TaskKind::push) ++pushes;
          network.send(
              {.from = node, .to = scheduler_node, .body = TaskDone{.task = *order.task, .pushes = pushes}});
        }
      });
    }
    for (const NodeId node : {1U, 2U}) {
      stage.act(
          node,
          [&, node] {
            for (;;) {
              const Message message = network.receive(node);
              const Call& call = *message.as<Call>();
              const std::string push =
                  call.push ? fmt::format(", push {} of {}", call.push->number, call.push->worker) : "";
              const std::string values =
                  call.values > 0 ? fmt::format(", {} values", call.values) : std::string();
              stage.say(fmt::format("{}: {} shard {}{}{}", node, name_of(call.function), message.shard,
                                    values, push));
              stage.sleep(node == 1 ? 0.5 : 1);
              const double value = parts.norms.contains(node) ? parts.norms.at(node) : 0;
              network.send(
                  {.from = node, .to = scheduler_node, .body = Returned{.task = call.task, .value = value}});
            }
          },
          true);
    }
    stage.run();
    if (at_end) at_end(stage);
  });
}

Lines only(const Lines& lines, const std::string& word) {
  Lines result;
  for (const std::string& line : lines)
    if (line.find(word) != std::string::npos) result.push_back(line);
  return result;
}

}  // namespace

TEST_CASE("task scheduler: a task for any worker goes to the first that has nothing to do, else it waits",
          "[roles][tasks]") {
  const Lines lines =
      play(scenario(1, batches(5) + task("update", "\"push\"")), {.seconds = {{3, 4}, {4, 1}, {5, 2.5}}});
  CHECK(only(lines, "gradient") == Lines{"0 3: gradient 0 of batch 0", "0 4: gradient 0 of batch 1",
                                         "0 5: gradient 0 of batch 2", "1 4: gradient 0 of batch 3",
                                         "2 4: gradient 0 of batch 4"});
  // Who has computed a gradient pushes it.
  CHECK(only(lines, "push") ==
        Lines{"1 4: push 0", "2 4: push 0", "2.5 5: push 0", "3 4: push 0", "4 3: push 0"});
}

TEST_CASE("task scheduler: a task begins when all are done for which it waits, on all servers",
          "[roles][tasks]") {
  const Lines lines =
      play(scenario(2, batches(3) + task("update", "\"push\"")), {.seconds = {{3, 1}, {4, 3}, {5, 2}}});
  CHECK(only(lines, "update") ==
        Lines{"3 1: update shard 0", "3 2: update shard 1", "7 1: update shard 0", "7 2: update shard 1"});
  CHECK(only(lines, "pull 1") == Lines{"4 3: pull 1", "4 4: pull 1", "4 5: pull 1"});
  CHECK(only(lines, "end") == Lines{"8 3: end", "8 4: end", "8 5: end"});
}

TEST_CASE("task scheduler: an apply names the push that it applies, by its worker's count",
          "[roles][tasks]") {
  const std::string tasks = task("pull", "\"apply[-1]\"", "on = \"workers\"") + task("gradient", "\"pull\"") +
                            task("push", "\"gradient\"") + task("apply", "\"push\"");
  const Lines lines = play(scenario(1, tasks), {.seconds = {{3, 9}, {4, 3}, {5, 6}}});
  CHECK(only(lines, "2: apply") == Lines{"3 2: apply shard 1, push 40 of 4",
                                         "6 2: apply shard 1, push 50 of 5",
                                         "9 2: apply shard 1, push 30 of 3"});
}

TEST_CASE("task scheduler: a norm is that of all shards, and each task's uses are counted",
          "[roles][tasks]") {
  const std::string tasks = batches(4) + task("update", "\"push\"") + task("norm", "\"update\"");
  const Lines lines = play(
      scenario(2, tasks), {.seconds = {{3, 9}, {4, 2}, {5, 3}}, .norms = {{1, 9}, {2, 7}}}, [](Stage& stage) {
        for (const TaskUse& use : stage.job().state.tasks.all())
          stage.say(fmt::format("uses {} by {} {} {}, {} s, {}", use.times, use.by_worker[0],
                                use.by_worker[1], use.by_worker[2], date(use.seconds), use.value));
      });
  // Only functions of all values say how many there are. The next batches need the update, not the norm.
  CHECK(only(lines, "norm") == Lines{"10 1: norm shard 0, 21 values", "10 2: norm shard 1, 21 values",
                                     "20 1: norm shard 0, 21 values", "20 2: norm shard 1, 21 values"});
  const Lines uses = only(lines, "uses");
  REQUIRE(uses.size() == 5);
  // Gradients take 9, 2, 3 and 2 seconds.
  CHECK(uses[1].ends_with("uses 8 by 2 4 2, 32 s, 0"));
  CHECK(uses[2].ends_with("uses 8 by 2 4 2, 0 s, 0"));
  CHECK(uses[3].ends_with("uses 2 by 0 0 0, 2 s, 0"));
  CHECK(uses[4].ends_with("uses 2 by 0 0 0, 2 s, 4"));
}
