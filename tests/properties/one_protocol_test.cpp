// Goal: nodes speak one protocol. A fault that does nothing changes no message and no weight; what a fault
// that may lose something requires (acknowledgements, heartbeats, timers) is a choice that a run records.
// Method: runs with and without such faults, message by message.
#include <fmt/format.h>

#include <map>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

const ScenarioBuilder cluster = ScenarioBuilder(
    {"training.batch_size=16", "training.steps=12", "training.learning_rate=0.5", "cluster.workers=4",
     "cluster.servers=2", "cluster.worker.speed=20Mf", "compute.distribution=lognormal", "compute.cv=0.3"});
constexpr const char* failures = "[recovery]\nenabled = true\n";

// What nodes said to each other, by kind, and what they learned.
struct Said {
  std::map<std::string, int> messages;
  std::string weights, acknowledgement;
};

Said said(const std::string& model, const std::string& more) {
  const TracedRun run = cluster.set("consistency.model", model)
                            .with("consistency", model == "k-sync" ? "k = 3" : "")
                            .with(more)
                            .trace();
  REQUIRE(run.summary["stuck"].empty());
  Said result{.messages = {},
              .weights = run.summary["model"]["weights"],
              .acknowledgement = run.summary["acknowledgement"]};
  for (const RecordedEvent& event : run.events) {
    if (event.is("sent")) ++result.messages[event.kind];
  }
  return result;
}

void check_same(const Said& one, const Said& other) {
  CHECK(one.messages == other.messages);
  CHECK(one.weights == other.weights);
  CHECK(one.acknowledgement == other.acknowledgement);
}

const std::string slow =
    ScenarioBuilder()
        .fault("slow", "[\"worker 0\", \"server 1\"]", {"factor=1.0", "at=30ms", "lasts=50ms"})
        .toml();
const std::string degrade = ScenarioBuilder().fault("degrade", "worker 1", {"factor=1.0", "at=30ms"}).toml();
// Long after the run has ended.
const std::string later = ScenarioBuilder()
                              .fault("crash", "server 1", {"at=100s"})
                              .add("fault", {"kind=drop", "from=100s"})
                              .fault("leave", "worker 0", {"at=100s"})
                              .fault("link-down", "worker 1", {"from=100s"})
                              .toml();

}  // namespace

TEST_CASE("a fault that does nothing sends the same messages and learns the same weights",
          "[recovery][slow]") {
  const std::string model = GENERATE("bsp", "ssp", "asp", "k-sync");
  INFO(model);
  const Said none = said(model, "");
  CHECK(none.acknowledgement == "none");
  CHECK_FALSE(none.messages.contains("ack"));
  CHECK_FALSE(none.messages.contains("heartbeat"));
  check_same(said(model, slow), none);
  check_same(said(model, degrade), none);
}

TEST_CASE("where something may be lost, a fault that does nothing changes nothing either",
          "[recovery][slow]") {
  const std::string model = GENERATE("bsp", "ssp", "asp", "k-sync");
  INFO(model);
  const Said none = said(model, failures);
  CHECK(none.acknowledgement == "repeats");
  // The scheduler acknowledges that a worker is through.
  CHECK(none.messages.at("ack") == none.messages.at("push") + none.messages.at("leave"));
  check_same(said(model, failures + slow), none);
  check_same(said(model, failures + degrade), none);
  check_same(said(model, later), none);
}

TEST_CASE("under bsp weights do not depend on who acknowledges", "[recovery]") {
  const Said none = said("bsp", ""), waits = said("bsp", "[messages]\nacknowledge = true\n");
  CHECK(waits.acknowledgement == "waits");
  CHECK(waits.messages.at("ack") == waits.messages.at("push"));
  CHECK(waits.weights == none.weights);
  CHECK(said("bsp", failures).weights == none.weights);
}
