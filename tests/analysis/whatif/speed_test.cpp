#include "analysis/whatif/predict.hpp"

#include <fstream>
#include <string>
#include <vector>

#include "analysis/whatif/change.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::analysis;

namespace {

// Of two workers the second is four times slower for a quarter of every second, from .5 s to .75 s at first.
Facts facts() {
  Facts facts;
  facts.servers = 1;
  facts.workers = 2;
  facts.stragglers = {
      {.workers = {1}, .slowdown = 4, .from = 0.5, .until = 0.75, .every = 1.0, .probability = {}}};
  return facts;
}

}  // namespace

TEST_CASE("a slow time that comes again begins at its own date, not with the run", "[what-if]") {
  const Facts known = facts();
  const Speed speed(known);
  for (const double turn : {0.0, 1.0, 7.0}) {
    INFO("turn " << turn);
    CHECK(speed.work(1, turn, turn + 0.5) == Approx(0.5));
    CHECK(speed.work(1, turn + 0.5, turn + 0.75) == Approx(0.0625));
    CHECK(speed.work(1, turn + 0.75, turn + 1) == Approx(0.25));
    CHECK(speed.work(1, turn + 0.6, turn + 1.6) == Approx(0.8125));
    CHECK(speed.end(1, turn + 0.4, 0.1 + 0.0625 + 0.1) == Approx(turn + 0.85));
  }
  CHECK(speed.end(1, 0.75, 0.25) == 1.0);  // the date at which a slow time ends is none of it
  CHECK(speed.work(0, 0, 10) == 10);
  CHECK(Speed(known, {false, true}).work(1, 0, 10) == 10);
}

TEST_CASE("what changes computing changes the time and its shift alike", "[what-if]") {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << "[compute]\ntime = \"8s\"\nshift = \"2s\"\n";
  const auto sets =
      sets_of({.what = Change::What::compute, .nodes = {}, .factor = 0.5, .text = {}, .sets = {}},
              folder.path(), facts());
  CHECK(sets == std::vector<std::string>{"compute.time=4s", "compute.shift=1s"});
}

TEST_CASE("slow times that meet multiply", "[what-if]") {
  Facts known = facts();
  known.stragglers.push_back(
      {.workers = {0, 1}, .slowdown = 2, .from = 0.25, .until = 0.625, .every = {}, .probability = {}});
  const Speed speed(known);
  // Halves of the time of both: at full speed, at half of it, at an eighth, and at a quarter.
  CHECK(speed.work(1, 0, 0.25) == Approx(0.25));
  CHECK(speed.work(1, 0.25, 0.5) == Approx(0.125));
  CHECK(speed.work(1, 0.5, 0.625) == Approx(0.125 / 8));
  CHECK(speed.work(1, 0.625, 0.75) == Approx(0.125 / 4));
  CHECK(speed.work(0, 0, 1) == Approx(1 - 0.375 / 2));
}

TEST_CASE("a change of computing or of the network is one of every field that says how fast they are",
          "[what-if]") {
  const auto sets = [](Change::What what, const std::string& scenario) {
    const psim::test::TemporaryFolder folder;
    std::ofstream(folder.path() / "scenario.toml") << scenario;
    return sets_of({.what = what, .nodes = {}, .factor = 0.5, .text = {}, .sets = {}}, folder.path(),
                   facts());
  };
  using Texts = std::vector<std::string>;
  CHECK(sets(Change::What::compute,
             "[cluster.worker]\nspeed = [\"2f\", \"4f\"]\n[cluster.worker.device]\n"
             "speeds = [\"1f\", \"3f\"]\n") ==
        Texts{"cluster.worker.speed=[\"4f\", \"8f\"]", "cluster.worker.device.speeds=[\"2f\", \"6f\"]"});
  const std::string graph =
      "[cluster.network]\nbandwidth = \"8Bps\"\nlatency = \"4s\"\n[[cluster.network.link]]\nbetween = "
      "[\"a\", \"b\"]\n[[cluster.network.link]]\nbetween = [\"b\", \"c\"]\nbandwidth = "
      "\"6Bps\"\nlatency = \"2s\"\n";
  CHECK(sets(Change::What::bandwidth, graph) ==
        Texts{"cluster.network.bandwidth=4Bps", "cluster.network.link.1.bandwidth=3Bps"});
  CHECK(sets(Change::What::latency, graph) ==
        Texts{"cluster.network.latency=2s", "cluster.network.link.1.latency=1s"});
}

