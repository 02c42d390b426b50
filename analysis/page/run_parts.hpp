// Parts of a run's page.
#pragma once

#include <string>

#include "analysis/page/html.hpp"
#include "analysis/page/page.hpp"

namespace psim::analysis {

struct RunView {
  const RunPage& page;
  Numbers numbers;  // of summary.json
};

// Seconds that each worker waited for each node, with the network in those waits: by `for` and then the worker.
struct WaitedFor {
  std::vector<std::vector<double>> seconds;  // by the lane that waited, by the lane that it waited for
  double total = 0;
  std::size_t most_awaited = 0;  // a lane
  double for_most = 0;
};
WaitedFor waits_of(const Timeline& timeline);

// What happened, in words.
std::string run_answer(const RunView& view);
// "Workers waited 60 % of their time, nearly all of it for worker 3"
std::string waiting_heading(const RunView& view);

std::string lanes_figure(const Timeline& timeline);
std::string waits_table(const RunView& view);
std::string workers_figure(const RunView& view);
std::string loss_figure(const RunView& view);
std::string traffic_table(const RunView& view);
std::string recoveries_figure(const RunView& view);

// What the page's programs draw.
Json run_data(const RunView& view);

}  // namespace psim::analysis
