// Goal: a time line says what every node did, exactly. Method: runs whose dates are known in closed form, and
// runs of every kind, whose spans must add up to what their summaries say.
#include "analysis/timeline/spans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/analysis/timeline/recorded.hpp"

using namespace psim::analysis;
using psim::test::recorded;
using psim::test::TemporaryFolder;

namespace {

constexpr double soon = 1e-6;  // seconds: more than all messages take

Timeline timeline_of_toml(const std::string& toml) {
  const TemporaryFolder folder;
  return timeline_of(RunRecord(recorded(folder, toml)));
}

// The spans that are not of messages on their way: "compute 0-1", dates rounded.
std::vector<std::string> long_spans(const Lane& lane) {
  std::vector<std::string> texts;
  for (const Span& span : lane.spans) {
    if (span.end - span.begin > soon)
      texts.push_back(fmt::format("{} {:.2f}-{:.2f}", name_of(span.use), span.begin, span.end));
  }
  return texts;
}

std::vector<std::string> texts_of(const Lane& lane, const std::string& kind) {
  std::vector<std::string> texts;
  for (const Mark& mark : lane.marks) {
    if (mark.kind == kind) texts.push_back(fmt::format("{:.3g} {}", mark.at, mark.text));
  }
  return texts;
}

void check_order(const Lane& lane) {
  double until = 0;
  for (const Span& span : lane.spans) {
    CAPTURE(lane.name, span.begin, span.end);
    CHECK(span.begin >= until);
    CHECK(span.begin < span.end);
    until = span.end;
  }
  CHECK(std::ranges::is_sorted(lane.marks, {}, &Mark::at));
}

}  // namespace

TEST_CASE("a fast worker waits for the slow one", "[timeline]") {
  const Timeline line = timeline_of_toml(psim::test::slow_pair);
  REQUIRE(line.lanes.size() == 4);
  const Lane &fast = line.lanes[2], &slow = line.lanes[3];
  CHECK(fast.name == "worker 0");
  CHECK(long_spans(fast) == std::vector<std::string>{"compute 0.00-1.00", "wait 1.00-3.00",
                                                     "compute 3.00-4.00", "wait 4.00-6.00"});
  CHECK(long_spans(slow) == std::vector<std::string>{"compute 0.00-3.00", "compute 3.00-6.00"});
  for (const Span& span : fast.spans) {
    if (span.use == Use::wait && span.end - span.begin > soon) {
      CHECK(span.for_node == 3);
      CHECK(span.clock == (span.begin < 2 ? 1 : 2));
      CHECK(span.message >= 0);
    }
    if (span.use == Use::compute) CHECK(span.for_node == 2);
  }
  CHECK(texts_of(line.lanes[1], "update") == std::vector<std::string>{"3 version 1", "6 version 2"});
  CHECK(texts_of(fast, "done") == std::vector<std::string>{"6 has finished"});
  REQUIRE(line.shades.size() == 1);
  CHECK(line.shades[0].node == 3);
  CHECK(line.shades[0].begin == 0);
  CHECK(line.shades[0].end == line.end);
  CHECK(line.shades[0].text == "straggler: 3 times slower");
}

TEST_CASE("while a server is down, workers wait for it, and not for each other", "[timeline]") {
  const Timeline line = timeline_of_toml(R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, steps = 20}
cluster = {workers = 2, servers = 2}
compute = {time = "10ms"}
recovery = {heartbeat = "10ms", timeout = "40ms"}
replication = {copies = 1}
fault = [{kind = "crash", nodes = ["server 1"], at = "55ms"}]
)");
  for (const std::size_t worker : {3, 4}) {
    double server = 0, others = 0;
    for (const Span& span : line.lanes[worker].spans) {
      if (span.use == Use::wait) (span.for_node == 2 ? server : others) += span.end - span.begin;
    }
    CAPTURE(line.lanes[worker].name, server, others);
    CHECK(server > 0.02);
    CHECK(others < 0.01);
  }
}

TEST_CASE("of a wait, messages on their way are network", "[timeline]") {
  // 40 bytes at 10 B/s take 4 s each way; a pull and a push of one worker.
  const Timeline line = timeline_of_toml(R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, steps = 1}
consistency = {model = "bsp"}
compute = {time = "1s"}
[cluster]
workers = 1
servers = 1
network = {latency = "0s", bandwidth = "10Bps", share_spread = 0.0, simgrid_model = "cm02"}
)");
  const Lane& worker = line.lanes[2];
  // At last the push, until the server says that it has it.
  CHECK(long_spans(worker) ==
        std::vector<std::string>{"network 0.00-4.00", "compute 4.00-5.00", "network 5.00-9.00"});
  CHECK(worker.spans.front().for_node == 1);
}

