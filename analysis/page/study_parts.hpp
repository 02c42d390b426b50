// Parts of a study's page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"

namespace psim::analysis {

// What all parts are made from: the page, and study.json, whose numbers are shown.
struct StudyView {
  const StudyPage& page;
  const Json& document;
  Numbers numbers;
  // The place of a cell in the order of its arms: its letter and colour.
  std::size_t series_of(const std::string& arm) const;
  // "/aggregates/3"
  std::string path_of(const Aggregate& one) const;
};

// Who won, by how much, and why: sentences, as HTML.
std::string study_answer(const StudyView& view);
std::string results_table(const StudyView& view);
std::string remarks_of(const StudyView& view);
// What each arm is, and what the fields are that arms set.
std::string definitions_of(const StudyView& view);

// Mean curves with bands; the programs of the page show the same along other axes.
std::string curve_figures(const StudyView& view);
Json curve_data(const StudyView& view);
// Which axes have no curves, and why.
std::string axes_left_out(const StudyView& view);

std::string time_figures(const StudyView& view);
std::string pareto_figures(const StudyView& view);
std::string heat_maps(const StudyView& view);
// Who waited, and who did not: the workers of each arm's first run.
std::string waiting_figures(const StudyView& view);
std::string runs_table(const StudyView& view);

// An arm's mean time, behind `bound` where some of its runs need longer than their budget.
std::string time_html(const StudyView& view, const Aggregate& one, const char* bound);

// "bsp"; a number with its axis: "servers = 16".
std::string arm_name(const StudyView& view, const std::string& arm);

// Means of the workers' shares over an arm's runs, by worker. None: runs have different workers.
struct WorkerShares {
  double compute = 0, wait = 0, network = 0;
};
std::vector<WorkerShares> worker_shares(const Cell& cell);

// Workers by how much they waited, where that makes two groups far from each other; or else empty.
struct WaitGroup {
  std::vector<std::uint32_t> workers;
  double wait = 0;  // the mean share
};
std::vector<WaitGroup> wait_groups(const std::vector<WorkerShares>& shares);
// "Workers 4-7 waited 52 % of their time, workers 0-3 11 %"
std::string groups_text(const std::vector<WaitGroup>& groups);

// "worker 3", "workers 3 and 5", "workers 4-7"
std::string workers_text(const std::vector<std::uint32_t>& workers);
// <b class="letter s2">c</b>
std::string letter_html(std::size_t series);

}  // namespace psim::analysis
