// Goal: a run tells which links were full by whose messages, and what a message's time is made of.
// Method: runs whose times are known in closed form; the tables of links themselves.
#include "analysis/links/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/run_psim.hpp"

using namespace psim::analysis;
using psim::test::Outcome;
using psim::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

struct Setting {
  int workers = 4;
  std::string simgrid = "cm02", model = "fluid", more = "";  // more: fields of [cluster.network]
  std::string bandwidth = "bandwidth = \"1Gbps\"";
};

// Messages of 1 MB, links of 125 MB/s and 50 us; every worker computes for 10 ms.
std::string toml(const Setting& s) {
  return fmt::format(R"([model]
kind = "phantom"
parameters = 250_000
[training]
batch_size = 1
steps = 3
[consistency]
model = "bsp"
[compute]
time = "10ms"
[cluster]
workers = {}
servers = 1
[cluster.network]
{}
share_spread = 0.0
simgrid_model = "{}"
model = "{}"
{}
)",
                     s.workers, s.bandwidth, s.simgrid, s.model, s.more);
}

fs::path run_in(const TemporaryFolder& folder, const std::string& scenario, const std::string& context = "") {
  std::ofstream(folder.path() / "scenario.toml") << scenario;
  std::vector<std::string> words{"run", "scenario.toml", "--trace", "events", "--out", "run", "--force"};
  if (!context.empty()) words.insert(words.end(), {"--context", context});
  const Outcome outcome = psim::test::psim(words, folder.path());
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return folder.path() / "run";
}

std::vector<Transfer> transfers(const RunRecord& run) { return Traffic(run, Rates(run)).transfers; }

const LinkUse& use_of(const std::vector<LinkUse>& uses, const std::string& name) {
  const auto found = std::ranges::find(uses, name, [](const LinkUse& use) { return use.link.name; });
  INFO(name);
  REQUIRE(found != uses.end());
  return *found;
}

Approx near(double t) { return Approx(t).epsilon(1e-9).margin(1e-9); }

}  // namespace

TEST_CASE("an incast of four equal messages: each shares for three times what it takes alone", "[links]") {
  const TemporaryFolder folder;
  const RunRecord run(run_in(folder, toml({})));
  constexpr double alone = 1e6 / 125e6;
  int pushes = 0;
  for (const Transfer& t : transfers(run)) {
    CHECK(t.received - t.sent == near(t.latency + t.alone + t.sharing + t.rest));
    CHECK(t.latency == near(100e-6));
    CHECK(t.rest == near(0));
    if (t.bytes < 1'000'000 || t.from == 1) continue;
    ++pushes;
    CHECK(t.alone == near(alone));
    CHECK(t.sharing == near(3 * alone));
  }
  CHECK(pushes == 12);

  const std::vector<LinkUse> uses = links_of(Traffic(run, Rates(run)), run.summary.at("sim_time_s"));
  const LinkUse& full = use_of(uses, "server 0 down");
  CHECK(full.bytes == 12'000'000);
  CHECK(full.busy == near(12 * alone));
  CHECK(full.use_while_busy == near(1));
  CHECK(full.full.size() == 3);
  CHECK(full.full_seconds() == near(12 * alone));
  CHECK(full.use == near(12 * alone / run.summary["sim_time_s"].get<double>()));
  REQUIRE(full.senders.size() == 3);
  CHECK(full.senders[0].bytes == 3'000'000);
  const LinkUse& own = use_of(uses, "worker 2 up");
  CHECK(own.use_while_busy == near(0.25));
  CHECK(own.full.empty());
  REQUIRE(own.senders.size() == 1);
  CHECK(own.senders[0].node == 4);
}

TEST_CASE("a message that nobody disturbs takes its latency and its transfer alone", "[links][slow]") {
  const std::string file = (psim::test::source_folder() / "scenarios/data/two_sites.xml").string();
  const std::string own_graph = R"(topology = "graph"
[[cluster.network.link]]
between = ["scheduler", "hub"]
[[cluster.network.link]]
between = ["worker 0", "hub"]
latency = "3ms"
[[cluster.network.link]]
between = ["server 0", "hub"]
bandwidth = "400Mbps"
)";
  for (const std::string model : {"fluid", "nic"}) {
    for (const std::string simgrid : {"cm02", "lv08"}) {
      for (const std::string& more :
           {std::string(), std::string("tcp_window = \"5kB\""), std::string("share_turn = \"64kB\""),
            std::string("topology = \"two-tier\""), std::string("topology = \"fat-tree\""), own_graph,
            "topology = \"simgrid-xml\"\nplatform = \"" + file + "\""}) {
        INFO(model << " " << simgrid << " " << more);
        const TemporaryFolder folder;
        const RunRecord run(run_in(
            folder, toml({.workers = 1,
                          .simgrid = simgrid,
                          .model = model,
                          .more = more,
                          .bandwidth = more.find("xml") == std::string::npos ? Setting().bandwidth : ""})));
        double longest = 0;
        for (const Transfer& t : transfers(run)) {
          longest = std::max(longest, t.alone);
          CHECK(t.sharing == Approx(0).margin(1e-8 + 1e-9 * t.alone));
          CHECK(t.rest == Approx(0).margin(1e-8 + 1e-9 * t.alone));
        }
        CHECK(longest > 0);
        if (more.starts_with("tcp")) CHECK(longest > 4 * 1e6 / 125e6);
      }
    }
  }
}

