// The storage node: what it keeps, what it answers, and the time that its disk takes for it. Messages take a
// second.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "sim/nodes/server/storage.hpp"
#include "tests/sim/nodes/stage.hpp"
#include "tests/support/catch.hpp"

using namespace psim;
using namespace psim::test;

namespace {

std::string scenario(const std::string& more) {
  return "[model]\nkind = \"phantom\"\narrays = [30, 20, 25]\n[training]\nsteps = 9\nbatch_size = 6\n"
         "[compute]\ntime = \"1s\"\n[snapshot]\nevery = \"5 updates\"\nbandwidth = \"100Bps\"\n" +
         more +
         "network = {latency = \"500ms\", bandwidth = \"10GBps\", share_spread = 0.0, simgrid_model = "
         "\"cm02\"}\n";
}
// Two servers, 1 and 2; the storage is node 5.
const std::string served = scenario("[cluster]\nworkers = 2\nservers = 2\n");
// Three stages, 1 to 3.
const std::string staged = scenario(
    "[recovery]\nworkers = \"restart\"\n[architecture]\nkind = \"model-parallel\"\n[cluster]\nworkers = 3\n");

void keep(Stage& stage, NodeId from, std::uint32_t shard, std::uint32_t epoch, std::int64_t version,
          std::uint64_t bytes) {
  stage.job().network.send({.from = from,
                            .to = stage.plan().snapshot_node(),
                            .shard = shard,
                            .epoch = epoch,
                            .body = State{.version = version, .bytes = bytes}});
}

void read(Stage& stage, NodeId from, std::uint32_t shard, std::uint32_t group = 0) {
  stage.job().network.send(
      {.from = from, .to = stage.plan().snapshot_node(), .shard = shard, .epoch = group, .body = Restore{}});
  const Message message = stage.job().network.receive(from);
  const State& state = *message.as<State>();
  stage.say(fmt::format("shard {}: version {} of epoch {}{}", message.shard, state.version, message.epoch,
                        state.asked_in > 0 ? fmt::format(", for {}", state.asked_in) : ""));
}

Lines play(const std::string& toml, const std::function<void(Stage&)>& part, NodeId node = 1) {
  return on_stage(toml, [&](Stage& stage) {
    stage.act(
        stage.plan().snapshot_node(), [&] { run_storage(stage.job()); }, true);
    stage.act(node, [&] { part(stage); });
    stage.run();
    for (const Snapshot& one : stage.recorded<Snapshot>())
      stage.say(fmt::format("kept {} of {}", one.version, one.shard));
  });
}

}  // namespace

TEST_CASE("storage: a snapshot is written and read at the disk's speed, one thing at a time",
          "[roles][storage]") {
  const Lines lines = play(served, [](Stage& stage) {
    keep(stage, 1, 0, 2, 5, 1000);
    stage.sleep(1);
    read(stage, 1, 0);  // written from 1 to 11 s, and read from then to 21 s
  });
  CHECK(lines == Lines{"22 shard 0: version 5 of epoch 2", "22 kept 5 of 0"});
}

TEST_CASE("storage: of each shard the last snapshot of the latest epoch counts", "[roles][storage]") {
  const Lines lines = play(served, [](Stage& stage) {
    keep(stage, 1, 0, 3, 9, 0);
    keep(stage, 1, 1, 7, 20, 0);
    keep(stage, 1, 0, 2, 12, 0);  // by an owner that is none any more
    read(stage, 1, 0);
    keep(stage, 1, 0, 3, 8, 0);  // of one epoch the later one counts, whatever its version
    read(stage, 1, 0);
    keep(stage, 1, 0, 4, 1, 0);
    read(stage, 1, 0);
    read(stage, 1, 1);
  });
  REQUIRE(lines.size() == 9);
  CHECK(lines[0].ends_with(" shard 0: version 9 of epoch 3"));
  CHECK(lines[1].ends_with(" shard 0: version 8 of epoch 3"));
  CHECK(lines[2].ends_with(" shard 0: version 1 of epoch 4"));
  CHECK(lines[3].ends_with(" shard 1: version 20 of epoch 7"));
}

