// What every run must keep, whatever the scenario: nothing is lost from sight, nobody is stuck, and the run
// does not depend on threads and contexts. Random small scenarios; RC_PARAMS="seed=... max_success=..."
// chooses others and more.
#include <rapidcheck.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

constexpr unsigned limit_s = 20;

int between(int least, int most) { return *rc::gen::inRange(least, most + 1); }
std::string one_of(const std::vector<std::string>& values) { return *rc::gen::elementOf(values); }

std::string consistency(const std::string& name, int workers) {
  const std::string k = fmt::format("k = {}\n", between(1, workers));
  if (name == "ssp") return fmt::format("staleness = {}\n", between(0, 5));
  if (name == "dssp")
    return fmt::format("staleness = {}\nstaleness_max = {}\n", between(0, 3), between(3, 8));
  if (name == "k-sync" || name == "k-batch-sync")
    return k + fmt::format("late = \"{}\"\n", one_of({"cancel", "drop"}));
  return name.starts_with("k-") ? k : "";
}

// Steps that take no time would never come to the end of a duration.
std::string compute(bool by_duration) {
  const std::string time =
      fmt::format("time = \"{}\"\n", one_of({by_duration ? "50us" : "0s", "100us", "1ms", "20ms"}));
  return time + "distribution = " +
         one_of({"\"constant\"", "\"uniform\"\ncv = 0.5", "\"exponential\"", "\"pareto\"\nalpha = 1.2",
                 "\"gamma\"\ncv = 3.0", "\"lognormal\"\ncv = 1.0", "\"markov\"",
                 "\"shifted-exponential\"\nshift = \"0s\""});
}

std::string stragglers(int workers) {
  return one_of(
      {"", fmt::format("[[straggler]]\nworkers = [{}]\nslowdown = 20.0\n", workers - 1),
       "[[straggler]]\nworkers = [0]\nslowdown = 5.0\nprobability = 0.3\n",
       "[[straggler]]\nworkers = [0]\nslowdown = 7.0\nfrom = \"1ms\"\nuntil = \"4ms\"\nevery = \"9ms\"\n"});
}

std::string network() {
  return fmt::format(
      "latency = \"{}\"\nbandwidth = \"{}\"\nshare_spread = {}\nsimgrid_model = \"{}\"\ncross_traffic = "
      "{}\nheader = \"{}\"\nmodel = \"{}\"\n{}\n",
      one_of({"0s", "1us", "50us", "5ms"}), one_of({"1Mbps", "100Mbps", "10Gbps", "1000Tbps"}),
      one_of({"0.0", "0.5", "2.0"}), one_of({"cm02", "lv08"}), one_of({"true", "false"}),
      one_of({"0B", "64B"}), one_of({"fluid", "nic"}),
      one_of({"topology = \"star\"", "topology = \"two-tier\"\nracks = 2", "topology = \"fat-tree\"",
              "topology = \"torus\"", "topology = \"dragonfly\"\nrouters = 2"}));
}

bool chance(double of_one) { return between(1, 100) <= std::lround(of_one * 100); }

std::string learning(bool phantom) {
  if (phantom)
    return one_of({"[model]\nkind = \"phantom\"\nparameters = 50\n[training]\nbatch_size = 1\n",
                   "[model]\nkind = \"phantom\"\nparameters = 20_000\n[training]\nbatch_size = 1\n",
                   "[model]\nkind = \"phantom\"\narrays = [30, 5, 7_000]\n[training]\nbatch_size = 1\n"});
  return one_of(
      {"[data]\nsource = \"blobs\"\nsamples = 60\n[model]\nlayers = [2, 4, 3]\n[training]\nbatch_size = "
       "2\nevaluate_every = \"3 updates\"\n",
       "[data]\nsource = \"blobs\"\nsamples = 60\n[model]\nlayers = [2, 4, 3]\n[training]\nbatch_size = "
       "3\noptimizer = \"adam\"\n"});
}

// Which options a scenario can have beside one another.
struct Options {
  std::string model;  // of consistency
  bool phantom, large, adam, overlap;
  // Late pushes are dropped.
  bool fresh() const { return model == "bsp" || model == "k-sync" || model == "k-batch-sync"; }
  bool first_k() const { return fresh() && model != "bsp"; }
  bool makes_groups() const { return model.starts_with("k-"); }
};

