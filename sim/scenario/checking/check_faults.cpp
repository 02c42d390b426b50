// Checks of faults: their nodes, their times, and contradictions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/protocol/message.hpp"
#include "sim/scenario/checking/checks.hpp"
#include "sim/scenario/fields/choices.hpp"
#include "sim/scenario/spec/faults.hpp"
#include "sim/scenario/spec/nodes.hpp"

namespace psim {

// Checks for contradictory numbers in recovery and replication.
void check_recovery(const Check& check) {
  const Scenario& s = check.s;
  if (s.replication.copies >= s.cluster.servers && s.replication.copies > 0 && s.architecture.has_servers())
    check.add({"replication.copies", "cluster.servers"},
              fmt::format("{} of each shard next to its owner", counted(s.replication.copies, "copy")),
              there_are(s.cluster.servers, "server"), "every copy needs a separate server");
  if (s.may_fail() && s.recovery.detector == DetectorKind::timeout &&
      s.recovery.timeout.value <= s.recovery.heartbeat.value)
    check.add({"recovery.timeout", "recovery.heartbeat"},
              "the scheduler would suspect a node between two of its heartbeats",
              "the timeout is not longer than a heartbeat",
              "the timeout should be the time of several heartbeats");
}

// Checks how slow nodes and links become when all their slowdowns combine.

namespace {

constexpr double most_slowness = 1e15;  // a step of 1 us then takes 30 years
constexpr double most_speeds = 4096;    // of a node

// The number of speeds that its profiles give a worker, in all combinations.
double profiled_speeds(const Scenario& scenario, std::int64_t worker) {
  double speeds = 1;
  for (const ProfileSpec& profile : scenario.profiles) {
    if (worker >= scenario.cluster.workers || !concerns(profile, worker)) continue;
    std::set<double> factors{1};
    for (const auto& [date, factor] : profile.rows) factors.insert(factor);
    speeds *= static_cast<double>(factors.size());
  }
  return speeds;
}

}  // namespace

void check_slowness(const Check& check) {
  struct Load {
    double slowness = 1;
    std::map<double, int> by_clock = {};  // the number of times of each slowdown
  };
  std::map<std::uint32_t, Load> nodes, links;
  bool sound = true;
  const auto slow_down = [&](std::map<std::uint32_t, Load>& all, std::uint32_t node, double slowdown,
                             bool by_clock, const std::string& field, const std::string& table) {
    Load& load = all[node];
    if (by_clock) ++load.by_clock[slowdown];
    load.slowness *= slowdown;
    if (!sound || load.slowness <= most_slowness) return;
    sound = false;
    check.add({field, table, "cluster.workers"},
              fmt::format("{} becomes {:.3g} times as slow", node_name(check.s.cluster, node), load.slowness),
              fmt::format("when all its slowdowns combine; at most {:.0e} times", most_slowness),
              table == "fault" ? "factor = 0 with kind = \"slow\" stops a node" : "");
  };
  for (std::size_t i = 0; i < check.s.stragglers.size(); ++i) {
    const StragglerSpec& g = check.s.stragglers[i];
    for (std::int64_t w = 0; w < check.s.cluster.workers; ++w) {
      if (std::ranges::find(g.workers, w) == g.workers.end()) continue;
      slow_down(nodes, static_cast<std::uint32_t>(1 + check.s.cluster.servers + w), g.slowdown,
                !g.probability, fmt::format("straggler.{}.slowdown", i), "straggler");
    }
  }
  for (std::size_t i = 0; i < check.s.faults.size(); ++i) {
    const FaultSpec& f = check.s.faults[i];
    if (!f.kind->takes_factor() || f.factor.value_or(0) <= 0) continue;
    if (!std::ranges::all_of(f.nodes,
                             [&](const std::string& name) { return is_known(check.s.cluster, name); }))
      continue;
    for (const std::uint32_t node : fault_nodes(check.s.cluster, f.nodes))
      slow_down(f.kind->slows ? nodes : links, node, 1 / *f.factor, true, fmt::format("fault.{}.factor", i),
                "fault");
  }
  for (std::int64_t w = 0; w < check.s.cluster.workers && !check.s.profiles.empty(); ++w)
    nodes[static_cast<std::uint32_t>(1 + check.s.cluster.servers + w)];
  for (const auto& [node, load] : nodes) {
    double speeds = 1;
    for (const auto& [slowdown, count] : load.by_clock) speeds *= slowdown > 1 ? 1 + count : 1;
    speeds *= profiled_speeds(check.s, static_cast<std::int64_t>(node) - 1 - check.s.cluster.servers);
    if (speeds <= most_speeds) continue;
    return check.add({check.s.stragglers.empty() ? check.s.faults.empty() ? "profile" : "fault" : "straggler",
                      "fault", "straggler", "profile", "cluster.workers"},
                     fmt::format("{} has {:.3g} speeds", node_name(check.s.cluster, node), speeds),
                     fmt::format("at most {:.0f}: one for each combination of slowdowns", most_speeds),
                     "use equal slowdowns, or fewer slowdowns");
  }
}

namespace {

std::string path_of(std::size_t fault, std::string_view field) {
  return fmt::format("fault.{}.{}", fault, field);
}

void check_condition(const Check& check, std::size_t i) {
  const std::string when = path_of(i, "when"), &text = check.s.faults[i].when;
  const auto parsed = parse_condition(text);
  if (const auto* error = std::get_if<ConditionError>(&parsed)) {
    check.add_inside("condition", when, {text, error->begin, error->length},
                     fmt::format("`{}` is not a condition", when), error->label,
                     fmt::format("for example {}", condition_forms));
    return;
  }
  const auto& condition = std::get<FaultCondition>(parsed);
  if (condition.node.empty()) return;
  if (host_named(check.s.cluster, condition.node)) {
    check.add({when}, fmt::format("`{}` is about a machine", when), "name its worker or its server");
    return;
  }
  check_node_name(check, when, condition.node);
  if (condition.quantity != FaultCondition::Quantity::crashed) return;
  const bool crashes = std::ranges::any_of(check.s.faults, [&](const FaultSpec& other) {
    const std::vector<std::uint32_t> nodes = fault_nodes(check.s.cluster, other.nodes);
    return other.kind->crashes &&
           std::ranges::find(nodes, node_named(check.s.cluster, condition.node)) != nodes.end();
  });
  if (!crashes && is_known(check.s.cluster, condition.node))
    check.add({when, "fault"}, fmt::format("{} never crashes", condition.node),
              "so this condition never holds", "add a [[fault]] of kind = \"crash\"");
}

void check_trigger(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::string kind = path_of(i, "kind"), at = path_of(i, "at"), from = path_of(i, "from"),
                    until = path_of(i, "until"), mtbf = path_of(i, "mtbf"), when = path_of(i, "when"),
                    every = path_of(i, "every"), lasts = path_of(i, "lasts");
  std::vector<std::string> given;
  if (f.at) given.push_back("at");
  if (f.given_by_window()) given.push_back(f.from ? "from" : "until");
  if (f.mtbf) given.push_back("mtbf");
  if (!f.when.empty()) given.push_back("when");
  if (given.size() > 1) {
    check.add({path_of(i, given[1]), at, from, until, mtbf, when},
              fmt::format("a fault has both `{}` and `{}`", given[0], given[1]), "remove one of them",
              "for both, write two [[fault]] tables");
  } else if (given.empty() && !is_about_messages(f.kind)) {
    check.add({kind, at, from, until, mtbf, when},
              fmt::format("when does the fault `{}` happen?", name_of(f.kind)), "`at` is missing",
              fmt::format("give at{}, mtbf, or when = {}", f.kind->window ? ", from and until" : "",
                          "\"updates >= 200\""));
  }
  if (f.every && !f.at && !f.until)
    check.add({every, at, from, until}, "`every` needs a first time", "give `at`, or `from` and `until`");
  if (f.lasts && f.given_by_window())
    check.add({lasts, from, until}, "`lasts` together with `from` and `until`",
              "`until` already gives the end");
  const double begin = f.from ? f.from->value : 0;
  if (f.until && f.until->value <= begin)
    check.add({until, from}, "the fault ends before it begins", "must be after `from`");
  const double length = f.until ? f.until->value - begin : f.lasts ? f.lasts->value : 0;
  if (f.every && length > f.every->value)
    check.add({every, until, from, lasts}, "the fault lasts longer than its period",
              fmt::format("must be at least {} s, as long as the fault", shortest(length)));
  if (f.every && f.restart_after && f.restart_after->value >= f.every->value)
    check.add({every, path_of(i, "restart_after")}, "the next crash happens before the restart",
              "must be more than `restart_after`");
  if (f.mtbf && f.kind->window && !f.lasts)
    check.add({mtbf, lasts}, "`mtbf` needs the length of the fault", "`lasts` is missing",
              "for example lasts = \"1s\"");
  const std::optional<Seconds>& duration = check.s.training.duration;
  const std::optional<Seconds>& first = f.at ? f.at : f.from;
  if (duration && first && first->value >= duration->value)
    check.add({f.at ? at : from, "training.duration"}, "the fault begins after the end of the run",
              fmt::format("the run ends at {} s", shortest(duration->value)));
  if (!f.when.empty()) check_condition(check, i);
}

// Only the storage node has a disk; servers and workers hold everything in memory.
void check_disks(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const bool all = std::ranges::find(f.nodes, "all") != f.nodes.end();
  if (all && check.s.cluster.storage) return;
  for (const std::uint32_t node : fault_nodes(check.s.cluster, f.nodes)) {
    if (node == storage_node(check.s.cluster)) continue;
    return check.add(
        {path_of(i, f.kind->crashes ? "disk" : "nodes"), path_of(i, "nodes"), path_of(i, "kind"),
         "snapshot.every"},
        fmt::format("{} has no disk", node_name(check.s.cluster, node)),
        "it holds everything in memory, and loses it in every crash",
        check.s.cluster.storage
            ? "snapshots are on the disk of the storage: nodes = [\"storage\"]"
            : "every = \"1s\" in [snapshot] adds snapshots on the disk of a storage: nodes = [\"storage\"]");
  }
}

bool is_worker(const ClusterSpec& cluster, std::int64_t node) {
  return node > cluster.servers && node <= cluster.servers + cluster.workers;
}

// Only servers and workers can leave and join, because only they have shards or samples to hand over.
void check_members(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::int64_t members = check.s.cluster.servers + check.s.cluster.workers;
  for (const std::uint32_t node : fault_nodes(check.s.cluster, f.nodes)) {
    if (node > 0 && node <= members) continue;
    return check.add({path_of(i, "nodes"), path_of(i, "kind")},
                     fmt::format("{} cannot {}", node_name(check.s.cluster, node), name_of(f.kind)),
                     "only servers and workers can leave and join",
                     "for example nodes = [\"server 0\", \"worker 1\"]");
  }
}

// Only workers push.
void check_pushers(const Check& check, std::size_t i) {
  for (const std::uint32_t node : fault_nodes(check.s.cluster, check.s.faults[i].nodes)) {
    if (is_worker(check.s.cluster, node)) continue;
    return check.add({path_of(i, "nodes"), path_of(i, "kind")},
                     fmt::format("{} pushes nothing", node_name(check.s.cluster, node)), "must be workers",
                     "for example nodes = [\"worker 1\"]");
  }
}

void check_sides(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::string kind = path_of(i, "kind"), between = path_of(i, "between");
  const std::string help = "for example between = [[\"worker 0\", \"worker 1\"], [\"rest\"]]";
  if (f.between.size() != 2 || f.between[0].empty() || f.between[1].empty()) {
    return check.add({f.between.empty() ? kind : between, between},
                     fmt::format("a {} needs two sides", name_of(f.kind)),
                     f.between.empty() ? "`between` is missing" : "must be two lists of nodes", help);
  }
  bool sound = true;
  int rests = 0;
  for (const std::vector<std::string>& side : f.between) {
    for (const std::string& name : side) {
      const bool rest = name == "rest";
      if (rest && side.size() > 1) {
        check.add({between}, "\"rest\" means all other nodes, so it must be alone",
                  "remove the other names on its side");
        sound = false;
      }
      rests += rest ? 1 : 0;
      sound = (rest || check_node_name(check, between, name)) && sound;
    }
  }
  if (!sound) return;
  if (rests > 1) return check.add({between}, "\"rest\" is on both sides", "must be on one side only", help);
  const auto [a, b] = fault_sides(check.s.cluster, f.between);
  for (const std::uint32_t node : a) {
    if (std::ranges::find(b, node) != b.end())
      return check.add({between, "cluster.workers", "cluster.servers"},
                       fmt::format("{} is on both sides", node_name(check.s.cluster, node)),
                       "must be on one of them");
  }
  const auto talk = [&](std::uint32_t x) {
    return std::ranges::any_of(b, [&](std::uint32_t y) { return talks(check.s, x, y); });
  };
  if (std::ranges::none_of(a, talk))
    check.add({between, "cluster.workers", "cluster.servers", "consistency"},
              "this partition separates no nodes that exchange messages",
              "no messages travel between the two sides",
              "workers exchange messages with servers, and all nodes with the scheduler");
}

void check_fault_nodes(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::string kind = path_of(i, "kind"), nodes = path_of(i, "nodes"), between = path_of(i, "between");
  if (f.kind->on == FaultOn::everything) return;
  const bool sides = !f.between.empty() || f.kind->on == FaultOn::sides;
  if (sides && !f.nodes.empty())
    return check.add({between, nodes, kind}, "`nodes` and `between` are both given", "give one of them");
  if (sides) return check_sides(check, i);
  if (f.nodes.empty() && !is_about_messages(f.kind)) {
    return check.add({kind, nodes}, fmt::format("which nodes does the fault `{}` affect?", name_of(f.kind)),
                     "`nodes` is missing", "for example nodes = [\"server 0\"]");
  }
  bool known = true;
  for (const std::string& name : f.nodes) known = check_node_name(check, nodes, name) && known;
  if (known && (f.kind->leaves || f.kind->joins)) check_members(check, i);
  if (known && f.kind->corrupts) check_pushers(check, i);
  const bool loses = f.kind->loses_disk || (f.kind->crashes && f.disk == Disk::lost);
  if (known && loses) check_disks(check, i);
}

// The fields that `how` uses.
void check_corruption(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::string how = path_of(i, "how"), factor = path_of(i, "factor"), of = path_of(i, "of");
  const bool copies = f.how == Corruption::copy;
  if (copies && f.factor)
    check.add({factor, how}, "a copy has no factor", "`factor` has no meaning with how = \"copy\"",
              "remove it, or write a second [[fault]] with how = \"scale\"");
  if (!copies && !f.factor && f.how != Corruption::sign)
    check.add({how}, fmt::format("how = \"{}\" needs `factor`", name_of(f.how)), "`factor` is missing",
              f.how == Corruption::noise ? "factor = 1 makes the noise as large as the push"
                                         : "for example factor = 10");
  if (copies && f.of.empty())
    check.add({how}, "whose push does the worker copy?", "`of` is missing", "for example of = \"worker 0\"");
  if (!copies || f.of.empty() || !check_node_name(check, of, f.of)) return;
  const std::optional<std::uint32_t> other = node_named(check.s.cluster, f.of);
  const std::vector<std::uint32_t> nodes = fault_nodes(check.s.cluster, f.nodes);
  if (!other || !is_worker(check.s.cluster, *other))
    check.add({of}, fmt::format("`{}` is \"{}\"", of, f.of), "must be one worker",
              "for example of = \"worker 0\"");
  else if (std::ranges::find(nodes, *other) != nodes.end())
    check.add({of, path_of(i, "nodes")}, fmt::format("{} would copy itself", f.of), "it is one of `nodes`",
              "name another worker");
}

void check_fault_values(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  const std::string kind = path_of(i, "kind"), factor = path_of(i, "factor"), delay = path_of(i, "delay"),
                    messages = path_of(i, "messages");
  if (f.kind->takes_factor() && !f.factor)
    check.add({kind, factor}, fmt::format("the fault `{}` needs `factor`", name_of(f.kind)),
              "which share of the speed or bandwidth is left?", "for example factor = 0.5");
  if (f.kind->takes_factor() && f.factor && (*f.factor < 0 || *f.factor > 1))
    check.add({factor, kind}, fmt::format("`{}` is {}", factor, shortest(*f.factor)),
              "must be between 0 and 1", "it is the share of the speed or bandwidth that is left");
  if (f.kind->corrupts) check_corruption(check, i);
  if (f.kind->degrades && f.factor == 0.0)
    check.add({factor, kind}, "a link needs some bandwidth", "must be above 0", "use kind = \"link-down\"");
  if (f.kind->takes_delay && !f.delay)
    check.add({kind, delay}, fmt::format("the fault `{}` needs `delay`", name_of(f.kind)), "how long?",
              "for example delay = \"10ms\"");
  for (const std::string& name : f.messages) {
    if (std::ranges::find(message_names, name) != message_names.end()) continue;
    const std::string near = nearest(name, {message_names.begin(), message_names.end()});
    check.add({messages, kind}, fmt::format("there is no kind of message `{}`", name),
              fmt::format("must be one of: {}", fmt::join(message_names, ", ")),
              near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
  }
}

// A fault that restores something needs an earlier fault that removed it.
void check_fault_order(const Check& check, std::size_t i) {
  const FaultSpec& f = check.s.faults[i];
  if (f.kind->undoes.empty()) return;
  const FaultKind first = f.kind->undoes;
  std::vector<std::uint32_t> gone;
  bool any = false;
  for (const FaultSpec& other : check.s.faults) {
    if (other.kind != first) continue;
    any = true;
    const std::vector<std::uint32_t> nodes = fault_nodes(check.s.cluster, other.nodes);
    gone.insert(gone.end(), nodes.begin(), nodes.end());
  }
  const std::string kind = path_of(i, "kind"), nodes = path_of(i, "nodes");
  const auto report_never = [&](const std::string& field, const std::string& who) {
    check.add({field, kind, "fault"},
              fmt::format("{} of {}, but no fault {} it", name_of(f.kind), who,
                          first->crashes ? "crashes" : "makes"),
              fmt::format("there is no {} before it", name_of(first)),
              fmt::format("it needs a [[fault]] of kind = \"{}\"", name_of(first)));
  };
  if (f.kind->on == FaultOn::everything) {
    if (!any) report_never(kind, fmt::format("a {}", name_of(first)));
    return;
  }
  for (const std::uint32_t node : fault_nodes(check.s.cluster, f.nodes)) {
    if (std::ranges::find(gone, node) != gone.end()) continue;
    return report_never(nodes, node_name(check.s.cluster, node));
  }
}

}  // namespace

bool is_known(const ClusterSpec& cluster, const std::string& name) {
  return names_several_nodes(name) || host_named(cluster, name) ||
         (meant_node(name) == name && node_named(cluster, name));
}

bool check_node_name(const Check& check, const std::string& field, const std::string& name) {
  if (is_known(check.s.cluster, name)) return true;
  const std::string meant = meant_node(name);
  const auto range = [](std::string_view what, std::int64_t count) {
    return count == 1 ? fmt::format("the only one is {} 0", what)
                      : fmt::format("there are {0} 0 to {0} {1}", what, count - 1);
  };
  std::string label =
                  "possible are scheduler, server N, worker N, database, storage, servers, workers and all",
              help;
  if (check.s.cluster.inference.given)
    label =
        "possible are scheduler, server N, worker N, inference N, database, storage, servers, workers and "
        "all";
  if (check.s.cluster.colocate && name.starts_with("host"))
    label = fmt::format("machines of workers are host 0 to {}", check.s.cluster.workers - 1);
  if (meant == "database" && !node_named(check.s.cluster, meant))
    label = "every worker holds its samples, so there is no database";
  else if (meant == "storage" && !check.s.cluster.storage)
    label = "servers make no snapshots, so there is no storage";
  else if (!meant.empty() && node_named(check.s.cluster, meant))
    help = fmt::format("did you mean \"{}\"?", meant);
  else if (meant.starts_with("server")) label = range("server", check.s.cluster.servers);
  else if (meant.starts_with("worker")) label = range("worker", check.s.cluster.workers);
  else if (meant.starts_with("inference") && check.s.cluster.inference.given)
    label = range("inference", check.s.cluster.inference.nodes);
  else if (meant.starts_with("inference"))
    label = "there is no inference group", help = "[inference] adds inference nodes";
  else if (const std::string near =
               nearest(name, {"scheduler", "servers", "workers", "all", "storage", "database"});
           !near.empty())
    help = fmt::format("did you mean \"{}\"?", near);
  if (meant == "database" && help.empty()) help = "delivery = \"database\" in [data] adds it";
  if (meant == "storage" && !check.s.cluster.storage) help = "every = \"1s\" in [snapshot] adds it";
  check.add({field, "cluster.workers", "cluster.servers", "data.delivery", "snapshot"},
            fmt::format("there is no node `{}`", name), std::move(label), std::move(help));
  return false;
}

void check_faults(const Check& check) {
  for (std::size_t i = 0; i < check.s.faults.size(); ++i) {
    if (!check.reading.reliable(path_of(i, "kind"))) continue;
    check_trigger(check, i);
    check_fault_nodes(check, i);
    check_fault_values(check, i);
    check_fault_order(check, i);
  }
}

// Frequent faults may keep the run from any progress before the scheduler checks for it, once a heartbeat.
// `clock`: the seconds of one clock.
void check_pace_of_faults(const Check& check, double clock) {
  constexpr double most_often = 1e5;
  const double heartbeat = check.s.recovery.heartbeat.value, longest = std::max(clock, heartbeat);
  for (std::size_t i = 0; i < check.s.faults.size(); ++i) {
    const FaultSpec& f = check.s.faults[i];
    const std::optional<Seconds>& length = f.restart_after ? f.restart_after : f.lasts;
    const bool again = f.every || (f.mtbf && length);  // otherwise the first fault of a node is its last
    if (!again) continue;
    const double period = f.every ? f.every->value : f.mtbf->value + length->value;
    if (period * most_often >= longest) continue;
    check.add({path_of(i, f.every ? "every" : "mtbf"), path_of(i, "restart_after"), path_of(i, "lasts"),
               "recovery.heartbeat", "compute.time", "cluster.worker.speed", "training.batch_size", "model"},
              fmt::format("the fault comes every {:.3g} s", period),
              fmt::format("{:.3g} times {}", longest / period,
                          clock > heartbeat ? "within a worker's clock" : "from a heartbeat to the next"),
              fmt::format(
                  "at most {:.0f} times; a clock takes about {:.3g} s, and a heartbeat comes every {:.3g} s",
                  most_often, clock, heartbeat));
  }
}

}  // namespace psim
