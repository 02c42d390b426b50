#include "analysis/causes/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <ranges>
#include <utility>

namespace psim::analysis {
namespace {

std::string percent(double part, double whole) { return fmt::format("{:.0f} %", 100 * part / whole); }

// " (4x slower from 0 s on)" for a straggler of the scenario.
std::string slowness_text(const Facts& facts, std::uint32_t node, double total) {
  if (!facts.is_worker(node)) return "";
  std::vector<const Straggler*> rows;
  for (const Straggler& slow : facts.stragglers) {
    const bool is_it = std::ranges::find(slow.workers, facts.worker(node)) != slow.workers.end();
    if (is_it && slow.slowdown > 1 && slow.from < total) rows.push_back(&slow);
  }
  if (rows.empty()) return "";
  const auto is_simple = [](const Straggler* slow) { return !slow->probability && !slow->every; };
  if (rows.size() > 1 || !is_simple(rows.front())) {
    const bool is_chance = rows.size() == 1 && rows.front()->probability;
    const std::string times =
        rows.size() == 1 ? fmt::format("{:.3g}x slower", rows.front()->slowdown) : "a straggler";
    return fmt::format(" ({}{})", times,
                       rows.size() > 1 ? ""
                       : is_chance     ? " in some steps"
                                       : " again and again");
  }
  const Straggler& slow = *rows.front();
  const std::string until = slow.until ? fmt::format(" to {}", seconds_text(*slow.until)) : " on";
  return fmt::format(" ({:.3g}x slower from {}{})", slow.slowdown, seconds_text(slow.from), until);
}

// " (4x slower from 1 s on)" for nodes that were slower, or " (at 2 % of its bandwidth from 1 s to 2 s)" for
// links.
std::string reduction_text(const std::optional<Rates::Reduction>& reduction, bool is_link, double total,
                           bool is_one) {
  if (!reduction) return "";
  const std::string how =
      is_link ? fmt::format("at {:.3g} % of {} bandwidth", 100 * reduction->factor, is_one ? "its" : "their")
              : fmt::format("{:.3g}x slower", 1 / reduction->factor);
  if (!reduction->is_most) return fmt::format(" (at times {})", how);
  const std::string until = reduction->end < total ? " to " + seconds_text(reduction->end) : " on";
  return fmt::format(" ({} from {}{})", how, seconds_text(reduction->begin), until);
}

std::string computing_sentence(const Explanation& why, const Facts& facts, const std::string& share) {
  const MainCause& cause = why.main_cause;
  if (cause.kind == Suspect::random_compute)
    return fmt::format(
        "Steps of unequal length set the pace: {} of the run is computing beyond a typical step, by changing "
        "workers.",
        share);
  if (cause.is_even && facts.workers > 1) {
    const auto chance = cause.by_kind.find(Suspect::random_compute);
    const double computing = cause.seconds + (chance == cause.by_kind.end() ? 0 : chance->second);
    return fmt::format(
        "{} of the run is computing, shared by all workers: a faster network saves at most {:.0f} %.", share,
        std::ceil(100 * (why.total - computing) / why.total - 1e-9));
  }
  const bool is_one = cause.nodes.size() == 1;
  std::string slow = is_one ? slowness_text(facts, cause.nodes.front(), why.total) : "";
  if (slow.empty()) slow = reduction_text(cause.reduction, false, why.total, is_one);
  return fmt::format("{}{} {} the pace: {} computing is {} of the critical path.",
                     names_of(facts, cause.nodes), slow, is_one ? "sets" : "set", is_one ? "its" : "their",
                     share);
}

std::string link_sentence(const Explanation& why, const Facts& facts, const std::string& share) {
  const MainCause& cause = why.main_cause;
  if (cause.kind == Suspect::uplink)
    return fmt::format("The link `{}`, which nodes share, sets the pace: messages on it take {} of the run.",
                       cause.link, share);
  const bool is_one = cause.nodes.size() == 1;
  return fmt::format("The link{} of {}{} {} the pace: messages on {} take {} of the run.", is_one ? "" : "s",
                     names_of(facts, cause.nodes), reduction_text(cause.reduction, true, why.total, is_one),
                     is_one ? "sets" : "set", is_one ? "it" : "them", share);
}

std::string trouble_sentence(const Explanation& why, const Facts& facts, const std::string& share_of_all) {
  const MainCause& cause = why.main_cause;
  if (!cause.of_fault)
    return fmt::format("The run was held up by {}: {}, {} of its time.",
                       cause.kind == Suspect::scheduler ? "the scheduler" : "lost messages",
                       seconds_text(cause.seconds), share_of_all);
  const MainCause::FaultShare& worst = *cause.of_fault;
  const std::string what = fault_text(*cause.fault, cause.faults, facts, why.total),
                    seconds = seconds_text(worst.judged), share = percent(worst.judged, why.total);
  if (!worst.cost && worst.judged > worst.on_path)
    return fmt::format("{} and the recovery from it took {}, {} of the run.", what, seconds, share);
  if (!worst.cost)
    return fmt::format("{} took {} of the critical path, {} of the run.", what, seconds, share);
  if (worst.updates)
    return fmt::format("{} cost {} of {} updates ({}).", what, *worst.updates, worst.of_updates, share);
  const bool are_more = cause.seconds > 1.05 * worst.judged;
  return fmt::format(
      "{} cost {}, {} of the run{}.", what, seconds, share,
      are_more ? fmt::format("; such faults cost {} in all", seconds_text(cause.seconds)) : "");
}

// What set the pace: one sentence for each kind of cause.
std::string path_sentence(const Explanation& why, const Facts& facts) {
  const MainCause& cause = why.main_cause;
  const std::string share = percent(cause.seconds, why.total);
  const std::string names = cause.nodes.empty() ? "the run" : names_of(facts, cause.nodes);
  switch (cause.kind) {
    case Suspect::worker_compute:
    case Suspect::random_compute: return computing_sentence(why, facts, share);
    case Suspect::worker_link:
    case Suspect::server_link:
    case Suspect::uplink: return link_sentence(why, facts, share);
    case Suspect::fault:
    case Suspect::scheduler: return trouble_sentence(why, facts, share);
    case Suspect::latency:
      return fmt::format(
          "Latency{} sets the pace: messages travel for {} of the run before their first byte arrives.",
          cause.nodes.empty() ? "" : " to and from " + names, share);
    case Suspect::tcp_window:
      return fmt::format(
          "The TCP window{} sets the pace: it holds messages back for {} of the run, on links that could "
          "carry more.",
          cause.nodes.empty() ? "" : " of connections to and from " + names, share);
    case Suspect::endpoint:
      return fmt::format(
          "The work of senders and receivers on messages sets the pace: {} of the run, most of it at {}.",
          share, names);
    case Suspect::server_work:
      return fmt::format("The work of {}{} on messages sets the pace: {} of the run.", names,
                         reduction_text(cause.reduction, false, why.total, cause.nodes.size() == 1), share);
    case Suspect::filters:
      return fmt::format("The filters' work on messages sets the pace: {} of the run, at {}.", share, names);
    case Suspect::bus:
      return fmt::format("Copies between hosts and devices set the pace: {} of the run, at {}.", share,
                         names);
    case Suspect::barrier:
      return fmt::format("The run stood still at {} until a set date: {} of its time.", names, share);
    case Suspect::startup:
      return fmt::format("The run began late because {} took time to start: {}, {} of its time.", names,
                         seconds_text(cause.seconds), share);
    case Suspect::storage:
      return fmt::format("The storage sets the pace: writing and reading there take {} of the run.", share);
    case Suspect::stuck: return fmt::format("The run stood still at {}: {} of its time.", names, share);
  }
  return "";
}

// The end of a stuck run: the fault before it, and the message for which the first node waits.
std::string stuck_sentence(const Explanation& why, const RunRecord& record) {
  std::string reason = record.summary.at("stuck").front().get<std::string>();
  if (const std::size_t date = reason.find(" s "); reason.starts_with("at ") && date != std::string::npos)
    reason = reason.substr(date + 3);
  const std::optional<FaultInForce>& fault = why.main_cause.fault;
  return fmt::format(
      "The run got stuck{}: from {} on nothing new came, and {}.",
      fault ? " after " + fault_text(*fault, why.main_cause.faults, record.facts, why.total) : "",
      seconds_text(why.path.back().begin), reason);
}

// The facts of the job that the worker belongs to.
const Facts& job_facts_of(const RunRecord& record, std::uint32_t node) {
  for (const Job& job : record.jobs) {
    const std::uint32_t worker = record.facts.worker(node);
    if (worker >= job.facts.first_worker && worker < job.facts.first_worker + job.facts.workers)
      return job.facts;
  }
  return record.facts;
}

// Why the consistency model of the first waiting worker makes it wait.
std::string rule_text(const RunRecord& record, std::uint32_t waiter, double first) {
  const Facts& facts = job_facts_of(record, waiter);
  const ResolvedRule& rule = facts.rule;
  const StalenessBound& bound = rule.bound;
  if (!facts.has_servers) return ", because every step needs the part of every worker";
  if (rule.waits_for_all())
    return fmt::format(", because under {} every step needs the push of every worker", rule.model);
  if (rule.waits_for(Gate::staleness) && (bound.most > 0 || !bound.schedule.empty()))
    return fmt::format(", because the lead that {} allows is used up after {}", rule.model,
                       seconds_text(first));
  if (rule.waits_for(Gate::staleness))
    return fmt::format(", because a lead of {} clock{} is used up after {}", bound.staleness,
                       bound.staleness == 1 ? "" : "s", seconds_text(first));
  if (rule.group > 1 && facts.tasks.empty())
    return fmt::format(", because an update needs {} pushes", rule.group);
  return "";
}

// Waits for one node, or for all nodes that caused waits of one kind.
struct Awaited {
  std::vector<std::uint32_t> waiters = {}, nodes = {};
  std::map<std::uint32_t, double> of_waiter = {};
  std::int64_t count = 0;
  double seconds = 0, first = 0;
  void add(const WaitTotal& wait) {
    if (count == 0 || wait.first < first) first = wait.first;
    waiters.push_back(wait.waiter);
    nodes.push_back(wait.awaited);
    of_waiter[wait.waiter] += wait.seconds;
    count += wait.count;
    seconds += wait.seconds;
  }
  std::int64_t workers() const { return std::ssize(of_waiter); }
  // Whether all were held up for about as long.
  bool is_even() const {
    const auto [least, longest] = std::ranges::minmax(of_waiter | std::views::values);
    return longest <= 1.1 * least;
  }
};

const Awaited* most_of(const std::map<std::uint32_t, Awaited>& nodes) {
  const auto most =
      std::ranges::max_element(nodes, {}, [](const auto& entry) { return entry.second.seconds; });
  return most == nodes.end() ? nullptr : &most->second;
}

// "by worker 3", "by messages, mostly server 2's", ...
std::string by_what(const RunRecord& record, Kind kind, const Awaited& all, const Awaited& most) {
  const Facts& facts = record.facts;
  const std::string bare = facts.name_of(most.nodes.front());
  const std::string name = std::isdigit(static_cast<unsigned char>(bare.back())) != 0 ? bare : "the " + bare;
  const bool is_one = most.seconds > 0.6 * all.seconds;
  switch (kind) {
    case Kind::compute:
      return fmt::format("by {}, messages included", is_one ? name : "other workers, mostly " + name);
    case Kind::network:
      return fmt::format("by messages{} {}'s", most.seconds > 0.9 * all.seconds ? "," : ", mostly", name);
    case Kind::service: return fmt::format("by the work of {} on messages", is_one ? name : "servers");
    case Kind::timeout: return "by messages that never came, until a timeout";
    case Kind::down:
      if (is_one && FaultBook(record).is_gone(most.nodes.front()))
        return fmt::format("by {}, which did not come back", name);
      return is_one ? fmt::format("until {} was back", name) : "until nodes were back";
    case Kind::idle: break;
  }
  return fmt::format("until a set date at {}", name);
}

// "1 update", "2.5 updates"
std::string updates_text(double updates) {
  const std::string number = fmt::format("{:.3g}", updates);
  return fmt::format("{} update{}", number, number == "1" ? "" : "s");
}

// Workers without work (tasks that the scheduler has not started) are not held up by a message or a node.
std::string few_waits(const Explanation& why, const RunRecord& record, double waited, double of_workers) {
  const double idle = record.summary.at("time").at("wait_share").get<double>();
  std::string sentence =
      idle > waited / of_workers + 0.02
          ? fmt::format("Workers had nothing to do for {} of their time", percent(idle, 1.0))
          : fmt::format("Workers were hardly held up: {} of their time", percent(waited, of_workers));
  if (why.staleness.updates_mean > 0)
    sentence += fmt::format("; the price is staleness: a gradient was {} old on average",
                            updates_text(why.staleness.updates_mean));
  return sentence + ".";
}

std::string wait_sentence(const Explanation& why, const RunRecord& record) {
  const Facts& facts = record.facts;
  std::map<Kind, Awaited> kinds;
  std::map<Kind, std::map<std::uint32_t, Awaited>> nodes;
  double waited = 0;
  for (const WaitTotal& wait : why.waits) {
    kinds[wait.kind].add(wait);
    nodes[wait.kind][wait.awaited].add(wait);
    waited += wait.seconds;
  }
  const double of_workers = why.total * facts.workers;
  if (!(waited > 0.02 * of_workers)) return few_waits(why, record, waited, of_workers);
  const auto& [kind, all] =
      *std::ranges::max_element(kinds, {}, [](const auto& entry) { return entry.second.seconds; });
  const Awaited& most = *most_of(nodes[kind]);
  const Awaited& told = kind == Kind::compute && most.seconds > 0.6 * all.seconds ? most : all;
  const std::int64_t waiters = told.workers();
  const std::string names = names_of(facts, told.waiters);
  const bool are_all = names == "all workers";
  const double each = told.seconds / static_cast<double>(waiters);
  const bool is_even = told.is_even(), is_plural = waiters > 1 && !(are_all && is_even);
  std::string sentence =
      fmt::format("{} {} held up for {} ({}){} {}", are_all && is_even ? "each worker" : names,
                  !is_plural ? "was"
                  : is_even  ? "were each"
                             : "were",
                  seconds_text(each), percent(each, why.total), is_even ? "" : " on average",
                  by_what(record, kind, all, most));
  if (kind == Kind::compute) sentence += rule_text(record, told.waiters.front(), told.first);
  if (told.seconds < 0.8 * waited)
    sentence += fmt::format("; that is {} of all their delays", percent(told.seconds, waited));
  if (kind == Kind::network && why.staleness.updates_mean > 0)
    sentence += fmt::format("; a gradient was {} old on average", updates_text(why.staleness.updates_mean));
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence + ".";
}

}  // namespace

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 999.5) return fmt::format("{:.3g} s", seconds);
  return fmt::format("{:.0f} s", seconds);
}

