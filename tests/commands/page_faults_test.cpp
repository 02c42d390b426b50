// Goal: a run takes its memory at its beginning and then uses it again. A page fault costs as much as
// thousands of additions, and gradients are hundreds of pages. And a node takes only the pages of its stack
// that it uses. Method: the faults of a short and of a long run; the memory of a run with many nodes.
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using psim::test::is_sanitized;
using psim::test::Outcome;
using psim::test::TemporaryFolder;

TEST_CASE("a run asks the kernel for no memory again and again", "[memory]") {
  if (is_sanitized()) return;  // it has its own allocator
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << R"([data]
source = "blobs"
samples = 1000
features = 784
classes = 10
[model]
layers = [784, 64, 10]
[training]
batch_size = 16
evaluate_every = "50 updates"
[cluster]
workers = 4
servers = 2
)";
  const auto faults = [&](const std::string& steps) {
    rusage before{}, after{};
    getrusage(RUSAGE_CHILDREN, &before);
    const Outcome run = psim::test::psim({"run", "scenario.toml", "--set", "training.steps=" + steps,
                                          "--threads", "2", "--trace", "none", "--out", "run" + steps},
                                         folder.path());
    CHECK(run.code == 0);
    getrusage(RUSAGE_CHILDREN, &after);
    return after.ru_minflt - before.ru_minflt;
  };
  // The gradients of an update, 4 x 51,000 values, are 200 pages.
  const long first = faults("50"), more = faults("250");
  INFO(first << " and " << more);
  CHECK(more - first < 1000);
}

TEST_CASE("twenty thousand nodes take little memory for their stacks", "[memory]") {
  if (is_sanitized()) return;
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scenario.toml") << R"(model = { kind = "phantom", parameters = 1000 }
training = { steps = 1 }
cluster = { workers = 20_000, servers = 1, network = { model = "nic" } }
consistency = { model = "asp" }
)";
  CHECK(psim::test::psim({"run", "scenario.toml", "--trace", "none"}, folder.path()).code == 0);
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  CHECK(used.ru_maxrss < 1'500'000);  // kB: with all of their stacks they would take 160 GB
}
