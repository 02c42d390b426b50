#include "analysis/causes/main_cause.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>

#include "analysis/statistics/sample.hpp"

namespace psim::analysis {
namespace {

// The lower of two values in the middle counts. So the slower one of two workers is a straggler.
double lower_median(std::vector<double> values) {
  return statistics::quantile(std::move(values), 0.5, statistics::Between::lower);
}

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
        const Traffic& traffic, const FaultBook& faults, const Rates& rates)
      : record_(record),
        facts_(record.facts),
        graph_(graph),
        traffic_(traffic),
        faults_(faults),
        rates_(rates),
        steps_(record, graph),
        bottlenecks_(bottlenecks) {
    query(record.database(), "SELECT node, sum(end_s - begin_s) FROM service GROUP BY node",
          [this](sqlite3_stmt* row) {
            const std::uint32_t node = id_in(row, 0);
            if (facts_.is_server(node)) server_work_[node] = sqlite3_column_double(row, 1);
          });
    for (std::uint32_t id = 0; id < graph.size(); ++id) {
      const Moment& moment = graph.moments[id];
      if (moment.is<Sent>(MessageKind::join)) joined_.try_emplace(moment.node, moment.at);
    }
  }

  MainCause main_cause(const std::vector<PathPiece>& path, double total) {
    find_transfers(path);
    for (const PathPiece& piece : path) add(piece);
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
    of(is_of_scheduler(*fault) ? Suspect::scheduler : Suspect::fault).add(end - begin, node);
    of_fault_[fault->table] += end - begin;
  }

  static bool is_of_scheduler(const FaultInForce& fault) {
    return !fault.nodes.empty() && std::ranges::all_of(fault.nodes, is_scheduler);
  }

  // Nothing goes on while the machine is frozen.
  double add_freezes(const PathPiece& piece) {
    double frozen = 0;
    for (const FaultInForce& fault : faults_.all()) {
      const double seconds =
          fault.freezes() && fault.concerns(piece.node) ? fault.overlap(piece.begin, piece.end) : 0;
      if (!(seconds > 0)) continue;
      add_trouble(std::max(piece.begin, fault.begin), std::min(piece.end, fault.end), piece.node);
      frozen += seconds;
    }
    return std::min(frozen, piece.seconds());
  }

