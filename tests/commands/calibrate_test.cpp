// psim calibrate: from a log to a scenario that behaves like it. The logs are those of simulated clusters
// whose values are known.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/calibrate.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace psim::test;

namespace {

ScenarioBuilder cluster(const std::string& bandwidth, int steps) {
  return ScenarioBuilder({"cluster.workers=4", "cluster.servers=2", "training.batch_size=4",
                          "cluster.network.bandwidth=" + bandwidth, "cluster.network.latency=25us",
                          "cluster.network.cross_traffic=true", "cluster.network.simgrid_model=cm02",
                          "compute.time=100ms"})
      .set("training.steps", steps)
      .with("model", "kind = \"phantom\"\nparameters = 500000")
      .with("compute", "distribution = \"ar1\"\ncv = 0.2\ncorrelation = 0.7");
}

// The log that the workers of a run would write: what lies between two computations is push and pull.
// `server_s`: of every push, if it is logged.
std::string log_of(const TracedRun& run, const std::string& server_s = "") {
  std::map<int, std::vector<std::pair<double, double>>> spans;  // by node: begin and end of computations
  for (const RecordedEvent& event : run.events) {
    if (event.is("computation", "begun")) spans[event.node].emplace_back(event.at, 0);
    if (event.is("computation", "ended")) spans[event.node].back().second = event.at;
  }
  std::string text = "worker,step,compute_s,push_s,pull_s,server_s\n";
  int worker = 0;
  for (const auto& [node, times] : spans) {
    for (std::size_t i = 0; i + 1 < times.size(); ++i)
      text += fmt::format("{},{},{},{},0,{}\n", worker, i, times[i].second - times[i].first,
                          times[i + 1].first - times[i].second, server_s);
    ++worker;
  }
  return text;
}

}  // namespace

TEST_CASE("calibrate finds a network by simulation, and its scenario takes the time of the log",
          "[command][calibrate]") {
  const TemporaryFolder folder;
  write(folder.path() / "log.csv", log_of(cluster("50MBps", 200).trace()));
  const Outcome outcome = ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--servers", "2",
                                              "--model-bytes", "2MB", "--consistency", "bsp", "--json"},
                                             folder.path());
  INFO(outcome.err);
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  const Json json = Json::parse(outcome.out);
  const Json values = values_of(json);
  const Json& bandwidth = values["cluster.network.bandwidth"];
  CHECK(bandwidth["value"].get<double>() == Approx(50e6).epsilon(0.02));
  CHECK(bandwidth["interval"][0].get<double>() < 50e6);
  CHECK(bandwidth["interval"][1].get<double>() > 50e6);
  CHECK(!bandwidth["cannot_be_told"].get<bool>());
  CHECK(values["cluster.network.latency"]["cannot_be_told"].get<bool>());
  // Links without latency would share ideally.
  CHECK(content(folder.path() / "fit/scenario.toml").find("latency = \"25us\"") != std::string::npos);
  // Each seed draws a bandwidth of the interval, but the fit and the verdict do not.
  const std::string scenario = content(folder.path() / "fit/scenario.toml");
  const double sd =
      std::log(bandwidth["interval"][1].get<double>() / bandwidth["interval"][0].get<double>()) / (2 * 1.96);
  says(scenario, fmt::format("bandwidth_sd = {:.3g}", sd));
  CHECK(json["step_times"]["memory_steps"].get<double>() > 2);
  for (const char* name : {"scenario.toml", "steps.csv", "calibration.json", "report.html"})
    CHECK(std::filesystem::exists(folder.path() / "fit" / name));
  CHECK(Json::parse(content(folder.path() / "fit/calibration.json")) == json);
  const Outcome run =
      ::psim::test::psim({"run", "fit/scenario.toml", "--json", "--trace", "none"}, folder.path());
  INFO(run.err);
  REQUIRE(run.code == 0);
  const Json truth = cluster("50MBps", 199).run();
  CHECK(Json::parse(run.out)["sim_time_s"].get<double>() ==
        Approx(truth["sim_time_s"].get<double>()).epsilon(0.1));
}

TEST_CASE("calibrate tells the work of servers from the time of the network", "[command][calibrate]") {
  const TemporaryFolder folder;
  // 25 ms for each push: a server receives half of 500000 values.
  const ScenarioBuilder busy = cluster("50MBps", 100).set("cluster.server.flops_per_value", 1000);
  write(folder.path() / "log.csv", log_of(busy.trace(), "0.025"));
  const Outcome outcome = ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--servers", "2",
                                              "--model-bytes", "2MB", "--consistency", "bsp", "--json"},
                                             folder.path());
  INFO(outcome.err);
  const Json values = values_of(Json::parse(outcome.out));
  CHECK(values["cluster.server.flops_per_value"]["value"].get<double>() == Approx(1000));
  CHECK(values["cluster.network.bandwidth"]["value"].get<double>() == Approx(50e6).epsilon(0.02));
  CHECK(content(folder.path() / "fit/scenario.toml").find("flops_per_value = 1000") != std::string::npos);
}

