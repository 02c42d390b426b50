#include "analysis/causes/main_cause.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>

#include "analysis/database.hpp"

namespace psim::analysis {
namespace {

// The blamed nodes and all nodes that are as slow: the path goes through only one of several equal nodes.
std::vector<std::uint32_t> with_equals(std::vector<std::uint32_t> blamed,
                                       const std::map<std::uint32_t, double>& measure, double nearly = 0.9) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t node : blamed) {
    const auto found = measure.find(node);
    if (found != measure.end()) least = std::min(least, found->second);
  }
  for (const auto& [node, value] : measure) {
    if (value >= nearly * least && std::ranges::find(blamed, node) == blamed.end()) blamed.push_back(node);
  }
  std::ranges::sort(blamed);
  return blamed;
}

// The blamed nodes, and nodes whose links are as narrow and carry about as much.
std::vector<std::uint32_t> as_burdened(const std::vector<std::uint32_t>& blamed,
                                       const Bottlenecks::Burdens& all) {
  const std::vector<std::uint32_t> narrow = with_equals(blamed, all.narrowness),
                                   busy = with_equals(blamed, all.seconds, 0.7);
  std::vector<std::uint32_t> both;
  std::ranges::set_intersection(narrow, busy, std::back_inserter(both));
  return both;
}

// Assigns each piece of a path to one cause.
class Books {
 public:
  Books(const RunRecord& record, const CausalGraph& graph, const Bottlenecks& bottlenecks,
        const Traffic& traffic, const FaultBook& faults)
      : record_(record),
        facts_(record.facts),
        graph_(graph),
        traffic_(traffic),
        faults_(faults),
        steps_(graph),
        bottlenecks_(bottlenecks) {
    query(record.database(), "SELECT node, sum(end_s - begin_s) FROM service GROUP BY node",
          [this](sqlite3_stmt* row) {
            const std::uint32_t node = id_in(row, 0);
            if (facts_.is_server(node)) server_work_[node] = sqlite3_column_double(row, 1);
          });
    for (std::uint32_t id = 0; id < graph.size(); ++id) {
      const Moment& moment = graph.moments[id];
      if (moment.type == Name("sent") && graph.word_of(moment) == "join")
        joined_.try_emplace(moment.node, moment.at);
    }
  }

  MainCause main_cause(const std::vector<PathPiece>& path, double total) {
    find_transfers(path);
    for (const PathPiece& piece : path) add(piece);
    add_recoveries(total);
    return most(total);
  }

 private:
  Account& of(Suspect suspect) { return accounts_[suspect]; }
  static bool is_scheduler(std::uint32_t node) { return node == 0; }
  bool is_storage(std::uint32_t node) const { return facts_.name_of(node) == "storage"; }

  void find_transfers(const std::vector<PathPiece>& path) {
    for (const PathPiece& piece : path) {
      if (const std::int64_t message = message_of(graph_, piece); message >= 0) transfers_[message] = {};
    }
    for (const Transfer& one : traffic_.transfers) {
      if (one.bytes > 0 && one.latency > 0) least_latency_ = std::min(least_latency_, one.latency);
      at_ends_[one.from] += one.on_wire - one.sent;
      at_ends_[one.to] += std::max(0.0, one.received - one.end);
      const auto found = transfers_.find(one.message);
      if (found != transfers_.end()) found->second = one;
    }
  }

  void add(const PathPiece& piece) {
    switch (piece.kind) {
      case Kind::compute: return add_computation(piece);
      case Kind::network: return add_message(piece);
      case Kind::service:
        return of(is_storage(piece.node)     ? Suspect::storage
                  : is_scheduler(piece.node) ? Suspect::scheduler
                                             : Suspect::server_work)
            .add(piece.seconds(), piece.node);
      case Kind::timeout:
      case Kind::down: return add_trouble(piece.begin, piece.end, piece.node);
      case Kind::idle: return add_idle(piece);
    }
  }

  void add_trouble(double begin, double end, std::uint32_t node) {
    const FaultInForce* fault = faults_.behind(begin, end);
    if (fault == nullptr) return of(is_stuck_ ? Suspect::stuck : Suspect::barrier).add(end - begin, node);
    const bool is_of_scheduler = !fault->nodes.empty() && std::ranges::all_of(fault->nodes, is_scheduler);
    of(is_of_scheduler ? Suspect::scheduler : Suspect::fault).seconds += end - begin;
    of_fault_[fault->table] += end - begin;
  }

