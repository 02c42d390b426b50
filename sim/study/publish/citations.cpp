#include "sim/study/publish/citations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/record/identity.hpp"
#include "sim/study/journal.hpp"
#include "sim/study/plan.hpp"

namespace psim::study {
namespace {

using analysis::Aggregate;
using analysis::Evaluation;

bool any_cell(const Evaluation& evaluation, bool (*holds)(const Aggregate&)) {
  return std::ranges::any_of(evaluation.aggregates, holds);
}
// If seeds change no time, the ratio has neither an interval nor a p value.
bool is_compared(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus && one.versus->replicates && one.versus->pairs.seeds > 1;
  });
}
bool is_counted(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus && one.versus->replicates && one.versus->reached;
  });
}
bool is_corrected(const Evaluation& evaluation) {
  return any_cell(evaluation, [](const Aggregate& one) {
    return one.versus &&
           (one.versus->p_value_holm || (one.versus->reached && one.versus->reached->p_value_holm));
  });
}

// A method in the study's table or document, its source, and whether these results use it.
struct Method {
  const char *what, *source;
  bool (*is_used)(const Evaluation& evaluation);
};
constexpr Method methods[] = {
    {"intervals of mean times: Student's t", "Student 1908",
     [](const Evaluation& e) {
       return any_cell(e, [](const Aggregate& one) {
         return one.time_interval_s || (one.time_to_target && one.time_to_target->interval_s);
       });
     }},
    {"mean times over different budgets", "Kaplan and Meier, 1958; Greenwood, 1926",
     [](const Evaluation& e) {
       return any_cell(
           e, [](const Aggregate& one) { return one.time_to_target && one.time_to_target->by_kaplan_meier; });
     }},
    {"intervals of ratios: studentised bootstrap", "Efron, 1979; Hall, 1988; Silverman, 1986", is_compared},
    {"p values: sign flips", "Fisher, 1935", is_compared},
    {"p values: random sign flips", "Phipson and Smyth, 2010",
     [](const Evaluation& e) {
       return any_cell(e, [](const Aggregate& one) { return one.versus && !one.versus->pairs.test.exact; });
     }},
    {"p values of reached targets: McNemar's test", "McNemar, 1947", is_counted},
    {"p values of several comparisons", "Holm, 1979", is_corrected},
    {"choice of the tests of reached targets", "Tarone, 1990",
     [](const Evaluation& e) { return is_counted(e) && is_corrected(e); }},
    {"probability of a better run", "Mann, Whitney 1947", is_compared},
    {"performance profiles", "Dolan and More, 2002; Dahl et al., 2023",
     [](const Evaluation& e) { return !e.profiles.empty(); }},
};

void add_citation(std::vector<Citation>& all, const Citation& one) {
  if (std::ranges::find(all, one.what, &Citation::what) == all.end()) all.push_back(one);
}

// Adds the citations of all runs of a scenario, and of their tuning.
void add_runs_of(const Request& request, std::vector<Citation>& all) {
  const Plan plan = plan_study(request, false);
  for (const PlannedRun& run : plan.runs) {
    LoadedScenario again;
    if (!run.loaded) again = load_for_run(run.request);
    const LoadedScenario& loaded = run.loaded ? *run.loaded : again;
    for (const Citation& one : citations_of(loaded.scenario)) add_citation(all, one);
    for (const LoadedJob& job : loaded.jobs) {
      for (const Citation& one : citations_of(job.scenario)) add_citation(all, one);
    }
  }
  Diagnostics diagnostics;
  const std::optional<TuneSpec> spec = load_tune(load_request(request, diagnostics), diagnostics);
  if (!spec || spec->method == TuneMethod::grid) return;
  add_citation(all, {fmt::format("tune.method = {}", name_of(spec->method)),
                     references_in(spec->method == TuneMethod::random ? "Bergstra, Bengio 2012"
                                                                      : "Jamieson, Talwalkar 2016")});
}

void add_methods_of(const StudyFolder& folder, std::vector<Citation>& all) {
  const Journal journal(folder.dir, Journal::Builds::any);
  if (!missing_runs(folder, journal).empty()) return;
  const analysis::Study results = results_of(folder.manifest, journal);
  const Evaluation evaluation = analysis::evaluate(results);
  for (const Method& method : methods) {
    if (method.is_used(evaluation)) add_citation(all, {method.what, references_in(method.source)});
  }
  if (!results.until_ci.is_null())
    add_citation(all, {"as many seeds as --until-ci needs: a pilot decides", references_in("Stein, 1945")});
}

}  // namespace

std::vector<Citation> citations_of_psim() {
  return {{"psim, the simulator", references_in("psim itself")},
          {"SimGrid, its actors and its network", references_in("Casanova et al. 2014")},
          {"Eigen, its linear algebra", references_in("Guennebaud, Jacob et al. 2010")}};
}

std::vector<Citation> citations_of_scenario(const Request& request) {
  std::vector<Citation> all = citations_of_psim();
  add_runs_of(request, all);
  return all;
}

std::vector<Citation> citations_of_study(const StudyFolder& folder,
                                         const std::vector<std::string>& data_dirs) {
  Request request;
  request.data_dirs = data_dirs;
  std::vector<Citation> all = citations_of_scenario(folder.request(request));
  add_methods_of(folder, all);
  return all;
}

std::vector<const Reference*> works_of(const std::vector<Citation>& all) {
  std::vector<const Reference*> works;
  for (const Citation& one : all) {
    for (const Reference* work : one.references) {
      if (std::ranges::find(works, work) == works.end()) works.push_back(work);
    }
  }
  return works;
}

std::string citation_text(const std::vector<Citation>& citations) {
  std::size_t width = 0;
  for (const Citation& one : citations) width = std::max(width, one.what.size());
  std::string out;
  for (const Citation& one : citations) {
    std::string keys;
    for (const Reference* work : one.references) keys += fmt::format(" [{}]", work->key);
    out += fmt::format("  {:<{}} {}\n", one.what, width,
                       keys.empty() ? " nothing to cite: psim makes it, or it is your own file" : keys);
  }
  out += "\nReferences:\n";
  for (const Reference* work : works_of(citations))
    out += fmt::format("  [{}] {}\n", work->key, reference_text(*work, version_text()));
  return out + "\nIn a clone of psim, `git rev-parse HEAD` names the commit: cite it next to the version.\n";
}

std::string citation_bibtex(const std::vector<Citation>& citations) {
  std::string out;
  for (const Reference* work : works_of(citations))
    out += (out.empty() ? "" : "\n") + bibtex(*work, version_text());
  return out;
}

}  // namespace psim::study
