// Whoever comes back takes part again, also where only one worker is left.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/run_file.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::test;

namespace {

// Workers from 1 on are away from 100 ms to 250 ms of 400 ms.
struct Case {
  std::string architecture = "", training = "", fault = "leave", recovery = "";
  int workers = 2, servers = 0;
};

std::string toml(const Case& c) {
  std::string text =
      fmt::format(R"([model]
layers = [64, 10]
[training]
batch_size = 8
duration = "400ms"
{}
[cluster]
workers = {}
{}
[compute]
time = "5ms"
[recovery]
heartbeat = "5ms"
timeout = "20ms"
retry = "10ms"
longest_retry = "20ms"
{}
{})",
                  c.training, c.workers, c.servers > 0 ? fmt::format("servers = {}", c.servers) : "",
                  c.recovery, c.architecture);
  for (int worker = 1; worker < c.workers; ++worker) {
    const std::string who = fmt::format("nodes = [\"worker {}\"]\nat = ", worker);
    if (c.fault == "crash")
      text += "[[fault]]\nkind = \"crash\"\n" + who + "\"100ms\"\nrestart_after = \"150ms\"\n";
    else
      text += "[[fault]]\nkind = \"leave\"\n" + who + "\"100ms\"\n[[fault]]\nkind = \"join\"\n" + who +
              "\"250ms\"\n";
  }
  return text;
}

std::string all_reduce(const std::string& algorithm) {
  return fmt::format("[architecture]\nkind = \"all-reduce\"\nalgorithm = \"{}\"\n", algorithm);
}

// Each worker that was away begins steps after 300 ms, and so do the others; verify holds.
void check_all_compute(const Case& c) {
  const std::string text = toml(c);
  INFO(text);
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  const Json summary = run_toml(text, {"--out", run, "--trace", "events"});
  CHECK(summary["stuck"].empty());
  const int first = 1 + c.servers;
  std::vector<int> steps(static_cast<std::size_t>(c.workers), 0);
  for (const RecordedEvent& event : events_of(run)) {
    if (event.is("computation", "begun") && event.at > 0.3)
      ++steps[static_cast<std::size_t>(event.node - first)];
  }
  for (const int own : steps) CHECK(own > 3);  // a clock of three local steps takes 15 ms
  const Outcome verified = psim::test::psim({"verify", run});
  INFO(verified.out);
  CHECK(verified.code == 0);
}

}  // namespace

TEST_CASE("a lone survivor of a ring takes those back who come", "[survivor][slow]") {
  for (const std::string algorithm : {"ring", "tree", "halving-doubling"})
    for (const std::string fault : {"leave", "crash"})
      for (const int workers : {2, 3})
        check_all_compute({.architecture = all_reduce(algorithm), .fault = fault, .workers = workers});
  check_all_compute({.architecture = all_reduce("ring"), .training = "local_steps = 3"});
  check_all_compute({.architecture = all_reduce("ring") + "[messages]\nunit = \"array\"\noverlap = true\n"});
  check_all_compute({.architecture = all_reduce("ring"), .recovery = "lost_data = \"reassign\""});
}

TEST_CASE("with servers, too, whoever comes back computes again", "[survivor][slow]") {
  for (const std::string model : {"bsp", "ssp", "asp", "k-async"})
    for (const std::string fault : {"leave", "crash"})
      check_all_compute({.architecture = "[consistency]\nmodel = \"" + model + "\"\n" +
                                         (model == "k-async" ? "k = 1\n" : ""),
                         .fault = fault,
                         .workers = 3,
                         .servers = 2});
}

TEST_CASE("a scheduler that comes back learns the view of a lone survivor", "[survivor]") {
  Case c{.architecture = all_reduce("ring")};
  const std::string text =
      toml(c) +
      "[[fault]]\nkind = \"crash\"\nnodes = [\"scheduler\"]\nat = \"150ms\"\nrestart_after = \"20ms\"\n";
  const TracedRun traced = trace_toml(text);
  int steps = 0;
  for (const RecordedEvent& event : traced.events)
    steps += event.is("computation", "begun") && event.node == 2 && event.at > 0.3 ? 1 : 0;
  CHECK(steps > 5);
}

TEST_CASE("the wait of a worker that a view ends is in the record", "[survivor]") {
  const TracedRun traced =
      trace_toml(toml({.architecture = all_reduce("ring"), .fault = "crash", .workers = 3}));
  // Worker 0 waits for a part of a worker that is down until the scheduler has noticed that.
  double longest = 0;
  for (const RecordedEvent& event : traced.events) {
    if (event.is("wait") && event.node == 1 && event.at > 0.1 && event.at < 0.2)
      longest = std::max(longest, event.at - event.since);
  }
  CHECK(longest > 0.01);
}
