// Goal: programs make the runs that `psim run` makes, hear of all that is wrong, and watch every event.
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "psim/messages.hpp"
#include "psim/run.hpp"
#include "psim/sinks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

namespace api = psim::api;
using psim::test::Json;

namespace {

const std::string small = R"([model]
layers = [64, 16, 10]
[training]
steps = 12
batch_size = 8
learning_rate = 0.2
evaluate_every = "4 updates"
[cluster]
workers = 3
servers = 2
)";

}  // namespace

TEST_CASE("a run of the library is the run of the command line", "[library]") {
  const api::Scenario scenario = api::Scenario::from_text(small).set("consistency.model", "ssp").seed(7);
  const api::Result result = api::run(scenario);
  const Json told = psim::test::run_toml(small, {"--set", "consistency.model=ssp", "--seed", "7"});
  CHECK(result.digest == told["digest"].get<std::string>());
  CHECK(result.sim_time_s == told["sim_time_s"].get<double>());
  CHECK(result.updates == told["updates"].get<std::int64_t>());
  CHECK(Json::parse(result.summary)["final"] == told["final"]);
  REQUIRE(result.curve.size() == told["curve"].size());
  for (std::size_t i = 0; i < result.curve.size(); ++i) {
    CHECK(result.curve[i].sim_time_s == told["curve"][i]["sim_time_s"].get<double>());
    CHECK(result.curve[i].updates == told["curve"][i]["updates"].get<std::int64_t>());
    CHECK(result.curve[i].epoch == told["curve"][i]["epoch"].get<double>());
    CHECK(result.curve[i].loss == told["curve"][i]["loss"].get<double>());
    CHECK(result.curve[i].accuracy == told["curve"][i]["accuracy"].get<double>());
  }
  CHECK_FALSE(result.time_to_target_s);
  CHECK(result.stuck.empty());
}

TEST_CASE("a program makes many runs, and each is by itself", "[library][slow]") {
  api::Scenario scenario = api::Scenario::from_text(small);
  const api::Result first = api::run(scenario), other = api::run(api::Scenario(scenario).seed(2));
  CHECK(first.digest != other.digest);
  CHECK(api::run(scenario, {.threads = 2}).digest == first.digest);
}

TEST_CASE("a target, a run that is stuck, and a phantom model are told", "[library]") {
  const api::Result reached =
      api::run(api::Scenario::from_text(small).set("training.target", "{loss = 100.0, stop = false}"));
  CHECK(reached.time_to_target_s == 0.0);
  const api::Result stuck =
      api::run(api::Scenario::from_text(small + "[recovery]\nworkers = \"wait\"\n[[fault]]\nkind = "
                                                "\"crash\"\nnodes = [\"worker 1\"]\nat = \"20ms\"\n"));
  INFO(stuck.summary);
  CHECK_FALSE(stuck.stuck.empty());
  const api::Result phantom =
      api::run(api::Scenario::from_text("[model]\nkind = \"phantom\"\n[training]\nsteps = 2\n"));
  CHECK(phantom.curve.empty());
}

TEST_CASE("a program hears of all that is wrong with a scenario, and where", "[library]") {
  const api::Scenario wrong =
      api::Scenario::from_text("[cluster]\nworkers = 0\n[training]\nsteps = 3\nbatchsize = 3\n", "mine.toml")
          .set("cluster.servers", "-1");
  std::map<std::string, api::Problem> by_place;
  for (const api::Problem& one : wrong.problems())
    by_place[one.source + ":" + std::to_string(one.line)] = one;
  REQUIRE(by_place.size() == 3);
  CHECK(by_place["mine.toml:2"].column == 11);
  CHECK(by_place["mine.toml:2"].code == "out-of-range");
  CHECK(by_place["mine.toml:5"].help.find("batch_size") != std::string::npos);
  CHECK(by_place["--set:1"].code == "out-of-range");
  try {
    api::run(wrong);
    FAIL("it ran");
  } catch (const api::BadScenario& error) {
    CHECK(error.problems.size() == 3);
    CHECK(std::string(error.what()).find("--> mine.toml:2:11") != std::string::npos);
  }
  CHECK(api::Scenario::from_file("there-is-none.toml").problems().size() == 1);
  CHECK(api::Scenario::from_text(small).problems().empty());
  CHECK(api::Scenario::from_text(small).resolved().find("workers = 3") != std::string::npos);
}

TEST_CASE("a program hears why a run is refused, and that a loss is no number", "[library]") {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "photo") << "somebody's\n";
  const api::Scenario scenario = api::Scenario::from_text(small);
  CHECK_THROWS_AS(api::run(scenario, {.out = folder.path().string()}), api::RunRefused);
  CHECK_THROWS_AS(api::run(scenario, {.trace = "everything"}), std::invalid_argument);
  const api::Result diverged = api::run(
      api::Scenario(scenario).set("training.learning_rate", "1e6").set("model.precision", "float16"));
  CHECK(std::isnan(diverged.curve.back().loss));
  CHECK_THROWS_AS(api::result_in("{}"), std::invalid_argument);
}

TEST_CASE("an observer sees every event in order, once in a process", "[library]") {
  struct Watcher : psim::EventSink {
    void on(const psim::Event& event, std::uint64_t hash) override {
      CHECK(hash == psim::hash_of(event));
      CHECK(event.at >= last);
      last = event.at;
      if (event.as<psim::ModelUpdate>() != nullptr) ++updates;
      if (const psim::Sent* sent = event.as<psim::Sent>()) ++kinds[sent->kind];
    }
    double last = 0;
    std::int64_t updates = 0;
    std::map<api::MessageKind, int> kinds;
  } watcher;
  const api::Scenario scenario = api::Scenario::from_text(small);
  const api::Result watched = api::watch(scenario, watcher);
  CHECK(watched.digest == psim::test::run_toml(small)["digest"].get<std::string>());
  CHECK(watcher.updates == 2 * watched.updates);  // of two shards
  CHECK(watcher.kinds[api::MessageKind::push] == 3 * 12 * 2);
  CHECK_THROWS_AS(api::watch(scenario, watcher), std::logic_error);
  CHECK_THROWS_AS(api::run(scenario), std::logic_error);
}

TEST_CASE("an exception of an observer comes out when the run has ended", "[library]") {
  struct Fragile : psim::EventSink {
    void on(const psim::Event&, std::uint64_t) override {
      if (++events == 10) throw std::out_of_range("the tenth");
    }
    int events = 0;
  } observer;
  CHECK_THROWS_AS(api::watch(api::Scenario::from_text(small), observer), std::out_of_range);
  CHECK(observer.events == 10);
}

TEST_CASE("a run of the library is kept in a folder that psim's commands read", "[library]") {
  const psim::test::TemporaryFolder folder;
  const api::Result kept =
      api::run(api::Scenario::from_text(small), {.out = (folder.path() / "kept").string()});
  CHECK(Json::parse(psim::test::content(folder.path() / "kept/summary.json"))["digest"].get<std::string>() ==
        kept.digest);
  CHECK(psim::test::psim({"verify", "kept"}, folder.path()).code == 0);
  CHECK(psim::test::psim({"replay", "kept"}, folder.path()).code == 0);
}
