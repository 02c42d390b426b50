// What contradicts itself is refused, and what just fits is not: both sides of each comparison between two
// fields.
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

using Sets = std::vector<std::string>;

constexpr const char* base = R"([data]
source = "blobs"
samples = 200
features = 4
classes = 3
test_fraction = 0.0
[model]
layers = [4, 5, 3]
[training]
steps = 5
batch_size = 8
[cluster]
workers = 4
servers = 2
[compute]
time = "1ms"
)";

struct Bound {
  Sets beside;              // what both have
  std::string fits, fails;  // the last that is right, the first that is wrong
  std::string message;
};

std::string fault(const std::string& fields) { return "fault=[{" + fields + "}]"; }
std::string crash(const std::string& fields) {
  return fault(R"(kind="crash", nodes=["worker 0"], )" + fields);
}
std::string slow(const std::string& fields) {
  return fault(R"(kind="slow", nodes=["worker 0"], factor=0.5, )" + fields);
}
std::string straggler(const std::string& fields) { return "straggler=[{slowdown=2.0, " + fields + "}]"; }

const std::vector<Bound> faults{
    {{},
     crash(R"(at="1s", every="2s", restart_after="1999ms")"),
     crash(R"(at="1s", every="2s", restart_after="2s")"),
     "the next crash happens before the restart"},
    {{},
     slow(R"(from="1s", until="2s", every="1s")"),
     slow(R"(from="1s", until="2001ms", every="1s")"),
     "the fault lasts longer than its period"},
    {{},
     slow(R"(at="1s", lasts="1s", every="1s")"),
     slow(R"(at="1s", lasts="1001ms", every="1s")"),
     "the fault lasts longer than its period"},
    {{},
     slow(R"(from="1s", until="1001ms")"),
     slow(R"(from="1s", until="1s")"),
     "the fault ends before it begins"},
    {{"training.duration=1s"},
     crash(R"(at="999ms")"),
     crash(R"(at="1s")"),
     "the fault begins after the end of the run"},
    {{"training.duration=1s"},
     slow(R"(from="999ms")"),
     slow(R"(from="1s")"),
     "the fault begins after the end of the run"},
    {{"recovery.heartbeat=1s", "recovery.timeout=3s"},
     slow(R"(at="1s", lasts="1us", every="10us")"),
     slow(R"(at="1s", lasts="1us", every="9us")"),
     "the fault comes every 9e-06 s"},
    {{}, "replication.copies=1", "replication.copies=2", "2 copies of each shard next to its owner"},
    {{"recovery.enabled=true", "recovery.heartbeat=1s"},
     "recovery.timeout=1001ms",
     "recovery.timeout=1s",
     "the scheduler would suspect a node between two of its heartbeats"},
};

const std::vector<Bound> cluster{
    {{},
     straggler(R"(workers=[0], from="1s", until="1001ms")"),
     straggler(R"(workers=[0], from="1s", until="1s")"),
     "the slow time ends before it begins"},
    {{},
     straggler(R"(workers=[0], from="1s", until="2s", every="1s")"),
     straggler(R"(workers=[0], from="1s", until="2s", every="999ms")"),
     "the slow time is longer than its period"},
    {{}, straggler("workers=[3]"), straggler("workers=[4]"), "there is no worker 4"},
    {{"cluster.colocate=true"}, "cluster.servers=4", "cluster.servers=5", "there are 5 servers"},
    {{}, "cluster.spares=3", "cluster.spares=4", "4 spares among 4 workers"},
    {{"cluster.worker.power.idle=100W"},
     "cluster.worker.power.full=100W",
     "cluster.worker.power.full=99W",
     "a node draws 99 W when it works and 100 W when it does not"},
    {{"cluster.network.topology=two-tier"},
     "cluster.network.racks=6",
     "cluster.network.racks=7",
     "`cluster.network.racks` is 7"},
    {{},
     "cluster.worker.device.count=8",
     "cluster.worker.device.count=9",
     "`cluster.worker.device.count` is 9"},
};

const std::vector<Bound> learning{
    {{"consistency.model=k-sync"}, "consistency.k=4", "consistency.k=5", "`consistency.k` is 5"},
    {{"consistency.model=k-sync"},
     "consistency.backup=3",
     "consistency.backup=4",
     "`consistency.backup` is 4"},
    {{"consistency.model=dssp", "consistency.staleness=3"},
     "consistency.staleness_max=3",
     "consistency.staleness_max=2",
     "`staleness_max` 2 is below `staleness` 3"},
    {{"consistency.model=ssp"},
     "consistency.staleness_schedule=[[0, 1], [1, 2]]",
     "consistency.staleness_schedule=[[1, 1], [1, 2]]",
     "row 2 of the schedule is wrong"},
    {{"consistency.model=ssp", "messages.unit=array"},
     "consistency.array=[{layer=1, staleness=2}]",
     "consistency.array=[{layer=2, staleness=2}]",
     "there is no layer 2"},
    {{}, "training.batch_size=50", "training.batch_size=51", "`training.batch_size` is 51"},
    {{"architecture.kind=model-parallel"},
     "cluster.workers=2",
     "cluster.workers=3",
     "`cluster.workers` is 3"},
    {{"architecture.kind=model-parallel", "cluster.workers=2"},
     "architecture.micro_batches=16",
     "architecture.micro_batches=17",
     "`architecture.micro_batches` is 17"},
    {{"model={kind=\"phantom\", parameters=3}", "data={}"},
     "cluster.servers=3",
     "cluster.servers=4",
     "`cluster.servers` is 4"},
    {{"data={source=\"clicks\", samples=200, features=60, nonzeros=10}", "model={kind=\"logistic\"}"},
     "data.features=10",
     "data.features=9",
     "9 features for samples with 10 nonzeros"},
    {{}, "model.layers=[4, 3]", "model.layers=[4]", "`model.layers` is too short"},
};

}  // namespace

TEST_CASE("both sides of every bound between two fields", "[bounds][slow]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "base.toml") << base;
  const auto checked = [&](const Bound& bound, const std::string& last) {
    std::vector<std::string> words{"check", "base.toml"};
    for (const std::string& set : bound.beside) words.insert(words.end(), {"--set", set});
    words.insert(words.end(), {"--set", last});
    return psim::test::psim(words, folder.path());
  };
  for (const std::vector<Bound>* table : {&faults, &cluster, &learning}) {
    for (const Bound& bound : *table) {
      INFO(bound.fits << "\n" << bound.fails);
      const Outcome fits = checked(bound, bound.fits), fails = checked(bound, bound.fails);
      CHECK(fits.code == 0);
      CHECK(fails.code == 2);
      CHECK(fails.err.find(bound.message) != std::string::npos);
    }
  }
}