  void add_computation(const PathPiece& piece) {
    const double seconds = piece.seconds();
    for (const FaultInForce& fault : faults_.all()) {
      const double frozen =
          fault.freezes() && fault.concerns(piece.node) ? fault.overlap(piece.begin, piece.end) : 0;
      if (!(frozen > 0)) continue;
      add_trouble(std::max(piece.begin, fault.begin), std::min(piece.end, fault.end), piece.node);
      return even_.add(seconds - frozen, piece.node);
    }
    const double typical =
        piece.effect == CausalGraph::none ? seconds : steps_.of(graph_.moments[piece.effect]);
    even_.add(std::min(seconds, typical), piece.node);
    beyond_.add(seconds - typical, piece.node);
  }

  void add_idle(const PathPiece& piece) {
    const FaultInForce* fault = faults_.behind(piece.begin, piece.end);
    if (fault != nullptr && fault->overlap(piece.begin, piece.end) > 0.5 * piece.seconds())
      return add_trouble(piece.begin, piece.end, piece.node);
    of(is_stuck_ && piece.effect == CausalGraph::none ? Suspect::stuck
       : is_scheduler(piece.node)                     ? Suspect::scheduler
       : piece.begin == 0                             ? Suspect::startup
       : is_storage(piece.node)                       ? Suspect::storage
                                                      : Suspect::barrier)
        .add(piece.seconds(), piece.node);
  }

  void add_message(const PathPiece& piece) {
    const Transfer& t = transfers_[message_of(graph_, piece)];
    if (!(t.received > t.sent)) return add_link(std::nullopt, piece.seconds(), piece.node, piece.to);
    if (is_storage(t.from) || is_storage(t.to))
      return of(Suspect::storage).add(piece.seconds(), is_storage(t.from) ? t.from : t.to);
    // A piece may cover only a part of the way of the message.
    const double share = std::min(1.0, piece.seconds() / (t.received - t.sent));
    add_far(Suspect::latency, share * t.latency, t);
    add_end(t, t.from, t.sent, share * (t.on_wire - t.sent));
    add_end(t, t.to, t.end, share * std::max(0.0, t.received - t.end));
    const std::optional<Bottlenecks::Bottleneck> bottleneck = bottlenecks_.of(t);
    double on_links = share * std::max(0.0, t.end - t.begin);
    if (bottleneck) {
      const double by_window = std::min(on_links, share * bottleneck->by_window);
      add_far(Suspect::tcp_window, by_window, t);
      on_links -= by_window;
    }
    add_link(bottleneck, on_links, t.from, t.to);
  }

  // Blames nodes that are far away, unless all nodes are.
  void add_far(Suspect suspect, double seconds, const Transfer& t) {
    of(suspect).add(seconds, bottlenecks_.farthest(t));
    if (t.latency <= 2 * least_latency_) of(suspect).even += seconds;
  }

  // The time of a message at its sender or its receiver: its ordinary cost, or a fault that delayed it.
  void add_end(const Transfer& t, std::uint32_t node, double begin, double seconds) {
    if (!(seconds > 1e-12)) return;
    double held = 0;
    for (const FaultInForce& fault : faults_.all()) {
      const double in_force = fault.overlap(begin - 1e-9, begin + seconds);
      if (!(in_force > 0)) continue;
      if (fault.kind == "delay" || fault.kind == "reorder") held = seconds;
      if (fault.freezes() && fault.concerns(node)) held = std::max(held, std::min(in_force, seconds));
    }
    if (held > 0) add_trouble(begin, begin + held, node);
    const bool is_small = t.bytes < 1000;
    of(is_scheduler(node) && is_small ? Suspect::scheduler : Suspect::endpoint).add(seconds - held, node);
  }

  void add_link(const std::optional<Bottlenecks::Bottleneck>& bottleneck, double seconds, std::uint32_t from,
                std::uint32_t to) {
    if (!bottleneck) {
      const std::uint32_t node = facts_.is_server(to) ? to : from;
      return of(facts_.is_server(node) ? Suspect::server_link : Suspect::worker_link).add(seconds, node);
    }
    const Suspect suspect = suspect_of(bottleneck->owner);
    of(suspect).add(seconds, bottleneck->node);
    of(suspect).links[bottleneck->link->name] += seconds;
    if (bottleneck->is_even) of(suspect).even += seconds;
  }

