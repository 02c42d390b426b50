#include "analysis/causes/fault_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/causes/words.hpp"

namespace psim::analysis {
namespace {

constexpr double for_ever = std::numeric_limits<double>::infinity();

// With these faults no answer goes missing.
constexpr auto harmless =
    std::to_array<std::string_view>({"corrupt", "degrade", "duplicate", "heal", "join", "restart"});

}  // namespace

bool FaultInForce::concerns(std::uint32_t node) const {
  return std::ranges::find(nodes, node) != nodes.end();
}

double FaultInForce::overlap(double from, double to) const {
  return std::max(0.0, std::min(end, to) - std::max(begin, from));
}

FaultBook::FaultBook(const RunRecord& record) {
  // The nodes of a fault. If a fault has two sides: the nodes of one side, by a node of the other side.
  std::map<std::pair<std::int64_t, double>, std::map<std::int64_t, std::vector<std::uint32_t>>> sides;
  query(record.database(),
        "SELECT fault_table, at_s, kind, begins, target, coalesce(other_side, -1) FROM fault ORDER BY number",
        [&](sqlite3_stmt* row) {
          const std::int64_t table = sqlite3_column_int64(row, 0);
          const double at = sqlite3_column_double(row, 1);
          if (sqlite3_column_int(row, 3) == 0) {
            for (FaultInForce& fault : faults_)
              if (fault.table == table && fault.end == for_ever) fault.end = at;
            return;
          }
          const auto same = std::ranges::find_if(
              faults_, [&](const FaultInForce& one) { return one.table == table && one.begin == at; });
          if (same == faults_.end()) {
            const std::vector<double>& factors = record.facts.fault_factors;
            const auto number = static_cast<std::size_t>(table);
            faults_.push_back({.table = table,
                               .kind = std::string(text_in(row, 2)),
                               .begin = at,
                               .end = for_ever,
                               .factor = number < factors.size() ? factors[number] : 1,
                               .nodes = {}});
          }
          if (!is_null(row, 4)) sides[{table, at}][sqlite3_column_int64(row, 5)].push_back(id_in(row, 4));
        });
  for (FaultInForce& fault : faults_) {
    const auto& all = sides[{fault.table, fault.begin}];
    const auto smaller =
        std::ranges::min_element(all, {}, [](const auto& side) { return side.second.size(); });
    const bool is_of_all =
        smaller != all.end() && smaller->second.size() > record.facts.servers + record.facts.workers;
    if (smaller != all.end() && !is_of_all) fault.nodes = smaller->second;
  }
  query(record.database(), "SELECT fault, sim_time_s, updates FROM without_fault", [this](sqlite3_stmt* row) {
    const auto table = is_null(row, 0) ? std::nullopt : std::optional(sqlite3_column_int64(row, 0));
    without_[table] = {.end = sqlite3_column_double(row, 1), .updates = sqlite3_column_int64(row, 2)};
  });
}

bool FaultBook::is_gone(std::uint32_t node) const {
  bool is_away = false;
  for (const FaultInForce& fault : faults_) {
    if (!fault.concerns(node)) continue;
    if (fault.kind == "crash" || fault.kind == "leave") is_away = fault.end == for_ever;
    if (fault.kind == "restart" || fault.kind == "join") is_away = false;
  }
  return is_away;
}

std::optional<FaultBook::Without> FaultBook::without(std::optional<std::int64_t> table) const {
  const auto found = without_.find(table);
  return found == without_.end() ? std::nullopt : std::optional(found->second);
}

Rates::Rates(const RunRecord& record) {
  query(record.database(), "SELECT quantity, node, at_s, value FROM rate ORDER BY rowid",
        [this](sqlite3_stmt* row) {
          const auto name = std::ranges::find(quantity_names, text_in(row, 0));
          if (name == quantity_names.end())
            throw Unverifiable("an unknown quantity in the table `rate`", damaged);
          const auto quantity = static_cast<Quantity>(name - quantity_names.begin());
          steps_[{quantity, id_in(row, 1)}].emplace_back(sqlite3_column_double(row, 2),
                                                         sqlite3_column_double(row, 3));
        });
}

const Rates::Steps& Rates::of(Quantity quantity, std::uint32_t node) const {
  static const Steps none;
  const auto found = steps_.find({quantity, node});
  return found == steps_.end() ? none : found->second;
}

double Rates::value(Quantity quantity, std::uint32_t node, double at) const {
  const Steps& steps = of(quantity, node);
  const auto next = std::ranges::upper_bound(steps, at, {}, &Steps::value_type::first);
  return next == steps.begin() ? (quantity == Quantity::latency ? 0 : 1) : std::prev(next)->second;
}

double Rates::mean(Quantity quantity, std::uint32_t node, double from, double to) const {
  if (!(to > from)) return value(quantity, node, from);
  double sum = 0, since = from, factor = value(quantity, node, from);
  for (const auto& [date, next] : of(quantity, node)) {
    if (date <= from || date >= to) continue;
    sum += factor * (date - std::exchange(since, date));
    factor = next;
  }
  return (sum + factor * (to - since)) / (to - from);
}

double Rates::least(Quantity quantity, std::uint32_t node, double until) const {
  double least = 1;
  for (const auto& [date, factor] : of(quantity, node))
    if (date < until) least = std::min(least, factor);
  return least;
}

std::optional<Rates::Reduction> Rates::longest(Quantity quantity, std::uint32_t node, double until) const {
  std::optional<Reduction> longest;
  double all = 0;
  const Steps& steps = of(quantity, node);
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const auto [begin, factor] = steps[n];
    const double end = n + 1 < steps.size() ? std::min(steps[n + 1].first, until) : until;
    if (!(factor < 1) || !(factor > 0) || !(end > begin)) continue;
    all += end - begin;
    if (!longest || end - begin > longest->end - longest->begin) longest = {begin, end, factor};
  }
  if (longest) longest->is_most = longest->end - longest->begin > 0.5 * all;
  return longest;
}