  void add_computation(const PathPiece& piece) {
    const double seconds = piece.seconds() - add_freezes(piece);
    const StepBook::Step* step = steps_.at(piece.node, (piece.begin + piece.end) / 2);
    if (step == nullptr || !(step->seconds > 0)) {
      const bool filters =
          piece.effect != CausalGraph::none && graph_.moments[piece.effect].word() == "filter";
      return (filters ? of(Suspect::filters) : even_).add(seconds, piece.node, true);
    }
    const double share = seconds / step->seconds;
    even_.add(share * step->even, piece.node, true);
    of(Suspect::bus).add(share * step->copies, piece.node, true);
    slow_.add(share * (step->unequal + step->slow()), piece.node);
    (is_slow_by_chance(piece.node) ? slow_ : chance_).add(share * step->chance, piece.node);
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
    const bool is_near = t.latency <= 2 * least_latency_;
    of(Suspect::latency).add(share * t.latency, bottlenecks_.farthest(t), is_near);
    // Profiles make all nodes late, or some.
    const bool are_alike = std::min(t.late_from, t.late_to) > 0.5 * std::max(t.late_from, t.late_to);
    of(Suspect::latency).add(share * t.late_from, t.from, are_alike);
    of(Suspect::latency).add(share * t.late_to, t.to, are_alike);
    add_end(t, t.from, t.sent, share * (t.on_wire - t.sent));
    add_end(t, t.to, t.end, share * std::max(0.0, t.received - t.end - t.late_from - t.late_to));
    const std::optional<Bottlenecks::Bottleneck> bottleneck = bottlenecks_.of(t);
    double on_links = share * std::max(0.0, t.end - t.begin);
    if (bottleneck) {
      const double by_window = std::min(on_links, share * bottleneck->by_window);
      of(Suspect::tcp_window).add(by_window, bottlenecks_.farthest(t), is_near);
      on_links -= by_window;
    }
    add_link(bottleneck, on_links, t.from, t.to);
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
    Account& account = of(suspect_of(bottleneck->owner));
    account.add(seconds, bottleneck->node, bottleneck->is_even);
    account.links[bottleneck->link->name] += seconds;
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

  MainCause most(double total) {
    MainCause cause{.nodes = with_equals(even_.blamed(), steps_.means().all),
                    .seconds = even_.seconds,
                    .link = {},
                    .fault = {},
                    .is_even = true,
                    .by_kind = {}};
    double best = even_counts * even_.seconds;
    judge_steps(cause, best);
    const std::vector<MainCause::FaultShare> shares = fault_shares(total);
    const bool is_measured =
        std::ranges::any_of(shares, [](const auto& one) { return one.cost.has_value(); });
    for (const auto& [suspect, account] : accounts_) {
      Account judged = account;
      if (is_shared_by_all(suspect)) {
        judged.even = judged.seconds;
        judged.of_uneven.clear();
      }
      double score = judged.score();
      if (suspect == Suspect::fault && is_measured) continue;
      if (suspect == Suspect::scheduler && is_measured) score -= of_scheduler(shares);
      if (!(score > best)) continue;
      best = score;
      cause = {.kind = suspect,
               .nodes = all_of(suspect, judged),
               .seconds = judged.seconds,
               .link = judged.link(),
               .fault = {},
               .is_even = judged.even > 0.5 * judged.seconds,
               .by_kind = {}};
      const bool has_links = suspect == Suspect::worker_link || suspect == Suspect::server_link;
      if (has_links && judged.is_uneven()) {
        cause.seconds = judged.of(cause.nodes);
        cause.is_even = false;
      }
    }
    judge_faults(shares, total, cause, best);
    cause.seconds = std::min(cause.seconds, total);
    cause.by_kind = by_kind();
    cause.all_faults = shares;
    if (!cause.of_fault) add_reduction(cause, total);
    return cause;
  }

  double of_scheduler(const std::vector<MainCause::FaultShare>& shares) const {
    double seconds = 0;
    for (const MainCause::FaultShare& one : shares) seconds += is_of_scheduler(one.first) ? one.on_path : 0;
    return seconds;
  }

  std::map<Suspect, double> by_kind() const {
    std::map<Suspect, double> seconds;
    for (const auto& [suspect, account] : accounts_) seconds[suspect] = account.seconds;
    seconds[Suspect::worker_compute] += even_.seconds + slow_.seconds;
    seconds[Suspect::random_compute] += chance_.seconds;
    std::erase_if(seconds, [](const auto& one) { return !(one.second > 0); });
    return seconds;
  }

  // Whether the scenario gives all nodes the same cost of this kind.
  bool is_shared_by_all(Suspect suspect) const {
    if (suspect == Suspect::endpoint) return true;
    if (suspect != Suspect::server_work) return false;
    std::vector<double> work;
    for (const auto& [server, values] : server_work_) work.push_back(values);
    constexpr double unequal = 1.5;
    return work.empty() || *std::ranges::max_element(work) < unequal * lower_median(work);
  }

  // Chance makes only a few workers slow, and this is one of them.
  bool is_slow_by_chance(std::uint32_t node) const {
    return std::ranges::any_of(facts_.stragglers, [&](const Straggler& one) {
      const bool is_in = std::ranges::find(one.workers, facts_.worker(node)) != one.workers.end();
      return is_in && one.probability && one.slowdown > 1 && one.workers.size() < facts_.workers;
    });
  }

  void judge_steps(MainCause& cause, double& best) {
    constexpr double least_slow = 0.1, least_random = 0.25;
    const double all = even_.seconds + slow_.seconds + chance_.seconds, even = even_counts * even_.seconds;
    if (slow_.seconds > least_slow * all && slow_.seconds + even > best) {
      best = slow_.seconds + even;
      cause.kind = Suspect::worker_compute;
      cause.nodes = with_equals(slow_.blamed(), steps_.means().slow);
      cause.is_even = cause.nodes.size() == facts_.workers;
      cause.seconds = even_.of(cause.nodes) + slow_.of(cause.nodes) + chance_.of(cause.nodes);
    }
    if (chance_.seconds > least_random * all && chance_.seconds + even > best) {
      best = chance_.seconds + even;
      cause.kind = Suspect::random_compute;
      cause.nodes.clear();
      cause.is_even = false;
      cause.seconds = chance_.seconds;
    }
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
      case Suspect::bus:
      case Suspect::filters: return with_equals(std::move(blamed), steps_.means().all);
      case Suspect::tcp_window:
      case Suspect::latency: return account.is_uneven() ? blamed : std::vector<std::uint32_t>();
      default: return blamed;
    }
  }