TEST_CASE("calibrate finds the network of workers that do not wait", "[command][calibrate]") {
  const TemporaryFolder folder;
  const auto calibrated = [&](const std::string& consistency) {
    const Outcome outcome =
        ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--force", "--servers", "2", "--model-bytes",
                            "2MB", "--consistency", consistency, "--json"},
                           folder.path());
    INFO(outcome.err);
    return Json::parse(outcome.out);
  };
  for (const char* bandwidth : {"5MBps", "500MBps"}) {
    const ScenarioBuilder free = cluster(bandwidth, 100).set("cluster.workers", 8).set("consistency", "asp");
    write(folder.path() / "log.csv", log_of(free.trace()));
    const Json found = calibrated("asp");
    const Json value = values_of(found)["cluster.network.bandwidth"];
    const double truth = std::string(bandwidth) == "5MBps" ? 5e6 : 500e6;
    INFO(value.dump());
    CHECK(value["value"].get<double>() == Approx(truth).epsilon(0.03));
    CHECK(value["interval"][0].get<double>() < 0.97 * truth);
    CHECK(value["interval"][1].get<double>() > 1.03 * truth);
    CHECK(found["notes"].dump().find("still differ") == std::string::npos);
  }
  // No bandwidth makes workers that wait for each other as fast.
  write(folder.path() / "log.csv",
        log_of(cluster("1GBps", 100).set("cluster.workers", 8).set("consistency", "asp").trace()));
  CHECK(calibrated("bsp")["notes"].dump().find("still differ") != std::string::npos);
}

TEST_CASE("calibrate says that a cluster changed, and ends with 1", "[command][calibrate]") {
  const TemporaryFolder folder;
  std::string log = "worker,step,compute_s\n";
  for (int step = 0; step < 100; ++step) {
    for (int worker = 0; worker < 2; ++worker)
      log += fmt::format("{},{},{}\n", worker, step,
                         0.1 * (step < 50 ? 1 : 2) * (1 + 0.01 * ((step * 7 + worker) % 5)));
  }
  write(folder.path() / "log.csv", log);
  const std::vector<std::string> words{"calibrate", "log.csv", "-o", "fit"};
  const Outcome changed = ::psim::test::psim(words, folder.path());
  CHECK(changed.code == 1);
  CHECK(changed.out.find("The model of the computations does not hold within 5 %. "
                         "Communication is not judged") != std::string::npos);
  CHECK(changed.out.find("100 % slower") != std::string::npos);
  CHECK(changed.out.find("mean of the longest computation of a step") != std::string::npos);
  CHECK(changed.out.find("-50.0%  beyond 5 %") != std::string::npos);
  // The scenario and its studies say so.
  const std::string scenario = content(folder.path() / "fit/scenario.toml");
  INFO(scenario);
  CHECK(scenario.find("# Verdict on the last 50 steps: The model of the computations does not hold") !=
        std::string::npos);
  CHECK(scenario.find("Worst: ") != std::string::npos);
  const Outcome study = ::psim::test::psim(
      {"compare", "fit/scenario.toml", "--set", "consistency.model=[bsp, asp]", "--seeds", "1"},
      folder.path());
  CHECK(study.out.find("communication is free; the model does not hold within 5 %") != std::string::npos);
  // A verdict that allows it, and none.
  std::vector<std::string> lenient = words, without = words;
  lenient.insert(lenient.end(), {"--force", "--within", "60%"});
  without.insert(without.end(), {"--force", "--hold-out", "0"});
  CHECK(::psim::test::psim(lenient, folder.path()).code == 0);
  const Outcome none = ::psim::test::psim(without, folder.path());
  CHECK(none.code == 0);
  CHECK(none.out.find("held out") == std::string::npos);
  // The folder is in use.
  const Outcome again = ::psim::test::psim(words, folder.path());
  CHECK(again.code == 2);
  CHECK(again.err.find("--force") != std::string::npos);
  write(folder.path() / "fit/mine.txt", "mine");
  const Outcome foreign = ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--force"}, folder.path());
  CHECK(foreign.code == 2);
  CHECK(foreign.err.find("mine.txt") != std::string::npos);
}

