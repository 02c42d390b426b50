// Step times from files, against sums of the file's numbers: under bsp, without a network, a run takes the
// sum of the longest step times of its workers.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

using Table = std::vector<std::vector<double>>;  // by step and worker

Table times(std::size_t steps, std::size_t workers) {
  Table table(steps, std::vector<double>(workers));
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t worker = 0; worker < workers; ++worker)
      table[step][worker] = 0.05 + 0.01 * static_cast<double>((step * 37 + worker * 23) % 41);
  }
  return table;
}

std::string wide(const Table& table, const std::string& header = "", const std::string& separator = ",") {
  std::string text = header;
  for (const std::vector<double>& row : table) text += fmt::format("{}\n", fmt::join(row, separator));
  return text;
}

std::string by_worker(const Table& table) {
  std::string text = "# seconds of each worker and step\nstep;worker;note;seconds\n";
  for (std::size_t worker = 0; worker < table.front().size(); ++worker) {
    for (std::size_t step = 0; step < table.size(); ++step)
      text += fmt::format("{};{};ok;{}\n", 10 * step + 5, worker + 1, table[step][worker]);
  }
  return text;
}

// The time of `steps` steps under bsp.
double longest(const Table& table, std::size_t steps) {
  double sum = 0;
  for (std::size_t step = 0; step < steps; ++step)
    sum += *std::ranges::max_element(table[step % table.size()]);
  return sum;
}

ScenarioBuilder scenario(int workers, const std::string& compute) {
  return ScenarioBuilder({"training.steps=30", "training.batch_size=4", "cluster.servers=1"})
      .set("cluster.workers", workers)
      .links("1000Tbps", "0s")
      .with("model", "kind = \"phantom\"\nparameters = 1000")
      .with("compute", compute);
}

Json run(const std::string& file, int workers, const std::string& compute, int seed = 1,
         const std::string& model = "bsp") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "steps.csv") << file;
  return scenario(workers, "distribution = \"trace\"\ntrace = \"steps.csv\"\n" + compute)
      .set("seed", seed)
      .set("consistency.model", model)
      .data_folder(folder.path())
      .run();
}

// The mean of a worker is from its first start to its last one, so the last step is not in it.
double seconds(const Json& summary) { return summary["sim_time_s"].get<double>(); }

const std::string in_seconds = "trace_unit = \"seconds\"\n";

}  // namespace

TEST_CASE("a trace has the same meaning in every form of its file", "[oracle][trace]") {
  const Table table = times(20, 4);
  const double truth = longest(table, 30);
  for (const std::string& file :
       {wide(table), wide(table, "", " "), wide(table, "", "\t"), wide(table, "w0,w1,w2,w3\n"),
        wide(table, "\"rank 0\",\"rank 1\",\"rank 2\",\"rank 3\"\n"), by_worker(table)}) {
    INFO(file.substr(0, 60));
    CHECK(seconds(run(file, 4, in_seconds)) == Approx(truth).epsilon(1e-6));
  }
  // A column that numbers the steps is no worker.
  Table numbered = table;
  for (std::size_t step = 0; step < table.size(); ++step)
    numbered[step].insert(numbered[step].begin(), static_cast<double>(step));
  CHECK(seconds(run(wide(numbered, "step,a,b,c,d\n"), 4, in_seconds)) == Approx(truth).epsilon(1e-6));
}

TEST_CASE("factors multiply the time, and seconds replace it", "[oracle][trace]") {
  const Table table = times(20, 4);
  CHECK(seconds(run(wide(table), 4, "time = \"10s\"\n")) == Approx(10 * longest(table, 30)).epsilon(1e-6));
  const Json mean = run(wide(table), 4, in_seconds, 1, "asp");
  for (std::size_t worker = 0; worker < 4; ++worker) {
    double sum = 0;
    for (std::size_t step = 0; step < 29; ++step) sum += table[step % 20][worker];
    CHECK(mean["workers"][worker]["mean_step_s"].get<double>() == Approx(sum / 29).epsilon(1e-6));
  }
}

