// The options of psim calibrate, and what it says about unusual logs.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/calibrate.hpp"

using namespace psim::test;

TEST_CASE("calibrate takes fields of --set as the command line does", "[command][calibrate]") {
  const TemporaryFolder folder;
  std::string log = "worker,step,compute_s\n";
  for (int step = 0; step < 40; ++step) log += fmt::format("0,{},{}\n", step, 0.1 + 0.001 * (step % 7));
  write(folder.path() / "log.csv", log);
  const auto answer = [&](const std::string& set) {
    return ::psim::test::psim({"calibrate", "log.csv", "-o", "fit", "--force", "--set", set}, folder.path());
  };
  const Outcome bounded = ::psim::test::psim(
      {"calibrate", "log.csv", "-o", "bounded", "--consistency", "ssp 2", "--hold-out", "0"}, folder.path());
  INFO(bounded.err);
  CHECK(bounded.code == 0);
  CHECK(::psim::test::psim({"check", "bounded/scenario.toml"}, folder.path()).code == 0);
  const Outcome bare = answer("cluster.network.model=nic");
  INFO(bare.err);
  CHECK((bare.code == 0 || bare.code == 1));
  CHECK(content(folder.path() / "fit/scenario.toml").find("model = \"nic\"") != std::string::npos);
  const Outcome none = answer("cluster.network.model");
  CHECK(none.code == 2);
  CHECK(none.err.find("no field and value") != std::string::npos);
}

TEST_CASE("the page of a calibration draws negative autocorrelations, and has units",
          "[command][calibrate]") {
  const TemporaryFolder folder;
  std::string log = "worker,step,compute_s\n";
  for (int step = 0; step < 200; ++step) log += fmt::format("0,{},{}\n", step, step % 2 == 0 ? 0.1 : 0.2);
  write(folder.path() / "log.csv", log);
  const Outcome outcome = ::psim::test::psim({"calibrate", "log.csv", "-o", "fit"}, folder.path());
  INFO(outcome.err);
  const std::string page = content(folder.path() / "fit/report.html");
  CHECK(page.find("\">-0.5</text>") != std::string::npos);  // a mark of an axis
  CHECK(page.find(" s</td><td>mean</td>") != std::string::npos);
  const std::size_t row = page.find("mean computation</th>");
  REQUIRE(row != std::string::npos);
  CHECK(page.substr(row, 300).find("</data> s</td>") != std::string::npos);
}

namespace {

// Steps of some workers that vary a little.
std::string plain_log(int steps, const std::string& more_columns = "", const std::string& more_cells = "") {
  std::string log = "worker,step,compute_s" + more_columns + "\n";
  for (int step = 0; step < steps; ++step) {
    for (int worker = 0; worker < 2; ++worker)
      log += fmt::format("{},{},{}{}\n", worker, step, 0.1 + 0.001 * ((step * 7 + worker) % 11), more_cells);
  }
  return log;
}

// Answers of psim calibrate to a log with some options.
class Calibrating {
 public:
  explicit Calibrating(const std::string& log) { write(folder_.path() / "log.csv", log); }
  Outcome operator()(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"calibrate", "log.csv", "-o", "fit", "--force"};
    words.insert(words.end(), more.begin(), more.end());
    return ::psim::test::psim(words, folder_.path());
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("calibrate takes shares as percentages or as numbers, and refuses others", "[command][calibrate]") {
  const Calibrating calibrate(plain_log(100));
  const Outcome half = calibrate({"--hold-out", "30%", "--within", "0.004"});
  says(half.out, "the last 30 steps, held out");
  says(half.out, "within 0.4 %.");
  says(content(calibrate.path() / "fit/report.html"), "must agree within 0.4 %.");
  CHECK(calibrate({"--hold-out", "0.3", "--within", "50%"}).code == 0);
  for (const char* wrong : {"nan", "95%", "-1", "much"}) {
    const Outcome refused = calibrate({"--hold-out", wrong});
    CHECK(refused.code == 2);
    says(refused.err, "is not from 0% to 90%");
  }
  says(calibrate({"--within", "5"}).err, "`5` is not from 0.0001% to 100%");
  const Outcome small = calibrate({"--hold-out", "0.01"});
  CHECK(small.code == 2);
  says(small.err, "--hold-out 1% leaves 99 steps to fit and 1 to judge");
  says(Calibrating(plain_log(12))({}).out, "The log is too short to hold out a part of it");
}

TEST_CASE("a field of --set is given, and a wrong one is shown with its option", "[command][calibrate]") {
  const Calibrating calibrate(plain_log(40));
  const Outcome given = calibrate({"--set", "cluster.network.bandwidth=10Gbps", "--set",
                                   "cluster.network.latency=\"50us\"", "--hold-out", "0"});
  INFO(given.err);
  CHECK(given.code == 0);
  says(given.out, "given       cluster.network.bandwidth = 1.25e+09 B/s\n");
  says(given.out, "given       cluster.network.latency = 5e-05 s\n");
  const Json values = values_of(Json::parse(content(calibrate.path() / "fit/calibration.json")));
  const Json& bandwidth = values["cluster.network.bandwidth"];
  CHECK(bandwidth["value"] == 1.25e9);
  CHECK(bandwidth["how"] == "given");
  CHECK(bandwidth["given"] == true);
  CHECK(bandwidth["cannot_be_told"] == false);
  CHECK(values["cluster.network.share_turn"]["given"] == false);
  // A trial is as long as the log; only the scenario has the given steps.
  const Outcome short_run = calibrate({"--set", "training.steps=1"});
  INFO(short_run.err);
  CHECK(short_run.code <= 1);
  says(content(calibrate.path() / "fit/scenario.toml"), "steps = 1 ");
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--consistency", "fast"},
                                             {"--preset", "nothing"},
                                             {"--set", "training.stepz=3"},
                                             {"--servers", "2"}}) {
    for (const char* share : {"0", "50%"}) {
      std::vector<std::string> words = wrong;
      words.insert(words.end(), {"--hold-out", share});
      const Outcome refused = calibrate(words);
      CHECK(refused.code == 2);
      says(refused.err, "psim refuses the fitted scenario");
      says(refused.err, wrong[0]);
      CHECK(refused.err.find("/tmp") == std::string::npos);
    }
  }
  says(calibrate({"--servers", "2"}).err, "--model-bytes");
}

