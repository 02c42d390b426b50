// Thousands of nodes: what the network of queues (cluster.network.model = "nic") wins over SimGrid's flows,
// and how its cost and memory grow with the cluster.
#include <fmt/format.h>

#include <algorithm>

#include "sim/simulation.hpp"
#include "tests/bench/growth.hpp"
#include "tests/bench/harness.hpp"

namespace psim::bench {
namespace {

std::string text_of(const char* model, const Cluster& c) {
  return fmt::format(R"([model]
kind = "phantom"
parameters = {}
[training]
steps = {}
[consistency]
model = "asp"
[cluster]
workers = {}
servers = {}
[cluster.network]
model = "{}"
bandwidth = "10Gbps"
[compute]
time = "100ms"
distribution = "lognormal"
cv = 0.2
)",
                     250'000 * c.servers, c.steps, c.workers, c.servers, model);
}

}  // namespace

Cost cost_of_messages(const char* model, const Cluster& c) {
  const std::string toml = text_of(model, c);
  const Usage usage = in_child([&] {
    const LoadedScenario loaded = scenario_of(toml);
    RunResult result;
    const double seconds = timed([&] { result = simulate(loaded, {.threads = 1, .context = {}}, {}); }).cpu;
    return Json{{"seconds", seconds}, {"messages", result.stats.messages}};
  });
  const auto messages = usage.result["messages"].get<double>();
  return {usage.result["seconds"].get<double>() / messages, usage.peak_bytes, messages};
}

namespace {

Cost least_of(int repeats, const char* model, const Cluster& c) {
  Cost least = cost_of_messages(model, c);
  for (int i = 1; i < repeats; ++i)
    least.seconds = std::min(least.seconds, cost_of_messages(model, c).seconds);
  return least;
}

std::string size_of(const Cluster& c) {
  return fmt::format("{} workers, {} server{}", c.workers, c.servers, c.servers == 1 ? "" : "s");
}

}  // namespace

// Where flows overlap by the thousand one run of fluid takes minutes, so it runs once.
std::vector<Line> thousands_of_nodes(const Settings& settings) {
  const bool quick = settings.quick;
  const Cluster crowd = quick ? Cluster{20, 2, 1} : Cluster{1000, 8, 1};
  const Cluster small = quick ? Cluster{10, 1, 10} : Cluster{100, 1, 100};
  const Cluster many = quick ? Cluster{100, 2, 1} : Cluster{10'000, 100, 1};
  const Cluster tall = quick ? Cluster{100, 1, 1} : Cluster{10'000, 1, 1};
  const int repeats = quick ? 1 : 3;
  const Cost fluid = cost_of_messages("fluid", crowd), nic = least_of(repeats, "nic", crowd);
  const Cost few = least_of(repeats, "nic", small), all = cost_of_messages("nic", many),
             one = cost_of_messages("nic", tall);
  const double per_node = (one.bytes - few.bytes) / (tall.workers - small.workers);
  const double pairs = 1.0 * many.workers * many.servers;
  const double per_pair = (all.bytes - one.bytes) / pairs;
  return {{.name = fmt::format("messages per second: nic over fluid ({}, asp)", size_of(crowd)),
           .ratio = fluid.seconds / nic.seconds,
           .bound = Bound::at_least,
           .limit = 100,
           .detail = fmt::format("{:.1f} k/s and {:.2f} k/s", 1e-3 / nic.seconds, 1e-3 / fluid.seconds)},
          {.name = fmt::format("time per message with nic: {}, over {}", size_of(many), size_of(small)),
           .ratio = all.seconds / few.seconds,
           .bound = Bound::at_most,
           .limit = 2,
           .detail = fmt::format("{:.1f} us and {:.1f} us; {:.2g} messages", 1e6 * all.seconds,
                                 1e6 * few.seconds, all.messages)},
          {.name = fmt::format("memory of a node with nic, in units of 20 kB: {}", size_of(tall)),
           .ratio = per_node / 20e3,
           .bound = Bound::at_most,
           .limit = 1,
           .detail = fmt::format("{:.1f} kB; {:.0f} MB in all", per_node / 1e3, one.bytes / 1e6)},
          {.name = fmt::format("... of a worker at one server, in units of 0.75 kB: {}", size_of(many)),
           .ratio = per_pair / 0.75e3,
           .bound = Bound::at_most,
           .limit = 1,
           .detail = fmt::format("{:.0f} bytes; {:.0f} MB in all", per_pair, all.bytes / 1e6)}};
}

}  // namespace psim::bench
