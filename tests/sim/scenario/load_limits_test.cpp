// Goal: checking a scenario costs little, whatever it asks for, and never waits.
#include <sys/stat.h>

#include <fstream>
#include <string>

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