  // The seconds that a run is longer than the run without a fault. If both ended at the same date: the
  // seconds that the run needed for the updates that the fault cost.
  static std::optional<double> cost_of(const std::optional<FaultBook::Without>& without, double total,
                                       std::int64_t updates) {
    if (!without) return std::nullopt;
    if (without->end != total || without->updates == 0) return total - without->end;
    return total * static_cast<double>(without->updates - updates) / static_cast<double>(without->updates);
  }
  std::optional<double> cost_of(const std::optional<FaultBook::Without>& without, double total) const {
    const bool is_whole = total == record_.summary.at("sim_time_s").get<double>() && !is_stuck_;
    return is_whole ? cost_of(without, total, record_.summary.at("updates").get<std::int64_t>())
                    : std::nullopt;
  }

  // Each [[fault]] that happened before the end of the path.
  std::vector<MainCause::FaultShare> fault_shares(double total) const {
    std::vector<MainCause::FaultShare> shares;
    for (const FaultInForce& fault : faults_.all()) {
      if (!(fault.begin < total)) continue;
      const auto same =
          std::ranges::find(shares, fault.table, [](const auto& one) { return one.first.table; });
      if (same != shares.end()) {
        ++same->times;
        continue;
      }
      const auto on_path = of_fault_.find(fault.table);
      MainCause::FaultShare share{.first = fault, .times = 1};
      if (on_path != of_fault_.end()) share.on_path = on_path->second;
      const std::optional<FaultBook::Without> without = faults_.without(fault.table);
      share.cost = cost_of(without, total);
      if (share.cost && without->end == total) {
        share.of_updates = without->updates;
        share.updates = without->updates - record_.summary.at("updates").get<std::int64_t>();
      }
      shares.push_back(share);
    }
    std::ranges::sort(shares, {}, [](const auto& one) { return one.first.table; });
    return shares;
  }

  // A fault that slows a node or narrows its link is not the cause itself: the node or its link is.
  static bool is_cause(const FaultInForce& fault) {
    const bool is_reduction = fault.kind == "degrade" || (fault.kind == "slow" && !fault.freezes());
    return !is_reduction && fault.kind != "restart" && fault.kind != "join" && fault.kind != "heal";
  }

  // Seconds of the longest recovery from a crash: nodes repeat lost work, and that looks like ordinary work.
  double recovery_of(const FaultInForce& fault, double total) const {
    const auto failures = record_.summary.find("failures");
    double longest = 0;
    if (failures == record_.summary.end()) return longest;
    for (const Json& one : failures->at("recoveries")) {
      const Json& seconds = one.at("total_s");
      const double at = one.at("at_s"), left = total - at;
      if (at == fault.begin)
        longest = std::max(longest, seconds.is_null() ? left : std::min(seconds.get<double>(), left));
    }
    return longest;
  }

