// The graph of tasks that a consistency model stands for, and that the server follows it.

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "model/base/random.hpp"
#include "sim/protocol/task_dag.hpp"
#include "tests/sim/protocol/server_driver.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

ConsistencySpec ssp(std::int64_t staleness) { return {.model = "ssp", .staleness = staleness}; }

const std::vector<ConsistencySpec> fixed_models{
    {.model = "bsp"}, {.model = "asp"}, ssp(0),
    ssp(1),           ssp(3),           {.model = "ssp", .staleness_schedule = {{0, 2}, {3, 0}, {5, 1}}}};

// Tasks of the models' programs.
constexpr std::size_t of_pull = 0, of_push = 1, of_change = 2;

TaskDag dag_of(const ConsistencySpec& spec, std::int64_t workers, std::int64_t clocks) {
  return {*program_of(make_rule(spec, workers)), clocks};
}

std::vector<Task> tasks_before(const TaskDag& dag, const Task& task) {
  std::vector<Task> tasks;
  for (const TaskId id : dag.waits_for(dag.id_of(task))) tasks.push_back(dag[id]);
  return tasks;
}

// Workers whose messages arrive in random order, over a server; after every message the server must have
// answered just those pulls all of whose tasks are done.
class Interleaving {
 public:
  Interleaving(const ConsistencySpec& spec, std::int64_t workers, std::int64_t clocks, std::uint64_t seed)
      : driver_(spec, workers, {.steps = clocks}),
        graph_(*program_of(driver_.rule), clocks),
        clocks_(clocks),
        random_(seed, "interleaving"),
        workers_(static_cast<std::size_t>(workers)) {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) wants(w);
  }

  void run() {
    while (deliver_one()) {
      for (std::uint32_t w = 0; w < workers_.size(); ++w) check(w);
    }
    for (const Worker& worker : workers_) CHECK(worker.clock == clocks_);  // no deadlock
  }

 private:
  struct Worker {
    std::int64_t clock = 0;  // that it waits to start
    bool pull_arrived = false;
    std::deque<Message> on_way;  // a connection keeps its order
  };

  void wants(std::uint32_t w) { workers_[w].on_way.push_back(driver_.pull_of(w)); }

  bool deliver_one() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
      if (!workers_[w].on_way.empty()) ready.push_back(w);
    }
    if (ready.empty()) return false;
    const std::uint32_t w = ready[random_.below(ready.size())];
    const Message message = workers_[w].on_way.front();
    workers_[w].on_way.pop_front();
    if (const Push* push = message.as<Push>()) done({of_push, w, push->clock});
    if (message.is<Pull>()) workers_[w].pull_arrived = true;
    const std::size_t already = driver_.log.sent.size();
    for (const std::string& line : driver_.deliver(message)) note(line);
    for (std::size_t i = already; i < driver_.log.sent.size(); ++i)
      answered_.insert(driver_.log.sent[i].to - first_worker);
    return true;
  }

  // "apply w0 s1" is the next gradient of that worker; "version 3" under bsp the third update.
  void note(const std::string& line) {
    if (line.starts_with("version ") && driver_.rule.gate == Gate::version)
      done({of_change, std::nullopt, std::stol(line.substr(8)) - 1});
    if (!line.starts_with("apply ") || driver_.rule.gate == Gate::version) return;
    const std::int64_t w = std::stol(line.substr(7));
    done({of_change, w, applied_[w]++});
  }

  void done(const Task& task) { done_.insert(graph_.id_of(task)); }

  void check(std::uint32_t w) {
    Worker& worker = workers_[w];
    if (worker.clock == clocks_ || !worker.pull_arrived) return;
    const TaskId wanted = graph_.id_of({of_pull, w, worker.clock});
    const bool free =
        std::ranges::all_of(graph_.waits_for(wanted), [this](TaskId task) { return done_.contains(task); });
    INFO("worker " << w << ", clock " << worker.clock);
    REQUIRE((answered_.erase(w) > 0) == free);
    if (!free) return;
    done_.insert(wanted);
    worker.pull_arrived = false;
    worker.on_way.push_back(driver_.push_of(w));
    if (++worker.clock < clocks_) wants(w);
  }

  Driver driver_;
  TaskDag graph_;
  std::int64_t clocks_;
  Stream random_;
  std::vector<Worker> workers_;
  std::set<TaskId> done_;
  std::set<std::uint32_t> answered_;
  std::map<std::int64_t, std::int64_t> applied_;
};

}  // namespace

TEST_CASE("a server answers a pull when the tasks are done that the graph says it waits for", "[tasks]") {
  for (std::size_t model = 0; model < fixed_models.size(); ++model) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      INFO("model " << model << ", seed " << seed);
      Interleaving(fixed_models[model], 1 + static_cast<std::int64_t>(seed % 5), 7, seed).run();
    }
  }
}

TEST_CASE("graphs of tasks have an order in which everything waits for earlier tasks only", "[tasks]") {
  for (const ConsistencySpec& spec : fixed_models) {
    const TaskDag graph = dag_of(spec, 4, 6);
    const std::vector<TaskId> order = graph.topological_order();
    REQUIRE(order.size() == graph.size());
    std::set<TaskId> done;
    for (const TaskId task : order) {
      for (const TaskId before : graph.waits_for(task)) REQUIRE(done.contains(before));
      done.insert(task);
    }
    CHECK(done.size() == graph.size());
  }
}

TEST_CASE("what a pull waits for, by Li et al. 2014", "[tasks]") {
  const Task wanted{of_pull, 1, 3};
  const auto before = [&](const ConsistencySpec& spec) { return tasks_before(dag_of(spec, 3, 4), wanted); };
  const Task own{of_push, 1, 2};
  CHECK(before({.model = "asp"}) == std::vector<Task>{own});
  CHECK(before({.model = "bsp"}) == std::vector<Task>{own, {of_change, std::nullopt, 2}});
  CHECK(before(ssp(0)) == before({.model = "bsp"}));
  CHECK(before(ssp(1)) == std::vector<Task>{{of_change, 0, 1}, {of_change, 1, 1}, {of_change, 2, 1}, own});
  CHECK(before(ssp(3)) == std::vector<Task>{own});  // clock -1 is before the beginning
}

TEST_CASE("longest chains of tasks: pull, push and update of each clock, or pull and push alone", "[tasks]") {
  const auto chain = [](const ConsistencySpec& spec) { return dag_of(spec, 3, 6).longest_chain(); };
  CHECK(chain({.model = "bsp"}) == 3 * 6);
  CHECK(chain({.model = "asp"}) == 2 * 6 + 1);  // and the last push's application
}

TEST_CASE("there is no fixed graph where arrival decides", "[tasks]") {
  for (const ConsistencyModel model : {"k-sync", "k-batch-sync", "k-async", "k-batch-async"})
    CHECK_FALSE(program_of(make_rule({.model = model, .k = 2}, 3)));
  CHECK_FALSE(program_of(make_rule({.model = "dssp"}, 3)));
}
