// Goal: workers do not wait for each other for ever when shards are set back, owners change and messages get
// lost. Method: runs in which they once did, in the shapes in which random scenarios found them.
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

// Runs a scenario of tests/fuzz, whose faults all pass by, and looks at its promises.
void ends_well(const std::string& name) {
  INFO(name);
  const KeptRun run(scenario_file("tests/fuzz/" + name + ".toml"));
  CHECK(exit_code(run.summary()) == 0);
  run.check_promises();
}

}  // namespace

TEST_CASE("a worker whose push came too late at one shard alone finds the others again", "[failures]") {
  ends_well("behind_at_one_shard_alone");
}

TEST_CASE("workers leave a circle in which each waits for the next", "[failures][slow]") {
  ends_well("circle_under_own_rules");
  ends_well("circle_of_workers");
  ends_well("circle_of_old_answers");
  ends_well("version_made_again");
  ends_well("cancelled_step_has_no_push");
}

TEST_CASE("a new owner learns what only workers know", "[failures]") {
  ends_well("clocks_unknown_to_a_new_owner");
  ends_well("decision_lost_with_its_server");
}

TEST_CASE("a first shard that was set back decides for the other shards no second time", "[failures]") {
  ends_well("first_shard_set_back");
  ends_well("decided_before_the_first_was_set_back");
  ends_well("too_few_left_to_push");
}

TEST_CASE("a server that leads again keeps the only copy", "[failures]") {
  ends_well("leads_again_with_the_only_copy");
  // It has every push that a worker was told is safe: the weights are those of a run without faults.
  const std::string faulty = content(source_folder() / "tests/fuzz/leads_again_with_the_only_copy.toml");
  const std::string calm = faulty.substr(0, faulty.find("[[fault]]"));
  CHECK(ScenarioBuilder::from(faulty).run()["final"] == ScenarioBuilder::from(calm).run()["final"]);
}

TEST_CASE("a disk that is lost while a snapshot is read gives nothing", "[failures]") {
  ends_well("disk_lost_while_it_is_read");
}

TEST_CASE("a peer goes on with the newest of several views that come during a computation", "[failures]") {
  ends_well("views_come_during_a_computation");
}

TEST_CASE("a worker that is back counts again once no older answer can break the bound", "[failures]") {
  ends_well("suspected_in_turn");
}

TEST_CASE("a message that waits for a worker's start is no reason to act", "[failures]") {
  ends_well("message_before_the_warm_up");
}

TEST_CASE("nothing happens after the end of a run that ends while nodes restart", "[failures]") {
  const KeptRun run(scenario_file("tests/fuzz/ends_at_a_restart.toml"));
  CHECK(exit_code(run.summary()) == 1);
  run.check_promises();
}
