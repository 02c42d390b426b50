// Parts of the page of a study.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"

namespace psim::analysis {

// The source of all parts: the page, and study.json with the numbers to show.
struct StudyView {
  const StudyPage& page;
  const Json& document;
  Numbers numbers;
  // The number of an arm, which gives its letter and colour.
  std::size_t series_of(const std::string& arm) const;
  // "/aggregates/3"
  std::string path_of(const Aggregate& one) const;
};

// Who won, by how much, and why: sentences, as HTML.
std::string study_answer(const StudyView& view);
std::string results_table(const StudyView& view);
std::string remarks_of(const StudyView& view);
// Explains each arm, and the fields that arms set.
std::string definitions_of(const StudyView& view);

// The places of mean curves with bands.
std::string curve_figures(const StudyView& view);
Json curve_data(const StudyView& view);
// Which axes have no curves, and why.
std::string axes_left_out(const StudyView& view);

std::string time_figures(const StudyView& view);
std::string pareto_figures(const StudyView& view);
std::string heat_maps(const StudyView& view);
// Which workers waited: for the first run of each arm.
std::string waiting_figures(const StudyView& view);
std::string runs_table(const StudyView& view);

// The mean time of an arm; after `bound` if some of its runs need longer than their budget.
std::string time_html(const StudyView& view, const Aggregate& one, const char* bound);

// "bsp"; a number gets its axis: "servers = 16".
std::string arm_name(const StudyView& view, const std::string& arm);

// By worker: mean shares over the runs of an arm. Empty: the runs have different numbers of workers.
struct WorkerShares {
  double compute = 0, wait = 0, network = 0;
};
std::vector<WorkerShares> worker_shares(const Cell& cell);

// Two groups of workers, if their waiting times are far apart; otherwise empty.
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
