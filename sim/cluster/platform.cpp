#include "sim/cluster/platform.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/log.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <set>
#include <stdexcept>

#include "model/base/memory.hpp"
#include "sim/cluster/paths.hpp"
#include "sim/cluster/simgrid_version.hpp"
#include "sim/cluster/turns.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"

namespace sg4 = simgrid::s4u;

namespace psim {
namespace {

// Sanitizers follow the stacks of threads, but report SimGrid's own stacks as overflows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool needs_threads = true;
#else
constexpr bool needs_threads = false;
#endif

std::string default_context() {
  return needs_threads ? context_factories().back() : context_factories().front();
}

// SimGrid replaces this signal's handler; its handler ends the program with exit code 1. This keeps the old
// handler.
class KeptHandler {
 public:
  explicit KeptHandler(int signal) : signal_(signal) { sigaction(signal_, nullptr, &kept_); }
  ~KeptHandler() { sigaction(signal_, &kept_, nullptr); }
  KeptHandler(const KeptHandler&) = delete;
  KeptHandler& operator=(const KeptHandler&) = delete;

 private:
  int signal_;
  struct sigaction kept_ {};
};

}  // namespace

const std::vector<std::string>& context_factories() {
#ifdef __x86_64__
  static const std::vector<std::string> all{"raw", "boost", "ucontext", "thread"};
#else
  static const std::vector<std::string> all{"boost", "ucontext", "thread"};
#endif
  return all;
}

Engine::Engine(const Scenario& scenario, const std::string& context) {
  xbt_log_control_set("root.thresh:critical");
  xbt_log_control_set("ker_engine.thresh:critical root.app:file:/dev/null");
  words_ = {"psim"};
  for (const std::string& option : engine_options(scenario)) words_.push_back("--cfg=" + option);
  words_.push_back("--cfg=contexts/factory:" + (context.empty() ? default_context() : context));
  // A guard at the end of a stack cuts the memory there, and Linux allows a process 65,530 pieces.
  if (node_count(scenario.cluster) > 20'000) {
    words_.emplace_back("--cfg=contexts/guard-size:0");
    map_stacks();
  }
  for (std::string& word : words_) argv_.push_back(word.data());
  argv_.push_back(nullptr);
  argc_ = static_cast<int>(words_.size());
  const KeptHandler of_interrupts(SIGINT);
  engine_ = std::make_unique<simgrid::s4u::Engine>(&argc_, argv_.data());
}

Engine::~Engine() = default;

void Engine::run(const std::function<void()>& on_deadlock) {
  simgrid::s4u::Engine::on_deadlock_cb(on_deadlock);
  engine_->run();
}

namespace {

constexpr double unlimited = 1e18;  // bytes per second: never the bottleneck

// A route from one host to another.
struct PairOfNodes {
  std::uint32_t from, to;
  RouteTable::Links links;
  double latency = 0;   // of the whole route
  double of_links = 0;  // of its links
};

class Builder {
 public:
  Builder(const Scenario& scenario)
      : scenario_(scenario),
        network_(scenario.cluster.network),
        latency_unit_(latency_unit(scenario.cluster.network)),
        routes_(RouteTable::make("cluster")),
        zone_(routes_->get_iface()) {
    platform_.routes = routes_;
  }

  Platform build() {
    add_hosts();
    if (network_.model == NetworkModel::fluid) add_links();  // other carriers have their own links
    zone_->seal();
    for (std::uint32_t node = 0; node < node_count(scenario_.cluster) + aggregator_count(scenario_.cluster);
         ++node) {
      const std::uint32_t host = host_of(scenario_.cluster, node);
      platform_.hosts.push_back(hosts_[host]);
      platform_.own_links.push_back(own_links_[host]);
    }
    return std::move(platform_);
  }

 private:
  // Cpu computes the machines' times (cpu.hpp), so SimGrid's speeds mean nothing.
  void add_hosts() {
    const ClusterSpec& cluster = scenario_.cluster;
    for (std::uint32_t number = 0; number < host_count(cluster); ++number) {
      hosts_.push_back(add_host(*zone_, fmt::format("node {}", nodes_on(cluster, number).front()), 1));
      hosts_.back()->seal();
    }
    own_links_.resize(hosts_.size());
  }

  void add_links() {
    if (network_.topology == TopologyKind::simgrid_xml) build_from_file(network_.platform_file);
    else build_from(make_topology(scenario_.cluster));
  }

  double latency_of_link(double latency) const { return latency * latency_unit_; }

