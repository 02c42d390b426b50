// Goal: summaries have the keys of the schema, each with what it says, and no others. Method: summaries of
// scenarios that have every part between them.
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/record/summary_schema.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim;
using namespace psim::test;

namespace {

bool holds(Holds what, const Json& value) {
  switch (what) {
    case Holds::truth: return value.is_boolean();
    case Holds::number: return value.is_number();
    case Holds::text: return value.is_string();
    case Holds::object:
    case Holds::map: return value.is_object();
    default: return value.is_array();
  }
}

// `seen`: paths without the numbers of elements.
void compare(const Json& json, std::span<const SummaryKey> keys, const std::string& path,
             std::set<std::string>& seen) {
  for (const auto& [name, value] : json.items()) {
    INFO(path << "/" << name);
    const auto key = std::ranges::find(keys, name, &SummaryKey::name);
    REQUIRE(key != keys.end());
    seen.insert(path + "/" + name);
    if (value.is_null()) {
      CHECK(key->there == There::maybe);
      continue;
    }
    CHECK(holds(key->holds, value));
    if (key->of.empty()) continue;
    if (value.is_object()) compare(value, key->of, path + "/" + name, seen);
    else
      for (const Json& one : value) compare(one, key->of, path + "/" + name, seen);
  }
  for (const SummaryKey& key : keys) {
    INFO(path << "/" << key.name);
    if (key.there == There::needed || key.there == There::always) CHECK(json.contains(std::string(key.name)));
  }
}

void all_paths(std::span<const SummaryKey> keys, const std::string& path, std::set<std::string>& all) {
  for (const SummaryKey& key : keys) {
    const std::string place = path + "/" + std::string(key.name);
    all.insert(place);
    all_paths(key.of, place, all);
  }
}

// Parts of groups that two_jobs does not have.
bool is_rare_in_groups(const std::string& path) {
  const auto has = [&path](const char* part) { return path.find(part) != std::string::npos; };
  return path.starts_with("/groups") && (has("final_validation/") || has("target/loss") ||
                                         has("target/hold") || has("curve/joules") || has("curve/dollars"));
}

}  // namespace

TEST_CASE("summaries have the keys of the schema, and no others", "[summary][slow]") {
  std::set<std::string> seen, all;
  const std::vector<std::vector<std::string>> runs{
      {"worked_example"},
      {"server_crash"},
      {"serving"},
      {"two_jobs"},
      {"tasks"},
      {"energy"},
      {"slow_node"},
      {"clicks"},
      {"ring_join"},
      {"warm_start"},
      {"devices"},
      {"multi_precision"},
      {"quickstart", "data.validation_fraction=0.25", "training.target={accuracy=0.5, hold=2}"},
      {"ring_crash", "architecture.kind=\"all-reduce\""},
      {"quickstart", "training.local_steps=2"},
      {"quickstart", "training.local_time=\"20ms\""},
      {"rack_aggregation", "cluster.network.aggregate=\"rack\""}};
  for (const std::vector<std::string>& one : runs) {
    INFO(one.front());
    const FieldValues settings(one.begin() + 1, one.end());
    compare(run_scenario(scenario_file("scenarios/" + one.front() + ".toml", settings)), summary_keys, "",
            seen);
  }
  all_paths(summary_keys, "", all);
  // Groups have evaluations and curves like the run, and no scenario here has all of them.
  std::erase_if(all, [](const std::string& path) {
    return path.ends_with("/auc") || path.ends_with("/nonzero_weights") ||
           path.starts_with("/shard_bounds") || is_rare_in_groups(path);
  });
  for (const std::string& path : all) {
    INFO(path);
    CHECK(seen.contains(path));
  }
}

TEST_CASE("a path that summaries do not have is none", "[summary]") {
  CHECK(is_summary_path("/target/given"));
  CHECK(is_summary_path("/curve/0/loss"));
  CHECK(is_summary_path("/workers/12/time/wait_share"));
  CHECK(is_summary_path("/bytes_by_kind/push"));
  CHECK_FALSE(is_summary_path("/sim_time"));
  CHECK_FALSE(is_summary_path("/target/given/more"));
  CHECK_FALSE(is_summary_path("/workers/12/tim"));
  CHECK_FALSE(is_summary_path("target/given"));
}
