// Parts of a run's page.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/page/page.hpp"
#include "analysis/render/html.hpp"

namespace psim::analysis {

struct RunView {
  const RunPage& page;
  Numbers numbers;  // of summary.json
};

// Of all seconds that workers waited: how many for whom it was most.
struct WaitedFor {
  double total = 0, for_most = 0;
  std::string most_awaited;
};
WaitedFor waits_of(const Json& why);

// What happened, in words.
std::string run_answer(const RunView& view);
// "Workers waited 60 % of their time, nearly all of it for worker 3"
std::string waiting_heading(const RunView& view);

// What the marks in the rows stand for: the first of them, in order of time.
std::string happenings(const Timeline& timeline);
std::string lanes_figure(const Timeline& timeline);
std::string waits_table(const RunView& view);
// What the critical path is made of.
std::string path_table(const RunView& view);
std::string workers_figure(const RunView& view);
std::string loss_figure(const RunView& view);
// Dates to mark on a run's curves, with names: "crash", "detected", "taken over" of the first recovery. Later
// crashes have no name.
std::vector<std::pair<double, std::string>> dates_of(const Json& summary);
// How many pushes were so many updates stale; nothing where none was.
std::string staleness_figure(const RunView& view);
std::string traffic_table(const RunView& view);
std::string recoveries_figure(const RunView& view);

// Parts of a run of which each has a mean rate of traffic. Messages come in bursts, one in each step: parts
// that were no whole number of steps would hold now more bursts and now fewer, a saw-tooth that is not in the
// run.
struct TrafficBins {
  std::size_t count;
  std::size_t steps;  // how many mean steps a part has, about; 0: the run has too few, or none
  double width;       // seconds
  // Shares an amount between the two parts whose middles are next to it, because steps are not all alike. The
  // first and the last part have a middle on one side only, and hold just what is in them.
  void add(std::vector<double>& sums, double at, double amount) const;
};
// `step`: the mean of the run's steps in seconds, or 0.
TrafficBins traffic_bins(double end, double step);

// The time line as the page's programs read it.
Json timeline_json(const Timeline& timeline);

// What the page's programs draw.
Json run_data(const RunView& view);

}  // namespace psim::analysis
