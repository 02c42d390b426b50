#include "analysis/causes/fault_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "analysis/causes/words.hpp"
#include "analysis/database.hpp"

namespace psim::analysis {
namespace {

constexpr double for_ever = std::numeric_limits<double>::infinity();

// With these faults no answer goes missing.
constexpr auto harmless =
    std::to_array<std::string_view>({"degrade", "duplicate", "heal", "join", "restart"});

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
                               .kind = std::string(text(row, 2)),
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
}

double FaultBook::factor(std::string_view kind, std::uint32_t node, double from, double to) const {
  double left = 1;
  for (const FaultInForce& fault : faults_) {
    const bool is_most = fault.overlap(from, to) > 0.5 * (to - from);
    if (fault.kind == kind && is_most && !fault.freezes() && fault.concerns(node)) left *= fault.factor;
  }
  return left;
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
  if (fault.kind == "link-down") return fmt::format("the broken link{}{}", whose, dates);
  return fmt::format("the {}{}{}", fault.kind, whose, dates);
}

}  // namespace psim::analysis