  static Suspect suspect_of(Bottlenecks::Owner owner) {
    switch (owner) {
      case Bottlenecks::Owner::worker: return Suspect::worker_link;
      case Bottlenecks::Owner::server: return Suspect::server_link;
      case Bottlenecks::Owner::scheduler: return Suspect::scheduler;
      case Bottlenecks::Owner::nobody: break;
    }
    return Suspect::uplink;
  }

  // A crash costs more than silence: nodes redo lost work, and that looks like ordinary computing and
  // messages.
  void add_recoveries(double total) {
    const auto failures = record_.summary.find("failures");
    if (failures == record_.summary.end()) return;
    double longest = 0;
    std::optional<std::int64_t> table;
    for (const Json& one : failures->at("recoveries")) {
      const Json& seconds = one.at("total_s");
      const double at = one.at("at_s");
      const double lasted = seconds.is_null() ? total - at : std::min(seconds.get<double>(), total - at);
      const auto fault = std::ranges::find(faults_.all(), at, &FaultInForce::begin);
      if (!(lasted > longest) || fault == faults_.all().end()) continue;
      longest = lasted;
      table = fault->table;
    }
    if (!table || !(longest > of(Suspect::fault).seconds)) return;
    of(Suspect::fault).seconds = longest;
    of_fault_[*table] = std::max(of_fault_[*table], longest);
  }

  // The weight of a cause that is the same for all nodes (see main_cause.hpp).
  static constexpr double even_counts = 0.2;

  MainCause most(double total) {
    MainCause cause{.nodes = with_equals(even_.blamed(), steps_.by_worker()),
                    .seconds = even_.seconds,
                    .link = {},
                    .fault = {},
                    .is_even = true,
                    .by_kind = {}};
    double best = even_counts * even_.seconds;
    judge_slow_steps(cause, best);
    for (const auto& [suspect, account] : accounts_) {
      const double even = is_shared_by_all(suspect) ? account.seconds : account.even;
      const double score = account.seconds - (1 - even_counts) * even;
      if (!(score > best)) continue;
      best = score;
      cause = {.kind = suspect,
               .nodes = all_of(suspect, account),
               .seconds = account.seconds,
               .link = account.link(),
               .fault = {},
               .is_even = even > 0.5 * account.seconds,
               .by_kind = {}};
    }
    cause.seconds = std::min(cause.seconds, total);
    cause.by_kind = by_kind();
    add_fault(cause, total);
    return cause;
  }

  std::map<Suspect, double> by_kind() const {
    std::map<Suspect, double> seconds;
    for (const auto& [suspect, account] : accounts_) seconds[suspect] = account.seconds;
    seconds[Suspect::worker_compute] += even_.seconds;
    seconds[are_few_slow() ? Suspect::worker_compute : Suspect::random_compute] += beyond_.seconds;
    std::erase_if(seconds, [](const auto& one) { return !(one.second > 0); });
    return seconds;
  }

  // Whether the same few workers are always the ones with steps longer than typical.
  bool are_few_slow() const {
    return std::ranges::all_of(beyond_.blamed(), [this](std::uint32_t node) { return is_slow(node); });
  }

  // Whether the scenario gives all nodes the same cost of this kind.
  bool is_shared_by_all(Suspect suspect) const {
    if (suspect == Suspect::endpoint) return true;
    if (suspect != Suspect::server_work) return false;
    std::vector<double> work;
    for (const auto& [server, values] : server_work_) work.push_back(values);
    constexpr double unequal = 1.5;
    return work.empty() || *std::ranges::max_element(work) < unequal * quantile(work, 0.5);
  }

  // The scenario makes this worker slow, but not all workers; or its steps are always slow.
  bool is_slow(std::uint32_t node) const {
    if (steps_.is_always_slow(node)) return true;
    for (const FaultInForce& fault : faults_.all())
      if (fault.kind == "slow" && fault.concerns(node)) return true;
    return std::ranges::any_of(facts_.stragglers, [&](const Straggler& one) {
      const bool is_in = std::ranges::find(one.workers, facts_.worker(node)) != one.workers.end();
      return is_in && one.slowdown > 1 && one.workers.size() < facts_.workers;
    });
  }

