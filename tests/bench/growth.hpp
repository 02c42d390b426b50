// How costs grow with the size of a run or a study: measurements, the laws fitted to them, and the page that
// shows both (docs/growth.md).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/harness.hpp"

namespace psim::bench {

struct Cluster {
  int workers, servers, steps;
};

// Of one run, in a process of its own.
struct Cost {
  double seconds = 0;  // of processor time for a message
  double bytes = 0;    // at the peak
  double messages = 0;
};

// A phantom model under asp (scale.cpp). `network`: fluid or nic.
Cost cost_of_messages(const char* network, const Cluster& cluster);

// Two small runs for each of `seeds` seeds, in at most `jobs` processes at once (study.cpp).
Usage run_study(int seeds, int steps, int jobs);

// y = factor * x^exponent, by least squares on the logarithms.
struct Law {
  double factor = 0, exponent = 0;
  double worst = 1;  // the largest ratio of a point to the law, or of the law to a point

  double at(double x) const;
};
Law fit(const std::vector<std::pair<double, double>>& points);

// All measurements of the page.
Json measure_growth(const Settings& settings);

// The page and its pictures, by their paths in the folder of `page`. The text between the marks in `page` is
// written anew from `data`, of measure_growth.
std::map<std::string, std::string> growth_files(const Json& data, const std::string& page);

}  // namespace psim::bench
