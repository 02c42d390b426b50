// Presets: every row of the table is a default that a scenario really gets, and what a file says goes before.
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "sim/scenario/load.hpp"
#include "sim/scenario/reference/reference.hpp"
#include "sim/scenario/spec/presets.hpp"
#include "tests/support/catch.hpp"

using namespace psim;

namespace {

constexpr auto plain = "[model]\nlayers = [64, 32, 10]\n[training]\nepochs = 1\n";

struct Loaded {
  std::optional<Scenario> scenario;
  std::string report;
};

Loaded load(const std::string& text, std::vector<Override> overrides = {}) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("psim-presets-{}.toml", getpid());
  std::ofstream(path) << text;
  Diagnostics diagnostics;
  const auto loaded =
      load_scenario({.path = path.string(), .overrides = std::move(overrides), .data_dirs = {}}, diagnostics);
  std::filesystem::remove(path);
  if (!loaded) return {std::nullopt, diagnostics.render()};
  return {loaded->scenario, diagnostics.render()};
}

Scenario with(std::string_view preset, const std::string& rest = "", std::vector<Override> overrides = {}) {
  const Loaded loaded = load(fmt::format("preset = \"{}\"\n{}{}", preset, plain, rest), std::move(overrides));
  INFO(loaded.report);
  REQUIRE(loaded.scenario);
  return *loaded.scenario;
}

std::string without_preset(const Scenario& scenario) {
  Scenario copy = scenario;
  copy.preset = "none";
  return resolved_toml(copy);
}

}  // namespace

TEST_CASE("a preset is the same as its rows given by --set", "[presets]") {
  for (const PresetTable& table : all_rows<PresetTable>()) {
    INFO(table.name);
    std::vector<Override> rows;
    for (const PresetRow& row : table.rows) {
      if (row.field.empty()) continue;
      rows.push_back(
          {std::string(row.field), row.value == all_workers ? std::string("8") : std::string(row.value)});
    }
    const std::string devices = "[cluster.worker.device]\ncount = 2\n";  // of one there is nothing to add up
    const Scenario by_hand = with("none", devices, rows);
    const Scenario preset = with(table.name, devices);
    CHECK(preset.preset->name == table.name);
    CHECK(without_preset(preset) == without_preset(by_hand));
    CHECK((without_preset(preset) == without_preset(with("none", devices))) == table.rows.empty());
  }
}

TEST_CASE("the resolved scenario of a preset reads back as the same scenario", "[presets]") {
  for (const PresetTable& table : all_rows<PresetTable>()) {
    INFO(table.name);
    for (const bool filters : {true, false}) {
      const Loaded first =
          load(fmt::format("{}preset = \"{}\"\n{}", filters ? "" : "filter = []\n", table.name, plain));
      REQUIRE(first.scenario);
      const std::string text = resolved_toml(*first.scenario);
      const Loaded again = load(text);
      INFO(again.report);
      REQUIRE(again.scenario);
      CHECK(resolved_toml(*again.scenario) == text);
    }
  }
}

TEST_CASE("rows of presets say where they are from, and set a field once", "[presets]") {
  for (const PresetTable& table : all_rows<PresetTable>()) {
    std::set<std::string_view> fields;
    for (const PresetRow& row : table.rows) {
      INFO(table.name << " " << row.field);
      CHECK_FALSE(row.does.empty());
      CHECK_FALSE(row.source.empty());
      CHECK(row.field.empty() == row.value.empty());
      if (!row.field.empty()) CHECK(fields.insert(row.field).second);
    }
  }
}

TEST_CASE("defaults of real systems", "[presets]") {
  const Scenario sync = with("mxnet-dist_sync");
  CHECK(sync.consistency.model == "bsp");
  CHECK(sync.consistency.aggregation.row->is_sum);
  CHECK(sync.placement.kind == PlacementKind::kvstore);
  CHECK(sync.placement.bigarray_bound == 1'000'000);  // MXNET_KVSTORE_BIGARRAY_BOUND
  CHECK(sync.cluster.worker_devices.aggregate == DeviceAggregation::host);
  for (const auto* name : {"mxnet-dist_sync_device", "mxnet-dist_async_device"})
    CHECK(with(name).cluster.worker_devices.aggregate == DeviceAggregation::device);
  CHECK(with("mxnet-dist_async_device").consistency.model == "asp");
  const Scenario byteps = with("byteps");
  CHECK(byteps.messages.slice * 4 == 4'096'000);  // BYTEPS_PARTITION_BYTES
  CHECK(byteps.training.update == UpdateAt::worker);
  CHECK(with("bosen-ssppush").consistency.staleness == 0);
  const Scenario osdi14 = with("osdi14");
  REQUIRE(osdi14.filters.size() == 2);
  CHECK(osdi14.filters[0].kind == "key-caching");
  CHECK(osdi14.filters[1].kind == "snappy");
  CHECK(osdi14.messages.keys == KeyFormat::per_value);
}

