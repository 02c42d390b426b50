// The shrinker against judges that are no simulations.
#include "sim/fuzz/shrink.hpp"

#include <algorithm>

#include "sim/fuzz/generator.hpp"
#include "tests/support/catch.hpp"

using namespace psim::fuzz;

namespace {

Draft large() {
  return {.tables = {{.name = "training", .rows = {{"steps", "17", true}, {"optimizer", "\"adam\""}}},
                     {.name = "cluster", .rows = {{"workers", "6", true}, {"servers", "4", true}}},
                     {.name = "snapshot", .rows = {{"every", "\"5ms\""}}},
                     {.name = "fault", .many = true, .rows = {{"kind", "\"crash\""}, {"at", "\"1ms\""}}},
                     {.name = "fault", .many = true, .rows = {{"kind", "\"drop\""}, {"at", "\"2ms\""}}}}};
}

bool has_fault(const Draft& draft, const std::string& kind) {
  return std::ranges::any_of(draft.tables, [&](const Table& table) {
    const std::string* found = table.find("kind");
    return found != nullptr && *found == kind;
  });
}

}  // namespace

TEST_CASE("what always fails shrinks to what is needed", "[fuzz]") {
  CHECK(to_toml(shrink(large(), [](const Draft&) { return true; })) ==
        "[training]\nsteps = 1\n\n[cluster]\nworkers = 1\nservers = 1\n");
}

TEST_CASE("what a failure needs stays", "[fuzz]") {
  const auto fails = [](const Draft& draft) {
    return has_fault(draft, "\"drop\"") && std::stoll(*draft.find("cluster", "workers")) >= 3;
  };
  CHECK(to_toml(shrink(large(), fails)) ==
        "[training]\nsteps = 1\n\n[cluster]\nworkers = 3\nservers = 1\n\n[[fault]]\nkind = \"drop\"\n");
}

TEST_CASE("what goes only after something else is tried again", "[fuzz]") {
  const auto fails = [](const Draft& draft) {  // no snapshot only with few steps
    return draft.find("snapshot", "every") != nullptr || std::stoll(*draft.find("training", "steps")) < 5;
  };
  CHECK(shrink(large(), fails).find("snapshot", "every") == nullptr);
}

TEST_CASE("a draft that cannot shrink stays as it is, and none is asked for twice", "[fuzz]") {
  std::vector<std::string> asked;
  const Draft least = shrink(large(), [&](const Draft& draft) {
    asked.push_back(to_toml(draft));
    return false;
  });
  CHECK(least == large());
  std::ranges::sort(asked);
  CHECK(std::ranges::adjacent_find(asked) == asked.end());
  CHECK(asked.size() >= 10);
}

TEST_CASE("a draw depends on its seed, run and attempt only", "[fuzz]") {
  CHECK(draw(1, 7, 0) == draw(1, 7, 0));
  CHECK_FALSE(draw(1, 7, 0) == draw(1, 8, 0));
  CHECK_FALSE(draw(1, 7, 0) == draw(2, 7, 0));
  CHECK_FALSE(draw(1, 7, 0) == draw(1, 7, 1));
}

TEST_CASE("every kind of fault and every consistency model is drawn", "[fuzz]") {
  std::set<std::string> seen;
  for (std::uint64_t run = 0; run < 300; ++run) seen.merge(features(draw(1, run, 0)));
  for (const std::string name : {"fault.kind crash",
                                 "fault.kind restart",
                                 "fault.kind leave",
                                 "fault.kind join",
                                 "fault.kind slow",
                                 "fault.kind link-down",
                                 "fault.kind degrade",
                                 "fault.kind partition",
                                 "fault.kind heal",
                                 "fault.kind drop",
                                 "fault.kind duplicate",
                                 "fault.kind delay",
                                 "fault.kind reorder",
                                 "fault.kind disk-loss",
                                 "consistency.model bsp",
                                 "consistency.model ssp",
                                 "consistency.model asp",
                                 "consistency.model k-sync",
                                 "consistency.model k-batch-sync",
                                 "consistency.model k-async",
                                 "consistency.model k-batch-async",
                                 "consistency.model dssp",
                                 "fault.mtbf",
                                 "fault.when",
                                 "fault.every",
                                 "replication.layout chain",
                                 "snapshot.every",
                                 "cluster.network.topology two-tier"}) {
    CAPTURE(name);
    CHECK(seen.contains(name));
  }
}
