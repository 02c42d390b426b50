// What the protocol and its record add to moving messages: a phantom run against a bare loop over SimGrid
// with the same pattern, sizes, platform and engine options.
#include <fmt/format.h>
#include <xbt/log.h>
#include <simgrid/kernel/resource/Action.hpp>

#include <deque>
#include <unordered_map>

#include "model/base/random.hpp"
#include "sim/cluster/platform.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/simulation.hpp"
#include "tests/bench/harness.hpp"

namespace sg4 = simgrid::s4u;

namespace psim::bench {
namespace {

constexpr std::uint64_t message_bytes = 1'000'000;

std::string scenario_text(int workers, int servers, int steps) {
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
bandwidth = "10Gbps"
latency = "10us"
share_spread = 0.0
[compute]
time = "55ms"
distribution = "uniform"
cv = 0.0577
)",
                     message_bytes / 4 * static_cast<std::uint64_t>(servers), steps, workers, servers);
}

struct BareMessage {
  unsigned from, to;
};

// Detached transfers, a look-up table and one inbox per node: the least that moves messages.
class BareNetwork {
 public:
  explicit BareNetwork(const std::vector<sg4::Host*>& hosts) {
    for (sg4::Host* host : hosts) nodes_.push_back({host, {}, sg4::Semaphore::create(0)});
    namespace resource = simgrid::kernel::resource;
    sg4::Link::on_communication_state_change_cb(
        [this](resource::NetworkAction& network_action, resource::Action::State) {
          auto& action = reinterpret_cast<resource::Action&>(
              network_action);  // its first base, as in sim/cluster/network.cpp
          const auto found = in_flight_.find(action.get_activity());
          if (found == in_flight_.end() || action.get_state() != resource::Action::State::FINISHED) return;
          const BareMessage message = found->second;
          in_flight_.erase(found);
          nodes_[message.to].inbox.push_back(message);
          nodes_[message.to].mail->release();
        });
  }
  void send(unsigned from, unsigned to) {
    ++sent_;
    const auto comm = sg4::Comm::sendto_init(nodes_[from].host, nodes_[to].host);
    comm->set_payload_size(message_bytes);
    comm->detach();
    in_flight_.emplace(comm->get_impl(), BareMessage{from, to});
  }
  BareMessage receive(unsigned me) {
    nodes_[me].mail->acquire();
    const BareMessage message = nodes_[me].inbox.front();
    nodes_[me].inbox.pop_front();
    return message;
  }
  std::int64_t sent() const { return sent_; }

 private:
  struct Node {
    sg4::Host* host;
    std::deque<BareMessage> inbox;
    sg4::SemaphorePtr mail;
  };
  std::vector<Node> nodes_;
  std::unordered_map<const void*, BareMessage> in_flight_;
  std::int64_t sent_ = 0;
};

struct Rate {
  double seconds = 0;
  double messages = 0;
  Json json() const { return {{"seconds", seconds}, {"messages", messages}}; }
};

void bare_server(BareNetwork& network, unsigned me) {
  for (;;) network.send(me, network.receive(me).from);
}

// A step computes 50 to 60 ms, pushes to every server, the next one first, and waits for all answers.
void bare_worker(BareNetwork& network, unsigned me, unsigned servers, int steps) {
  for (int step = 0; step < steps; ++step) {
    const double u = Stream(1, "bench.step", me, static_cast<std::uint64_t>(step)).uniform();
    sg4::this_actor::execute(1e9 * 0.05 * (1 + 0.2 * u));
    for (unsigned s = 0; s < servers; ++s) network.send(me, (s + me) % servers);
    for (unsigned s = 0; s < servers; ++s) network.receive(me);
  }
}

Rate bare_loop(const Scenario& scenario, unsigned workers, unsigned servers, int steps) {
  xbt_log_control_set("root.thresh:critical");
  std::vector<std::string> words{"bare"};
  for (const std::string& option : engine_options(scenario)) words.push_back("--cfg=" + option);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  auto argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  sg4::Engine engine(&argc, argv.data());
  auto* zone = add_star_zone("bare");
  std::vector<sg4::Host*> hosts;
  for (unsigned i = 0; i < servers + workers; ++i) {
    hosts.push_back(add_host(*zone, fmt::format("node {}", i), {1e9}));
    auto* link =
        add_split_duplex_link(*zone, fmt::format("link {}", i), scenario.cluster.network.bandwidth.value);
    link->set_latency(scenario.cluster.network.latency.value)->seal();
    add_star_route(*zone, hosts.back(), {link, sg4::LinkInRoute::Direction::UP});
  }
  zone->seal();
  BareNetwork network(hosts);
  for (unsigned s = 0; s < servers; ++s)
    add_actor("server", hosts[s], [&network, s] { bare_server(network, s); })->daemonize();
  for (unsigned w = servers; w < servers + workers; ++w) {
    add_actor("worker", hosts[w], [&network, w, servers, steps] { bare_worker(network, w, servers, steps); });
  }
  const double seconds = timed([&] { engine.run(); }).cpu;
  return {seconds, static_cast<double>(network.sent())};
}

Rate phantom_run(const LoadedScenario& loaded) {
  RunResult result;
  const double seconds = timed([&] { result = simulate(loaded, {.threads = 1, .context = {}}, {}); }).cpu;
  return {seconds, static_cast<double>(result.stats.messages)};
}

}  // namespace

// Processor time, for everything happens on one thread.
std::vector<Line> transport_against_loop(const Settings& settings) {
  constexpr int workers = 16, servers = 4;
  const int steps = settings.quick ? 5 : 2000;
  const std::string toml = scenario_text(workers, servers, steps);
  std::vector<double> messages(2);
  const auto keep = [&](std::size_t side, const Json& rate) {
    messages[side] = rate["messages"].get<double>();
    return rate["seconds"].get<double>();
  };
  const auto t = alternate(
      settings.repeats, 0,
      {[&] { return keep(0, in_child([&] { return phantom_run(scenario_of(toml)).json(); }).result); },
       [&] {
         return keep(1, in_child([&] {
                          return bare_loop(scenario_of(toml).scenario, workers, servers, steps).json();
                        }).result);
       }});
  const double pairs = 1.0 * workers * servers * steps;
  std::vector<double> run, bare;  // seconds per message
  for (const double seconds : t[0]) run.push_back(seconds / messages[0]);
  for (const double seconds : t[1]) bare.push_back(seconds / messages[1]);
  return {
      {.name =
           "messages per second of a phantom run (16 workers, 4 servers, asp) over a bare loop on SimGrid",
       .ratio = ratio_of_least(bare, run),
       .bound = Bound::at_least,
       .limit = 0.8,
       .detail =
           fmt::format("{:.0f} k/s and {:.0f} k/s, {:.2f} and {:.2f} messages a pair; {}", 1e-3 / least(run),
                       1e-3 / least(bare), messages[0] / pairs, messages[1] / pairs, spread(bare, run))},
      {.name = "... pushes with their answers per second",
       .ratio = ratio_of_least(t[1], t[0]),
       .bound = Bound::none,
       .limit = 0,
       .detail = fmt::format("{:.2f} us and {:.2f} us a pair; {}", 1e6 * least(t[0]) / pairs,
                             1e6 * least(t[1]) / pairs, spread(t[1], t[0]))}};
}

}  // namespace psim::bench
