#include "sim/scenario/load_platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

#include "model/input.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/platform_file.hpp"

namespace psim {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_platform = 64'000'000;

const std::string field_platform = "cluster.network.platform", field_hosts = "cluster.network.hosts";
const std::vector<std::string> what_counts{field_platform, field_hosts, "cluster.workers", "cluster.servers"};

std::string without_comments(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t begin = std::min(text.find("<!--"), text.size());
    out += text.substr(0, begin);
    const std::size_t end = text.find("-->", begin);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end);
  }
}

// A part of the file that psim does not accept: another file (whose content is not part of the run's
// identity), a program, or an option of SimGrid. Empty if there is none.
std::string foreign_part(std::string_view whole) {
  constexpr std::array<std::string_view, 6> tags{"actor",         "process", "trace",
                                                 "trace_connect", "include", "config"};
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const auto is_in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const std::string text = without_comments(whole);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\f\v/><", ++at), text.size());
    const std::string_view tag = std::string_view(text).substr(at, end - at);
    if (end < text.size() && text[end] != '<' && std::ranges::find(tags, tag) != tags.end())
      return fmt::format("<{}>", tag);
  }
  constexpr std::string_view ending = "_file";
  for (std::size_t at = 0; (at = text.find(ending, at)) != std::string::npos;) {
    std::size_t begin = at;
    at += ending.size();
    while (begin > 0 && is_in_word(text[begin - 1])) --begin;
    const std::size_t next = text.find_first_not_of(blanks, at);
    if (begin > 0 && blanks.find(text[begin - 1]) != std::string_view::npos && begin + ending.size() < at &&
        next != std::string::npos && text[next] == '=')
      return text.substr(begin, at - begin);
  }
  return "";
}

// Reports hosts that are too few, unknown, or used for two nodes.
bool enough_hosts(const Scenario& scenario, const std::vector<std::string>& of_file, const Check& check) {
  const std::vector<std::string>& asked = scenario.cluster.network.hosts;
  const std::uint32_t nodes = node_count(scenario.cluster);
  const std::string needed = fmt::format("{} hosts are needed", nodes);
  if (!asked.empty() && asked.size() < nodes) {
    check.add({field_hosts, "cluster.workers", "cluster.servers"},
              fmt::format("`cluster.network.hosts` has {} names", asked.size()), needed,
              "one each for the scheduler, the servers and the workers");
    return false;
  }
  if (asked.empty() && of_file.size() < nodes) {
    check.add_data(what_counts,
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
      check.add_data({field, field_platform},
                     fmt::format("{} has no host `{}`", scenario.cluster.network.platform, asked[node]),
                     "not in this file", near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
      good = false;
    } else if (!taken.insert(asked[node]).second) {
      check.add({field}, fmt::format("host `{}` is named twice", asked[node]),
                "every node needs a different host");
      good = false;
    }
  }
  return good;
}

bool all_reached(const Scenario& scenario, const PlatformReport& report, const Check& check) {
  if (report.without_route.empty()) return true;
  const NetworkSpec& n = scenario.cluster.network;
  const std::vector<std::string>& hosts = n.hosts.empty() ? report.hosts : n.hosts;
  const auto name = [&](std::uint32_t node) {
    const std::string role = node_name(scenario.cluster, node);
    return node < hosts.size() ? fmt::format("{} ({})", hosts[node], role) : role;
  };
  const auto [from, to] = report.without_route.front();
  const auto count = static_cast<std::int64_t>(report.without_route.size());
  check.add_data(what_counts, fmt::format("{} has no route from {} to {}", n.platform, name(from), name(to)),
                 report.hosts.empty() ? "SimGrid fails without it"
                                      : fmt::format("{} without a route", counted(count, "connection")),
                 "the scheduler and every server need routes to and from all nodes");
  return false;
}

// SimGrid shares a link by the latencies of the connections, and fails on numbers near its precision.
void check_latencies(const Scenario& scenario, const PlatformFile& file, const Check& check) {
  constexpr double least_latency = 10 / 1e9;
  if (!(scenario.cluster.network.share_spread > 0)) return;
  for (const PlatformFile::Route& route : file.routes) {
    if (route.latency == 0 || route.latency >= least_latency) continue;
    return check.add_data(
        {field_platform, "cluster.network.share_spread"},
        fmt::format("the route from {} to {} has a latency of {} s", node_name(scenario.cluster, route.from),
                    node_name(scenario.cluster, route.to), route.latency),
        "too short: connections share links by their latencies",
        "use 0 or at least 10ns, or share_spread = 0 with any latency");
  }
}

}  // namespace

void load_platform(Scenario& scenario, const LoadRequest& request, const Check& check) {
  ClusterSpec& c = scenario.cluster;
  const std::string& name = c.network.platform;
  const std::optional<fs::path> path = find_file(request, name);
  if (!path)
    return check.add_data({field_platform}, fmt::format("there is no file `{}`", name), "not found",
                          "psim looked in --data-dir, PSIM_DATA and the scenario's folder");
  std::string text;
  try {
    text = read_input(*path, largest_platform);
  } catch (const InputError& error) {
    return check.add_data({field_platform}, error.what(), "this file", error.help);
  }
  if (text.find('<') == std::string::npos || text.find('<') != text.find_first_not_of(" \t\r\n\xef\xbb\xbf"))
    return check.add_data({field_platform}, fmt::format("{} is not XML", name), "this file",
                          "a platform file of SimGrid begins with <?xml");
  if (const std::string part = foreign_part(text); !part.empty())
    return check.add_data({field_platform}, fmt::format("{} contains {}", name, part),
                          "psim reads hosts, links and routes only",
                          "actors, traces and options belong in the scenario");
  PlatformReport report = inspect_platform(*path, c.network.hosts, node_count(c), talking_pairs(scenario));
  if (!report.error.empty())
    return check.add_data({field_platform}, fmt::format("psim cannot use the platform of {}", name),
                          report.error);
  const bool broke_down =
      report.hosts.empty() && !report.without_route.empty();  // then the hosts are unknown
  if (!broke_down && !enough_hosts(scenario, report.hosts, check)) return;
  if (!all_reached(scenario, report, check)) return;
  check_latencies(scenario, report.file, check);
  c.network.platform_file = std::move(report.file);
  c.network.platform_file.text = text;
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