TEST_CASE("what nodes do to messages, and what faults delay, is not the links'", "[links]") {
  const TemporaryFolder folder;
  const std::string ends = R"([cluster.network.endpoint]
send_overhead = "2ms"
receive_overhead = "1ms"
receive_bandwidth = "1GBps"
)";
  const RunRecord run(run_in(folder, toml({.workers = 1, .more = ends})));
  for (const Transfer& t : transfers(run)) {
    const double at_its_ends = 0.003 + static_cast<double>(t.bytes) / 1e9;
    CHECK(t.sharing == near(0));
    CHECK(t.rest >= at_its_ends - 1e-9);  // a small one waits for those before it
    if (t.bytes >= 1'000'000) CHECK(t.rest == near(at_its_ends));
    CHECK(t.on_wire >= t.sent + 0.002 - 1e-12);
    CHECK(t.end <= t.received - 0.001 + 1e-12);
  }
}

TEST_CASE("a message that is lost on its way has used a link until then, and no longer", "[links]") {
  struct Case {
    int workers;
    double crash;      // of the server, while all pushes share its link
    double bandwidth;  // of that link, in bytes per second
    std::string more;
  };
  const std::string thin = R"(topology = "graph"
[[cluster.network.link]]
between = ["scheduler", "hub"]
[[cluster.network.link]]
between = ["worker 0", "hub"]
[[cluster.network.link]]
between = ["server 0", "hub"]
bandwidth = "400Mbps"
)";
  for (const Case& one : {Case{1, 0.022, 125e6, ""}, Case{4, 0.06, 125e6, ""}, Case{1, 0.037, 50e6, thin}}) {
    INFO(one.workers << " workers, " << one.bandwidth);
    const TemporaryFolder folder;
    const std::string fault = fmt::format(R"([recovery]
enabled = true
heartbeat = "5ms"
timeout = "20ms"
retry = "50ms"
[[fault]]
kind = "crash"
at = "{}s"
nodes = ["server 0"]
restart_after = "10ms"
)",
                                          one.crash);
    const RunRecord run(run_in(folder, toml({.workers = one.workers, .more = one.more}) + fault));
    std::uint64_t to_server = 0, from_worker = 0;  // bytes that arrived
    std::vector<Transfer> cut;
    for (const Transfer& t : transfers(run)) {
      if (!t.is_lost && t.to == 1) to_server += t.bytes;
      if (!t.is_lost && t.from == 2) from_worker += t.bytes;
      if (t.is_lost && t.bytes >= 1'000'000) cut.push_back(t);
    }
    REQUIRE(std::ssize(cut) == one.workers);
    for (const Transfer& t : cut) {
      CHECK(t.end == near(one.crash));
      CHECK(t.begin == near(cut.front().begin));
    }
    const double lost = (one.crash - cut.front().begin) * one.bandwidth;
    CHECK(lost > 0.1e6);
    CHECK(lost < 0.9e6 * one.workers);
    const std::vector<LinkUse> uses = links_of(Traffic(run, Rates(run)), run.summary.at("sim_time_s"));
    const LinkUse& server = use_of(uses, "server 0 down");
    const auto has = [](double bytes) { return Approx(bytes).epsilon(0).margin(20); };
    CHECK(static_cast<double>(server.bytes) == has(static_cast<double>(to_server) + lost));
    CHECK(server.use_while_busy == Approx(1).margin(1e-4));
    // Of several pushes nobody knows how much each had sent, but it was no more than all.
    const double of_worker = static_cast<double>(use_of(uses, "worker 0 up").bytes - from_worker);
    if (one.workers == 1) CHECK(of_worker == has(lost));
    else CHECK(of_worker <= 1'000'000);
  }
}

TEST_CASE("links are the same for every context and both models of the network", "[links]") {
  const auto tables = [](const std::string& model, const std::string& context) {
    const TemporaryFolder folder;
    const fs::path run = run_in(folder, toml({.model = model, .more = "topology = \"two-tier\""}), context);
    const Lone lone{RunRecord(run)};
    std::string all;
    for (const Link& link : lone.links())
      all += fmt::format("{} {} {} {}\n", link.name, link.bandwidth, link.latency, link.is_shared);
    for (std::uint32_t from = 0; from < 6; ++from) {
      for (std::uint32_t to = 0; to < 6; ++to) {
        for (const std::uint32_t link : lone.way(from, to)) all += fmt::format("{}-{}: {}\n", from, to, link);
      }
    }
    return all;
  };
  const std::string first = tables("fluid", psim::test::contexts().front());
  CHECK(first.find("rack 1 to core") != std::string::npos);
  for (const std::string& context : psim::test::contexts()) CHECK(tables("fluid", context) == first);
  CHECK(tables("nic", psim::test::contexts().front()) == first);
}

TEST_CASE("a run with events takes less than a hundred bytes an event", "[links][slow]") {
  for (const std::string name : {"quickstart", "stragglers", "thousand_workers"}) {
    const TemporaryFolder folder;
    const std::string scenario = (psim::test::source_folder() / "scenarios" / (name + ".toml")).string();
    const auto bytes_of = [&](const std::string& level) {
      const Outcome run =
          psim::test::psim({"run", scenario, "--trace", level, "--out", level, "--json"}, folder.path());
      INFO(run.err);
      REQUIRE(run.code == 0);
      return std::pair(static_cast<double>(fs::file_size(folder.path() / level / "run.db")),
                       Json::parse(run.out)["events"].get<double>());
    };
    const auto [bytes, events] = bytes_of("events");
    INFO(name << ": " << bytes / events << " bytes an event");
    CHECK(bytes < 100 * events);
  }
}