TEST_CASE(
    "a preset says what a system does about failures, and turns them on only where they are in its name",
    "[presets]") {
  for (const PresetTable& table : all_rows<PresetTable>())
    CHECK(with(table.name).may_fail() == (table.name == "ps-lite-resend"));
  const RecoverySpec resend = with("ps-lite-resend").recovery;
  CHECK(resend.retry.value == 1);  // PS_RESEND_TIMEOUT
  CHECK(resend.backoff == 1);
  CHECK(resend.retry_limit == 9);  // the tenth expiry aborts
  CHECK(resend.semantics == Semantics::exactly_once);
  for (const auto* name : {"ps-lite", "ps-lite-resend", "mxnet-dist_sync", "mxnet-dist_async"}) {
    CHECK(with(name).recovery.workers == LostWorkers::wait);
    CHECK(with(name).recovery.servers == LostServers::wait);
  }
  const RecoverySpec angel = with("angel-ssp").recovery;
  CHECK(angel.heartbeat.value == 5);
  CHECK(angel.timeout.value == 600);
}

// Its workers wait for a token after each push, and an update gives each of them one.
TEST_CASE("tf1-syncreplicas waits for all, or for the first k, and drops the rest", "[presets]") {
  CHECK(with("tf1-syncreplicas").consistency.model == "k-sync");
  CHECK(with("tf1-syncreplicas").consistency.late == Late::drop);
}

TEST_CASE("k of tf1-syncreplicas is the number of workers, unless it is given", "[presets]") {
  CHECK(with("tf1-syncreplicas").consistency.k == 8);
  CHECK(with("tf1-syncreplicas", "[cluster]\nworkers = 5\n").consistency.k == 5);
  CHECK(with("tf1-syncreplicas", "", {{"cluster.workers", "6"}}).consistency.k == 6);
  CHECK(with("tf1-syncreplicas", "[consistency]\nk = 3\n").consistency.k == 3);
}

TEST_CASE("what the file or --set says goes before a preset", "[presets]") {
  const std::string file = "[consistency]\nmodel = \"ssp\"\nstaleness = 2\n[placement]\nkind = \"greedy\"\n";
  for (const PresetTable& table : all_rows<PresetTable>()) {
    if (table.name == "byteps") continue;  // workers that update themselves need bsp
    INFO(table.name);
    const Scenario scenario = with(table.name, file, {{"messages.order", "priority"}});
    CHECK(scenario.consistency.model == "ssp");
    CHECK(scenario.consistency.staleness == 2);
    CHECK(scenario.placement.kind == PlacementKind::greedy);
    CHECK(scenario.messages.order == SendOrder::priority);
  }
  CHECK(with("osdi14", "[[filter]]\nkind = \"fp16\"\n").filters.size() == 1);
}

TEST_CASE("a row without a meaning beside what the file chose is left out", "[presets]") {
  CHECK(with("bosen-ssppush", "[consistency]\nmodel = \"asp\"\n").consistency.model == "asp");
  CHECK(with("byteps", "[messages]\nunit = \"server\"\n").messages.unit == MessageUnit::server);
  CHECK_FALSE(with("tf1-syncreplicas", "", {{"consistency.model", "bsp"}}).consistency.k);
}

TEST_CASE("a preset of the file makes fields meaningless, and says so, and one from outside leaves them out",
          "[presets]") {
  const std::string staleness = fmt::format("{}[consistency]\nstaleness = 2\n", plain);
  const Loaded in_file = load("preset = \"mxnet-dist_async\"\n" + staleness);
  CHECK_FALSE(in_file.scenario);
  CHECK_THAT(in_file.report, Catch::Contains("model is asp by preset mxnet-dist_async"));
  CHECK(load(staleness, {{"preset", "mxnet-dist_async"}}).scenario);
  CHECK(load("preset = \"bosen-ssppush\"\n" + staleness).scenario->consistency.staleness == 2);
  CHECK_FALSE(load("preset = \"bosen-ssppush\"\n" + staleness,
                   {{"preset", "ps-lite"}, {"consistency.staleness", "1"}})
                  .scenario);
}

TEST_CASE("a contradiction shows that a value is a preset's", "[presets]") {
  const Loaded byteps =
      load(fmt::format("preset = \"byteps\"\n{}", plain), {{"training.algorithm", "elastic"}});
  CHECK_FALSE(byteps.scenario);
  CHECK_THAT(byteps.report,
             Catch::Contains("preset byteps") && Catch::Contains("not with elastic averaging"));
}
