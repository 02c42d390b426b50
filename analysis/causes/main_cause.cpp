#include "analysis/causes/main_cause.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/links/links.hpp"

namespace psim::analysis {
namespace {

constexpr double for_ever = std::numeric_limits<double>::infinity();

double overlap(double a_begin, double a_end, double b_begin, double b_end) {
  return std::max(0.0, std::min(a_end, b_end) - std::max(a_begin, b_begin));
}

// The value of which this share is below; of two the lower one.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double place = share * static_cast<double>(values.size() - 1);
  const auto it = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, it);
  return *it;
}
double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Beside those that the path blames: those that are as far beyond the others. The path takes one of several
// that are equal.
std::vector<std::uint32_t> with_equals(std::vector<std::uint32_t> blamed,
                                       const std::map<std::uint32_t, double>& measure) {
  constexpr double nearly = 0.9;
  double least = for_ever;
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

// What a part of a computation typically takes: the median over workers of each one's median.
class TypicalSteps {
 public:
  void on(const Row& row) {
    if (!row.is_computation()) return;
    Open& open = open_[row.node];
    const bool starts = row.is("begun") || row.is("resumed");
    if (row.is("begun")) open = {};
    if (starts) open.since = row.at;
    else open.seconds += row.at - open.since;
    if (row.is("ended")) durations_[{std::string(row.work), row.part}][row.node].push_back(open.seconds);
  }
  void close() {
    for (auto& [part, workers] : durations_) {
      std::vector<double> medians;
      for (auto& [worker, all] : workers) medians.push_back(median(all));
      typical_[part] = median(medians);
    }
  }
  double of(const std::string& work, std::int64_t part) const {
    const auto found = typical_.find({work, part});
    return found == typical_.end() ? for_ever : found->second;
  }
  // Whether nearly all of a worker's steps take longer than is typical: it is no chance.
  bool is_always_slow(std::uint32_t worker) const {
    constexpr double longer = 1.1;
    double fast = 0, typical = 0;
    for (const auto& [part, workers] : durations_) {
      const auto own = workers.find(worker);
      if (own == workers.end()) continue;
      fast += quantile(own->second, 0.25);
      typical += typical_.at(part);
    }
    return fast > longer * typical;
  }
  // A worker's steps, all parts of a typical one.
  std::map<std::uint32_t, double> by_worker() const {
    std::map<std::uint32_t, double> seconds;
    for (const auto& [part, workers] : durations_) {
      for (const auto& [worker, all] : workers) seconds[worker] += mean(all);
    }
    return seconds;
  }

 private:
  struct Open {
    double since = 0, seconds = 0;
  };
  using Part = std::pair<std::string, std::int64_t>;  // what is computed, and which part of it
  std::map<std::uint32_t, Open> open_;
  std::map<Part, std::map<std::uint32_t, std::vector<double>>> durations_;
  std::map<Part, double> typical_;
};

class FaultBook {
 public:
  explicit FaultBook(const Facts& facts) : facts_(facts) {}
  void on(const Row& row) {
    if (!row.is("fault")) return;
    if (row.begins == 0) {
      for (FaultInForce& fault : faults_)
        if (fault.table == row.fault_table && fault.end == for_ever) fault.end = row.at;
      return;
    }
    const auto same = std::ranges::find_if(faults_, [&](const FaultInForce& one) {
      return one.table == row.fault_table && one.begin == row.at;
    });
    FaultInForce& fault = same == faults_.end() ? faults_.emplace_back() : *same;
    fault.table = row.fault_table;
    fault.kind = row.kind;
    fault.begin = row.at;
    fault.end = for_ever;
    const auto number = static_cast<std::size_t>(row.fault_table);
    fault.factor = number < facts_.fault_factors.size() ? facts_.fault_factors[number] : 1;
    if (row.has_target == 0) return;
    if (fault.kind == "partition") sides_[{fault.table, fault.begin}][row.other_side].push_back(row.peer);
    else fault.nodes.push_back(row.peer);
  }
  // Of a partition the smaller side is cut off from the other.
  void close() {
    for (FaultInForce& fault : faults_) {
      for (const auto& [other, side] : sides_[{fault.table, fault.begin}])
        if (fault.nodes.empty() || side.size() < fault.nodes.size()) fault.nodes = side;
    }
  }
  const std::vector<FaultInForce>& all() const { return faults_; }
  // What is left of a node's speed at a date.
  double speed(std::uint32_t node, double date) const {
    double left = 1;
    for (const FaultInForce& fault : faults_) {
      const bool is_now = fault.begin <= date && date < fault.end;
      if (fault.kind == "slow" && is_now && concerns(fault, node)) left *= fault.factor;
    }
    return left;
  }

  // What is left of the bandwidth of a node's links.
  double bandwidth(std::uint32_t node, double begin, double end) const {
    double left = 1;
    for (const FaultInForce& fault : faults_) {
      const bool is_most = overlap(begin, end, fault.begin, fault.end) > 0.5 * (end - begin);
      if (fault.kind == "degrade" && is_most && concerns(fault, node)) left *= fault.factor;
    }
    return left;
  }
  static bool concerns(const FaultInForce& fault, std::uint32_t node) {
    return std::ranges::find(fault.nodes, node) != fault.nodes.end();
  }
  // The one that a stretch of trouble came of: in force during it, or else the last one before it.
  const FaultInForce* behind(double begin, double end) const {
    const FaultInForce* found = nullptr;
    for (const FaultInForce& fault : faults_) {
      if (fault.kind == "degrade" || fault.kind == "join" || fault.begin > end) continue;
      const bool was_there = overlap(begin, end, fault.begin, fault.end) > 0;
      const bool is_there = found != nullptr && overlap(begin, end, found->begin, found->end) > 0;
      if (found == nullptr || was_there || !is_there) found = &fault;
    }
    return found;
  }

 private:
  const Facts& facts_;
  std::vector<FaultInForce> faults_;
  // Of partitions, by table and date: nodes by a node of the other side.
  std::map<std::pair<std::int64_t, double>, std::map<std::uint32_t, std::vector<std::uint32_t>>> sides_;
};

// What a cause has taken, and of whom.
struct Account {
  double seconds = 0;
  double even = 0;  // of these on links that are as wide as all of their kind
  std::map<std::uint32_t, double> nodes;
  std::map<std::string, double> links;
  void add(double more, std::uint32_t node) {
    if (!(more > 0)) return;
    seconds += more;
    nodes[node] += more;
  }
  // Those that have nearly all of it, the most first, as few as that takes.
  std::vector<std::uint32_t> blamed() const {
    std::vector<std::pair<double, std::uint32_t>> all;
    for (const auto& [node, part] : nodes) all.emplace_back(part, node);
    std::ranges::sort(all, std::ranges::greater{});
    std::vector<std::uint32_t> blamed;
    double sum = 0;
    for (const auto& [part, node] : all) {
      if (sum >= 0.9 * seconds) break;
      sum += part;
      blamed.push_back(node);
    }
    std::ranges::sort(blamed);
    return blamed;
  }
  std::string link() const {
    const auto most = std::ranges::max_element(links, {}, [](const auto& one) { return one.second; });
    return most == links.end() ? "" : most->first;
  }
};

class Court {
 public:
  Court(const RunRecord& record, const CausalGraph& graph)
      : record_(record), facts_(record.facts), graph_(graph), lone_(record), faults_(record.facts) {
    record.each([this](const Row& row) {
      steps_.on(row);
      faults_.on(row);
      if (row.is("received", "push") && facts_.is_server(row.node)) {
        const double full = facts_.server_speed(row.node) > 0 ? facts_.server_speed(row.node) : 1;
        const double speed = full * faults_.speed(row.node, row.at);
        if (speed > 0) server_work_[row.node] += static_cast<double>(row.values) / speed;
      }
      if (row.is("sent", "join")) joined_.try_emplace(row.node, row.at);
    });
    steps_.close();
    faults_.close();
  }

  MainCause judge(const std::vector<Piece>& path, double total) {
    find_transfers(path);
    for (const Piece& piece : path) hear(piece);
    weigh_recoveries(total);
    return sentence(total);
  }

 private:
  Account& of(Suspect suspect) { return accounts_[suspect]; }
  bool is_scheduler(std::uint32_t node) const { return node == 0; }
  bool is_storage(std::uint32_t node) const { return facts_.name_of(node) == "storage"; }

  void find_transfers(const std::vector<Piece>& path) {
    for (const Piece& piece : path) {
      if (const std::int64_t message = message_of(graph_, piece); message >= 0) transfers_[message] = {};
    }
    each_transfer(record_, lone_, [this](const Transfer& one) {
      if (one.bytes > 0 && one.latency > 0) least_latency_ = std::min(least_latency_, one.latency);
      at_ends_[one.from] += one.on_wire - one.sent;
      at_ends_[one.to] += std::max(0.0, one.received - one.end);
      const auto found = transfers_.find(one.message);
      if (found != transfers_.end()) found->second = one;
    });
    for (const LinkUse& link : links_of(record_)) full_[link.link.name] = link.full;
  }

  void hear(const Piece& piece) {
    switch (piece.kind) {
      case Kind::compute: return hear_computation(piece);
      case Kind::network: return hear_message(piece);
      case Kind::service:
        return of(is_storage(piece.node)     ? Suspect::storage
                  : is_scheduler(piece.node) ? Suspect::scheduler
                                             : Suspect::server_work)
            .add(piece.seconds(), piece.node);
      case Kind::timeout:
      case Kind::down: return trouble(piece.begin, piece.end, piece.node);
      case Kind::idle: return hear_idle(piece);
    }
  }

  // Time that a fault took: whatever fault was in force.
  void trouble(double begin, double end, std::uint32_t node) {
    const FaultInForce* fault = faults_.behind(begin, end);
    if (fault == nullptr) return of(Suspect::barrier).add(end - begin, node);
    const bool only_scheduler =
        !fault->nodes.empty() &&
        std::ranges::all_of(fault->nodes, [this](auto target) { return is_scheduler(target); });
    const Suspect suspect = only_scheduler ? Suspect::scheduler : Suspect::fault;
    of(suspect).seconds += end - begin;
    of_fault_[fault->table] += end - begin;
  }

  void hear_computation(const Piece& piece) {
    double typical = for_ever;
    if (piece.effect != CausalGraph::none) {
      const Moment& effect = graph_.moments[piece.effect];
      typical = steps_.of(std::string(graph_.word_of(effect)), effect.part);
    }
    const double seconds = piece.seconds();
    for (const FaultInForce& fault : faults_.all()) {
      if (fault.kind != "slow" || fault.factor > 0 || !FaultBook::concerns(fault, piece.node)) continue;
      if (const double frozen = overlap(piece.begin, piece.end, fault.begin, fault.end); frozen > 0) {
        trouble(std::max(piece.begin, fault.begin), std::min(piece.end, fault.end), piece.node);
        even_.add(seconds - frozen, piece.node);
        return;
      }
    }
    even_.add(std::min(seconds, typical), piece.node);
    beyond_.add(seconds - typical, piece.node);
  }

  void hear_idle(const Piece& piece) {
    const bool is_first = piece.begin == 0;
    const FaultInForce* fault = faults_.behind(piece.begin, piece.end);
    const bool has_fault =
        fault != nullptr && overlap(piece.begin, piece.end, fault->begin, fault->end) > 0.5 * piece.seconds();
    if (has_fault) return trouble(piece.begin, piece.end, piece.node);
    if (is_scheduler(piece.node)) return of(Suspect::scheduler).add(piece.seconds(), piece.node);
    if (is_first) return of(Suspect::startup).add(piece.seconds(), piece.node);
    if (is_storage(piece.node)) return of(Suspect::storage).add(piece.seconds(), piece.node);
    of(Suspect::barrier).add(piece.seconds(), piece.node);
  }

  // Whose link has most of the way's latency; the sender, if it is nobody's.
  std::uint32_t farthest(const Transfer& t) const {
    const Link* longest = nullptr;
    for (const std::uint32_t number : lone_.way(t.from, t.to)) {
      const Link& link = lone_.links()[number];
      if (longest == nullptr || link.latency > longest->latency) longest = &link;
    }
    return longest == nullptr ? t.from : owner(longest->name).value_or(t.from);
  }

  // The node whose messages alone cross the link; none: many nodes'.
  std::optional<std::uint32_t> owner(const std::string& link) const {
    for (std::uint32_t node = 0; node < record_.names.size(); ++node) {
      const std::string& name = record_.names[node];
      if (link.starts_with(name) && (link.size() == name.size() || link[name.size()] == ' ')) return node;
    }
    return std::nullopt;
  }

  void hear_message(const Piece& piece) {
    const Transfer& t = transfers_[message_of(graph_, piece)];
    const bool is_known = t.message != 0 || t.received > 0;
    if (!is_known || lone_.links().empty()) return blame_pair(piece.seconds(), piece.node, piece.to);
    if (is_storage(t.from) || is_storage(t.to)) {
      const std::uint32_t storage = is_storage(t.from) ? t.from : t.to;
      return of(Suspect::storage).add(piece.seconds(), storage);
    }
    // A stretch may be a part of the message's way only.
    const double all = t.received - t.sent;
    const double share = all > 0 ? std::min(1.0, piece.seconds() / all) : 0;
    const double before = t.on_wire - t.sent, after = std::max(0.0, t.received - t.end);
    of(Suspect::latency).add(share * t.latency, farthest(t));
    if (t.latency <= 2 * least_latency_) of(Suspect::latency).even += share * t.latency;
    hear_ends(t, share, before, after);
    hear_links(t, share);
  }

  void hear_ends(const Transfer& t, double share, double before, double after) {
    for (const auto& [node, begin, seconds] :
         {std::tuple(t.from, t.sent, before), std::tuple(t.to, t.end, after)}) {
      if (!(seconds > 1e-12)) continue;
      double of_faults = 0;
      for (const FaultInForce& fault : faults_.all()) {
        const bool delays = fault.kind == "delay" || fault.kind == "reorder" ||
                            (fault.kind == "slow" && !(fault.factor > 0) && FaultBook::concerns(fault, node));
        if (!delays) continue;
        const double in_force = overlap(begin - 1e-9, begin + seconds, fault.begin, fault.end);
        if (in_force > 0) of_faults = std::max(of_faults, fault.kind == "slow" ? in_force : seconds);
      }
      if (of_faults > 0) {
        trouble(begin, begin + share * std::min(seconds, of_faults), node);
        seconds > of_faults ? of(Suspect::endpoint).add(share * (seconds - of_faults), node) : void();
      } else if (is_scheduler(node) && t.bytes < 1000) {
        of(Suspect::scheduler).add(share * seconds, node);
      } else {
        of(Suspect::endpoint).add(share * seconds, node);
      }
    }
  }

  // The way's links with their bandwidths as faults leave them; the narrowest is to blame, and of several
  // the one that was full the longest.
  void hear_links(const Transfer& t, double share) {
    const double seconds = share * std::max(0.0, t.end - t.begin);
    if (!(seconds > 0)) return;
    double narrowest = for_ever, nominal = for_ever, latency = 0;
    struct Candidate {
      std::uint32_t link;
      double bandwidth;
    };
    std::vector<Candidate> way;
    for (const std::uint32_t number : lone_.way(t.from, t.to)) {
      const Link& link = lone_.links()[number];
      const std::optional<std::uint32_t> node = owner(link.name);
      const double left = node ? faults_.bandwidth(*node, t.begin, t.end) : 1;
      way.push_back({number, left * link.bandwidth});
      narrowest = std::min(narrowest, left * link.bandwidth);
      nominal = std::min(nominal, link.bandwidth);
      latency += link.latency;
    }
    double rest = seconds;
    if (latency > 0 && lone_.window() / latency < narrowest) {
      const double by_window =
          std::min(rest, share * static_cast<double>(t.bytes) * (latency / lone_.window() - 1 / narrowest));
      of(Suspect::tcp_window).add(by_window, t.from);
      rest -= by_window;
    }
    if (way.empty()) return blame_pair(rest, t.from, t.to);
    const Candidate* worst = nullptr;
    double most = -1;
    for (const Candidate& one : way) {
      double full = 0;
      if (t.sharing > 0.05 * (t.end - t.begin))
        for (const auto& [from, to] : full_[lone_.links()[one.link].name])
          full += overlap(from, to, t.begin, t.end);
      const bool is_narrow = one.bandwidth <= 1.01 * narrowest;
      const double weight =
          full / (t.end - t.begin) + (is_narrow ? 0.5 : 0) + (owner_is_server(one.link) ? 0.1 : 0);
      if (weight > most) {
        most = weight;
        worst = &one;
      }
    }
    const std::string& name = lone_.links()[worst->link].name;
    const std::optional<std::uint32_t> node = owner(name);
    const Suspect suspect = !node                     ? Suspect::uplink
                            : facts_.is_server(*node) ? Suspect::server_link
                            : is_scheduler(*node)     ? Suspect::scheduler
                                                      : Suspect::worker_link;
    of(suspect).add(rest, node.value_or(facts_.is_server(t.from) ? t.to : t.from));
    of(suspect).links[name] += rest;
    if (worst->bandwidth >= 0.9 * widest_of(suspect)) of(suspect).even += rest;
  }

  // Of all links of workers, or of all of servers; others have none to be compared with.
  double widest_of(Suspect suspect) const {
    double widest = suspect == Suspect::uplink ? for_ever : 0;
    for (const Link& link : lone_.links()) {
      const std::optional<std::uint32_t> node = owner(link.name);
      if (!node || is_scheduler(*node)) continue;
      if (facts_.is_server(*node) == (suspect == Suspect::server_link))
        widest = std::max(widest, link.bandwidth);
    }
    return widest;
  }

  bool owner_is_server(std::uint32_t link) const {
    const std::optional<std::uint32_t> node = owner(lone_.links()[link].name);
    return node && facts_.is_server(*node);
  }

  // A message of which no links are known.
  void blame_pair(double seconds, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t server = facts_.is_server(to) ? to : from;
    of(facts_.is_server(server) ? Suspect::server_link : Suspect::worker_link).add(seconds, server);
  }

  // What a crash cost is more than silence: lost work is done again, as computing and messages like others.
  void weigh_recoveries(double total) {
    const auto failures = record_.summary.find("failures");
    if (failures == record_.summary.end()) return;
    double longest = 0;
    std::int64_t table = -1;
    for (const Json& one : failures->at("recoveries")) {
      const Json& seconds = one.at("total_s");
      const double at = one.at("at_s");
      const double lasted = seconds.is_null() ? total - at : std::min(seconds.get<double>(), total - at);
      if (!(lasted > longest)) continue;
      longest = lasted;
      for (const FaultInForce& fault : faults_.all())
        if (fault.begin == at) table = fault.table;
    }
    if (table < 0 || !(longest > of(Suspect::fault).seconds)) return;
    of(Suspect::fault).seconds = longest;
    of_fault_[table] = std::max(of_fault_[table], longest);
  }

  // What is as it is meant to be counts less than what is not: see the header.
  static constexpr double even_counts = 0.2;

  MainCause sentence(double total) {
    MainCause cause{.nodes = with_equals(even_.blamed(), steps_.by_worker()),
                    .seconds = even_.seconds,
                    .link = {},
                    .fault = {},
                    .is_even = true};
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
               .is_even = even > 0.5 * account.seconds};
    }
    cause.seconds = std::min(cause.seconds, total);
    add_fault(cause);
    return cause;
  }

  // What costs the same everywhere, because the scenario says so.
  bool is_shared_by_all(Suspect suspect) const {
    if (suspect == Suspect::endpoint || suspect == Suspect::tcp_window) return true;
    if (suspect != Suspect::server_work) return false;
    std::vector<double> work;
    for (const auto& [server, values] : server_work_) work.push_back(values);
    constexpr double unequal = 1.5;
    return work.empty() || *std::ranges::max_element(work) < unequal * median(work);
  }

  // The scenario makes it slow, but not everybody; or its steps tell.
  bool is_slow(std::uint32_t node) const {
    if (steps_.is_always_slow(node)) return true;
    for (const FaultInForce& fault : faults_.all())
      if (fault.kind == "slow" && FaultBook::concerns(fault, node)) return true;
    return std::ranges::any_of(facts_.stragglers, [&](const Straggler& one) {
      const bool is_in = std::ranges::find(one.workers, facts_.worker(node)) != one.workers.end();
      return is_in && one.slowdown > 1 && one.workers.size() < facts_.workers;
    });
  }

  void judge_slow_steps(MainCause& cause, double& best) {
    const std::vector<std::uint32_t> slow = beyond_.blamed();
    const bool are_few = std::ranges::all_of(slow, [this](std::uint32_t node) { return is_slow(node); });
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
    for (const std::uint32_t node : slow) cause.seconds += even_.nodes[node];
    std::map<std::uint32_t, double> others = steps_.by_worker();
    std::erase_if(others, [this](const auto& one) { return !is_slow(one.first); });
    cause.nodes = with_equals(slow, others);
  }

  // Whom it is about: those of the path, and their equals.
  std::vector<std::uint32_t> all_of(Suspect suspect, const Account& account) const {
    std::vector<std::uint32_t> blamed = account.blamed();
    switch (suspect) {
      case Suspect::worker_link:
      case Suspect::server_link: return with_equals(std::move(blamed), narrowness(suspect));
      case Suspect::server_work: return with_equals(std::move(blamed), server_work_);
      case Suspect::startup: return with_equals(std::move(blamed), joined_);
      case Suspect::endpoint: return with_equals(std::move(blamed), at_ends_);
      case Suspect::tcp_window: return {};
      case Suspect::latency:
        return account.even > 0.5 * account.seconds ? std::vector<std::uint32_t>() : blamed;
      default: return blamed;
    }
  }

  // By node: one over the bandwidth of its own link, as faults left it.
  std::map<std::uint32_t, double> narrowness(Suspect suspect) const {
    std::map<std::uint32_t, double> narrow;
    for (const Link& link : lone_.links()) {
      const std::optional<std::uint32_t> node = owner(link.name);
      if (!node || is_scheduler(*node)) continue;
      if (facts_.is_server(*node) != (suspect == Suspect::server_link)) continue;
      double bandwidth = link.bandwidth;
      for (const FaultInForce& fault : faults_.all())
        if (fault.kind == "degrade" && FaultBook::concerns(fault, *node)) bandwidth *= fault.factor;
      narrow[*node] = std::max(narrow[*node], 1 / bandwidth);
    }
    return narrow;
  }

  // The fault that a cause is about, if it is about one.
  void add_fault(MainCause& cause) const {
    if (cause.kind == Suspect::fault || cause.kind == Suspect::scheduler) {
      const auto most = std::ranges::max_element(of_fault_, {}, [](const auto& one) { return one.second; });
      if (most == of_fault_.end()) return;
      for (const FaultInForce& fault : faults_.all()) {
        if (fault.table != most->first) continue;
        cause.fault = fault;
        break;
      }
      if (!cause.fault) return;
      cause.nodes = cause.fault->nodes;
      std::ranges::sort(cause.nodes);
      return;
    }
    const bool is_link = cause.kind == Suspect::worker_link || cause.kind == Suspect::server_link;
    for (const FaultInForce& fault : faults_.all()) {
      const bool is_it = (is_link && fault.kind == "degrade") ||
                         (cause.kind == Suspect::worker_compute && fault.kind == "slow") ||
                         (cause.kind == Suspect::server_work && fault.kind == "slow");
      if (!is_it || cause.is_even) continue;
      const bool is_theirs = std::ranges::any_of(
          cause.nodes, [&](std::uint32_t node) { return FaultBook::concerns(fault, node); });
      if (is_theirs) cause.fault = fault;
    }
  }

  const RunRecord& record_;
  const Facts& facts_;
  const CausalGraph& graph_;
  Lone lone_;
  FaultBook faults_;
  TypicalSteps steps_;
  std::map<std::int64_t, Transfer> transfers_;  // of the path, by the number of their sending
  std::map<std::string, std::vector<std::pair<double, double>>> full_;  // by link
  std::map<Suspect, Account> accounts_;
  Account even_, beyond_;                    // computing as long as is typical, and beyond that
  std::map<std::int64_t, double> of_fault_;  // seconds by table
  double least_latency_ = for_ever;
  std::map<std::uint32_t, double> at_ends_;      // seconds that messages took at their sender or receiver
  std::map<std::uint32_t, double> server_work_;  // values of pushes, over what is left of the speed
  std::map<std::uint32_t, double> joined_;       // when each node first asked to be let in
};

}  // namespace

MainCause main_cause_of(const RunRecord& record, const CausalGraph& graph, const std::vector<Piece>& path,
                        double total) {
  return Court(record, graph).judge(path, total);
}

}  // namespace psim::analysis