namespace {

// The fields of a change by a factor, in a scenario of this text.
std::vector<std::string> scaled(Change::What what, double factor, const std::string& toml) {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << toml;
  return sets_of({.what = what, .nodes = {}, .factor = factor, .text = {}, .sets = {}}, folder.path(),
                 facts());
}

}  // namespace

TEST_CASE("what scales the network scales its links, too, and an overhead has two ends", "[what-if]") {
  using Sets = std::vector<std::string>;
  const std::string graph =
      "[cluster.network]\nbandwidth = \"1MBps\"\nlatency = \"1s\"\n"
      "link = [{ bandwidth = \"2MBps\" }, { latency = \"3s\" }]\n";
  CHECK(scaled(Change::What::bandwidth, 2, graph) ==
        Sets{"cluster.network.bandwidth=2000000Bps", "cluster.network.link.0.bandwidth=4000000Bps"});
  CHECK(scaled(Change::What::latency, 0.5, graph) ==
        Sets{"cluster.network.latency=0.5s", "cluster.network.link.1.latency=1.5s"});
  CHECK(scaled(Change::What::overhead, 0.5,
               "[cluster.network.endpoint]\nsend_overhead = \"2s\"\nreceive_overhead = \"4s\"\n"
               "receive_bandwidth = \"1MBps\"\n") ==
        Sets{"cluster.network.endpoint.send_overhead=1s", "cluster.network.endpoint.receive_overhead=2s",
             "cluster.network.endpoint.receive_bandwidth=2000000Bps"});
  CHECK(scaled(Change::What::window, 2, "[cluster.network]\ntcp_window = \"1MiB\"\n") ==
        Sets{"cluster.network.tcp_window=2097152B"});
  CHECK(scaled(Change::What::server_work, 0.5, "[cluster.server]\nflops_per_value = 8\n") ==
        Sets{"cluster.server.flops_per_value=4"});
}

TEST_CASE("a later crash moves crashes with a date, and no faults leaves out all", "[what-if]") {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml")
      << "fault = [{ kind = \"crash\", nodes = [\"worker 0\", \"worker 1\"], at = \"1s\" },"
         "{ kind = \"degrade\", nodes = [\"server 0\"], at = \"1s\" }]\n";
  const auto sets = [&](Change change) { return sets_of(change, folder.path(), facts()); };
  const std::string degrade = "{ at = '1s', kind = 'degrade', nodes = [ 'server 0' ] }";
  CHECK(sets({.what = Change::What::later_crash, .nodes = {}, .later = 2, .text = {}, .sets = {}}) ==
        std::vector<std::string>{
            "fault=[{ at = '3s', kind = 'crash', nodes = [ 'worker 0', 'worker 1' ] }, " + degrade + "]"});
  CHECK(sets({.what = Change::What::no_fault, .nodes = {}, .text = {}, .sets = {}}) ==
        std::vector<std::string>{"fault=[]"});
  CHECK(sets({.what = Change::What::no_fault, .nodes = {3}, .text = {}, .sets = {}}) ==
        std::vector<std::string>{"fault=[{ at = '1s', kind = 'crash', nodes = [ 'worker 0' ] }, " + degrade +
                                 "]"});
}

TEST_CASE("a change is understood as it is written", "[what-if]") {
  const auto factors = [](const std::string& text) {
    std::vector<double> all;
    for (const Change& one : changes_of(text, facts())) all.push_back(one.factor);
    return all;
  };
  CHECK(factors("compute=50,75%") == std::vector<double>{0.5, 0.75});
  CHECK(factors("compute=worker 1:0.5,2x") == std::vector<double>{0.5, 2});
  CHECK(changes_of("compute=worker-1:50%", facts()).front().nodes == std::vector<std::uint32_t>{3});
  CHECK(factors("bandwidth=50%") == std::vector<double>{0.5});
  CHECK(factors("latency=0x") == std::vector<double>{0});
  CHECK_THROWS(changes_of("bandwidth=0x", facts()));
  CHECK(changes_of("no-straggler=worker1", facts()).front().nodes == std::vector<std::uint32_t>{3});
  CHECK_THROWS(changes_of("no-straggler=worker 0", facts()));
  CHECK_THROWS(changes_of("compute=worker 2:50%", facts()));
  CHECK_THROWS(changes_of("no-faults", facts()));  // there are none
  CHECK(changes_of("servers=4", facts()).front().sets == std::vector<std::string>{"cluster.servers=4"});
  CHECK(changes_of("placement=hash-ring", facts()).front().sets ==
        std::vector<std::string>{"placement.kind=\"hash-ring\""});
}