  // Faults are the cause if together they cost more than any other cause. Then the worst of them is named.
  void judge_faults(const std::vector<MainCause::FaultShare>& shares, double total, MainCause& cause,
                    double best) const {
    const bool is_fault = cause.kind == Suspect::fault || cause.kind == Suspect::scheduler;
    std::vector<std::pair<double, const MainCause::FaultShare*>> causes;
    double all = 0;
    for (const MainCause::FaultShare& one : shares) {
      if (!is_cause(one.first)) continue;
      const double seconds = one.cost ? *one.cost : std::max(one.on_path, recovery_of(one.first, total));
      if (!(seconds > 0)) continue;
      causes.emplace_back(seconds, &one);
      if (one.cost) all += seconds;
      else all = std::max(all, seconds);  // recoveries may overlap
    }
    if (causes.empty() || (!is_fault && !(all > best))) return;
    std::ranges::stable_sort(causes, std::ranges::greater{}, [](const auto& one) { return one.first; });
    const auto& [seconds, worst] = causes.front();
    if (is_fault && !(worst->on_path > 0) && !(all > best)) return;
    cause = {.kind = is_of_scheduler(worst->first) ? Suspect::scheduler : Suspect::fault,
             .nodes = {},
             .seconds = std::min(all, total),
             .link = {},
             .fault = worst->first,
             .faults = worst->times,
             .by_kind = {}};
    cause.of_fault = *worst;
    cause.of_fault->judged = seconds;
    std::set<std::uint32_t> nodes;
    for (const auto& [part, one] : causes) {
      if (part > 0.5 * seconds) nodes.insert(one->first.nodes.begin(), one->first.nodes.end());
    }
    cause.nodes.assign(nodes.begin(), nodes.end());
  }

  // When the nodes to blame were slower, or their links narrower.
  void add_reduction(MainCause& cause, double total) const {
    const bool is_link = cause.kind == Suspect::worker_link || cause.kind == Suspect::server_link;
    const bool is_work = cause.kind == Suspect::worker_compute || cause.kind == Suspect::server_work;
    if (cause.is_even || (!is_link && !is_work)) return;
    for (const std::uint32_t node : cause.nodes) {
      const auto longest = rates_.longest(is_link ? Quantity::bandwidth : Quantity::speed, node, total);
      const auto length = [](const auto& one) { return one ? one->end - one->begin : 0; };
      if (length(longest) > length(cause.reduction)) cause.reduction = longest;
    }
  }

  const RunRecord& record_;
  const Facts& facts_;
  const CausalGraph& graph_;
  const Traffic& traffic_;
  const FaultBook& faults_;
  const Rates& rates_;
  StepBook steps_;
  const Bottlenecks& bottlenecks_;
  std::map<std::int64_t, Transfer> transfers_;  // of the path, by the number of their sending
  std::map<Suspect, Account> accounts_;
  Account even_, slow_, chance_;             // computing: see StepBook::Step
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
                        const Rates& rates, double total) {
  return Books(record, graph, bottlenecks, traffic, faults, rates).main_cause(path, total);
}

namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

Bottlenecks::Bottlenecks(const Facts& facts, const Rates& rates, const LinkOwners& owners,
                         const Traffic& traffic, const std::vector<LinkUse>& uses, double until)
    : facts_(facts), rates_(rates), owners_(owners), lone_(traffic.lone), until_(until) {
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
    const double bandwidth =
        lone_.links()[number].bandwidth * rates_.least(Quantity::bandwidth, *node, until_);
    double &narrow = burdens.narrowness[*node], &seconds = burdens.seconds[*node];
    narrow = std::max(narrow, 1 / bandwidth);
    seconds = std::max(seconds, bytes_[number] / bandwidth);
  }
  return burdens;
}