  // Computes paths twice, because storing all of them may take much memory. The first time it finds the used
  // links.
  void build_from(const Topology& topology) {
    const auto pairs = talking_hosts();
    Paths paths(topology);
    std::vector<bool> used(topology.links.size(), false);
    for (const auto& [a, b] : pairs) {
      for (const Hop& hop : paths.between(b, a)) used[hop.link] = true;
      for (const Hop& hop : paths.between(a, b)) used[hop.link] = true;
    }
    std::vector<sg4::SplitDuplexLink*> links(topology.links.size());
    for (std::size_t i = 0; i < topology.links.size(); ++i) {
      if (!used[i]) continue;
      links[i] = add_split_duplex_link(*zone_, fmt::format("link {}", i), topology.links[i].bandwidth);
      links[i]->set_latency(latency_of_link(topology.links[i].latency))->seal();
      for (const std::uint32_t end : {topology.links[i].a, topology.links[i].b}) {
        if (end < topology.hosts) own_links_[end].push_back(links[i]);
      }
    }
    const auto way = [&](std::uint32_t from, std::uint32_t to) {
      PairOfNodes result{.from = from, .to = to, .links = {}};
      for (const Hop& hop : paths.between(from, to)) {
        const sg4::SplitDuplexLink* link = links[hop.link];
        result.links.push_back(hop.forward ? link->get_link_up() : link->get_link_down());
        result.latency += topology.links[hop.link].latency;
      }
      result.of_links = result.latency;
      return result;
    };
    for (const auto& [a, b] : pairs) add_routes(way(b, a), way(a, b));
  }

  // Each pair of hosts once, in the order of its first pair of nodes.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> talking_hosts() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const auto& [a, b] : talking_pairs(scenario_)) {
      const std::uint32_t from = host_of(scenario_.cluster, a), to = host_of(scenario_.cluster, b);
      const std::pair<std::uint32_t, std::uint32_t> pair = std::minmax(from, to);
      if (from != to && (!scenario_.cluster.colocate || seen.insert(pair).second)) pairs.push_back(pair);
    }
    return pairs;
  }

  void build_from_file(const PlatformFile& file) {
    std::vector<sg4::Link*> links;
    for (std::size_t i = 0; i < file.links.size(); ++i) {
      sg4::Link* link = add_link(*zone_, fmt::format("link {}", i), file.links[i].bandwidth);
      if (file.links[i].fat_pipe) link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
      links.push_back(link->set_latency(latency_of_link(file.links[i].latency))->seal());
    }
    const auto way = [&](const PlatformFile::Route& route) {
      PairOfNodes result{.from = route.from, .to = route.to, .links = {}, .latency = route.latency};
      for (const std::uint32_t link : route.links) {
        result.links.push_back(links[link]);
        result.of_links += file.links[link].latency;
      }
      return result;
    };
    // The two routes of a pair are neighbours.
    for (std::size_t i = 0; i + 1 < file.routes.size(); i += 2)
      add_routes(way(file.routes[i]), way(file.routes[i + 1]));
  }

  void add_routes(const PairOfNodes& there, const PairOfNodes& back) {
    sg4::Link* own = own_link(there);
    const bool alike = back.latency == there.latency && back.of_links == there.of_links;
    add_route(there, own);
    add_route(back, alike ? own : own_link(back));
  }

  void add_route(PairOfNodes way, const sg4::Link* own) {
    if (own != nullptr) way.links.push_back(own);
    routes_->add(hosts_[way.from], hosts_[way.to], way.links);
  }

  // A link with the latency that a platform file's route has in addition to its links. Null without such
  // latency.
  sg4::Link* own_link(const PairOfNodes& way) {
    const double latency = way.latency - way.of_links;
    if (!(latency > 1e-9 * way.latency)) return nullptr;
    sg4::Link* link = add_link(*zone_, fmt::format("pair {} {}", way.from, way.to), unlimited);
    link->set_latency(latency * latency_unit_)->seal();
    return link;
  }

  const Scenario& scenario_;
  const NetworkSpec& network_;
  double latency_unit_;
  RouteTable* routes_;
  sg4::NetZone* zone_;
  Platform platform_;
  // By machine; Platform has the same by node.
  std::vector<sg4::Host*> hosts_;
  std::vector<std::vector<sg4::Link*>> own_links_;
};

}  // namespace

