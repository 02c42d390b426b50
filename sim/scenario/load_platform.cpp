#include "sim/scenario/load_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "model/base/input.hpp"
#include "sim/scenario/spec/nodes.hpp"
#include "sim/scenario/spec/scenario.hpp"
#include "sim/scenario/text/diagnostics.hpp"

namespace psim {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest_platform = 64'000'000;

const std::string field_platform = "cluster.network.platform", field_hosts = "cluster.network.hosts";
const std::vector<std::string> what_counts{field_platform, field_hosts, "cluster.workers", "cluster.servers"};

constexpr std::string_view xml_blanks = " \t\r\n\f\v";

// Lines keep their numbers.
void blank_out(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, text.size()); ++i) text[i] = text[i] == '\n' ? '\n' : ' ';
}

std::string without_comments(std::string text) {
  for (std::size_t at = 0; (at = text.find("<!--", at)) != std::string::npos;) {
    const std::size_t end = text.find("-->", at + 4);
    blank_out(text, at, end == std::string::npos ? end : end + 3);
  }
  return text;
}

// An attribute's value. A view of the text.
std::vector<std::string_view> values_of(std::string_view name, std::string_view text) {
  std::vector<std::string_view> values;
  for (std::size_t at = 1; (at = text.find(name, at)) != std::string_view::npos;) {
    const bool is_word = xml_blanks.find(text[at - 1]) != std::string_view::npos;
    at = std::min(text.find_first_not_of(xml_blanks, at + name.size()), text.size());
    if (!is_word || !text.substr(at).starts_with('=')) continue;
    at = std::min(text.find_first_not_of(xml_blanks, at + 1), text.size());
    const std::size_t end =
        at < text.size() && (text[at] == '"' || text[at] == '\'') ? text.find(text[at], at + 1) : text.npos;
    if (end != std::string_view::npos) values.push_back(text.substr(at + 1, end - at - 1));
  }
  return values;
}

// Blanks out the options of SimGrid, and returns their names.
std::vector<std::string> take_options(std::string& text) {
  constexpr std::string_view open = "<config", close = "</config";
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos; at += open.size()) {
    const std::size_t end_of_tag = text.find('>', at);
    const bool is_config = text.find_first_of(" \t\r\n\f\v/>", at) == at + open.size();
    if (!is_config || end_of_tag == std::string::npos) continue;
    const std::size_t last = text[end_of_tag - 1] == '/' ? end_of_tag : text.find('>', text.find(close, at));
    if (last == std::string::npos) continue;
    const auto inside = values_of("id", std::string_view(text).substr(end_of_tag, last - end_of_tag));
    names.insert(names.end(), inside.begin(), inside.end());
    blank_out(text, at, last + 1);
  }
  return names;
}

// The first character that looks like a hyphen and is none; empty if there is none.
std::string_view false_hyphen(std::string_view text) {
  std::string_view first = text.substr(text.size());
  for (const std::string_view one :
       {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212", "\ufe63", "\uff0d"}) {
    const std::size_t at = text.find(one);
    if (at != std::string_view::npos && text.data() + at < first.data()) first = text.substr(at, one.size());
  }
  return first;
}

// A part of the file that psim does not accept: another file (whose content is not part of the run's
// identity), or a program. Empty if there is none.
std::string foreign_part(const std::string& text) {
  constexpr std::array<std::string_view, 5> tags{"actor", "process", "trace", "trace_connect", "include"};
  const auto is_in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
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
    const std::size_t next = text.find_first_not_of(xml_blanks, at);
    if (begin > 0 && xml_blanks.find(text[begin - 1]) != std::string_view::npos &&
        begin + ending.size() < at && next != std::string::npos && text[next] == '=')
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
                 "the scheduler and every server need routes to and from all nodes; hosts = [...] in "
                 "[cluster.network] chooses hosts");
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

// Asks SimGrid for the hosts, links and routes of the text.
void use_platform(Scenario& scenario, const std::string& text, const Check& check) {
  ClusterSpec& c = scenario.cluster;
  PlatformReport report = inspect_platform(text, c.network.hosts, node_count(c), talking_pairs(scenario));
  if (!report.error.empty())
    return check.add_data(
        {field_platform}, fmt::format("psim cannot use the platform of {}", c.network.platform), report.error,
        report.error.find("DOCTYPE") != std::string::npos || report.error.find("prolog") != std::string::npos
            ? "its second line must be <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
            : "");
  const bool broke_down =
      report.hosts.empty() && !report.without_route.empty();  // then the hosts are unknown
  if (!broke_down && !enough_hosts(scenario, report.hosts, check)) return;
  if (!all_reached(scenario, report, check)) return;
  check_latencies(scenario, report.file, check);
  c.network.platform_file = std::move(report.file);
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

}  // namespace

void load_platform(Scenario& scenario, const LoadRequest& request, const Check& check) {
  NetworkSpec& n = scenario.cluster.network;
  const auto refuse = [&](std::string message, std::string label, std::string help) {
    check.add_data({field_platform}, std::move(message), std::move(label), std::move(help));
  };
  const std::optional<fs::path> path = find_file(request, n.platform);
  if (!path)
    return refuse(fmt::format("there is no file `{}`", n.platform), "not found",
                  "psim looked in --data-dir, PSIM_DATA and the scenario's folder");
  std::string whole;
  try {
    whole = read_input(*path, largest_platform);
  } catch (const InputError& error) {
    return refuse(error.what(), "this file", error.help);
  }
  if (whole.find('<') == std::string::npos ||
      whole.find('<') != whole.find_first_not_of(" \t\r\n\xef\xbb\xbf"))
    return refuse(fmt::format("{} is not XML", n.platform), "this file",
                  "a platform file of SimGrid begins with <?xml");
  std::string text = without_comments(whole);
  const std::size_t root = text.find("<platform");
  const auto versions = values_of("version", std::string_view(text).substr(std::min(root, text.size())));
  const std::string version(versions.empty() ? "0" : versions.front());
  if (const double number = number_in<double>(version).value_or(4); number < 4 || number >= 5)
    return refuse(
        fmt::format("{} is a platform file of version {}", n.platform, version), "psim reads version 4",
        number < 4 ? fmt::format("`simgrid_update_xml {}` updates the file in place; the program is in "
                                 "Debian's libsimgrid-dev",
                                 n.platform)
                   : "");
  if (const std::string part = foreign_part(text); !part.empty())
    return refuse(fmt::format("{} contains {}", n.platform, part), "psim reads hosts, links and routes only",
                  "actors and traces belong in the scenario");
  const std::vector<std::string> options = take_options(text);
  const std::size_t before = check.diagnostics.count();
  use_platform(scenario, text, check);
  const std::string_view minus = false_hyphen(text);
  const bool in_numbers = std::ranges::any_of(
      values_of("radical", text), [](std::string_view radical) { return !false_hyphen(radical).empty(); });
  if (!minus.empty() && (in_numbers || check.diagnostics.count() > before))
    refuse(fmt::format("line {} of {} has a `{}` that is no hyphen",
                       1 + std::count(std::as_const(text).data(), minus.data(), '\n'), n.platform, minus),
           "SimGrid takes it for a letter", "write - in its place");
  if (!options.empty())
    check.note_data(
        field_platform,
        fmt::format("psim ignores SimGrid's options in {}: {}", n.platform, fmt::join(options, ", ")),
        "[cluster.network] has psim's own");
  n.platform_file.text = std::move(whole);
}

}  // namespace psim
