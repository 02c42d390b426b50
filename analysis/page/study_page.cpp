#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/page/parts.hpp"
#include "analysis/page/study_parts.hpp"
#include "analysis/study/files.hpp"
#include "analysis/study/labels.hpp"

namespace psim::analysis {
namespace {

constexpr const char study_script[] =
#include "analysis/page/study.js.inc"
    ;

std::string header(const StudyView& view) {
  const Study& study = view.page.study;
  return fmt::format("<header><p class=\"kind\">A study by psim {}: {}, {} runs</p><h1>{}</h1>{}</header>",
                     view.numbers("/psim"), escaped(study.name), view.document["runs"].size(),
                     escaped(study.title.empty() ? study.name : study.title),
                     view.page.target.empty()
                         ? ""
                         : fmt::format("<p class=\"kind\">Target: {}</p>", escaped(view.page.target)));
}

// Who was waited for, where it is the same under some arm.
std::string waiting_heading(const StudyView& view) {
  for (const Cell& cell : view.page.study.cells) {
    const std::vector<WorkerShares> shares = worker_shares(cell);
    if (const std::vector<std::size_t> awaited = awaited_workers(shares); !awaited.empty())
      return fmt::format("Under {} the others waited for {}", escaped(arm_label(cell.arm)),
                         workers_text(awaited));
  }
  return "What the workers did with their time";
}

std::string made(const StudyView& view) {
  const StudyPage& page = view.page;
  std::string out;
  if (!page.command.empty())
    out += fmt::format("<p>This makes the study again:</p><pre class=\"command\">{}</pre>",
                       escaped(page.command));
  if (!page.scenario.empty())
    out += fmt::format("<details><summary>The scenario</summary><pre>{}</pre></details>",
                       escaped(page.scenario));
  return out + fmt::format(
                   "<p class=\"kind\">psim {}, instruction set {}, build {}. Numbers are those of "
                   "<code>study.json</code>; point at one to see all its digits.</p>",
                   view.numbers("/psim"), view.numbers("/instruction_set"), view.numbers("/build"));
}

}  // namespace

std::size_t StudyView::series_of(const std::string& arm) const {
  std::vector<std::string> arms;
  for (const Cell& cell : page.study.cells) {
    if (cell.arm == arm) break;
    if (std::ranges::find(arms, cell.arm) == arms.end()) arms.push_back(cell.arm);
  }
  return arms.size();
}

std::string StudyView::path_of(const Aggregate& one) const {
  return fmt::format("/aggregates/{}", &one - page.evaluation.aggregates.data());
}

std::vector<WorkerShares> worker_shares(const Cell& cell) {
  std::vector<WorkerShares> shares;
  const auto runs = static_cast<double>(cell.runs.size());
  for (const StudyRun& run : cell.runs) {
    const Json& workers = run.summary["workers"];
    if (shares.empty()) shares.resize(workers.size());
    if (shares.size() != workers.size()) return {};
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i].compute += workers[i]["compute_share"].get<double>() / runs;
      shares[i].wait += workers[i]["wait_share"].get<double>() / runs;
      shares[i].network += workers[i]["network_share"].get<double>() / runs;
    }
  }
  return shares;
}

std::vector<std::size_t> awaited_workers(const std::vector<WorkerShares>& shares) {
  if (shares.size() < 2) return {};
  std::vector<double> waits;
  for (const WorkerShares& worker : shares) waits.push_back(worker.wait);
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::ranges::nth_element(waits, middle);
  constexpr double much = 0.1, hardly = 0.25;  // of all time; of what half of the workers wait
  std::vector<std::size_t> awaited;
  if (*middle < much) return awaited;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].wait < hardly * *middle) awaited.push_back(i);
  }
  return awaited;
}

std::string workers_text(const std::vector<std::size_t>& workers) {
  const std::vector<std::size_t> first(workers.begin(), workers.end() - 1);
  return workers.size() == 1 ? fmt::format("worker {}", workers.front())
                             : fmt::format("workers {} and {}", fmt::join(first, ", "), workers.back());
}

std::string study_page(const StudyPage& page) {
  const Json all = document(page.study, page.evaluation);
  const StudyView view{.page = page, .document = all, .numbers = Numbers(all)};
  const bool has_target = page.evaluation.has_target;
  const char* letters = "Each arm has a letter and a colour, the same in all figures.";
  std::string body = header(view);
  body += fmt::format("<section id=\"answer\">{}</section>", study_answer(view));
  body += section("table", "Results",
                  "Means over seeds. In brackets: 95 % intervals; behind ±: standard deviations.",
                  results_table(view) + remarks_of(view));
  body += section("curves", "How fast each arm learns",
                  fmt::format("{} Lines are means over seeds, bands their 95 % intervals; a line ends where "
                              "the first of its runs ends.",
                              letters),
                  curve_figures(view));
  body += section("times", has_target ? "Time to the target" : "Length of the runs",
                  "A dot is the run of one seed and leads to it; the upright line is the mean, the bar its "
                  "95 % interval.",
                  time_figures(view));
  body += section("waiting", waiting_heading(view), fmt::format("Each bar is a worker's time: {}.", bar_keys),
                  waiting_figures(view));
  body += section("pareto", "What time costs in traffic",
                  "Left and low is better; the percentage is the final accuracy. A filled mark is on the "
                  "Pareto front: no other arm is as good in "
                  "time, bytes and accuracy, and better in one.",
                  pareto_figures(view));
  body += section("map", "Mean times over the conditions", "The darker, the slower.", heat_maps(view));
  body += section("all-runs", "Every run", "", runs_table(view));
  body += section("made", "How this was made", "", made(view));
  return html_of({.title = (page.study.title.empty() ? page.study.name : page.study.title) + " - psim",
                  .body = body,
                  .data = {{"curves", curve_data(view)}},
                  .script = study_script});
}

}  // namespace psim::analysis