TEST_CASE("steps of unequal workers take the time of the first worker, at their own speed",
          "[oracle][trace]") {
  const ScenarioBuilder unequal =
      scenario(3, "time = \"100ms\"").with("cluster.worker", "speed = [\"2Gf\", \"1Gf\", \"4Gf\"]");
  CHECK(seconds(unequal.run()) == Approx(30 * 0.2).epsilon(1e-6));
  const Json all = unequal.set("consistency.model", "asp").run();
  CHECK(all["workers"][0]["mean_step_s"].get<double>() == Approx(0.1).epsilon(1e-6));
  CHECK(all["workers"][2]["mean_step_s"].get<double>() == Approx(0.05).epsilon(1e-6));
  // A group takes the time of the cluster's first worker, too, even if it is in another group.
  const Json groups = unequal.set("consistency.model", "asp")
                          .with(
                              "[[group]]\nname = \"a\"\nworkers = 1\n[[group]]\nname = \"b\"\nworkers = 2\n"
                              "namespace = \"own\"\n")
                          .run();
  CHECK(groups["workers"][1]["mean_step_s"].get<double>() == Approx(0.2).epsilon(1e-6));
  CHECK(groups["workers"][2]["mean_step_s"].get<double>() == Approx(0.05).epsilon(1e-6));
}

TEST_CASE("groups keep the columns and effects of their workers", "[oracle][trace]") {
  const Table table = times(20, 4);
  const std::string groups =
      "[[compute.effect]]\nworkers = [1, 3]\ndistribution = \"trace\"\ntrace = \"half.csv\"\n"
      "[[group]]\nname = \"a\"\nworkers = 3\n[[group]]\nname = \"b\"\nworkers = 1\nnamespace = \"own\"\n";
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "steps.csv") << wide(table);
  std::ofstream(folder.path() / "half.csv") << "0.5 2\n";
  const Json both = scenario(4, "distribution = \"trace\"\ntrace = \"steps.csv\"\n" + in_seconds)
                        .set("consistency.model", "asp")
                        .with(groups)
                        .data_folder(folder.path())
                        .run();
  const std::vector<double> factors = {1, 0.5, 1, 2};
  for (std::size_t worker = 0; worker < 4; ++worker) {
    double sum = 0;
    for (std::size_t step = 0; step < 29; ++step) sum += table[step % 20][worker] * factors[worker];
    CHECK(both["workers"][worker]["mean_step_s"].get<double>() == Approx(sum / 29).epsilon(1e-6));
  }
}

TEST_CASE("drawn columns serve any number of workers", "[oracle][trace]") {
  const Table table = times(50, 4);
  // Without an order of the steps, each column is equally often the slowest.
  for (const int workers : {2, 4, 9}) {
    const Json drawn =
        run(wide(table), workers, in_seconds + "trace_workers = \"draw\"\ntrace_resample = \"iid\"\n");
    CHECK(drawn["workers"].size() == static_cast<std::size_t>(workers));
  }
  // The same workers in another order take the same time.
  const Json as_they_are = run(wide(table), 4, in_seconds),
             dealt = run(wide(table), 4, in_seconds + "trace_workers = \"draw\"\n", 3);
  CHECK(seconds(dealt) == Approx(seconds(as_they_are)).epsilon(1e-9));
}

TEST_CASE("each seed resamples a trace anew", "[oracle][trace]") {
  const Table table = times(40, 4);
  const std::string blocks = in_seconds + "trace_resample = \"blocks of 10 steps\"\n",
                    start = in_seconds + "trace_start = \"draw\"\n";
  for (const std::string& how : {blocks, start}) {
    CHECK(seconds(run(wide(table), 4, how, 1)) != Approx(seconds(run(wide(table), 4, how, 2))).epsilon(1e-6));
    CHECK(seconds(run(wide(table), 4, how, 1)) == seconds(run(wide(table), 4, how, 1)));
  }
  CHECK(seconds(run(wide(table), 4, in_seconds, 1)) == seconds(run(wide(table), 4, in_seconds, 2)));
}