TEST_CASE("calibrate warns that communication is free, until it knows bandwidth and size",
          "[command][calibrate]") {
  const TemporaryFolder folder;
  write(folder.path() / "log.csv", log_of(cluster("50MBps", 60).trace()));
  const auto fit = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"calibrate", "log.csv", "-o", "fit", "--force", "--hold-out", "0"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = ::psim::test::psim(words, folder.path());
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    const std::string scenario = content(folder.path() / "fit/scenario.toml"),
                      page = content(folder.path() / "fit/report.html");
    const bool warns = outcome.out.find("WARNING: Communication is free") != std::string::npos;
    CHECK(warns == (scenario.find("# WARNING: Communication is free") != std::string::npos));
    CHECK(warns == (scenario.find("communication is free\"") != std::string::npos));
    CHECK(warns == (page.find(">Warning<") != std::string::npos));
    CHECK(scenario.find("# No verdict") != std::string::npos);
    const Json warnings = Json::parse(content(folder.path() / "fit/calibration.json"))["warnings"];
    CHECK(warnings.size() == (warns ? 1 : 0));
    return warns ? warnings[0].get<std::string>() : "";
  };
  CHECK(fit({}).find("the bandwidth (1e15 B/s here) and the size of the model (4 B here)") !=
        std::string::npos);
  CHECK(fit({"--set", "cluster.network.bandwidth=10Gbps"}).find("does not tell the size of") !=
        std::string::npos);
  CHECK(fit({"--set", "cluster.network.bandwidth=10Gbps", "--model-bytes", "2MB"}).empty());
  CHECK(fit({"--model-bytes", "2MB", "--servers", "2"}).empty());
}

TEST_CASE("calibrate refuses logs that would give a silent fit", "[command][calibrate]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& log, const std::vector<std::string>& more = {}) {
    write(folder.path() / "log.csv", log);
    std::vector<std::string> words{"calibrate", "log.csv", "-o", "fit"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = ::psim::test::psim(words, folder.path());
    CHECK(outcome.code == 2);
    CHECK(!std::filesystem::exists(folder.path() / "fit"));
    return outcome.err;
  };
  says(refusal("worker,step,compute_s\n0,0,1\n0,1,1\n"), "the log has 2 steps of every worker");
  std::string clocks = "worker,step,compute_s,push_s\n", zeros = "worker,step,compute_s\n";
  for (int step = 0; step < 40; ++step) {
    clocks += fmt::format("0,{},0.1,{}\n", step, step % 4 == 0 ? -0.3 : 0.1);
    zeros += fmt::format("0,{},{}\n", step, step % 4 == 0 ? 0.0 : 0.1);
  }
  says(refusal(clocks), "10 of 40 steps have an impossible duration");
  says(refusal(zeros), "10 of 40 steps compute for 0 s");
  says(refusal("bytes,seconds\n1000,0.1\n2000,0.2\n"), "the logs have no steps of workers");
  says(refusal("worker,step,compute_s\n0,0,1\n", {"--model-bytes", "many"}),
       "--model-bytes many: not a size");
  const Outcome missing = ::psim::test::psim({"calibrate", "nowhere.csv", "-o", "fit"}, folder.path());
  CHECK(missing.code == 2);
  says(missing.err, "nowhere.csv");
}

TEST_CASE("a study of a calibrated cluster predicts", "[command][calibrate]") {
  const TemporaryFolder folder;
  write(folder.path() / "log.csv", log_of(cluster("1000Tbps", 100).trace()));
  const Outcome fitted =
      ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--hold-out", "0"}, folder.path());
  INFO(fitted.err);
  REQUIRE(fitted.code == 0);
  const Outcome table =
      ::psim::test::psim({"compare", "fit/scenario.toml", "--set", "consistency.model=[bsp, asp]", "--seeds",
                          "1-8", "--out", "study"},
                         folder.path());
  INFO(table.out);
  REQUIRE(table.code == 0);
  CHECK(table.out.find("predicted [") != std::string::npos);
  CHECK(table.out.find("About 50 % of the variance") != std::string::npos);
  const Json study = Json::parse(content(folder.path() / "study/study.json"));
  const Json& versus = study["aggregates"][1]["versus_baseline"];
  CHECK(versus["predicted"] == true);
  CHECK(versus["p_value"].is_null());
  // The interval of one further run, by Student's t with 7 degrees of freedom.
  std::map<std::string, std::vector<double>> times;
  for (const Json& run : study["runs"]) times[run["arm"]].push_back(run["sim_time_s"].get<double>());
  std::vector<double> logs;
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < 8; ++i) logs.push_back(std::log(times["asp"][i] / times["bsp"][i]));
  for (const double one : logs) mean += one / 8;
  for (const double one : logs) squares += (one - mean) * (one - mean);
  const double half = 2.364624 * std::sqrt(squares / 7) * std::sqrt(1 + 1.0 / 8);
  CHECK(versus["ratio_ci95"][0].get<double>() == Approx(std::exp(mean - half)).epsilon(1e-5));
  CHECK(versus["ratio_ci95"][1].get<double>() == Approx(std::exp(mean + half)).epsilon(1e-5));
}