TEST_CASE("storage: who asks for what is not there is told so at once", "[roles][storage]") {
  const Lines lines = play(served, [](Stage& stage) {
    keep(stage, 1, 0, 2, 5, 100);
    stage.sleep(0.5);
    read(stage, 1, 1);
  });
  CHECK(lines == Lines{"3 shard 1: version 0 of epoch 0", "3 kept 5 of 0"});
}

TEST_CASE("storage: a snapshot that is lost while it is read is not there", "[roles][storage]") {
  for (const double lost : {1.5, 4.0}) {
    const Lines lines = play(served, [lost](Stage& stage) {
      ShardSnapshots& kept = stage.job().state.disk.shards;
      kept.keep(0, {.epoch = 2, .state = {.version = 5, .bytes = 200}});  // read until 3 s
      stage.at(lost, [&kept] { kept.lose(); });
      read(stage, 1, 0);
    });
    CHECK(lines == Lines{lost < 3 ? "4 shard 0: version 0 of epoch 0" : "4 shard 0: version 5 of epoch 2"});
  }
}

TEST_CASE("storage: stages go back to the newest version of which every part is there", "[roles][storage]") {
  const Lines lines = play(staged, [](Stage& stage) {
    for (const std::uint32_t part : {0U, 1U, 2U}) keep(stage, 1, part, 1, 2, 0);
    keep(stage, 1, 0, 1, 4, 0);
    keep(stage, 1, 2, 1, 4, 0);
    for (const std::uint32_t part : {0U, 1U, 2U}) read(stage, 1, part, 6);
  });
  REQUIRE(lines.size() == 8);
  for (std::size_t part = 0; part < 3; ++part)
    CHECK(lines[part].ends_with(fmt::format(" shard {}: version 2 of epoch 1, for 6", part)));
}

TEST_CASE("storage: all that a group asks for is of one version, and the next group's may be newer",
          "[roles][storage]") {
  const Lines lines = play(staged, [](Stage& stage) {
    for (const std::uint32_t part : {0U, 1U, 2U}) keep(stage, 1, part, 1, 2, 0);
    read(stage, 1, 0, 6);
    for (const std::uint32_t part : {0U, 1U, 2U}) keep(stage, 1, part, 1, 4, 0);  // now 4 is whole
    read(stage, 1, 1, 6);
    read(stage, 1, 0, 7);
    read(stage, 1, 2, 6);  // of a group that is no more
  });
  REQUIRE(lines.size() == 10);
  CHECK(lines[0].ends_with(" shard 0: version 2 of epoch 1, for 6"));
  CHECK(lines[1].ends_with(" shard 1: version 2 of epoch 1, for 6"));
  CHECK(lines[2].ends_with(" shard 0: version 4 of epoch 1, for 7"));
  CHECK(lines[3].ends_with(" shard 2: version 4 of epoch 1, for 6"));
}

TEST_CASE("storage: as long as a part has no snapshot stages have nothing to go back to",
          "[roles][storage]") {
  const Lines lines = play(staged, [](Stage& stage) {
    keep(stage, 1, 0, 1, 2, 0);
    keep(stage, 1, 2, 1, 2, 0);
    read(stage, 1, 0, 6);
  });
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].ends_with(" shard 0: version 0 of epoch 0, for 6"));
}

TEST_CASE("storage: a part of a shard is read in the time of that part", "[roles][storage]") {
  const Lines lines = play(served, [](Stage& stage) {
    ShardState::Options options{.first_worker = stage.worker(0),
                                .rule = stage.plan().shared_rule,
                                .steps = 9,
                                .part = {.range = {0, 40}}};
    const auto whole = std::make_shared<const ShardState>(options, std::nullopt, 40);
    stage.job().network.send({.from = 1,
                              .to = stage.plan().snapshot_node(),
                              .body = State{.version = 5, .shard = whole, .bytes = 1000}});
    stage.sleep(20);  // written from 1 to 11 s
    stage.job().network.send(
        {.from = 1, .to = stage.plan().snapshot_node(), .body = Restore{.part = {.range = {20, 20}}}});
    const Message message = stage.job().network.receive(1);
    stage.say(fmt::format("{} bytes", message.as<State>()->bytes));
  });
  // 20 values, and a count of pushes for each of two workers; a second each way.
  CHECK(lines.front() == "22.96 96 bytes");
}