// How often workers and servers meet, and what a worker does in between.
std::string rhythm(const Options& o) {
  std::vector<std::string> kinds{
      "", fmt::format("delay_compensation = 0.1\ndelay_compensation_decay = {}\n", one_of({"0.0", "0.9"}))};
  const std::string several = fmt::format("local_steps = {}\naccumulate = {}\nwarmup_steps = {}\n",
                                          between(1, 3), between(1, 2), one_of({"0", "1", "4"}));
  if (!o.overlap) kinds.push_back(several);
  if (!o.overlap && !o.fresh()) kinds.push_back(fmt::format("pull_every = {}\n{}", between(1, 6), several));
  if (!o.overlap && !o.makes_groups() && !o.adam) {
    kinds.push_back("algorithm = \"elastic\"\nlocal_steps = 2\n");
    kinds.push_back("algorithm = \"elastic\"\nelastic_rate = 0.3\n");
  }
  if (o.model == "bsp") kinds.push_back("update = \"worker\"\n");
  return one_of(kinds);
}

std::string messages(const Options& o, bool keys) {
  const std::string unit =
      o.overlap || chance(0.5)
          ? fmt::format("unit = \"array\"\nslice = {}\noverlap = {}\n",
                        o.large ? one_of({"0", "1500", "6000"}) : one_of({"0", "7", "20"}), o.overlap)
          : "";
  return fmt::format("[messages]\n{}order = \"{}\"\nacknowledge = {}\nkeys = \"{}\"\n", unit,
                     one_of({"parallel", "fifo", "priority"}), one_of({"true", "false"}),
                     keys ? "per-value" : "range");
}

std::string placement() {
  return "[placement]\nkind = " +
         one_of({"\"even\"", "\"hash-ring\"\nvirtual_nodes = 4", "\"kvstore\"",
                 "\"kvstore\"\nbigarray_bound = 10", "\"greedy\"", "\"round-robin\""}) +
         "\n";
}

std::string filters(const Options& o, bool keys) {
  std::vector<std::string> select{"", "", "kind = \"top-k\"\nfraction = 0.1",
                                  "kind = \"random-k\"\nfraction = 0.3",
                                  "kind = \"random-skip\"\non = \"both\""};
  std::vector<std::string> quantize{"",
                                    "",
                                    "kind = \"fp16\"\non = \"both\"",
                                    "kind = \"one-bit\"",
                                    "kind = \"two-bit\"",
                                    "kind = \"fixed-point\"\nbits = 4\nflops_per_value = 50.0"};
  if (!o.phantom) {
    select.emplace_back("kind = \"significant\"\nthreshold = 0.001\non = \"both\"");
    quantize.emplace_back("kind = \"threshold\"\nthreshold = 0.01");
  }
  std::vector<std::string> chain{one_of(select), one_of(quantize)};
  if (keys && chance(0.5)) chain.emplace_back("kind = \"key-caching\"");
  if (!o.phantom && chance(0.3)) chain.emplace_back("kind = \"snappy\"");
  std::string text;
  for (const std::string& filter : chain) {
    if (!filter.empty()) text += "[[filter]]\n" + filter + "\n";
  }
  return text;
}

// `agreements`: of workers and servers on rhythm, messages and filters.
std::string scenario(const std::vector<std::string>& models, int most_servers, bool agreements = true) {
  const int workers = between(1, 6), servers = between(1, most_servers);
  const bool keys = chance(0.3);
  Options o{.model = one_of(models), .phantom = chance(0.5), .large = false, .adam = false, .overlap = false};
  o.overlap = !o.first_k() && chance(0.3);
  const std::string learned = learning(o.phantom);
  o.large = learned.find("000") != std::string::npos;
  o.adam = learned.find("adam") != std::string::npos;
  const std::string end = one_of(
      {fmt::format("steps = {}", between(1, 25)), "duration = \"13ms\"", "steps = 40\nduration = \"70ms\""});
  return fmt::format(
      "seed = {}\n{}{}\n{}[consistency]\nmodel = \"{}\"\n{}aggregation = "
      "\"{}\"\n[compute]\n{}\n{}{}[cluster]\nworkers = {}\nservers = {}\n"
      "[cluster.server]\nflops_per_value = {}\n[cluster.network]\n{}{}",
      between(1, 1000), learned, end, agreements ? rhythm(o) : "", o.model, consistency(o.model, workers),
      one_of({"mean", "sum"}), compute(end.starts_with("duration")), placement(),
      agreements ? messages(o, keys) + filters(o, keys) : "", workers, servers,
      one_of({"0.0", "0.0", "1000.0"}), network(), stragglers(workers));
}