std::vector<std::string> engine_options(const Scenario& scenario) {
  const NetworkSpec& network = scenario.cluster.network;
  const bool lv08 = network.simgrid_model == SimgridModel::lv08;
  const FlowModel model = flow_model(network);
  const double unit = latency_unit(network);
  std::vector<std::string> options{
      fmt::format("network/model:{}", lv08 ? "LV08" : "CM02"),
      "network/crosstraffic:0",  // carrier.cpp
      fmt::format("network/TCP-gamma:{}", shortest(unit * model.window)),
      // SimGrid 3.32's default, Lazy, forgets links when several flows start to share them at one date, as
      // they do after a barrier: two workers that pull from four servers get 3 times a link's capacity
      // (tests/oracles/network_test.cpp, incast). Full solves for all flows, and is not slower for psim.
      "network/optim:Full",
  };
  if (unit != 1) options.push_back(fmt::format("network/latency-factor:{}", model.latency / unit));
  if (network.share_spread > 0) options.emplace_back("network/weight-S:0");
  return options;
}

Platform build_platform(const Scenario& scenario) { return Builder(scenario).build(); }

// Platform files. SimGrid aborts or crashes on many mistakes in its XML, so a child process loads the file
// and queries the routes. It sends back hosts, links and routes, and the simulation is built from these as
// from any topology: unequal shares and stragglers work, and the run itself never reads XML. A Host in the
// file is a node in psim, which computes on all cores at once. psim rejects profiles, actors and options of
// SimGrid.

namespace {

using Json = nlohmann::json;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr unsigned most_seconds = 30;                       // for the child
constexpr rlim_t most_memory = rlim_t{2} << 30U;            // for its data: a <cluster> may have any size
constexpr double most_bandwidth = 1e30, most_speed = 1e30;  // as in the scenario's own fields,
constexpr double most_latency = 3600;                       // also for a whole route

// The child's current work, in memory that outlives the child.
struct Progress {
  bool loaded;
  std::uint32_t from, to;
};

// Runs in the child: SimGrid loads the file and reports its content.
class Inspection {
 public:
  Inspection(const std::string& xml, Progress& progress) : progress_(progress) {
    const int file = memfd_create("platform", 0);  // SimGrid reads only files
    if (write(file, xml.data(), xml.size()) != std::ssize(xml)) throw std::runtime_error("no memory for it");
    xbt_log_control_set("root.thresh:critical");
    sg4::Host::on_creation_cb([this](const sg4::Host& host) {  // called again when a <cluster> is sealed
      if (known_.insert(host.get_name()).second) names_.push_back(host.get_name());
    });
    engine_.load_platform(fmt::format("/proc/self/fd/{}", file));
    engine_.seal_platform();
    progress_.loaded = true;
    report_["hosts"] = names_;
  }

  Json report(const std::vector<std::string>& wanted, std::uint32_t nodes, const Pairs& pairs) {
    const std::vector<std::string>& names = wanted.empty() ? names_ : wanted;
    std::vector<sg4::Host*> hosts;
    for (std::uint32_t node = 0; node < nodes && node < names.size(); ++node) {
      hosts.push_back(engine_.host_by_name_or_null(names[node]));
      if (hosts.back() == nullptr) return report_;
      report_["speeds"].push_back(sound_speed(*hosts.back()));
    }
    if (hosts.size() < nodes) return report_;
    for (const auto& [a, b] : pairs) {
      add_route(hosts, b, a);
      add_route(hosts, a, b);
    }
    return report_;
  }

 private:
  static double sound_speed(const sg4::Host& host) {
    const double speed = host.get_speed() * host.get_core_count();
    if (!(speed >= 1 && speed <= most_speed))
      throw std::runtime_error(fmt::format("host '{}' has a speed of {:.6g} flop/s", host.get_name(), speed));
    return speed;
  }

  void add_route(const std::vector<sg4::Host*>& hosts, std::uint32_t from, std::uint32_t to) {
    progress_.from = from;
    progress_.to = to;
    std::vector<sg4::Link*> links;
    double latency = 0;
    try {
      hosts[from]->route_to(hosts[to], links, &latency);
    } catch (const std::exception&) {
      links.clear();
    }
    if (!links.empty() && !(latency >= 0 && latency <= most_latency))
      throw std::runtime_error(fmt::format("the route from '{}' to '{}' has a latency of {:.6g} s",
                                           hosts[from]->get_name(), hosts[to]->get_name(), latency));
    if (links.empty()) return report_["without_route"].push_back({from, to});
    std::vector<std::size_t> numbers;
    for (const sg4::Link* link : links) numbers.push_back(number_of(*link));
    report_["routes"].push_back({from, to, numbers, latency});
  }