  void judge_slow_steps(MainCause& cause, double& best) {
    const std::vector<std::uint32_t> slow = beyond_.blamed();
    const bool are_few = are_few_slow();
    const double least_share = are_few ? 0.1 : 0.25;
    if (!(beyond_.seconds > least_share * (even_.seconds + beyond_.seconds))) return;
    const double score = beyond_.seconds + even_counts * even_.seconds;
    if (!(score > best)) return;
    best = score;
    cause.kind = are_few ? Suspect::worker_compute : Suspect::random_compute;
    cause.is_even = false;
    cause.seconds = beyond_.seconds;
    cause.nodes.clear();
    if (!are_few) return;
    cause.seconds = 0;
    for (const std::uint32_t node : slow) cause.seconds += even_.nodes[node] + beyond_.nodes[node];
    std::map<std::uint32_t, double> others = steps_.by_worker();
    std::erase_if(others, [this](const auto& one) { return !is_slow(one.first); });
    cause.nodes = with_equals(slow, others);
  }

  // The nodes to name: the blamed nodes of the path, and their equals.
  std::vector<std::uint32_t> all_of(Suspect suspect, const Account& account) const {
    std::vector<std::uint32_t> blamed = account.blamed();
    switch (suspect) {
      case Suspect::worker_link: return as_burdened(blamed, bottlenecks_.burdens(Bottlenecks::Owner::worker));
      case Suspect::server_link: return as_burdened(blamed, bottlenecks_.burdens(Bottlenecks::Owner::server));
      case Suspect::server_work: return with_equals(std::move(blamed), server_work_);
      case Suspect::startup: return with_equals(std::move(blamed), joined_);
      case Suspect::endpoint: return with_equals(std::move(blamed), at_ends_);
      case Suspect::tcp_window:
      case Suspect::latency:
        return account.even > 0.5 * account.seconds ? std::vector<std::uint32_t>() : blamed;
      default: return blamed;
    }
  }

  // Fills in the fault behind the cause, if it has one.
  void add_fault(MainCause& cause, double total) const {
    if (cause.kind == Suspect::fault || cause.kind == Suspect::scheduler) {
      const auto most = std::ranges::max_element(of_fault_, {}, [](const auto& one) { return one.second; });
      if (most == of_fault_.end()) return;
      for (const FaultInForce& fault : faults_.all()) {
        if (fault.table != most->first) continue;
        if (cause.faults++ == 0) cause.fault = fault;
      }
      if (!cause.fault) return;
      if (cause.kind == Suspect::fault) cause.seconds = std::min(most->second, total);
      cause.nodes = cause.fault->nodes;
      std::ranges::sort(cause.nodes);
      return;
    }
    add_slowing_fault(cause, total);
  }

  // The longest fault that slowed these nodes or narrowed their links. Its factor includes all faults of that
  // time.
  void add_slowing_fault(MainCause& cause, double total) const {
    if (cause.is_even) return;
    const bool is_link = cause.kind == Suspect::worker_link || cause.kind == Suspect::server_link;
    const bool is_work = cause.kind == Suspect::worker_compute || cause.kind == Suspect::server_work;
    const std::string_view kind = is_link ? "degrade" : is_work ? "slow" : "";
    double longest = 0;  // seconds
    for (const FaultInForce& fault : faults_.all()) {
      if (fault.kind != kind || fault.factor == 1 || fault.freezes()) continue;
      const auto node =
          std::ranges::find_if(cause.nodes, [&](std::uint32_t one) { return fault.concerns(one); });
      const double end = std::min(fault.end, total);
      if (node == cause.nodes.end() || end - fault.begin <= longest) continue;
      longest = end - fault.begin;
      cause.fault = fault;
      cause.fault->factor = faults_.factor(kind, *node, fault.begin, end);
    }
  }

  const RunRecord& record_;
  const Facts& facts_;
  const CausalGraph& graph_;
  const Traffic& traffic_;
  const FaultBook& faults_;
  TypicalSteps steps_;
  const Bottlenecks& bottlenecks_;
  std::map<std::int64_t, Transfer> transfers_;  // of the path, by the number of their sending
  std::map<Suspect, Account> accounts_;
  Account even_, beyond_;                    // computing up to the typical length, and beyond
  std::map<std::int64_t, double> of_fault_;  // seconds by table
  double least_latency_ = std::numeric_limits<double>::infinity();
  std::map<std::uint32_t, double> at_ends_;      // seconds of messages at their sender or receiver
  std::map<std::uint32_t, double> server_work_;  // seconds
  std::map<std::uint32_t, double> joined_;       // when each node first asked to join
  bool is_stuck_ = !record_.summary.at("stuck").empty();
};

}  // namespace

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<PathPiece>& path,
                        const Bottlenecks& bottlenecks, const Traffic& traffic, const FaultBook& faults,
                        double total) {
  return Books(record, graph, bottlenecks, traffic, faults).main_cause(path, total);
}

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

