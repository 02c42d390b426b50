// Goal: checking a scenario costs little, whatever it asks for, and never waits.
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <utility>

#include "sim/scenario/load.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;

namespace {

struct Loaded {
  bool accepted = false;
  std::size_t data_sets = 0;  // that were generated
  std::string report;
};

Loaded load_text(const std::string& text, bool without_data) {
  const psim::test::TemporaryFolder folder;
  const auto file = folder.path() / "scenario.toml";
  std::ofstream(file) << text;
  Diagnostics diagnostics;
  DataCache cache;
  const bool accepted = load_scenario({.path = file.string(),
                                       .overrides = {},
                                       .data_dirs = {},
                                       .cache = &cache,
                                       .without_data = without_data},
                                      diagnostics)
                            .has_value();
  return {accepted, cache.size(), diagnostics.render()};
}

}  // namespace

TEST_CASE("what does not go together is said before data are generated", "[load]") {
  const std::string blobs = "[data]\nsource = \"blobs\"\nsamples = 20\nfeatures = 100\n";
  const Loaded bad = load_text(
      blobs + "[model]\nlayers = [2, 3]\n[cluster]\nworkers = 2\n[training]\nsteps = 1\nbatch_size = 2\n",
      false);
  CHECK_FALSE(bad.accepted);
  CHECK(bad.data_sets == 0);
  CHECK(bad.report.find("begin layers with 100") != std::string::npos);
  const std::string good =
      blobs + "[model]\nlayers = [100, 3]\n[cluster]\nworkers = 2\n[training]\nsteps = 1\nbatch_size = 2\n";
  CHECK(load_text(good, false).data_sets == 1);
  const Loaded only_checked = load_text(good, true);
  INFO(only_checked.report);
  CHECK(only_checked.accepted);
  CHECK(only_checked.data_sets == 0);
}

TEST_CASE("a scenario is a regular file", "[load]") {
  const psim::test::TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe.toml";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& name : {pipe.string(), std::string("/dev/zero"), std::string("/dev/null")}) {
    for (const char* command : {"check", "run", "compare"}) {
      const psim::test::Outcome outcome = psim::test::psim({command, name}, folder.path(), {}, 10);
      INFO(command << " " << name << outcome.err);
      CHECK(outcome.code == 2);
      CHECK(outcome.err.find("this is a device or a pipe, not a scenario file") != std::string::npos);
    }
  }
}

namespace {

// A phantom model of three parameters on a worker and a server, with these fields.
bool is_accepted(const std::string& fields) {
  const Loaded loaded = load_text(
      "model = { kind = \"phantom\", parameters = 3 }\ncompute.time = \"1s\"\n"
      "training.steps = 5\n" +
          fields,
      true);
  INFO(loaded.report);
  CHECK(loaded.report.find("unknown") == std::string::npos);
  return loaded.accepted;
}

}  // namespace

TEST_CASE("the last case that a check allows is valid, and the next one is not", "[load]") {
  const std::pair<const char*, const char*> borders[] = {
      // As many servers as parameters, and as machines.
      {"cluster = { workers = 1, servers = 3 }\n", "cluster = { workers = 1, servers = 4 }\n"},
      {"cluster = { workers = 2, servers = 2, colocate = true }\n",
       "cluster = { workers = 1, servers = 2, colocate = true }\n"},
      // One speed for each worker.
      {"cluster = { workers = 2, servers = 1, worker = { speed = [\"1Gf\", \"2Gf\"] } }\n",
       "cluster = { workers = 3, servers = 1, worker = { speed = [\"1Gf\", \"2Gf\"] } }\n"},
      // A straggler that is always slow.
      {"straggler = [{ workers = [0], slowdown = 2, from = \"1s\", until = \"3s\", every = \"2s\" }]\n",
       "straggler = [{ workers = [0], slowdown = 2, from = \"1s\", until = \"3s\", every = \"1.9s\" }]\n"},
      {"straggler = [{ workers = [0], slowdown = 2, from = \"1s\", until = \"1.1s\" }]\n",
       "straggler = [{ workers = [0], slowdown = 2, from = \"1s\", until = \"1s\" }]\n"},
      // Networks that are full: of 16 hosts, of 6, and of 6.
      {"cluster = { workers = 14, servers = 1, network = { topology = \"fat-tree\", ports = 4 } }\n",
       "cluster = { workers = 15, servers = 1, network = { topology = \"fat-tree\", ports = 4 } }\n"},
      {"cluster = { workers = 4, servers = 1, network = { topology = \"torus\", dimensions = [2, 3] } }\n",
       "cluster = { workers = 5, servers = 1, network = { topology = \"torus\", dimensions = [2, 3] } }\n"},
      {"cluster = { workers = 4, servers = 1, network = { topology = \"dragonfly\", groups = 3, routers = 1, "
       "hosts_per_router = 2 } }\n",
       "cluster = { workers = 5, servers = 1, network = { topology = \"dragonfly\", groups = 3, routers = 1, "
       "hosts_per_router = 2 } }\n"}};
  for (const auto& [last, next] : borders) {
    CAPTURE(last, next);
    CHECK(is_accepted(last));
    CHECK_FALSE(is_accepted(next));
  }
}

TEST_CASE("a profile's last date is before the end of its period", "[load]") {
  const psim::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "speed.csv") << "0, 1\n2, 0.5\n";
  const auto every = [&](const std::string& period) {
    return is_accepted("profile = [{ of = \"speed\", file = \"" + (folder.path() / "speed.csv").string() +
                       "\", every = \"" + period + "\" }]\n");
  };
  CHECK(every("2.001s"));
  CHECK_FALSE(every("2s"));
}