TEST_CASE("calibrate fits the network to whole runs and predicts others", "[command][calibrate]") {
  const TemporaryFolder folder;
  std::string table = "workers,servers,consistency,model_bytes,compute_s,step_s\n";
  for (const auto& [workers, servers, model] : std::vector<std::tuple<int, int, std::string>>{
           {1, 1, "bsp"}, {2, 1, "bsp"}, {4, 1, "bsp"}, {4, 2, "bsp"}, {3, 1, "bsp"}, {6, 2, "bsp"}}) {
    const Json run = ScenarioBuilder({"training.steps=20", "cluster.network.bandwidth=50MBps",
                                      "cluster.network.latency=25us", "cluster.network.cross_traffic=true",
                                      "cluster.network.simgrid_model=cm02", "compute.time=50ms",
                                      "consistency.model=" + model})
                         .with("model", "kind = \"phantom\"\nparameters = 500000")
                         .set("cluster.workers", workers)
                         .set("cluster.servers", servers)
                         .run();
    double step = 0;
    for (const Json& one : run["workers"]) step += one["mean_step_s"].get<double>() / workers;
    table += fmt::format("{},{},{},2000000,0.05,{}\n", workers, servers, model, step);
  }
  write(folder.path() / "runs.csv", table);
  const Outcome outcome = ::psim::test::psim(
      {"calibrate", "runs.csv", "-o", "fit", "--hold-out", "0.34", "--json"}, folder.path());
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json["runs"] == 6);
  CHECK(!json.contains("workers"));
  CHECK(!json.contains("steps"));
  CHECK(json["verdict"]["held_out_runs"] == 2);
  for (const Json& one : json["verdict"]["judged"])
    CHECK(one["simulated"].get<double>() == Approx(one["measured"].get<double>()).epsilon(0.05));  // --within
  CHECK(!std::filesystem::exists(folder.path() / "fit/steps.csv"));
  CHECK(::psim::test::psim({"check", "fit/scenario.toml"}, folder.path()).code == 0);
  // A link test tells bandwidth and latency, and the search keeps them.
  std::string transfers = "bytes,seconds\n";
  for (double bytes = 1e3; bytes < 2e7; bytes *= 2)
    transfers += fmt::format("{:.0f},{}\n", bytes, 50e-6 + bytes / 50e6);
  write(folder.path() / "link.csv", transfers);
  const Outcome linked = ::psim::test::psim(
      {"calibrate", "runs.csv", "link.csv", "-o", "linked", "--hold-out", "0", "--json"}, folder.path());
  INFO(linked.err);
  REQUIRE(linked.code == 0);
  const Json values = values_of(Json::parse(linked.out));
  CHECK(values["cluster.network.bandwidth"]["value"].get<double>() == Approx(50e6).epsilon(1e-3));
  CHECK(values["cluster.network.bandwidth"]["how"] == "least squares of the link test");
  CHECK(values["cluster.network.latency"]["value"].get<double>() == Approx(25e-6).epsilon(1e-2));
  write(folder.path() / "wrong.csv", table + "2,1,fast,2000000,0.05,0.2\n");
  const Outcome wrong =
      ::psim::test::psim({"calibrate", "wrong.csv", "-o", "wrong", "--hold-out", "0"}, folder.path());
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("refuses the scenario of the run workers 2, servers 1, consistency fast") !=
        std::string::npos);
  write(folder.path() / "few.csv", table.substr(0, table.find("4,2,bsp")));
  const Outcome few = ::psim::test::psim({"calibrate", "few.csv", "-o", "few"}, folder.path());
  CHECK(few.code == 2);
  CHECK(few.err.find("at least 4") != std::string::npos);
}

TEST_CASE("calibrate notes what a table of runs lacks", "[command][calibrate]") {
  const TemporaryFolder folder;
  write(folder.path() / "bare.csv", "workers,step_s\n1,0.1\n2,0.1\n3,0.1\n4,0.1\n");
  const Outcome bare = ::psim::test::psim(
      {"calibrate", "bare.csv", "-o", "bare", "--hold-out", "0", "--servers", "1"}, folder.path());
  INFO(bare.err);
  CHECK(bare.code == 0);
  says(bare.out, "does not tell the size of the model: 4 B, or --model-bytes SIZE");
  says(bare.out, "does not tell the time of a computation: a column compute_s");
  CHECK(bare.out.find("--servers N") == std::string::npos);
  says(content(folder.path() / "bare/scenario.toml"), "servers = 1 ");
}