namespace {

// A part of a step while the record is read.
struct OpenStep {
  StepBook::Step step = {};
  double since = 0;                                // begin or resumption
  double even = 0, copies = 0, drawn = 1;          // table `step_cost`
  std::pair<std::int64_t, std::uint32_t> of = {};  // clock and part
};

// Splits the seconds of computing.
void split(const OpenStep& open, double median, StepBook::Step& step) {
  const double work = open.even - open.copies, planned = work * open.drawn + open.copies;
  const double usual = work * std::min(open.drawn, 1.0), common = std::max(0.0, median - open.copies);
  const double share = planned > 0 ? std::min(1.0, step.seconds / planned) : 0;  // less: it was cancelled
  step.even = share * std::min(usual, common);
  step.copies = share * open.copies;
  step.unequal = share * (usual - std::min(usual, common));
  step.chance = share * work * std::max(0.0, open.drawn - 1);
}

}  // namespace

StepBook::StepBook(const RunRecord& record, const CausalGraph& graph) {
  std::map<std::int64_t, OpenStep> costs;  // by number of the `begun` event
  query(record.database(), "SELECT event, even_s, copies_s, drawn FROM step_cost", [&](sqlite3_stmt* row) {
    costs[sqlite3_column_int64(row, 0)] = {.even = sqlite3_column_double(row, 1),
                                           .copies = sqlite3_column_double(row, 2),
                                           .drawn = sqlite3_column_double(row, 3)};
  });
  std::map<std::uint32_t, std::vector<OpenStep>> all;
  std::map<std::uint32_t, bool> is_open;
  std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<double>> even;  // by clock and part
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Moment& moment = graph.moments[id];
    if (moment.is(ComputePhase::begun)) {
      const auto cost = costs.find(moment.number);
      if (cost == costs.end()) continue;
      OpenStep step = cost->second;
      step.step = {.begin = moment.at, .end = std::numeric_limits<double>::infinity()};
      step.since = moment.at;
      step.of = {moment.clock, moment.part};
      even[step.of].push_back(step.even);
      all[moment.node].push_back(step);
      is_open[moment.node] = true;
      continue;
    }
    if (!is_open[moment.node] || moment.word() == "filter") continue;
    OpenStep& step = all[moment.node].back();
    if (moment.is(ComputePhase::resumed)) step.since = moment.at;
    const bool is_over = moment.is(ComputePhase::ended, ComputePhase::cancelled, ComputePhase::killed);
    if (is_over || moment.is(ComputePhase::paused)) step.step.seconds += moment.at - step.since;
    if (!is_over) continue;
    step.step.end = moment.at;
    is_open[moment.node] = false;
  }
  std::map<std::pair<std::int64_t, std::uint32_t>, double> medians;
  // Work that is shared out by speed makes no worker slow.
  const bool is_shared_out = record.facts.shares_out || record.facts.steals;
  for (auto& [of, values] : even)
    medians[of] = is_shared_out ? std::ranges::max(values) : lower_median(std::move(values));
  const double end = record.summary.at("sim_time_s");
  for (auto& [node, steps] : all) {
    for (OpenStep& one : steps) {
      if (std::isinf(one.step.end)) one.step.seconds += end - one.since;
      split(one, medians.at(one.of), one.step);
      means_.all[node] += one.step.seconds / static_cast<double>(steps.size());
      const double slow = one.step.unequal + one.step.slow();
      if (slow > 0) means_.slow[node] += slow / static_cast<double>(steps.size());
      steps_[node].push_back(one.step);
    }
  }
}

const StepBook::Step* StepBook::at(std::uint32_t node, double date) const {
  const auto found = steps_.find(node);
  if (found == steps_.end()) return nullptr;
  const auto next = std::ranges::upper_bound(found->second, date, {}, &Step::begin);
  if (next == found->second.begin() || std::prev(next)->end < date) return nullptr;
  return &*std::prev(next);
}

}  // namespace psim::analysis
