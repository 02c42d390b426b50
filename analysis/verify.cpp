#include "analysis/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/verify_checks.hpp"

namespace psim::analysis {

bool Verdict::holds() const {
  return std::ranges::all_of(checks, [](const CheckReport& check) { return check.violations == 0; });
}

Verdict verify(const std::filesystem::path& run) {
  const RunRecord record(run);
  Checks checks;
  add_book_checks(record.facts, checks);
  if (record.facts.has_servers) {
    add_update_checks(record.facts, checks);
    add_read_checks(record.facts, checks);
    add_replica_checks(record.facts, checks);
  }
  History history(record.facts);
  Verdict verdict{.model = record.facts.has_servers ? record.facts.model : "none", .checks = {}};
  verdict.events = record.each([&](const Row& row) {
    history.on(row);
    for (const std::unique_ptr<Check>& check : checks) check->on(row, history);
  });
  for (const std::unique_ptr<Check>& check : checks) {
    check->at_end(history, record.summary, verdict.events);
    verdict.checks.push_back(check->report());
  }
  return verdict;
}

std::string text(const Verdict& v) {
  std::string out = fmt::format("{:<15}{:<9}{:>10}  {}\n", "check", "verdict", "examined", "what it means");
  for (const CheckReport& check : v.checks) {
    const char* word = !check.applies || check.examined == 0 ? "-"
                       : check.violations == 0               ? "holds"
                                                             : "VIOLATED";
    out += fmt::format("{:<15}{:<9}{:>10}  {}\n", check.name, word, check.applies ? check.examined : 0,
                       check.promise);
    if (!check.note.empty()) out += fmt::format("{:<36}note: {}\n", "", check.note);
  }
  for (const CheckReport& check : v.checks) {
    if (check.violations == 0) continue;
    out +=
        fmt::format("\n{}: {} violation{}\n", check.name, check.violations, check.violations == 1 ? "" : "s");
    for (const Finding& finding : check.first) {
      out += finding.event < 0
                 ? fmt::format("  whole run: {}\n", finding.text)
                 : fmt::format("  event {}, {:.9g} s: {}\n", finding.event, finding.at, finding.text);
    }
    if (const auto more = check.violations - std::ssize(check.first); more > 0)
      out += fmt::format("  and {} more\n", more);
  }
  const auto broken = std::ranges::count_if(v.checks, [](const CheckReport& c) { return c.violations > 0; });
  out += broken == 0 ? fmt::format("\nholds: {} events keep every promise\n", v.events)
                     : fmt::format("\nviolated: {} of {} checks, over {} events\n", broken, v.checks.size(),
                                   v.events);
  return out;
}

Json document(const Verdict& v) {
  Json checks = Json::array();
  for (const CheckReport& check : v.checks) {
    Json findings = Json::array();
    for (const Finding& f : check.first) {
      findings.push_back({{"event", f.event < 0 ? Json(nullptr) : Json(f.event)},
                          {"at_s", f.event < 0 ? Json(nullptr) : Json(f.at)},
                          {"text", f.text}});
    }
    checks.push_back({{"name", check.name},
                      {"promise", check.promise},
                      {"applies", check.applies && check.examined > 0},
                      {"examined", check.examined},
                      {"violations", check.violations},
                      {"first", findings},
                      {"note", check.note}});
  }
  return {{"schema", "psim.verify/1"},
          {"holds", v.holds()},
          {"consistency", v.model},
          {"events", v.events},
          {"checks", checks}};
}

}  // namespace psim::analysis