Bottlenecks::Bottlenecks(const Facts& facts, const FaultBook& faults, const LinkOwners& owners,
                         const Traffic& traffic, const std::vector<LinkUse>& uses)
    : facts_(facts), faults_(faults), owners_(owners), lone_(traffic.lone) {
  std::map<std::string, std::uint32_t> link_of;
  for (std::uint32_t number = 0; number < lone_.links().size(); ++number) {
    link_of[lone_.links()[number].name] = number;
    double& widest = widest_[owner_of(number)];
    widest = std::max(widest, lone_.links()[number].bandwidth);
  }
  full_.resize(lone_.links().size());
  bytes_.resize(full_.size());
  for (const LinkUse& use : uses) {
    full_[link_of.at(use.link.name)] = use.full;
    bytes_[link_of.at(use.link.name)] = static_cast<double>(use.bytes);
  }
  find_main_users(traffic);
}

void Bottlenecks::find_main_users(const Traffic& traffic) {
  const auto is_of_one = [this](std::uint32_t link) { return owners_.of(link).size() < 2; };
  const auto links = static_cast<std::uint32_t>(lone_.links().size());
  if (std::ranges::all_of(std::views::iota(0U, links), is_of_one)) return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const Transfer& one : traffic.transfers) bytes[{one.from, one.to}] += static_cast<double>(one.bytes);
  std::map<std::uint32_t, std::map<std::uint32_t, double>> by_node;  // by link
  for (const auto& [ends, sum] : bytes) {
    for (const std::uint32_t link : lone_.way(ends.first, ends.second)) {
      if (is_of_one(link)) continue;
      const bool is_sender = std::ranges::binary_search(owners_.of(link), ends.first);
      by_node[link][is_sender ? ends.first : ends.second] += sum;
    }
  }
  // A server waits for many nodes, so it wins when it carries about as much as the worker beside it.
  const auto weight = [this](const auto& one) {
    return facts_.is_server(one.first) ? 1.1 * one.second : one.second;
  };
  for (const auto& [link, nodes] : by_node)
    main_user_[link] = std::ranges::max_element(nodes, {}, weight)->first;
}

std::optional<std::uint32_t> Bottlenecks::owning(std::uint32_t link) const {
  const std::vector<std::uint32_t>& owners = owners_.of(link);
  return owners.size() == 1 ? std::optional(owners.front()) : std::nullopt;
}

Bottlenecks::Owner Bottlenecks::role_of(std::uint32_t node) const {
  if (node == 0) return Owner::scheduler;
  return facts_.is_server(node) ? Owner::server : Owner::worker;
}

Bottlenecks::Owner Bottlenecks::owner_of(std::uint32_t link) const {
  const std::optional<std::uint32_t> node = owning(link);
  return node ? role_of(*node) : Owner::nobody;
}