  std::size_t number_of(const sg4::Link& link) {
    const auto [at, fresh] = numbers_.try_emplace(link.get_name(), numbers_.size());
    if (!fresh) return at->second;
    using Policy = sg4::Link::SharingPolicy;
    const Policy policy = link.get_sharing_policy();
    if (policy == Policy::WIFI || policy == Policy::NONLINEAR)
      throw std::runtime_error(fmt::format("link '{}' is neither shared nor a fat pipe", link.get_name()));
    const double bandwidth = link.get_bandwidth(), latency = link.get_latency();
    if (!(bandwidth >= 1 && bandwidth <= most_bandwidth && latency >= 0 && latency <= most_latency))
      throw std::runtime_error(
          fmt::format("link '{}' has a bandwidth of {:.6g} B/s and a latency of {:.6g} s", link.get_name(),
                      bandwidth, latency));
    report_["links"].push_back({bandwidth, latency, policy == Policy::FATPIPE, link.get_name()});
    return at->second;
  }

  std::string word_ = "psim";
  char* argv_[2] = {word_.data(), nullptr};
  int argc_ = 1;
  sg4::Engine engine_{&argc_, argv_};
  Progress& progress_;
  std::vector<std::string> names_;  // of all hosts, in file order
  std::set<std::string> known_;
  std::map<std::string, std::size_t> numbers_;  // of links, by name
  Json report_ = {{"hosts", Json::array()},
                  {"without_route", Json::array()},
                  {"routes", Json::array()},
                  {"links", Json::array()},
                  {"speeds", Json::array()}};
};

// SimGrid's message; some messages have lists after the first line. The place in the file is a line.
std::string first_line(std::string text) {
  text.resize(std::min(text.find('\n'), text.size()));
  return text.starts_with("Parse error at ") ? "line " + text.substr(text.find(':') + 1) : text;
}

[[noreturn]] void be_child(int pipe, const std::function<Json()>& inspect) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGTERM}) std::signal(signal, SIG_DFL);
  alarm(most_seconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory counts
  const rlimit memory{most_memory, most_memory};
  setrlimit(RLIMIT_DATA, &memory);
#endif
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nothing, STDERR_FILENO);
  dup2(nothing, STDOUT_FILENO);
  Json report;
  try {
    report = inspect();
  } catch (const std::bad_alloc&) {
    report["error"] = fmt::format("SimGrid needs more than {} GB for it", most_memory >> 30U);
  } catch (const std::exception& error) {
    report["error"] = first_line(error.what());
  }
  const std::string text = report.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t more = write(pipe, text.data() + done, text.size() - done);
    if (more <= 0) _exit(1);
    done += static_cast<std::size_t>(more);
  }
  _exit(0);
}

// The report of a child that runs `inspect`; null if the child died.
Json ask_child(const std::function<Json()>& inspect) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe for a child process");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    close(ends[0]);
    be_child(ends[1], inspect);
  }
  close(ends[1]);
  std::string text, block(65536, '\0');
  for (ssize_t got = 0; (got = ::read(ends[0], block.data(), block.size())) > 0;)
    text.append(block, 0, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? Json::parse(text) : Json();
}

}  // namespace

PlatformReport inspect_platform(const std::string& xml, const std::vector<std::string>& hosts,
                                std::uint32_t nodes, const Pairs& pairs) {
  void* shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory to share with a child process");
  auto& progress = *new (shared) Progress{};
  const Json json = ask_child([&] { return Inspection(xml, progress).report(hosts, nodes, pairs); });
  const Progress last = progress;
  munmap(shared, sizeof(Progress));

  PlatformReport report;
  if (json.is_null() && last.loaded) report.without_route.emplace_back(last.from, last.to);
  else if (json.is_null()) report.error = "SimGrid breaks down when it reads this file";
  else if (json.contains("error")) report.error = json["error"].get<std::string>();
  if (json.is_null() || json.contains("error")) return report;
  report.hosts = json["hosts"].get<std::vector<std::string>>();
  report.without_route = json["without_route"].get<Pairs>();
  report.file.speeds = json["speeds"].get<std::vector<double>>();
  for (const Json& link : json["links"])
    report.file.links.push_back(
        {link[0].get<double>(), link[1].get<double>(), link[2].get<bool>(), link[3].get<std::string>()});
  for (const Json& route : json["routes"])
    report.file.routes.push_back({route[0].get<std::uint32_t>(), route[1].get<std::uint32_t>(),
                                  route[2].get<std::vector<std::uint32_t>>(), route[3].get<double>()});
  return report;
}

}  // namespace psim