TEST_CASE("calibrate notes what a log says twice or only once", "[command][calibrate]") {
  const Calibrating calibrate(plain_log(40, ",bytes,loss", ",4000000,0.5"));
  const Outcome other = calibrate({"--model-bytes", "8MB"});
  says(other.out, "A push of the log has 4e+06 B in the median, and --model-bytes says 8e+06 B");
  says(other.out, "ignored columns: `loss`.");
  CHECK(calibrate({"--model-bytes", "4MB"}).out.find("in the median") == std::string::npos);
  // Waiting for workers that are not in the log looks like a slow network.
  const char* waits = "Push and pull contain waiting for other workers.";
  const auto waiting = [&](const std::vector<std::string>& more) {
    std::string log = "worker,step,compute_s,push_s,pull_s,bytes\n";
    for (int step = 0; step < 40; ++step)
      log += fmt::format("0,{0},{1},0.02,0.02,{2}\n", step, 0.1 + 0.001 * (step % 7),
                         step == 3 ? 5000000 : 1000000);
    std::vector<std::string> words{"--hold-out", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return Calibrating(log)(words);
  };
  says(waiting({}).out, waits);
  says(waiting({"--workers", "4"}).out, waits);
  CHECK(waiting({"--consistency", "asp"}).out.find(waits) == std::string::npos);
  says(waiting({}).out, "The pushes of the log have 1e+06 to 5e+06 B; the median of 1e+06 B counts.");
  write(calibrate.path() / "link.csv", "bytes,seconds\n1000000,0.01\n");
  const Outcome one = calibrate({"link.csv"});
  says(one.out, "fitted      cluster.network.bandwidth = 1e+08 B/s; the only transfer of the link test\n");
  says(one.out, "The link test has one transfer");
  write(calibrate.path() / "link.csv", "bytes,seconds\n1000000,0.03\n2000000,0.02\n4000000,0.01\n");
  const Outcome falling = calibrate({"link.csv"});
  CHECK(falling.code == 2);
  says(falling.err, "do not take longer with more bytes");
}

TEST_CASE("calibrate says what is missing on its command line", "[command][calibrate]") {
  const Calibrating calibrate(plain_log(40));
  says(::psim::test::psim({"calibrate", "log.csv"}, calibrate.path()).err, "psim calibrate needs -o FOLDER");
  says(::psim::test::psim({"calibrate", "-o", "fit"}, calibrate.path()).err, "psim calibrate needs a log");
  REQUIRE(calibrate({"--hold-out", "0"}).code == 0);
  const Outcome own = ::psim::test::psim({"calibrate", "fit", "-o", "again"}, calibrate.path());
  CHECK(own.code == 2);
  says(own.err, "fit is a folder and no log");
  says(own.err, "it is an output of psim calibrate");
  for (const char* word : {"predicted", "unknown", "calibrate"})
    CHECK(::psim::test::psim({"explain", word}, calibrate.path()).code == 0);
}

namespace {

// Mean steps of a run, over its workers.
double mean_step(const Json& run) {
  double sum = 0;
  for (const Json& one : run["workers"])
    sum += one["mean_step_s"].get<double>() / static_cast<double>(run["workers"].size());
  return sum;
}

}  // namespace

TEST_CASE("calibrate fits computations to whole steps under every way to wait", "[command][calibrate]") {
  const TemporaryFolder folder;
  const std::vector<std::string> network{
      "--set", "cluster.network.bandwidth=50MBps", "--model-bytes", "2MB", "--hold-out", "50%"};
  for (const char* model : {"bsp", "ssp 3", "asp", "all-reduce"}) {
    INFO(model);
    const bool is_ring = std::string(model) == "all-reduce";
    ScenarioBuilder cluster({"cluster.workers=4", "training.steps=120", "cluster.network.bandwidth=50MBps",
                             "cluster.network.latency=25us", "cluster.network.cross_traffic=true",
                             "cluster.network.simgrid_model=cm02", "compute.time=100ms",
                             is_ring ? "architecture.kind=all-reduce" : "consistency=" + std::string(model)});
    if (!is_ring) cluster = cluster.set("cluster.servers", 2);
    const TracedRun run = cluster.with("model", "kind = \"phantom\"\nparameters = 500000")
                              .with("compute", "distribution = \"gamma\"\ncv = 0.1")
                              .trace();
    std::string log = "worker,step,step_time_ms\n";
    std::map<int, std::vector<double>> begins;  // by node
    for (const RecordedEvent& event : run.events) {
      if (event.is("computation", "begun")) begins[event.node].push_back(event.at);
    }
    double logged = 0, steps = 0;
    for (const auto& [node, dates] : begins) {
      for (std::size_t i = 0; i + 1 < dates.size(); ++i) {
        log += fmt::format("{},{},{}\n", node, i, 1000 * (dates[i + 1] - dates[i]));
        logged += dates[i + 1] - dates[i], steps += 1;
      }
    }
    write(folder.path() / "log.csv", log);
    std::vector<std::string> words{"calibrate", "log.csv", "-o", "fit", "--force", "--consistency", model};
    words.insert(words.end(), network.begin(), network.end());
    if (!is_ring) words.insert(words.end(), {"--servers", "2"});
    const Outcome fitted = ::psim::test::psim(words, folder.path());
    INFO(fitted.out << fitted.err);
    CHECK(fitted.code <= 1);  // of ssp and asp, chance moves the mean steps of so short a log
    says(fitted.out, "The log has whole steps");
    CHECK((fitted.out.find("how long it waited") == std::string::npos) == (std::string(model) == "asp"));
    const Outcome again =
        ::psim::test::psim({"run", "fit/scenario.toml", "--json", "--trace", "none"}, folder.path());
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(mean_step(Json::parse(again.out)) == Approx(logged / steps).epsilon(0.05));
  }
  // One time for all workers of a job, and a network that is slower than its steps.
  std::string log = "step,step_s\n";
  for (int step = 0; step < 40; ++step) log += fmt::format("{},{}\n", step, 0.2 + 0.01 * (step % 3));
  write(folder.path() / "log.csv", log);
  std::vector<std::string> words{"calibrate",     "log.csv",    "-o",        "fit", "--force",
                                 "--consistency", "all-reduce", "--workers", "8"};
  words.insert(words.end(), network.begin(), network.end());
  const Outcome job = ::psim::test::psim(words, folder.path());
  INFO(job.out << job.err);
  CHECK(job.code == 0);
  says(job.out, "all of them compute as the log says");
  says(content(folder.path() / "fit/scenario.toml"), "trace_workers = \"as they are\"");
  words[words.size() - 3] = "200MB";
  says(::psim::test::psim(words, folder.path()).out, "simulated steps still differ from the logged ones");
}

TEST_CASE("calibrate fits a few steps, without a verdict", "[command][calibrate]") {
  const Calibrating calibrate(plain_log(4));
  const Outcome few = calibrate({});
  INFO(few.err);
  CHECK(few.code == 0);
  says(few.out, "there is no verdict");
  says(few.out, "4 steps are few: the intervals are wide");
  CHECK(::psim::test::psim({"check", "fit/scenario.toml"}, calibrate.path()).code == 0);
  CHECK(Calibrating(plain_log(2))({}).code == 2);
}