std::optional<Bottlenecks::Bottleneck> Bottlenecks::of(const Transfer& message) const {
  const double seconds = message.end - message.begin;
  double narrowest = unlimited, latency = 0;
  std::vector<std::pair<std::uint32_t, double>> way;  // links, and what faults left of their bandwidth
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    const Link& link = lone_.links()[number];
    const double left = owners_.left(number, message.begin, message.end);
    way.emplace_back(number, left * link.bandwidth);
    narrowest = std::min(narrowest, left * link.bandwidth);
    latency += link.latency;
  }
  if (way.empty() || !(seconds > 0)) return std::nullopt;
  const bool is_shared = message.sharing > 0.05 * seconds;
  // Among links that are equally to blame, the link of a server wins: many nodes share it.
  const auto weight = [&](const std::pair<std::uint32_t, double>& one) {
    double full = 0;
    const auto& all = full_[one.first];
    auto now = std::ranges::upper_bound(all, message.begin, {}, [](const auto& time) { return time.second; });
    for (; is_shared && now != all.end() && now->first < message.end; ++now)
      full += std::min(now->second, message.end) - std::max(now->first, message.begin);
    const bool is_narrow = one.second <= 1.01 * narrowest;
    return full / seconds + (is_narrow ? 0.5 : 0) + (owner_of(one.first) == Owner::server ? 0.1 : 0);
  };
  const auto& [number, bandwidth] = *std::ranges::max_element(way, {}, weight);
  // A faulty link of a host belongs to the node of the host that uses it most. Any other link that nodes
  // share has no owner.
  std::optional<std::uint32_t> node = owning(number);
  if (!node && bandwidth < lone_.links()[number].bandwidth) node = main_user_.at(number);
  const Owner owner = node ? role_of(*node) : Owner::nobody;
  const std::uint32_t beside = facts_.is_server(message.from) ? message.to : message.from;
  const bool is_held = latency > 0 && lone_.window() / latency < narrowest;
  return Bottleneck{
      .link = &lone_.links()[number],
      .owner = owner,
      .node = node.value_or(beside),
      .by_window =
          is_held ? static_cast<double>(message.bytes) * (latency / lone_.window() - 1 / narrowest) : 0,
      .is_even = bandwidth >= 0.9 * widest_.at(owner_of(number))};
}

std::uint32_t Bottlenecks::farthest(const Transfer& message) const {
  std::optional<std::uint32_t> longest;
  for (const std::uint32_t number : lone_.way(message.from, message.to)) {
    if (!longest || lone_.links()[number].latency > lone_.links()[*longest].latency) longest = number;
  }
  return longest ? owning(*longest).value_or(message.from) : message.from;
}

Bottlenecks::Burdens Bottlenecks::burdens(Owner owner) const {
  Burdens burdens;
  for (std::uint32_t number = 0; number < lone_.links().size(); ++number) {
    const std::optional<std::uint32_t> node = owning(number);
    if (!node || owner_of(number) != owner) continue;
    double bandwidth = lone_.links()[number].bandwidth;
    for (const FaultInForce& fault : faults_.all())
      if (fault.kind == "degrade" && fault.concerns(*node)) bandwidth *= fault.factor;
    double &narrow = burdens.narrowness[*node], &seconds = burdens.seconds[*node];
    narrow = std::max(narrow, 1 / bandwidth);
    seconds = std::max(seconds, bytes_[number] / bandwidth);
  }
  return burdens;
}

namespace {

constexpr double a_median = 0.5;

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto it = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, it);
  return *it;
}

TypicalSteps::TypicalSteps(const CausalGraph& graph) {
  struct Open {
    double since = 0, seconds = 0;
  };
  std::map<std::uint32_t, Open> open;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& moment = graph.moments[id];
    const bool begins = moment.type == Name("begun"), ends = moment.type == Name("ended");
    Open& one = open[moment.node];
    if (begins) one = {};
    if (begins || moment.type == Name("resumed")) one.since = moment.at;
    if (ends || moment.type == Name("paused")) one.seconds += moment.at - one.since;
    if (ends) durations_[{moment.word, moment.part}][moment.node].push_back(one.seconds);
  }
  for (const auto& [part, workers] : durations_) {
    std::vector<double> medians;
    for (const auto& [worker, all] : workers) medians.push_back(quantile(all, a_median));
    typical_[part] = quantile(std::move(medians), a_median);
  }
}

double TypicalSteps::of(const Moment& end) const {
  const auto found = typical_.find({end.word, end.part});
  return found == typical_.end() ? std::numeric_limits<double>::infinity() : found->second;
}

bool TypicalSteps::is_always_slow(std::uint32_t worker) const {
  constexpr double longer = 1.1, nearly_all = 0.25;
  double fast = 0, typical = 0;
  for (const auto& [part, workers] : durations_) {
    const auto own = workers.find(worker);
    if (own == workers.end()) continue;
    fast += quantile(own->second, nearly_all);
    typical += typical_.at(part);
  }
  return fast > longer * typical;
}

std::map<std::uint32_t, double> TypicalSteps::by_worker() const {
  std::map<std::uint32_t, double> seconds;
  for (const auto& [part, workers] : durations_) {
    for (const auto& [worker, all] : workers)
      seconds[worker] += std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  }
  return seconds;
}

}  // namespace psim::analysis
