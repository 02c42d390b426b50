// Links whose bandwidth and latency change over time, against integrals of the bandwidth: one worker and one
// server, steps of 1 s and messages of 1 MB, so no two messages share a link.
#include <fmt/format.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

using Rows = std::vector<std::pair<double, double>>;

constexpr double rounding = 5e-5;             // requests of some bytes take time, too
constexpr double megabyte = 1e6, full = 1e6;  // bytes; bytes per second

// When `bytes` have left that begin at `date`.
double sent(const Rows& shares, double date, double bytes) {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double end = i + 1 < shares.size() ? shares[i + 1].first : 1e9, rate = full * shares[i].second;
    if (end <= date) continue;
    if (date + bytes / rate <= end) return date + bytes / rate;
    bytes -= rate * (end - date);
    date = end;
  }
  return date;
}

// The first pull, and the steps: computing, push and pull, without the last pull.
double expected(const Rows& shares, int steps, double wait) {
  double date = sent(shares, 0, megabyte) + wait;
  for (int step = 0; step < steps; ++step) {
    date = sent(shares, date + 1, megabyte) + wait;
    if (step + 1 < steps) date = sent(shares, date, megabyte) + wait;
  }
  return date;
}

// A run with a [[profile]] of these rows.
Json run(const std::string& model, const Rows& rows, const std::string& of, const std::string& more = "") {
  const TemporaryFolder folder;
  std::ofstream file(folder.path() / "link.csv");
  for (const auto& [date, value] : rows) file << fmt::format("{}, {}\n", date, value);
  file.close();
  return ScenarioBuilder({"compute.time=1s", "cluster.network.model=" + model, "cluster.network.header=0B",
                          "training.steps=10", "cluster.workers=1", "cluster.servers=1"})
      .links("1MBps", "1us")
      .with("model", "kind = \"phantom\"\nparameters = 250000")
      .with(fmt::format("[[profile]]\nof = \"{}\"\nfile = \"link.csv\"\n{}", of, more))
      .data_folder(folder.path())
      .run();
}

double seconds(const Json& summary) { return summary["sim_time_s"].get<double>(); }

const std::vector<std::string> models = {"fluid", "nic"};

}  // namespace

TEST_CASE("messages cross a link at its bandwidth of each moment", "[oracle][nodes]") {
  Rows shares;
  for (int i = 0; i < 60; ++i) shares.emplace_back(0.7 * i, std::vector{1.0, 0.5, 0.2}[(i * 7 + i / 5) % 3]);
  for (const std::string& model : models) {
    INFO(model);
    const double truth = expected(shares, 10, 0);
    CHECK(seconds(run(model, shares, "bandwidth", "nodes = [\"worker 0\"]")) ==
          Approx(truth).epsilon(rounding));
    CHECK(seconds(run(model, shares, "bandwidth", "nodes = [\"server 0\"]")) ==
          Approx(truth).epsilon(rounding));
    CHECK(seconds(run(model, shares, "bandwidth")) == Approx(truth).epsilon(rounding));
    Rows in_bytes = shares;
    for (auto& [date, share] : in_bytes) share *= full;
    CHECK(seconds(run(model, in_bytes, "bandwidth", "unit = \"bytes/s\"")) ==
          Approx(truth).epsilon(rounding));
  }
}

TEST_CASE("a profile of bandwidth and a fault of the link multiply", "[oracle][nodes][failures]") {
  const std::string fault =
      "nodes = [\"worker 0\"]\n[[fault]]\nkind = \"degrade\"\nnodes = [\"worker 0\"]\nfactor = 0.5\n"
      "from = \"3s\"\nuntil = \"20s\"\n";
  const Rows profile = {{0, 1}, {10, 0.5}}, together = {{0, 1}, {3, 0.5}, {10, 0.25}, {20, 0.5}};
  for (const std::string& model : models)
    CHECK(seconds(run(model, profile, "bandwidth", fault)) ==
          Approx(expected(together, 10, 0)).epsilon(rounding));
}

TEST_CASE("a profile of latency delays the messages that are sent from its dates on", "[oracle][nodes]") {
  for (const std::string& model : models) {
    INFO(model);
    // Four messages without values also take the time of their latency: the worker asks the scheduler to
    // join, gets its start, asks the server for the weights, and hears at the end that the server has all
    // updates.
    CHECK(seconds(run(model, {{0, 0.25}}, "latency", "nodes = [\"worker 0\"]")) ==
          Approx(expected({{0, 1}}, 10, 0.25) + 4 * 0.25).epsilon(rounding));
    // Both ends of every message between the worker and the server.
    CHECK(seconds(run(model, {{0, 0.25}}, "latency", "nodes = [\"worker 0\", \"server 0\"]")) ==
          Approx(expected({{0, 1}}, 10, 0.5) + 2 * 0.25 + 2 * 0.5).epsilon(rounding));
    // Messages with values begin at 0, 2, 3, 5, 6, 8 and 9 s; the other 13, and the last answer, are late.
    CHECK(seconds(run(model, {{10.5, 1}}, "latency", "nodes = [\"worker 0\"]")) ==
          Approx(expected({{0, 1}}, 10, 0) + 14).epsilon(rounding));
  }
}

TEST_CASE("each seed draws other blocks of a link's profile, and both models take the same",
          "[oracle][nodes]") {
  Rows shares;
  for (int i = 0; i < 60; ++i) shares.emplace_back(i, i % 20 < 10 ? 1.0 : 0.1);
  const std::string blocks = "nodes = [\"worker 0\"]\nresample = \"blocks of 12s\"";
  const double fluid = seconds(run("fluid", shares, "bandwidth", blocks)),
               nic = seconds(run("nic", shares, "bandwidth", blocks));
  CHECK(fluid == Approx(nic).epsilon(rounding));
  CHECK(fluid != Approx(expected(shares, 10, 0)).epsilon(1e-3));
}