const FaultInForce* FaultBook::behind(double from, double to) const {
  constexpr double same_date = 1e-9;
  const FaultInForce *in_force = nullptr, *later = nullptr, *earlier = nullptr;
  for (const FaultInForce& fault : faults_) {
    if (std::ranges::find(harmless, fault.kind) != harmless.end() || fault.begin > to) continue;
    if (fault.begin > from + same_date) {
      if (later == nullptr || fault.begin < later->begin) later = &fault;
    } else {
      const FaultInForce*& last = fault.end > from ? in_force : earlier;
      if (last == nullptr || fault.begin >= last->begin) last = &fault;
    }
  }
  return in_force != nullptr ? in_force : later != nullptr ? later : earlier;
}

std::string fault_text(const FaultInForce& fault, std::int64_t times, const Facts& facts, double total) {
  std::string whose = fault.nodes.empty() ? "" : " of " + names_of(facts, fault.nodes);
  if (whose == " of scheduler") whose = " of the scheduler";
  const bool lasts = fault.end > fault.begin;
  const std::string dates =
      times > 1           ? fmt::format(", {} times from {} on,", times, seconds_text(fault.begin))
      : !lasts            ? fmt::format(" at {}", seconds_text(fault.begin))
      : fault.end < total ? fmt::format(" from {} to {}", seconds_text(fault.begin), seconds_text(fault.end))
                          : fmt::format(" from {} on", seconds_text(fault.begin));
  if (fault.kind == "crash" && times > 1)
    return fmt::format("{} crashes from {} on", times, seconds_text(fault.begin));
  if (fault.kind == "crash" || fault.kind == "leave")
    return fmt::format("the {}{} at {}", fault.kind, whose, seconds_text(fault.begin));
  if (fault.kind == "drop") return fmt::format("lost messages{}{}", whose, dates);
  if (fault.kind == "delay" || fault.kind == "reorder")
    return fmt::format("delayed messages{}{}", whose, dates);
  if (fault.kind == "slow" && !(fault.factor > 0)) return fmt::format("the freeze{}{}", whose, dates);
  if (fault.kind == "slow") return fmt::format("the slowness{}{}", whose, dates);
  if (fault.kind == "degrade") return fmt::format("the narrow link{}{}", whose, dates);
  if (fault.kind == "duplicate") return fmt::format("duplicated messages{}{}", whose, dates);
  if (fault.kind == "corrupt") return fmt::format("the wrong pushes{}{}", whose, dates);
  if (fault.kind == "link-down") return fmt::format("the broken link{}{}", whose, dates);
  return fmt::format("the {}{}{}", fault.kind, whose, dates);
}

}  // namespace psim::analysis
