#include "sim/scenario/load_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "sim/scenario/nodes.hpp"
#include "sim/scenario/platform_file.hpp"

namespace psim {
namespace {

namespace fs = std::filesystem;

const std::string field_platform = "cluster.network.platform", field_hosts = "cluster.network.hosts";
const std::vector<std::string> what_counts{field_platform, field_hosts, "cluster.workers", "cluster.servers"};

// What psim cannot take from a file: other files, whose content nobody knows, programs, and options of
// SimGrid. Empty when there is none.
std::string foreign_part(std::string text) {
  for (std::size_t begin = 0; (begin = text.find("<!--", begin)) != std::string::npos;)
    text.erase(begin, std::max(text.find("-->", begin), begin) - begin);
  static const std::regex foreign(
      R"(<(actor|process|trace|trace_connect|include|config)[\s>/]|\s(\w+_file)\s*=)");
  std::smatch found;
  if (!std::regex_search(text, found, foreign)) return "";
  return found[1].matched ? fmt::format("<{}>", found[1].str()) : found[2].str();
}

// Complaints about the hosts themselves: too few, unknown, or one for two nodes.
bool enough_hosts(const Scenario& scenario, const std::vector<std::string>& of_file, Checker& checker) {
  const std::vector<std::string>& asked = scenario.cluster.network.hosts;
  const std::uint32_t nodes = node_count(scenario.cluster);
  const std::string needed = fmt::format("{} are needed", nodes);
  if (!asked.empty() && asked.size() < nodes) {
    checker.add({field_hosts, "cluster.workers", "cluster.servers"},
                fmt::format("`cluster.network.hosts` has {} names", asked.size()), needed,
                "one each for the scheduler, the servers and the workers");
    return false;
  }
  if (asked.empty() && of_file.size() < nodes) {
    checker.add_data(what_counts,
                     fmt::format("{} has {}", scenario.cluster.network.platform,
                                 counted(static_cast<std::int64_t>(of_file.size()), "host")),
                     needed, "one each for the scheduler, the servers and the workers");
    return false;
  }
  std::set<std::string> known(of_file.begin(), of_file.end()), taken;
  bool good = true;
  for (std::uint32_t node = 0; node < nodes && !asked.empty(); ++node) {
    const std::string field = fmt::format("{}.{}", field_hosts, node);
    if (!known.contains(asked[node])) {
      const std::string near = nearest(asked[node], of_file);
      checker.add_data({field, field_platform},
                       fmt::format("{} has no host `{}`", scenario.cluster.network.platform, asked[node]),
                       "not in this file", near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
      good = false;
    } else if (!taken.insert(asked[node]).second) {
      checker.add({field}, fmt::format("host `{}` is named twice", asked[node]), "every node has its own");
      good = false;
    }
  }
  return good;
}

bool all_reached(const Scenario& scenario, const PlatformReport& report, Checker& checker) {
  if (report.without_route.empty()) return true;
  const NetworkSpec& n = scenario.cluster.network;
  const std::vector<std::string>& hosts = n.hosts.empty() ? report.hosts : n.hosts;
  const auto name = [&](std::uint32_t node) {
    const std::string role = node_name(scenario.cluster, node);
    return node < hosts.size() ? fmt::format("{} ({})", hosts[node], role) : role;
  };
  const auto [from, to] = report.without_route.front();
  const auto count = static_cast<std::int64_t>(report.without_route.size());
  checker.add_data(what_counts,
                   fmt::format("{} has no route from {} to {}", n.platform, name(from), name(to)),
                   report.hosts.empty() ? "SimGrid breaks down when it is asked for it"
                                        : fmt::format("{} without a route", counted(count, "connection")),
                   "the scheduler and every server talk to everybody, both ways");
  return false;
}

// SimGrid shares a link by the connections' latencies, and breaks down on numbers near its precision.
void check_latencies(const Scenario& scenario, const PlatformFile& file, Checker& checker) {
  constexpr double least_latency = 10 / 1e9;
  if (!(scenario.cluster.network.share_spread > 0)) return;
  for (const PlatformFile::Route& route : file.routes) {
    if (route.latency == 0 || route.latency >= least_latency) continue;
    return checker.add_data(
        {field_platform, "cluster.network.share_spread"},
        fmt::format("the route from {} to {} has a latency of {} s", node_name(scenario.cluster, route.from),
                    node_name(scenario.cluster, route.to), route.latency),
        "too short for links to be shared by it", "0, or at least 10ns; any with share_spread = 0");
  }
}

std::optional<std::string> content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void load_platform(Scenario& scenario, const LoadRequest& request, Checker& checker) {
  ClusterSpec& c = scenario.cluster;
  const std::string& name = c.network.platform;
  const std::optional<fs::path> path = find_file(request, name);
  if (!path)
    return checker.add_data({field_platform}, fmt::format("there is no file `{}`", name), "not found",
                            "looked for in --data-dir, PSIM_DATA and the scenario's folder");
  const std::optional<std::string> text = content_of(*path);
  if (!text)
    return checker.add_data({field_platform}, fmt::format("{} cannot be read", path->string()), "this file",
                            "check its permissions");
  if (text->find('<') == std::string::npos ||
      text->find('<') != text->find_first_not_of(" \t\r\n\xef\xbb\xbf"))
    return checker.add_data({field_platform}, fmt::format("{} is not XML", name), "this file",
                            "a platform file of SimGrid begins with <?xml");
  if (const std::string part = foreign_part(*text); !part.empty())
    return checker.add_data({field_platform}, fmt::format("{} has {}", name, part),
                            "psim takes hosts, links and routes only",
                            "actors, traces and options belong in the scenario");
  PlatformReport report = inspect_platform(*path, c.network.hosts, node_count(c), talking_pairs(scenario));
  if (!report.error.empty())
    return checker.add_data({field_platform}, fmt::format("{} is no platform that psim can use", name),
                            report.error);
  if (!report.hosts.empty() && !enough_hosts(scenario, report.hosts, checker)) return;
  if (!all_reached(scenario, report, checker)) return;
  check_latencies(scenario, report.file, checker);
  c.network.platform_file = std::move(report.file);
  c.network.platform_file.text = *text;
  if (!c.network.platform_speeds) return;
  const auto speeds = [&](std::int64_t begin, std::int64_t count) {
    std::vector<FlopsPerSecond> result;
    for (std::int64_t i = begin; i < begin + count; ++i)
      result.push_back({c.network.platform_file.speeds[static_cast<std::size_t>(i)]});
    return result;
  };
  c.server.speed.of_platform = speeds(1, c.servers);
  c.worker.speed.of_platform = speeds(1 + c.servers, c.workers);
  c.inference.speed.of_platform = speeds(first_inference_node(c), c.inference.count());
}

}  // namespace psim
