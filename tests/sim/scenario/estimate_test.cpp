// Goal: the memory that a run is said to need is what it takes, within a factor of two. Method: the shipped
// binary, and the peak of its resident memory as the kernel tells it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "model/base/memory.hpp"
#include "sim/scenario/estimate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim;
namespace fs = std::filesystem;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Bytes at the peak of `psim run FILE --threads 2 --json`.
double measured_peak(const fs::path& scenario) {
  const std::string program = psim::test::binary().string(), file = scenario.string();
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nothing, STDOUT_FILENO);
    execl(program.c_str(), "psim", "run", file.c_str(), "--threads", "2", "--json", nullptr);
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return static_cast<double>(used.ru_maxrss) * 1024;
}

Estimate estimated(const fs::path& scenario) {
  Diagnostics diagnostics;
  const auto loaded =
      load_scenario({.path = scenario.string(), .overrides = {}, .data_dirs = {}}, diagnostics);
  INFO(diagnostics.render());
  REQUIRE(loaded.has_value());
  return estimate(*loaded, 2);
}

const std::string phantom = "[model]\nkind = \"phantom\"\nparameters = 20000\n[training]\nsteps = 2\n";
const std::string slices = "[messages]\nunit = \"array\"\norder = \"fifo\"\nslice = ";
const std::string wide =
    "[model]\nlayers = [64, 60000, 10]\n[training]\nsteps = 2\nbatch_size = 16\nevaluate_every = \"99s\"\n";

}  // namespace

TEST_CASE("a run takes the memory that it is said to need, within a factor of two", "[estimate][slow]") {
  if (sanitized) {
    SUCCEED("the sanitizer takes its own share");
    return;
  }
  const std::string scenario = GENERATE_COPY(
      phantom + "[cluster]\nworkers = 1\nservers = 1\n",
      phantom + "[cluster]\nworkers = 1\n" + slices + "2\n",
      phantom + "[cluster]\nworkers = 1\nservers = 3\n[replication]\ncopies = 2\n" + slices + "40\n",
      phantom + "[cluster]\nworkers = 3000\nservers = 1\n[cluster.network]\nmodel = \"nic\"\n",
      phantom + "[cluster]\nworkers = 500\nservers = 100\n[cluster.network]\nmodel = \"nic\"\n",
      wide + "[cluster]\nworkers = 1\n", wide + "optimizer = \"adam\"\n[cluster]\nworkers = 4\n",
      wide + "[cluster]\nworkers = 1\nservers = 2\n[replication]\ncopies = 1\n",
      std::string("[data]\nsource = \"blobs\"\nsamples = 200000\nfeatures = 60\n[model]\nlayers = [60, "
                  "3]\n[training]\n"
                  "steps = 2\n[cluster]\nworkers = 2\n"));
  const psim::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "scenario.toml";
  std::ofstream(file) << scenario;
  const double said = estimated(file).bytes(), taken = measured_peak(file);
  CAPTURE(scenario, said / 1e6, taken / 1e6);
  CHECK(said < 2 * taken);
  CHECK(taken < 2 * said);
}

TEST_CASE("a run that cannot fit is refused before it begins, with what takes the memory", "[estimate]") {
  const psim::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "scenario.toml";
  std::ofstream(file)
      << "[model]\nkind = \"phantom\"\nparameters = 10_000_000_000\n[training]\nsteps = 1\n[cluster]\n"
         "workers = 1\n[messages]\nunit = \"array\"\nslice = 76\n";
  const Estimate needed = estimated(file);
  CHECK(needed.shards == Approx(1e10 / 76).epsilon(1e-6));
  CHECK(needed.messages == Approx(3e10 / 76).epsilon(1e-6));
  CHECK(needed.bytes() > static_cast<double>(available_memory()));
  for (const char* command : {"run", "compare"}) {
    const psim::test::Outcome outcome = psim::test::psim({command, file.string()}, folder.path(), {}, 30);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("error: this run needs about") != std::string::npos);
    CHECK(outcome.err.find("messages.slice") != std::string::npos);
  }
}

TEST_CASE("a run that does not fit into its address space is refused, and one that is said to fit runs",
          "[estimate]") {
  if (sanitized) {
    SUCCEED("the sanitizer maps more than any limit");
    return;
  }
  const std::string scenario = GENERATE_COPY(phantom + "[cluster]\nworkers = 300\n",
                                             phantom + "[cluster]\nworkers = 2\n[inference]\nnodes = 100\n");
  const psim::test::TemporaryFolder folder;
  const fs::path file = folder.path() / "scenario.toml";
  std::ofstream(file) << scenario;
  const double kib = estimated(file).address_space() / 1024;
  const auto run_within = [&](double share) {
    return psim::test::process(
        {"sh", "-c", "ulimit -c 0; ulimit -v $2; exec \"$0\" run \"$1\" --json --threads 2",
         psim::test::binary().string(), file.string(), std::to_string(static_cast<long>(share * kib))});
  };
  const psim::test::Outcome too_small = run_within(0.9), enough = run_within(1.1);
  INFO(too_small.err << enough.err);
  CHECK(too_small.code == 2);
  CHECK(too_small.err.find("of address space; the limit is") != std::string::npos);
  CHECK(enough.code == 0);
}