TEST_CASE("a server works on one push after the other", "[timeline]") {
  // 10 values at 1 operation each on a server of 10 operations a second: 1 s a push.
  const Timeline line = timeline_of_toml(R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, steps = 2}
consistency = {model = "bsp"}
compute = {time = "1s"}
[cluster]
workers = 2
servers = 1
server = {speed = "10f", flops_per_value = 1}
network = {latency = "0s", bandwidth = "10GBps", share_spread = 0.0, simgrid_model = "cm02"}
)");
  const Lane& server = line.lanes[1];
  CHECK(long_spans(server) == std::vector<std::string>{"service 1.00-2.00", "service 2.00-3.00",
                                                       "service 4.00-5.00", "service 5.00-6.00"});
  REQUIRE(server.marks.size() == 2);
  CHECK(server.spans[1].end == Approx(server.marks[0].at).epsilon(1e-12));
  CHECK(server.spans[3].end == Approx(server.marks[1].at).epsilon(1e-12));
  std::vector<std::uint32_t> senders;
  for (const Span& span : server.spans) senders.push_back(span.for_node);
  std::ranges::sort(senders);
  CHECK(senders == std::vector<std::uint32_t>{2, 2, 3, 3});
}

TEST_CASE("a slow fault makes a service longer", "[timeline]") {
  const Timeline line = timeline_of_toml(R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, steps = 1}
consistency = {model = "bsp"}
compute = {time = "1s"}
fault = [{kind = "slow", nodes = ["server 0"], from = "1.5s", until = "2.5s", factor = 0.25}]
[cluster]
workers = 1
servers = 1
server = {speed = "10f", flops_per_value = 1}
network = {latency = "0s", bandwidth = "10GBps", share_spread = 0.0, simgrid_model = "cm02"}
)");
  // Half is done at 1.5 s, a quarter more at 2.5 s, the rest at 2.75 s.
  const Lane& server = line.lanes[1];
  REQUIRE(server.spans.size() == 1);
  CHECK(server.spans[0].begin == Approx(1).epsilon(1e-6));
  CHECK(server.spans[0].end == Approx(2.75).epsilon(1e-6));
  REQUIRE(server.marks.size() == 3);
  CHECK(server.marks[2].kind == "update");
  CHECK(server.spans[0].end == Approx(server.marks[2].at).epsilon(1e-9));
  REQUIRE(line.shades.size() == 1);
  CHECK(line.shades[0].text == "slow: 0.25 of its speed");
  CHECK(line.shades[0].begin == 1.5);
  CHECK(line.shades[0].end == 2.5);
}

TEST_CASE("who is down does nothing", "[timeline]") {
  const Timeline line = timeline_of_toml(R"(model = {kind = "phantom", parameters = 10}
training = {batch_size = 1, duration = "10s"}
consistency = {model = "asp"}
compute = {time = "1s"}
[[fault]]
kind = "crash"
nodes = ["worker 1"]
at = "2.5s"
restart_after = "2s"
[[fault]]
kind = "crash"
nodes = ["server 1"]
at = "6s"
restart_after = "1s"
[cluster]
workers = 2
servers = 2
network = {latency = "0s", bandwidth = "10GBps", share_spread = 0.0, simgrid_model = "cm02"}
[recovery]
heartbeat = "0.1s"
timeout = "0.3s"
)");
  const auto down = [&](std::uint32_t node) {
    std::vector<std::string> spans;
    for (const Span& span : line.lanes[node].spans) {
      if (span.use == Use::down) spans.push_back(fmt::format("{:.3g}-{:.3g}", span.begin, span.end));
    }
    return spans;
  };
  CHECK(down(4) == std::vector<std::string>{"2.5-4.5"});
  CHECK(down(2) == std::vector<std::string>{"6-7"});
  CHECK(down(1).empty());
  CHECK(texts_of(line.lanes[2], "fault") == std::vector<std::string>{"6 crash", "7 crash ends"});
  CHECK(texts_of(line.lanes[2], "suspicion").size() == 1);
}

TEST_CASE("a worker's spans add up to its times in the summary", "[timeline][slow]") {
  const char* const name =
      GENERATE("quickstart", "stragglers", "server_crash", "two_jobs", "elasticity", "rolling_restart",
               "database", "architectures", "devices", "partition", "update_on_worker", "load_balance");
  CAPTURE(name);
  const TemporaryFolder folder;
  const psim::test::Outcome outcome =
      psim::test::psim({"run", name, "--trace", "events", "--out", "one"}, folder.path());
  REQUIRE((outcome.code == 0 || outcome.code == 1));
  const RunRecord run(folder.path() / "one");
  const Timeline line = timeline_of(run);
  for (const Lane& lane : line.lanes) check_order(lane);
  for (std::uint32_t w = 0; w < run.facts.workers; ++w) {
    CAPTURE(w);
    const Lane& lane = line.lanes.at(1 + run.facts.servers + w);
    const Json& time = run.summary.at("workers").at(w).at("time");
    const double total = time.at("total_s").get<double>();
    const auto share = [&](Use use) { return lane.seconds(use, 0, line.end) / total; };
    CHECK(share(Use::compute) == Approx(time.at("compute_share").get<double>()).margin(1e-9));
    CHECK(share(Use::network) == Approx(time.at("network_share").get<double>()).margin(1e-9));
    CHECK(share(Use::wait) == Approx(time.at("wait_share").get<double>()).margin(1e-9));
    CHECK(share(Use::down) == Approx(time.at("absent_share").get<double>()).margin(1e-9));
  }
}

TEST_CASE("a run without events has no time line", "[timeline]") {
  const TemporaryFolder folder;
  const auto run = recorded(folder, psim::test::slow_pair, "steps");
  CHECK_THROWS_AS(RunRecord(run), Unverifiable);
}