std::string ranges_text(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> ranges;
  for (std::size_t n = 0; n < numbers.size();) {
    std::size_t end = n + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - n > 2) ranges.push_back(fmt::format("{}-{}", numbers[n], numbers[end - 1]));
    else
      for (std::size_t one = n; one < end; ++one) ranges.push_back(fmt::format("{}", numbers[one]));
    n = end;
  }
  if (ranges.size() == 1) return ranges.front();
  const std::string last = ranges.back();
  ranges.pop_back();
  return fmt::format("{} and {}", fmt::join(ranges, ", "), last);
}

std::string names_of(const Facts& facts, std::vector<std::uint32_t> nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  std::vector<std::uint32_t> servers, workers;
  std::vector<std::string> names;
  for (const std::uint32_t node : nodes) {
    if (facts.is_server(node)) servers.push_back(node - 1);
    else if (facts.is_worker(node)) workers.push_back(facts.worker(node));
    else names.push_back(facts.name_of(node));
  }
  const auto add = [&names](const char* role, const std::vector<std::uint32_t>& numbers, std::uint32_t all) {
    if (numbers.empty()) return;
    if (numbers.size() == 1) names.push_back(fmt::format("{} {}", role, numbers.front()));
    else if (numbers.size() == all && all > 2) names.push_back(fmt::format("all {}s", role));
    else names.push_back(fmt::format("{}s {}", role, ranges_text(numbers)));
  };
  add("server", servers, facts.servers);
  add("worker", workers, facts.workers);
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

constexpr double worth_saying = 0.05;  // of a run's time

// The crash (of a server, or of a worker that had the model) with the longest recovery; null if none was
// long.
struct LongestRecovery {
  const Json* crash = nullptr;
  std::size_t others = 0;
};
LongestRecovery longest_recovery(const Explanation& why, const Json& summary) {
  LongestRecovery longest;
  const auto failures = summary.find("failures");
  if (failures == summary.end()) return longest;
  for (const Json& one : failures->at("recoveries")) {
    const Json& total = one.at("total_s");
    if (total.is_null() || one.at("at_s").get<double>() + total.get<double>() > why.total) continue;
    if (longest.crash != nullptr) ++longest.others;
    if (longest.crash == nullptr || longest.crash->at("total_s") < total) longest.crash = &one;
  }
  if (longest.crash != nullptr && !(longest.crash->at("total_s").get<double>() > worth_saying * why.total))
    return {};
  return longest;
}

std::string recovery_sentence(const Explanation& why, const Json& summary) {
  const auto [longest, others] = longest_recovery(why, summary);
  if (longest == nullptr) return "";
  const double total = longest->at("total_s");
  std::vector<std::pair<double, const char*>> parts;
  for (const auto& [key, what] : {std::pair{"detection_s", "until the scheduler noticed it"},
                                  {"takeover_s", "until a new owner took over"},
                                  {"transfer_s", "to fetch the state"},
                                  {"reforming_s", "to form the next group"}}) {
    const double seconds = longest->value(key, 0.0);
    if (seconds > worth_saying * total) parts.emplace_back(seconds, what);
  }
  const bool is_worker = longest->contains("worker");
  const double again = longest->value(is_worker ? "lost_work_s" : "catch_up_s", 0.0);
  std::string out =
      fmt::format("After {} {} crashed at {}, training stood still for {}", is_worker ? "worker" : "server",
                  longest->at(is_worker ? "worker" : "server").get<int>(), seconds_text(longest->at("at_s")),
                  seconds_text(total - again));
  for (const auto& [seconds, what] : parts)
    out += parts.size() == 1 ? fmt::format(", {}", what)
                             : fmt::format("{} {} {}", what == parts.front().second ? ":" : ",",
                                           seconds_text(seconds), what);
  if (again > 0 && is_worker) out += fmt::format("; redoing lost steps took {} more", seconds_text(again));
  else if (again > 0)
    out += fmt::format("; {} later the server had as many updates as before the crash", seconds_text(again));
  else out += "; no update was lost";
  if (others > 0) out += fmt::format("; the {} other crash{} took less", others, others == 1 ? "" : "es");
  return out + ".";
}

// "cost 12 ms", "cost no time", "took 12 ms of the critical path"
std::string cost_text(const MainCause::FaultShare& fault, double total) {
  if (!fault.cost)
    return fault.on_path > 0 ? fmt::format("took {} of the critical path", seconds_text(fault.on_path))
                             : std::string("took nothing of the critical path");
  constexpr double hardly_any = 1e-4;  // of a run
  if (fault.updates && *fault.updates != 0)
    return fmt::format("{} {} of {} updates", *fault.updates > 0 ? "cost" : "brought",
                       std::abs(*fault.updates), fault.of_updates);
  if (std::abs(*fault.cost) < hardly_any * total) return "cost no time";
  return fmt::format("{} {}", *fault.cost > 0 ? "cost" : "saved", seconds_text(std::abs(*fault.cost)));
}

// Every fault that the first sentence does not mention: what it cost, the most first.
std::string faults_sentence(const Explanation& why, const RunRecord& record) {
  const Facts& facts = record.facts;
  std::vector<MainCause::FaultShare> others = why.main_cause.all_faults;
  const std::optional<MainCause::FaultShare>& main = why.main_cause.of_fault;
  const Json* crash = longest_recovery(why, record.summary).crash;  // another sentence tells its parts
  std::erase_if(others, [&](const auto& one) {
    return (main && one.first.table == main->first.table) ||
           (crash != nullptr && !one.cost && crash->at("at_s") == one.first.begin);
  });
  if (others.empty()) return "";
  std::ranges::stable_sort(others, std::ranges::greater{}, [](const auto& one) {
    return std::pair(std::abs(one.cost.value_or(one.on_path)), one.on_path);
  });
  constexpr std::size_t shown = 4;
  std::vector<std::string> parts;
  for (const MainCause::FaultShare& one : others) {
    if (parts.size() == shown) break;
    parts.push_back(
        fmt::format("{} {}", fault_text(one.first, one.times, facts, why.total), cost_text(one, why.total)));
  }
  if (others.size() > shown) parts.push_back(fmt::format("{} more took less", others.size() - shown));
  std::string sentence = fmt::format("{}.", fmt::join(parts, "; "));
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence;
}

}  // namespace

std::vector<std::string> sentences_of(const Explanation& why, const RunRecord& record) {
  if (why.until.what == Until::What::end && !record.summary.at("stuck").empty() && !why.path.empty())
    return {stuck_sentence(why, record)};
  std::string first = path_sentence(why, record.facts);
  first.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(first.front())));
  std::vector<std::string> sentences{std::move(first), wait_sentence(why, record)};
  for (std::string& more : std::vector{recovery_sentence(why, record.summary), faults_sentence(why, record)})
    if (!more.empty()) sentences.push_back(std::move(more));
  return sentences;
}

}  // namespace psim::analysis