Json run(const std::string& toml, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << toml;
  std::vector<std::string> words{"run", "scenario.toml", "--json"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Outcome outcome = psim::test::psim(words, folder.path(), {}, limit_s);
  if (outcome.code != 0)
    RC_FAIL(fmt::format("exit code {} (142: after {} s)\n{}{}", outcome.code, limit_s, outcome.err, toml));
  return Json::parse(outcome.out);
}

void check_shares(const Json& time, const std::string& toml) {
  double sum = 0;
  for (const char* part : {"compute_share", "wait_share", "network_share"}) {
    RC_ASSERT(time[part].get<double>() >= 0);
    sum += time[part].get<double>();
  }
  if (std::abs(sum - 1) > 1e-9) RC_FAIL(fmt::format("shares sum to {}\n{}", sum, toml));
}

void check_run(const std::string& toml, std::vector<std::string> arguments = {}) {
  const auto check = [&](bool good, const char* what) {
    if (!good) RC_FAIL(fmt::format("{}\n{}", what, toml));
  };
  const auto run_with = [&](std::vector<std::string> more) {
    more.insert(more.end(), arguments.begin(), arguments.end());
    return run(toml, more);
  };
  const Json summary = run_with({"--threads", "1"});
  check(summary["bytes_sent"] ==
            summary["bytes_received"].get<std::int64_t>() + summary["bytes_lost"].get<std::int64_t>(),
        "bytes");
  check(summary["messages"] ==
            summary["messages_received"].get<std::int64_t>() + summary["messages_lost"].get<std::int64_t>(),
        "messages");
  const Json& pushes = summary["pushes"];
  check(pushes["arrived"] == pushes["applied"].get<std::int64_t>() + pushes["dropped"].get<std::int64_t>(),
        "pushes");
  check(summary["stuck"].empty(), "stuck");
  check_shares(summary["time"], toml);
  std::int64_t steps = 0;
  for (const Json& worker : summary["workers"]) {
    check_shares(worker["time"], toml);
    steps += worker["clocks"].get<std::int64_t>();
  }
  check(summary["steps"] == steps, "steps");
  for (const Json& server : summary["servers"]) {
    const bool empty = server["parameters"] == 0;
    check(empty ? server["updates"] == 0 : server["updates"] >= summary["updates"], "updates");
  }
  check(summary == run_with({"--threads", "3", "--context", contexts().back()}),
        "another run with other threads and contexts");
}

// A test must not depend on the day; the environment wins.
bool holds(const char* what, void (*property)()) {
  setenv("RC_PARAMS", "seed=20 max_success=60 noshrink=1", 0);
  return rc::check(what, property);
}

}  // namespace

TEST_CASE("every run keeps its books and ends", "[property][slow]") {
  CHECK(holds("conservation", [] {
    check_run(
        scenario({"bsp", "ssp", "asp", "dssp", "k-sync", "k-batch-sync", "k-async", "k-batch-async"}, 4));
  }));
}

TEST_CASE("workers that hear from several servers in different order are never stuck", "[property][slow]") {
  CHECK(holds("cancel and several servers", [] { check_run(scenario({"k-sync", "k-batch-sync"}, 5)); }));
}

TEST_CASE("every run without servers keeps its books and ends", "[property][slow]") {
  CHECK(holds("other architectures", [] {
    // As many layers as there may be stages; what a file says of servers has no meaning, and is left out.
    std::string toml = scenario({"bsp", "ssp"}, 4, false);
    const std::string shallow = "[2, 4, 3]";
    if (const std::size_t at = toml.find(shallow); at != std::string::npos)
      toml.replace(at, shallow.size(), "[2, 4, 4, 4, 4, 4, 3]");
    if (const std::size_t at = toml.find("racks = 2"); at != std::string::npos)
      toml.replace(at, 9, "racks = 1");
    check_run(toml, {"--set", one_of({"architecture={kind=\"all-reduce\"}",
                                      "architecture={kind=\"all-reduce\", algorithm=\"tree\"}",
                                      "architecture={kind=\"model-parallel\"}",
                                      "architecture={kind=\"model-parallel\", schedule=\"1f1b\"}"})});
  }));
}
